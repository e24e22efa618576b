//! Temporary files: blocks that only this process can read.
//!
//! ```text
//! block    0   4  bytes of the payload
//!          4   4  CRC-32C of file number, place, length and payload as it is on disk
//!          8   n  payload, encrypted
//! ```
//!
//! The cipher is a [keystream](format::keystream) of the process. Blocks begin at multiples of sixteen and are written
//! once, and no two files of a process have the same number; so no counter serves twice.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use format::checksum::{crc32c, crc32c_append};
use format::keystream::Keystream;
use parking_lot::Mutex;
use rand::RngCore;

use crate::error::{Error, Result};

/// The most bytes of a payload. With its header a block has 16 KiB.
pub const PAYLOAD_BYTES_MAX: usize = (16 << 10) - HEADER_BYTES;
const HEADER_BYTES: usize = 8;
/// Blocks begin at multiples of this, so that no two of them share a block of the cipher.
const ALIGNMENT: usize = 16;

/// Where temporary files are made.
pub trait Directory: Send + Sync {
    /// A new file that has no name, or loses it at once.
    fn create(&self) -> io::Result<Box<dyn SpillFile>>;
    /// For messages.
    fn path(&self) -> &Path;
}

/// A file of bytes at offsets.
pub trait SpillFile: Send + Sync {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
}

impl SpillFile for File {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, bytes, offset)
    }
}

/// `tmpdir`.
struct TmpDir(PathBuf);

impl Directory for TmpDir {
    fn create(&self) -> io::Result<Box<dyn SpillFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        let nameless = options.clone().custom_flags(rustix::fs::OFlags::TMPFILE.bits() as i32).open(&self.0);
        if let Ok(file) = nameless {
            return Ok(Box::new(file));
        }
        // Not every filesystem has files without a name.
        let path = self.0.join(format!("glassine-{:032x}", rand::random::<u128>()));
        let file = options.create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(Box::new(file))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

/// What makes the temporary files of a server.
#[derive(Default)]
pub struct SpillFiles {
    directory: Mutex<Option<Arc<dyn Directory>>>,
    keystream: OnceLock<Keystream>,
    made: AtomicU64,
}

impl SpillFiles {
    /// Files are made here from now on.
    pub fn set_directory(&self, directory: Arc<dyn Directory>) {
        *self.directory.lock() = Some(directory);
    }

    /// Makes a file, in the first directory that `tmpdir` names unless another one was set.
    pub fn create(&self, tmpdir: &dyn Fn() -> String) -> Result<Arc<Spill>> {
        let directory = {
            let mut known = self.directory.lock();
            let given = || -> Arc<dyn Directory> {
                let list = tmpdir();
                let first = list.split(':').find(|path| !path.is_empty()).unwrap_or("/tmp");
                Arc::new(TmpDir(first.into()))
            };
            known.get_or_insert_with(given).clone()
        };
        let file = directory.create().map_err(|cause| Error::cannot_create_file(directory.path(), &cause))?;
        let keystream = self.keystream.get_or_init(|| {
            let mut key = [0; 32];
            rand::rng().fill_bytes(&mut key);
            Keystream::new(&key)
        });
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Spill { directory, file, keystream: keystream.clone(), number, end: AtomicU64::new(0) }))
    }

    /// How many files there were so far.
    pub fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }
}

/// A temporary file. Its blocks are gone when it is dropped.
pub struct Spill {
    directory: Arc<dyn Directory>,
    file: Box<dyn SpillFile>,
    keystream: Keystream,
    number: u64,
    end: AtomicU64,
}

impl Spill {
    /// Appends a block that [`Spill::begin_block`] has begun, and returns its place. It is encrypted in place.
    pub fn append(&self, block: &mut [u8]) -> Result<u64> {
        let length = block.len() - HEADER_BYTES;
        debug_assert!((1..=PAYLOAD_BYTES_MAX).contains(&length));
        let room = block.len().next_multiple_of(ALIGNMENT) as u64;
        let place = self.end.fetch_add(room, Ordering::Relaxed);
        let (header, payload) = block.split_at_mut(HEADER_BYTES);
        self.keystream.apply(self.number, place, payload);
        header[..4].copy_from_slice(&(length as u32).to_le_bytes());
        header[4..].copy_from_slice(&self.checksum(place, payload).to_le_bytes());
        match self.file.write_all_at(block, place) {
            Ok(()) => Ok(place),
            Err(cause) => Err(Error::cannot_write_file(self.directory.path(), &cause)),
        }
    }

    /// An empty block to which a payload can be appended.
    pub fn begin_block(block: &mut Vec<u8>) {
        block.clear();
        block.resize(HEADER_BYTES, 0);
    }

    pub fn payload_bytes(block: &[u8]) -> usize {
        block.len() - HEADER_BYTES
    }

