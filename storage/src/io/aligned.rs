//! Memory that direct I/O accepts.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// An alignment that every filesystem's direct I/O accepts.
pub const ALIGNMENT: usize = 4096;

/// A fixed number of bytes, zeroed, whose address is a multiple of [`ALIGNMENT`].
pub struct AlignedBuffer {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the buffer owns its memory and lends it by the usual borrowing rules only.
unsafe impl Send for AlignedBuffer {}
// SAFETY: as above; `&AlignedBuffer` allows reading only.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// `bytes` is rounded up to the alignment.
    pub fn new(bytes: usize) -> AlignedBuffer {
        let bytes = bytes.next_multiple_of(ALIGNMENT).max(ALIGNMENT);
        let layout = Layout::from_size_align(bytes, ALIGNMENT).expect("a size that memory can have");
        // SAFETY: the layout is not of size zero.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        AlignedBuffer { start, bytes }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` is valid for `bytes` initialised bytes as long as `self` lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for AlignedBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and `&mut self` is the only way to it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        let layout = Layout::from_size_align(self.bytes, ALIGNMENT).expect("as in new");
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.start.as_ptr(), layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_zero() {
        let mut buffer = AlignedBuffer::new(5000);
        assert_eq!(buffer.len(), 8192);
        assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
        assert!(buffer.iter().all(|&byte| byte == 0));
        buffer[8191] = 7;
        assert_eq!(buffer[8191], 7);
    }
}
