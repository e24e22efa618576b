//! The real disk: a directory on Linux.
//!
//! Positioned reads and writes on plain file descriptors; no offsets are shared, so a file may be used by any number of
//! threads. Direct I/O, hole punching and preallocation are used where the filesystem has them, and quietly replaced by
//! the next best call where it has not (tmpfs has no direct I/O, NFS no preallocation).
//!
//! What a filesystem reports about itself is not always true (bigalloc reports blocks of 4K and frees clusters); what
//! can be tried is tried, once per device, see `probe`.
//!
//! *Untorn writes on XFS.* Where the device cannot do them, XFS does them by a copy: new blocks are allocated, written,
//! and exchanged for the old ones. As of Linux 6.18 it allocates not for the write alone, but up to the next copy in
//! progress in the file, and keeps what it did not need for minutes. All holes in between are filled meanwhile:
//!
//! ```text
//!   page  100 |##..|                     write of 100                in progress |##..| page 5000
//!             |<-------------------- all of this is allocated ---------------->|
//! ```
//!
//! So untorn writes to a file on XFS are begun in the order of their offsets, and while some are in progress others
//! wait: no write in progress lies above one that began later.

use std::cell::RefCell;
use std::fs;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{AtFlags, FallocateFlags, FlockOperation, IFlags, OFlags, SeekFrom, StatxFlags};
use rustix::io::{Errno, ReadWriteFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::rand::GetRandomFlags;

use super::native::{self, RWF_ATOMIC, WriteQueue};
use super::probe::{Probe, Probes};
use super::{Caching, Clock, DirectoryEntry, Disk, File, FileFacts, OpenMode, Punching, Write};
use crate::sync::{Mutex, MutexGuard, Rank};

/// The file that a running server locks.
const LOCK_NAME: &str = "glassine.lock";

/// Filesystems by their `f_type`.
const FILESYSTEMS: [(u64, &str); 14] = [
    (0xEF53, EXT4),
    (0x5846_5342, XFS),
    (0x9123_683E, BTRFS),
    (0x2FC1_2FC1, ZFS),
    (0x0102_1994, "tmpfs"),
    (0x794C_7630, "overlay"),
    (0xF2F5_2010, "f2fs"),
    (0xCA45_1A4E, "bcachefs"),
    (0x6969, "nfs"),
    (0xFF53_4D42, "cifs"),
    (0xFE53_4D42, "smb"),
    (0x6573_5546, "fuse"),
    (0x00C3_6400, "ceph"),
    (0x5346_544E, "ntfs"),
];

/// Its two predecessors have the same number.
const EXT4: &str = "ext4";
const XFS: &str = "xfs";
const BTRFS: &str = "btrfs";
const ZFS: &str = "zfs";

/// As in the kernel's interface; newer than the library.
const STATX_WRITE_ATOMIC: u32 = 0x1_0000;

thread_local! {
    /// For threads that write batches; `None` inside if the kernel provides none.
    static QUEUE: RefCell<Option<Option<WriteQueue>>> = const { RefCell::new(None) };
}

/// A directory on Linux.
pub struct LinuxDisk {
    root: PathBuf,
    clock: LinuxClock,
    probes: Arc<Probes>,
}

impl LinuxDisk {
    /// The directory must exist.
    pub fn new(root: impl Into<PathBuf>) -> LinuxDisk {
        allow_many_files();
        LinuxDisk { root: root.into(), clock: LinuxClock { start: Instant::now() }, probes: Arc::default() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }
}

impl Disk for LinuxDisk {
    fn open(&self, path: &str, mode: OpenMode, caching: Caching) -> io::Result<Arc<dyn File>> {
        let path = self.path(path);
        let open = |direct: bool| {
            let mut options = fs::OpenOptions::new();
            options.read(true).write(mode != OpenMode::Read).create_new(mode == OpenMode::Create);
            options.mode(0o640);
            if direct {
                options.custom_flags(OFlags::DIRECT.bits() as i32);
            }
            options.open(&path)
        };
        let mut direct = caching == Caching::Direct;
        let file = match open(direct) {
            // The filesystem has no direct I/O; the file may have been created all the same.
            Err(error) if direct && error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                if mode == OpenMode::Create {
                    let _ = fs::remove_file(&path);
                }
                direct = false;
                open(false)?
            }
            other => other?,
        };
        // A read-only user leaves nothing in the directory, not even for a moment.
        let probing = (mode != OpenMode::Read).then(|| Probing {
            directory: path.parent().unwrap_or(Path::new(".")).to_path_buf(),
            probes: self.probes.clone(),
        });
        Ok(Arc::new(LinuxFile { file, direct, probing, kind: OnceLock::new(), copying: Mutex::new(Rank::Leaf, ()) }))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.path(path).try_exists()
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.path(path))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        fs::create_dir(self.path(path))
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        fs::remove_dir(self.path(path))
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirectoryEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.path(path))? {
            let entry = entry?;
            // Names that are not UTF-8 are not ours.
            if let Ok(name) = entry.file_name().into_string() {
                entries.push(DirectoryEntry { name, is_directory: entry.file_type()?.is_dir() });
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        fs::File::open(self.path(path))?.sync_all()
    }

    fn restrict(&self, path: &str) -> io::Result<()> {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o600))
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::rand::getrandom(&mut *rest, GetRandomFlags::empty()) {
                Ok(count) => rest = &mut rest[count..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn lock(&self) -> io::Result<Box<dyn Send + Sync>> {
        let path = self.path(LOCK_NAME);
        let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o640).open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // Released by the kernel when the file is closed, however the process ends.
            Ok(()) => Ok(Box::new(file)),
            Err(error) => Err(error.into()),
        }
    }

    fn clock(&self) -> &dyn Clock {
        &self.clock
    }
}