    /// Reads the payload of the block at a place.
    pub fn read(&self, place: u64, payload: &mut Vec<u8>) -> Result<()> {
        let mut header = [0; HEADER_BYTES];
        let failed = |cause: io::Error| Error::cannot_read_file(self.directory.path(), &cause);
        self.file.read_exact_at(&mut header, place).map_err(failed)?;
        let (length, checksum) = header.split_at(4);
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes);
        let length = number(length) as usize;
        let damaged = || failed(io::Error::new(io::ErrorKind::InvalidData, "a block of a temporary file is damaged"));
        if !(1..=PAYLOAD_BYTES_MAX).contains(&length) {
            return Err(damaged());
        }
        payload.clear();
        payload.resize(length, 0);
        self.file.read_exact_at(payload, place + HEADER_BYTES as u64).map_err(failed)?;
        if self.checksum(place, payload) != number(checksum) {
            return Err(damaged());
        }
        self.keystream.apply(self.number, place, payload);
        Ok(())
    }

    fn checksum(&self, place: u64, payload: &[u8]) -> u32 {
        let sum = crc32c(&self.number.to_le_bytes());
        let sum = crc32c_append(sum, &place.to_le_bytes());
        let sum = crc32c_append(sum, &(payload.len() as u64).to_le_bytes());
        crc32c_append(sum, payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in memory, which others can look at.
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<u8>>>);

    impl SpillFile for Seen {
        fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
            let mut file = self.0.lock();
            let end = offset as usize + bytes.len();
            if file.len() < end {
                file.resize(end, 0);
            }
            file[offset as usize..end].copy_from_slice(bytes);
            Ok(())
        }

        fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
            let file = self.0.lock();
            let wanted = file.get(offset as usize..offset as usize + bytes.len());
            bytes.copy_from_slice(wanted.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        }
    }

    impl Directory for Seen {
        fn create(&self) -> io::Result<Box<dyn SpillFile>> {
            Ok(Box::new(self.clone()))
        }

        fn path(&self) -> &Path {
            Path::new("memory")
        }
    }

    fn block_of(text: &[u8]) -> Vec<u8> {
        let mut block = Vec::new();
        Spill::begin_block(&mut block);
        block.extend_from_slice(text);
        block
    }

    #[test]
    fn blocks_come_back_and_are_not_readable_on_disk() {
        let (seen, files) = (Seen::default(), SpillFiles::default());
        files.set_directory(Arc::new(seen.clone()));
        let spill = files.create(&|| "/nowhere".to_owned()).unwrap();
        let texts: Vec<Vec<u8>> = (1..40_usize).map(|at| b"secret".repeat(at * at % 2000 + 1)).collect();
        let places: Vec<u64> = texts.iter().map(|text| spill.append(&mut block_of(text)).unwrap()).collect();
        let mut payload = Vec::new();
        for (place, text) in places.iter().zip(&texts).rev() {
            spill.read(*place, &mut payload).unwrap();
            assert_eq!(&payload, text);
        }
        assert!(!seen.0.lock().windows(6).any(|part| part == b"secret"));
        // The same bytes are others elsewhere, and in another file.
        let again = spill.append(&mut block_of(&texts[0])).unwrap();
        let at = |place: u64| seen.0.lock()[place as usize + 8..place as usize + 14].to_vec();
        assert_ne!(at(places[0]), at(again));
    }

    #[test]
    fn damaged_and_misplaced_blocks_are_errors() {
        let (seen, files) = (Seen::default(), SpillFiles::default());
        files.set_directory(Arc::new(seen.clone()));
        let spill = files.create(&String::new).unwrap();
        let (one, other) =
            (spill.append(&mut block_of(b"first")).unwrap(), spill.append(&mut block_of(b"other")).unwrap());
        let mut payload = Vec::new();
        for at in 0..13 {
            seen.0.lock()[at] ^= 4;
            assert_eq!(spill.read(one, &mut payload).map_err(|error| error.code), Err(2), "byte {at}");
            seen.0.lock()[at] ^= 4;
        }
        spill.read(one, &mut payload).unwrap();
        let copy = seen.0.lock()[other as usize..other as usize + 13].to_vec();
        seen.0.lock()[one as usize..one as usize + 13].copy_from_slice(&copy);
        assert_eq!(spill.read(one, &mut payload).map_err(|error| error.code), Err(2));
        assert_eq!(spill.read(1 << 20, &mut payload).map_err(|error| error.code), Err(2));
    }

    #[test]
    fn a_file_in_tmpdir_has_no_name() {
        let directory = std::env::temp_dir().join(format!("spill-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let files = SpillFiles::default();
        let spill = files.create(&|| format!("{}:/elsewhere", directory.display())).unwrap();
        let place = spill.append(&mut block_of(b"text")).unwrap();
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        let mut payload = Vec::new();
        spill.read(place, &mut payload).unwrap();
        assert_eq!(payload, b"text");
        std::fs::remove_dir(&directory).unwrap();
        let files = SpillFiles::default();
        let refused = files.create(&|| directory.display().to_string());
        assert_eq!(refused.map(|_| ()).map_err(|error| error.code), Err(1));
    }
}
