//! Which files are being read, and must stay.

use std::collections::BTreeMap;
use std::sync::Arc;

use storage::sync::{Mutex, Rank};

/// Readers per number of a file.
pub struct Readers(Mutex<BTreeMap<u32, usize>>);

impl Default for Readers {
    fn default() -> Readers {
        Readers(Mutex::new(Rank::Leaf, BTreeMap::new()))
    }
}

impl Readers {
    /// One more reader of this file, until what is returned is dropped.
    pub(crate) fn begin(self: &Arc<Self>, file: u32) -> Reading {
        *self.0.lock().entry(file).or_default() += 1;
        Reading { readers: self.clone(), file }
    }

    /// How many read this file.
    pub(crate) fn of(&self, file: u32) -> usize {
        self.0.lock().get(&file).copied().unwrap_or(0)
    }
}

/// A file is being read.
pub struct Reading {
    readers: Arc<Readers>,
    file: u32,
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut readers = self.readers.0.lock();
        if let Some(count) = readers.get_mut(&self.file) {
            *count -= 1;
            if *count == 0 {
                readers.remove(&self.file);
            }
        }
    }
}
