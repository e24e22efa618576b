//! Many values, whose memory another thread frees.
//!
//! A million rows with texts take a tenth of a second and more to free, because each text is an allocation. A statement that
//! has ended, or was killed, does not wait for that. The budget has the memory back at once: what is being freed was within a
//! statement's limits, and is freed faster than other rows are made.

use std::mem::needs_drop;
use std::ops::{Deref, DerefMut};
use std::thread;

/// Fewer values are freed by who has them.
const MANY: usize = 1 << 14;

/// What can be a pile.
pub trait Collected: Default + Send + 'static {
    /// How many values there are to be freed.
    fn count(&self) -> usize;
}

impl<T: Send + 'static> Collected for Vec<T> {
    fn count(&self) -> usize {
        if needs_drop::<T>() { self.len() } else { 0 }
    }
}

impl<T: Send + 'static> Collected for std::vec::IntoIter<T> {
    fn count(&self) -> usize {
        if needs_drop::<T>() { self.len() } else { 0 }
    }
}

/// See the module header.
#[derive(Clone, Debug, Default)]
pub struct Pile<C: Collected>(C);

impl<C: Collected> Pile<C> {
    pub fn into_inner(mut self) -> C {
        std::mem::take(&mut self.0)
    }
}

impl<C: Collected> From<C> for Pile<C> {
    fn from(values: C) -> Pile<C> {
        Pile(values)
    }
}

impl<C: Collected> Deref for Pile<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C: Collected> DerefMut for Pile<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.0
    }
}

impl<C: Collected> Drop for Pile<C> {
    fn drop(&mut self) {
        if self.0.count() >= MANY {
            free(std::mem::take(&mut self.0));
        }
    }
}

/// Frees values in a thread of their own; here if there cannot be one.
pub fn free<T: Send + 'static>(values: T) {
    let _ = thread::Builder::new().name("freeing".to_owned()).spawn(move || drop(values));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::thread::ThreadId;

    use super::*;

    struct Told(Sender<ThreadId>);

    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().id());
        }
    }

    #[test]
    fn many_values_are_freed_elsewhere_and_few_here() {
        let (send, receive) = channel();
        drop(Pile::from(vec![Told(send.clone())]));
        assert_eq!(receive.recv(), Ok(thread::current().id()));
        drop(Pile::from((0..MANY).map(|_| Told(send.clone())).collect::<Vec<_>>()));
        drop(send);
        let threads: Vec<ThreadId> = receive.iter().collect();
        assert_eq!(threads.len(), MANY);
        assert!(threads.iter().all(|id| *id != thread::current().id()));
    }
}
