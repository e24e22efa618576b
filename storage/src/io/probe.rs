//! What a filesystem really frees for a hole: tried on a scratch file, once per device.
//!
//! `st_blksize` is a recommendation. ext4 with bigalloc reports 4096 and frees nothing smaller than a cluster; some
//! filesystems on a network or in a container accept the call and free nothing. So the probe writes some bytes, punches
//! ranges of rising length out of them, and takes the first length after which the file occupies less as the block.
//!
//! ```text
//!   |512|1K|2K |4K     |8K             |16K  ...          punched at twice its length, where nothing was punched before
//!      1K 2K  4K      8K              16K
//! ```
//!
//! Invariants:
//!
//! * Nothing is left behind: the scratch file has no name where the filesystem supports that, and elsewhere loses it at
//!   once.
//! * If a probe is impossible (a full disk, a read-only one), the filesystem's own report counts.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use super::Punching;
use crate::sync::{Mutex, Rank};

/// The smallest and the largest block that is tried. A filesystem that frees no 64K frees no part of any page.
const BLOCK_BYTES_MIN: usize = 512;
const BLOCK_BYTES_MAX: usize = 65536;

/// The name of the scratch file while it has one.
const SCRATCH_NAME: &str = "#glassine_probe";

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    pub block_bytes: usize,
    pub punching: Punching,
}

/// Findings by device.
pub struct Probes {
    known: Mutex<HashMap<u64, Probe>>,
}

impl Default for Probes {
    fn default() -> Probes {
        Probes { known: Mutex::new(Rank::Leaf, HashMap::new()) }
    }
}

impl Probes {
    /// What punching does on a device, probed in one of its directories if that is not known yet. `said` is what the
    /// filesystem reports.
    pub fn get(&self, device: u64, directory: &Path, said: Probe) -> Probe {
        // Held while probing: many files are opened at once, and one probe is enough for them.
        let mut known = self.known.lock();
        *known.entry(device).or_insert_with(|| match probe(directory, said) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!("cannot try out whether holes can be punched in {}: {error}", directory.display());
                said
            }
        })
    }
}

fn probe(directory: &Path, said: Probe) -> io::Result<Probe> {
    let file = scratch_file(directory)?;
    file.write_all_at(&vec![0xA5; 4 * BLOCK_BYTES_MAX], 0)?;
    // Some filesystems choose blocks, and count them, only at a sync.
    file.sync_all()?;
    let mut occupied = file.metadata()?.blocks();
    let mut bytes = BLOCK_BYTES_MIN;
    while bytes <= BLOCK_BYTES_MAX {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&file, flags, 2 * bytes as u64, bytes as u64) {
            Ok(()) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::NODEV) => {
                return Ok(Probe { punching: Punching::Unsupported, ..said });
            }
            Err(error) => return Err(error.into()),
        }
        file.sync_all()?;
        let now = file.metadata()?.blocks();
        if now < occupied {
            return Ok(Probe { block_bytes: bytes, punching: Punching::Frees });
        }
        occupied = now;
        bytes *= 2;
    }
    Ok(Probe { block_bytes: said.block_bytes, punching: Punching::FreesNothing })
}

fn scratch_file(directory: &Path) -> io::Result<fs::File> {
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(directory, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode) {
        Ok(file) => Ok(file.into()),
        Err(_) => {
            let path = directory.join(SCRATCH_NAME);
            let _ = fs::remove_file(&path);
            let file = fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
            fs::remove_file(&path)?;
            Ok(file)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_what_punching_frees() {
        let said = Probe { block_bytes: 65536, punching: Punching::FreesNothing };
        let found = probe(&std::env::temp_dir(), said).unwrap();
        assert_eq!(found.punching, Punching::Frees, "the tests need a filesystem with holes");
        assert!((512..=16384).contains(&found.block_bytes), "{found:?}");
        // Without a probe the filesystem's report counts.
        let nowhere = Path::new("/nowhere/at/all");
        assert_eq!(Probes::default().get(1, nowhere, said), said);
    }
}