/// Raises the limit of open files, which is usually 1024, because every tablespace is an open file: as far as the
/// system allows. If it does not, tables fail to open later, with a message of their own.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

struct LinuxFile {
    file: fs::File,
    /// Bypasses the page cache.
    direct: bool,
    probing: Option<Probing>,
    /// The filesystem's facts, once they have been requested.
    kind: OnceLock<&'static str>,
    /// Held while untorn writes are in progress that may be copies.
    copying: Mutex<()>,
}

/// The directory in which to probe the file's filesystem.
struct Probing {
    directory: PathBuf,
    probes: Arc<Probes>,
}

impl LinuxFile {
    /// The filesystem's kind, as in [`FILESYSTEMS`].
    fn filesystem(&self) -> io::Result<&'static str> {
        if let Some(kind) = self.kind.get() {
            return Ok(kind);
        }
        let magic = rustix::fs::fstatfs(&self.file)?.f_type as u64;
        let kind = FILESYSTEMS.iter().find(|(known, _)| *known == magic).map_or("unknown", |(_, name)| name);
        Ok(self.kind.get_or_init(|| kind))
    }

    /// Waits until untorn writes may begin; they may last as long as the result is kept. See the module header.
    fn begin_untorn(&self) -> Option<MutexGuard<'_, ()>> {
        self.filesystem().is_ok_and(|kind| kind == XFS).then(|| self.copying.lock())
    }

    /// Writes, once untorn writes may begin.
    fn write_untorn_now(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let flags = ReadWriteFlags::from_bits_retain(RWF_ATOMIC);
        loop {
            return match rustix::io::pwritev2(&self.file, &[IoSlice::new(bytes)], offset, flags) {
                Ok(count) if count == bytes.len() => Ok(()),
                // The write must be all or nothing.
                Ok(_) => Err(io::ErrorKind::WriteZero.into()),
                Err(Errno::INTR) => continue,
                Err(Errno::NOSYS) => Err(io::ErrorKind::Unsupported.into()),
                Err(error) => Err(error.into()),
            };
        }
    }

    /// Performs writes, begun in this order.
    fn write_in_order(&self, writes: &[Write<'_>]) -> io::Result<()> {
        let write = |write: &Write<'_>| match write.untorn {
            true => self.write_untorn_now(write.offset, write.bytes),
            false => self.write_at(write.offset, write.bytes),
        };
        // A write through the page cache does not wait for the device anyway.
        if !self.direct || writes.len() < 2 {
            return writes.iter().try_for_each(write);
        }
        QUEUE.with_borrow_mut(|queue| match queue.get_or_insert_with(WriteQueue::new) {
            Some(queue) => queue.write_all(self.file.as_raw_fd(), writes, write),
            None => writes.iter().try_for_each(write),
        })
    }

    /// The lengths of untorn writes that the kernel promises for this file.
    fn atomic_write(&self) -> Option<(usize, usize)> {
        // Through the page cache the kernel promises nothing.
        if !self.direct {
            return None;
        }
        let wanted = StatxFlags::from_bits_retain(STATX_WRITE_ATOMIC);
        let facts = rustix::fs::statx(&self.file, "", AtFlags::EMPTY_PATH, wanted).ok()?;
        let (min, max) = (facts.stx_atomic_write_unit_min as usize, facts.stx_atomic_write_unit_max as usize);
        (facts.stx_mask & STATX_WRITE_ATOMIC != 0 && min > 0 && min <= max).then_some((min, max))
    }
}

