//! Files of dropped tables, removed in slices.
//!
//! Removing a large file is one call, and a long one: a punched table of some gigabytes has a hundred thousand extents,
//! and while the filesystem frees them all, commits that wait for its journal stall. So DROP only renames such a file,
//! and a background step truncates it from the end:
//!
//! ```text
//!   db/t.ibd --rename--> #dropped-7 --truncate--> #dropped-7 --truncate--> ... --unlink--> gone
//!             in DROP                 step()                  step()
//! ```
//!
//! Its pages leave the pool in the same steps. They do no harm until then: a cleaner does not write a page whose
//! tablespace is forgotten, and no thread requests it, because the number of a tablespace is never used twice.
//!
//! The log records only that the file was deleted. A file that has the name of a dropped one when an instance opens is
//! the rest of an interrupted drop, and is truncated further.
//!
//! Invariants:
//!
//! * A step is bounded: by time, and where a clock stands still, by the number of slices.
//! * A file that fits one slice is removed at once; so dropping a small table costs no second directory entry.
//!
//! Not here: which session may drop what, and when a table is unused; the dictionary decides that.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use format::ids::SpaceId;

use crate::buffer::Pool;
use crate::error::{Error, Result};
use crate::io::{self, Caching, Disk, OpenMode};
use crate::sync::{Counter, Mutex, Rank};

/// How the names of dropped files begin. No database has such a directory, and no tablespace such a file.
const PREFIX: &str = "#dropped-";

/// How long a step goes on starting slices.
pub const STEP_TIME: Duration = Duration::from_millis(10);

/// Slices in a step, at most.
const SLICES_MAX: usize = if cfg!(test) { 2 } else { 64 };

/// Frames examined in one slice.
const FRAMES: usize = if cfg!(test) { 16 } else { 8192 };

/// A dropped tablespace that is not removed entirely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    pub space: SpaceId,
    /// The current name of the file; none if it is removed already, and only pages in the pool are left.
    pub path: Option<String>,
    /// Its current length.
    pub file_bytes: u64,
    /// The first frame of the pool that has not been examined.
    next_frame: usize,
}

/// See the module header.
pub struct Trash {
    disk: Arc<dyn Disk>,
    slice_bytes: u64,
    queue: Mutex<VecDeque<Dropped>>,
    /// Files that have been removed.
    pub files_removed: Counter,
    pub slices: Counter,
}

impl Trash {
    pub fn new(disk: Arc<dyn Disk>, slice_bytes: u64) -> Trash {
        Trash {
            disk,
            slice_bytes: slice_bytes.max(1),
            queue: Mutex::new(Rank::Leaf, VecDeque::new()),
            files_removed: Counter::default(),
            slices: Counter::default(),
        }
    }

    /// Removes the file of a tablespace, durably. A missing file is fine: an earlier call has removed it. The caller
    /// guarantees that its pages are unused and its tablespace is forgotten; later steps discard those in the pool.
    pub fn throw(&self, space: SpaceId, path: &str) -> Result<()> {
        self.throw_several(&[(space, path)])
    }

    /// The same for several files, whose directories are synced once.
    pub fn throw_several(&self, files: &[(SpaceId, &str)]) -> Result<()> {
        let mut directories = Directories::default();
        let mut gone = Vec::with_capacity(files.len());
        let mut thrown = files.iter().try_for_each(|(space, path)| {
            let (path, file_bytes) = match take_away(&*self.disk, *space, path, self.slice_bytes, &mut directories)? {
                Some((path, bytes)) => (Some(path), bytes),
                None => {
                    self.files_removed.add(1);
                    (None, 0)
                }
            };
            gone.push(Dropped { space: *space, path, file_bytes, next_frame: 0 });
            Ok(())
        });
        if let Err(error) = directories.sync(&*self.disk) {
            thrown = thrown.and(Err(error));
        }
        self.queue.lock().extend(gone);
        thrown
    }

    /// Takes over dropped files that an earlier run of the instance left.
    pub fn find(&self) -> Result<()> {
        for entry in self.disk.list("").map_err(Error::io("list the data directory"))? {
            let number = entry.name.strip_prefix(PREFIX).and_then(|number| number.parse().ok());
            let Some(number) = number.filter(|_| !entry.is_directory) else { continue };
            let file = self.disk.open(&entry.name, OpenMode::Read, Caching::Cached);
            let file_bytes = file.and_then(|file| file.len()).map_err(Error::io("look at a dropped file"))?;
            let (space, path) = (SpaceId(number), Some(entry.name));
            self.queue.lock().push_back(Dropped { space, path, file_bytes, next_frame: usize::MAX });
        }
        Ok(())
    }

