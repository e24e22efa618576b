//! Temporary files of a statement: rows on their way into an index, which only this process can read.
//!
//! The cipher is a [keystream](format::keystream) whose key is drawn for the file and kept in memory. Each byte is written
//! once per key, so no counter serves twice: whoever wants to use the file again from its beginning
//! [restarts](ScratchFile::restart) it.
//!
//! A file that a crash left behind is removed by recovery, by the prefix of its name.

use std::sync::Arc;

use format::keystream::Keystream;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::io::{Caching, Disk, File, OpenMode};

/// How the names of such files begin.
pub const SCRATCH_FILE_PREFIX: &str = "#sort-";

/// A temporary file. Dropping it removes it.
pub struct ScratchFile {
    disk: Arc<dyn Disk>,
    path: String,
    file: Arc<dyn File>,
    keystream: Keystream,
}

fn new_keystream(disk: &dyn Disk) -> Result<Keystream> {
    let mut key = Zeroizing::new([0; 32]);
    disk.random(&mut *key).map_err(Error::io("ask for random bytes"))?;
    Ok(Keystream::new(&key))
}

impl ScratchFile {
    /// Makes an empty file. One of this name that was left behind goes.
    pub fn create(disk: &Arc<dyn Disk>, path: String) -> Result<ScratchFile> {
        debug_assert!(path.starts_with(SCRATCH_FILE_PREFIX), "recovery knows it by its name");
        if disk.exists(&path).map_err(Error::io("look for a temporary file"))? {
            disk.remove(&path).map_err(Error::io("remove an old temporary file"))?;
        }
        let keystream = new_keystream(&**disk)?;
        let file = disk.open(&path, OpenMode::Create, Caching::Cached).map_err(Error::io("create a temporary file"))?;
        Ok(ScratchFile { disk: disk.clone(), path, file, keystream })
    }

    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Writes bytes that were not written before; they are encrypted in place.
    pub fn write(&self, place: u64, bytes: &mut [u8]) -> Result<()> {
        self.keystream.apply(0, place, bytes);
        self.file.write_at(place, bytes).map_err(Error::io("write a temporary file"))
    }

    /// Reads bytes that were written.
    pub fn read(&self, place: u64, bytes: &mut [u8]) -> Result<()> {
        let read = self.file.read_at(place, bytes).map_err(Error::io("read a temporary file"))?;
        if read < bytes.len() {
            return Err(Error::corrupt(format!("{} ends before what was written to it", self.path)));
        }
        self.keystream.apply(0, place, bytes);
        Ok(())
    }

    /// Forgets all that was written.
    pub fn restart(&mut self) -> Result<()> {
        self.keystream = new_keystream(&*self.disk)?;
        self.file.set_len(0).map_err(Error::io("empty a temporary file"))
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        // A file that cannot be removed now is replaced by the next one of that name, and removed by the next start.
        let _ = self.disk.remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    #[test]
    fn what_is_written_is_read_and_is_not_on_the_disk() {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(3));
        let mut file = ScratchFile::create(&disk, "#sort-x".into()).unwrap();
        let text: Vec<u8> = (0..5000u32).map(|at| (at / 7) as u8).collect();
        for round in 0..2 {
            let mut at = 0;
            for bytes in [1, 15, 16, 17, 300, 1, 0, 4650] {
                let mut part = text[at..at + bytes].to_vec();
                file.write(at as u64, &mut part).unwrap();
                at += bytes;
            }
            assert_eq!(at, text.len());
            let mut raw = vec![0; text.len()];
            file.file.read_at(0, &mut raw).unwrap();
            let same = raw.iter().zip(&text).filter(|(one, other)| one == other).count();
            assert!(same < 100, "{same} of 5000 bytes are as they were");
            for (from, to) in [(0, 5000), (3, 40), (16, 32), (4999, 5000), (7, 7)] {
                let mut part = vec![0; to - from];
                file.read(from as u64, &mut part).unwrap();
                assert_eq!(part, text[from..to], "round {round}");
            }
            assert!(file.read(4999, &mut [0; 2]).is_err());
            file.restart().unwrap();
            assert!(file.read(0, &mut [0]).is_err());
        }
        drop(file);
        assert!(!disk.exists("#sort-x").unwrap());
    }
}