impl File for LinuxFile {
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn write_some(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = [IoSlice::new(&bytes[done..])];
            match rustix::io::pwritev2(&self.file, &rest, offset + done as u64, ReadWriteFlags::DSYNC) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                // A filesystem or a kernel that does not support the flag.
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    self.write_at(offset, bytes)?;
                    return self.sync();
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        // fdatasync: also makes the length durable, but not the times.
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn allocate(&self, offset: u64, bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), offset, bytes) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP) => {
                if self.len()? < offset + bytes {
                    self.set_len(offset + bytes)?;
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn punch_hole(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(rustix::fs::fallocate(&self.file, flags, offset, bytes)?)
    }

    fn write_untorn(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let _turn = self.begin_untorn();
        self.write_untorn_now(offset, bytes)
    }

    fn expect_untorn(&self, block_bytes: usize) -> io::Result<()> {
        native::set_copy_bytes(&self.file, block_bytes)
    }

    fn write_all(&self, writes: &[Write<'_>]) -> io::Result<()> {
        if !writes.iter().any(|write| write.untorn) {
            return self.write_in_order(writes);
        }
        let _turn = self.begin_untorn();
        if writes.is_sorted_by_key(|write| write.offset) {
            return self.write_in_order(writes);
        }
        let mut writes = writes.to_vec();
        writes.sort_unstable_by_key(|write| write.offset);
        self.write_in_order(&writes)
    }

    fn facts(&self) -> io::Result<FileFacts> {
        let filesystem = self.filesystem()?;
        let copy_on_write = match filesystem {
            ZFS => true,
            // A file with the attribute C is overwritten in place.
            BTRFS => !rustix::fs::ioctl_getflags(&self.file).is_ok_and(|flags| flags.contains(IFlags::NOCOW)),
            _ => false,
        };
        let metadata = self.file.metadata()?;
        let said = Probe { block_bytes: metadata.blksize() as usize, punching: Punching::Frees };
        let found = match &self.probing {
            // ZFS counts blocks seconds later, and has a block size of its own for every file.
            Some(probing) if filesystem != ZFS => probing.probes.get(metadata.dev(), &probing.directory, said),
            _ => said,
        };
        Ok(FileFacts {
            filesystem,
            block_bytes: found.block_bytes,
            copy_on_write,
            atomic_write: self.atomic_write(),
            punching: found.punching,
        })
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        // POSIX leaves the unit to the system; on Linux it is 512 whatever the block size.
        Ok(self.file.metadata()?.blocks() * 512)
    }

    fn data_end(&self, offset: u64, bytes: u64) -> io::Result<u64> {
        let end = offset + bytes;
        match native::extents_end(&self.file, offset, end) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            known => return known,
        }
        let mut data_end = offset;
        let mut at = offset;
        while at < end {
            match rustix::fs::seek(&self.file, SeekFrom::Data(at)) {
                Ok(data) if data < end => at = data,
                Ok(_) | Err(Errno::NXIO) => break,
                Err(error) => return Err(error.into()),
            }
            at = rustix::fs::seek(&self.file, SeekFrom::Hole(at))?.min(end);
            data_end = at;
        }
        Ok(data_end)
    }
}

struct LinuxClock {
    start: Instant,
}

impl Clock for LinuxClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn wall(&self) -> Duration {
        // A clock before 1970 is not set.
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("glassine-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn files_have_holes_and_lengths() {
        let root = scratch("io");
        let disk = LinuxDisk::new(&root);
        let file = disk.open("a", OpenMode::Create, Caching::Cached).unwrap();
        assert!(disk.open("a", OpenMode::Create, Caching::Cached).is_err());
        file.set_len(64 << 10).unwrap();
        assert_eq!(file.data_end(0, 64 << 10).unwrap(), 0);
        file.write_at(16384, &[1; 16384]).unwrap();
        assert_eq!(file.data_end(16384, 16384).unwrap(), 32768);
        file.punch_hole(20480, 12288).unwrap();
        assert_eq!(file.data_end(16384, 16384).unwrap(), 20480);
        let mut page = vec![9; 16384];
        assert_eq!(file.read_at(16384, &mut page).unwrap(), 16384);
        assert_eq!((page[4095], page[4096]), (1, 0));
        assert_eq!(file.read_at(60 << 10, &mut page).unwrap(), 4096);
        let facts = file.facts().unwrap();
        assert_eq!((facts.block_bytes, facts.punching), (4096, Punching::Frees), "{facts:?}");
        assert_eq!(disk.list("").unwrap(), [DirectoryEntry { name: "a".into(), is_directory: false }]);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_directory_has_one_owner() {
        let root = scratch("lock");
        let lock = LinuxDisk::new(&root).lock().unwrap();
        assert_eq!(LinuxDisk::new(&root).lock().err().unwrap().kind(), io::ErrorKind::WouldBlock);
        drop(lock);
        LinuxDisk::new(&root).lock().unwrap();
        fs::remove_dir_all(root).unwrap();
    }
}