    /// The dropped tablespaces that are left, the next one first.
    pub fn waiting(&self) -> Vec<Dropped> {
        self.queue.lock().iter().cloned().collect()
    }

    /// Truncates files for about `limit`. True if there is more to do. For one thread at a time.
    pub fn step(&self, pool: &Pool, limit: Duration) -> Result<bool> {
        let begin = self.disk.clock().now();
        for _ in 0..SLICES_MAX {
            let Some(mut dropped) = self.queue.lock().front().cloned() else { return Ok(false) };
            let outcome = self.slice(pool, &mut dropped);
            self.slices.add(1);
            let mut queue = self.queue.lock();
            match outcome {
                Ok(true) => {
                    queue.pop_front();
                }
                Ok(false) => queue[0] = dropped,
                Err(error) => {
                    // The file has no table any more: until the next start it only occupies space.
                    let dropped = queue.pop_front();
                    drop(queue);
                    tracing::warn!("remove the dropped file {:?}: {error}", dropped.and_then(|dropped| dropped.path));
                    return Err(error);
                }
            }
            drop(queue);
            if self.disk.clock().now().saturating_sub(begin) >= limit {
                break;
            }
        }
        Ok(!self.queue.lock().is_empty())
    }

    /// True if nothing is left of it.
    fn slice(&self, pool: &Pool, dropped: &mut Dropped) -> Result<bool> {
        if dropped.next_frame < pool.frame_count() {
            let end = dropped.next_frame + FRAMES;
            pool.discard_frames(dropped.space, dropped.next_frame..end.min(pool.frame_count()));
            dropped.next_frame = end;
            return Ok(dropped.path.is_none() && end >= pool.frame_count());
        }
        let Some(path) = &dropped.path else { return Ok(true) };
        if dropped.file_bytes > self.slice_bytes {
            let bytes = (dropped.file_bytes - 1) / self.slice_bytes * self.slice_bytes;
            let file = self.disk.open(path, OpenMode::ReadWrite, Caching::Cached);
            file.and_then(|file| file.set_len(bytes)).map_err(Error::io("cut a dropped file"))?;
            dropped.file_bytes = bytes;
            return Ok(false);
        }
        remove(&*self.disk, path)?;
        self.files_removed.add(1);
        Ok(true)
    }
}

/// Renames a tablespace's file, durably, to the name of a dropped file, and returns that with its length. None if the
/// file was small enough to be removed at once, or is missing.
pub fn put_aside(disk: &dyn Disk, space: SpaceId, path: &str, slice_bytes: u64) -> Result<Option<(String, u64)>> {
    let mut directories = Directories::default();
    let aside = take_away(disk, space, path, slice_bytes, &mut directories)?;
    directories.sync(disk)?;
    Ok(aside)
}

/// Directories that have changed.
#[derive(Default)]
struct Directories(Vec<Box<str>>);

impl Directories {
    fn note(&mut self, directory: &str) {
        if !self.0.iter().any(|known| **known == *directory) {
            self.0.push(directory.into());
        }
    }

    fn sync(&self, disk: &dyn Disk) -> Result<()> {
        self.0.iter().try_for_each(|directory| disk.sync_directory(directory).map_err(Error::io("sync a directory")))
    }
}

/// [`put_aside`] but for the sync of `directories`.
fn take_away(
    disk: &dyn Disk,
    space: SpaceId,
    path: &str,
    slice_bytes: u64,
    directories: &mut Directories,
) -> Result<Option<(String, u64)>> {
    let file = match disk.open(path, OpenMode::Read, Caching::Cached) {
        Ok(file) => file,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::from_io("open a dropped file", cause)),
    };
    let doing = "look at a dropped file";
    let file_bytes = file.len().map_err(Error::io(doing))?;
    if file.allocated_bytes().map_err(Error::io(doing))? <= slice_bytes {
        drop(file);
        match disk.remove(path) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::from_io("remove a dropped file", cause));
            }
            _ => {}
        }
        if !space.is_temporary() {
            directories.note(io::parent(path));
        }
        return Ok(None);
    }
    let aside = format!("{PREFIX}{space}");
    disk.rename(path, &aside).map_err(Error::io("put a dropped file aside"))?;
    if !space.is_temporary() {
        directories.note("");
        directories.note(io::parent(path));
    }
    Ok(Some((aside, file_bytes)))
}

/// Removes a file, durably. A missing file is fine.
fn remove(disk: &dyn Disk, path: &str) -> Result<()> {
    match disk.remove(path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::from_io("remove a dropped file", cause));
        }
        _ => {}
    }
    disk.sync_directory(io::parent(path)).map_err(Error::io("sync a directory"))
}
