//! A simulated disk that does, from a seed, the worst that a real one may do between two syncs.
//!
//! Every file has two images. Writes change the *volatile* one, which reads see, and are remembered; a sync copies them
//! to the *durable* one. A crash keeps the durable image and a random part of the remembered writes, as the seed
//! decides: of each all, nothing, or some of its sectors, in any order with the others. Names of files have two states
//! as well, except that they survive in order, as in a journal.
//!
//! ```text
//!   write --> volatile ----------------> read
//!                |  remembered
//!     sync       v                         crash
//!   --------> durable  +  a random part of what was remembered  --> image of the next run
//! ```
//!
//! [`faults`] lists the other faults: calls that fail once or for ever, transfer a part, or are slow; a device that is
//! full; writes that land elsewhere. [`SimDisk::set_facts`] sets the device's properties (its blocks, copy-on-write,
//! untorn writes), and the disk keeps to them. Damage at rest, between two runs, is done by name:
//! [`SimDisk::flip`], [`SimDisk::misplace`], [`SimDisk::lose_file`], [`SimDisk::copy_file`].
//!
//! It is as strict as Linux: a file opened for direct I/O refuses what is not aligned, and an untorn write of the wrong
//! length or place is refused.
//!
//! The same seed and the same calls give the same bytes. The disk does not know which thread calls, so it is only as
//! deterministic as its single-threaded user. All faults that occurred are counted, see [`SimDisk::take_seen`].

pub mod faults;

mod clock;

mod file;

mod image;

mod in_flight;

mod names;

mod random;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use self::clock::SimClock;
pub use self::faults::Faults;
use self::file::SimFile;
use self::image::{Change, Image};
use self::in_flight::InFlight;
use self::names::{NameChange, Names};
pub use self::random::Random;
use super::{Caching, Clock, DirectoryEntry, Disk, File, FileFacts, OpenMode, Punching};
use crate::sync::{Mutex, Rank};

/// Seconds that a slow call takes at most.
const SLOW_SECONDS: u64 = 20;

/// Readings of the clock that find it standing still.
const STALL_LOOKS: u64 = 200;

/// How far a wall clock may be set away from the time.
const WALL_JUMP_SECONDS: u64 = 3 * 86400;

/// A simulated disk. Clones are the same disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    clock: Arc<SimClock>,
}

/// Which faults occurred, and how often.
pub type Seen = BTreeMap<&'static str, u64>;

struct State {
    random: Random,
    /// How often random bytes were requested.
    entropy: u64,
    faults: Faults,
    facts: FileFacts,
    block_bytes: usize,
    changes: u64,
    syncs: u64,
    reads: u64,
    writes: u64,
    punches: u64,
    crashed: bool,
    locked: bool,
    names: Names,
    durable_names: Names,
    /// What happened to names since the last sync of their directory, in order.
    pending_names: Vec<NameChange>,
    /// By number, like inodes: a removed file stays for those that have it open.
    files: BTreeMap<u64, FileState>,
    next_file: u64,
    seen: Seen,
}

#[derive(Clone, Default)]
struct FileState {
    volatile: Image,
    durable: Image,
    pending: Vec<Change>,
    in_flight: InFlight,
}

impl SimDisk {
    pub fn new(seed: u64) -> SimDisk {
        SimDisk::with_blocks(seed, 4096)
    }

    /// `block_bytes` is the filesystem's block: 512, 1024 or 4096.
    pub fn with_blocks(seed: u64, block_bytes: usize) -> SimDisk {
        let facts = FileFacts {
            filesystem: "sim",
            block_bytes,
            copy_on_write: false,
            atomic_write: None,
            punching: Punching::Frees,
        };
        SimDisk::from_state(State::new(Random::new(seed), facts, block_bytes))
    }

    fn from_state(state: State) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(Rank::Leaf, state)), clock: Arc::new(SimClock::new()) }
    }

    pub fn set_faults(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.state.lock().faults);
    }

    /// Sets the properties that files report. A disk that reports more than the block's size also keeps to it: untorn
    /// writes are not torn, copy-on-write tears nothing at all, and where punching frees nothing it does not.
    pub fn set_facts(&self, change: impl FnOnce(&mut FileFacts)) {
        let mut state = self.state.lock();
        change(&mut state.facts);
        assert!(state.facts.block_bytes == state.block_bytes, "the block is fixed with the disk");
    }

    /// Changing calls so far: a crash point is drawn above it.
    pub fn changes(&self) -> u64 {
        self.state.lock().changes
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        self.clock.pass(time);
    }

    /// Syncs of files so far.
    pub fn syncs(&self) -> u64 {
        self.state.lock().syncs
    }

    pub fn reads(&self) -> u64 {
        self.state.lock().reads
    }

    pub fn writes(&self) -> u64 {
        self.state.lock().writes
    }

    pub fn punches(&self) -> u64 {
        self.state.lock().punches
    }

    /// Blocks that files occupy.
    pub fn used_blocks(&self) -> u64 {
        self.state.lock().used_blocks()
    }

    pub fn is_crashed(&self) -> bool {
        self.state.lock().crashed
    }

    /// The faults that occurred since the last call, by name.
    pub fn take_seen(&self) -> Seen {
        std::mem::take(&mut self.state.lock().seen)
    }

    /// The disk as a new machine finds it after a power loss, without faults. This disk is dead from here on.
    pub fn crash(&self) -> SimDisk {
        let mut state = self.state.lock();
        state.crashed = true;
        let mut random = Random::new(state.random.next());
        let mut seen = std::mem::take(&mut state.seen);
        let mut see = |what: &'static str| *seen.entry(what).or_default() += 1;
        let sector_bytes = state.faults.sector_bytes;
        let block_bytes = state.block_bytes;

        let mut names = state.durable_names.clone();
        let survivors = random.below(state.pending_names.len() as u64 + 1) as usize;
        for change in &state.pending_names[..survivors] {
            names.apply(change);
        }
        for change in &state.pending_names[survivors..] {
            see(match change {
                NameChange::Rename { .. } => "renames lost",
                _ => "directory entries lost",
            });
        }

        let mut files = BTreeMap::new();
        for &number in names.files.values() {
            let file = &state.files[&number];
            let mut image = file.durable.clone();
            let mut in_flight = file.in_flight.clone();
            // Crashes differ: in some nearly all writes reached the device, in some nearly none.
            let kept_of_8 = random.below(9);
            let mut lost = false;
            for change in &file.pending {
                if random.below(8) < kept_of_8 {
                    image.apply(change, block_bytes);
                    if lost {
                        see("writes reordered");
                    }
                    continue;
                }
                lost = true;
                match change {
                    Change::Write { offset, bytes, untorn } if !untorn && !state.facts.copy_on_write => {
                        let (kept, sectors) = image.apply_torn(*offset, bytes, sector_bytes, block_bytes, &mut random);
                        in_flight.add(*offset..*offset + bytes.len() as u64);
                        if kept > 0 && kept < sectors {
                            see(if sector_bytes == 512 { "writes torn at 512" } else { "writes torn at 4096" });
                        } else if kept == 0 {
                            see("writes lost");
                        }
                    }
                    Change::Write { .. } => see("writes lost"),
                    Change::Punch { .. } | Change::Zero { .. } => see("punches lost"),
                    Change::SetLen(_) | Change::Allocate { .. } => see("lengths lost"),
                }
            }
            files.insert(number, FileState { volatile: image.clone(), durable: image, pending: Vec::new(), in_flight });
        }
        let next = state.successor(random, seen);
        SimDisk::from_state(State { durable_names: names.clone(), names, files, ..next })
    }

    /// An independent copy of the disk as it is, nothing lost.
    pub fn duplicate(&self) -> SimDisk {
        let state = self.state.lock();
        let next = state.successor(state.random.clone(), Seen::new());
        SimDisk::from_state(State {
            names: state.names.clone(),
            durable_names: state.durable_names.clone(),
            pending_names: state.pending_names.clone(),
            files: state.files.clone(),
            ..next
        })
    }

    /// The length of a file; 0 if there is none.
    pub fn file_bytes(&self, path: &str) -> u64 {
        let state = self.state.lock();
        state.names.files.get(path).map_or(0, |number| state.files[number].volatile.bytes)
    }

    /// Whether a write to these bytes of a file was interrupted, by a crash or half way, and none has replaced it since:
    /// nothing but that may leave a page of them torn.
    pub fn was_in_flight(&self, path: &str, bytes: Range<u64>) -> bool {
        let state = self.state.lock();
        state.names.files.get(path).is_some_and(|number| state.files[number].in_flight.meets(&bytes))
    }

    /// Where a file has blocks that were written, in order.
    pub fn written_blocks(&self, path: &str) -> Vec<u64> {
        let state = self.state.lock();
        let Some(number) = state.names.files.get(path) else { return Vec::new() };
        state.files[number].volatile.written_blocks(state.block_bytes).collect()
    }

    // Damage at rest

    /// Flips bits, in both images. False in a hole, where there are none.
    pub fn flip(&self, path: &str, offset: u64, mask: u8) -> bool {
        self.at_rest(path, |image, block_bytes| image.flip(offset, mask, block_bytes))
    }

    /// Copies the content of one place of a file to another one: a write that was misdirected earlier.
    pub fn misplace(&self, path: &str, from: u64, to: u64, bytes: usize) {
        self.at_rest(path, |image, block_bytes| {
            let mut content = vec![0; bytes];
            image.read(from, &mut content, block_bytes);
            image.apply(&Change::Write { offset: to, bytes: content, untorn: false }, block_bytes);
        });
    }

    /// Makes a hole: a write that never reached the device.
    pub fn erase(&self, path: &str, offset: u64, bytes: u64) {
        self.at_rest(path, |image, block_bytes| image.apply(&Change::Punch { offset, bytes }, block_bytes));
    }

    fn at_rest<T>(&self, path: &str, mut change: impl FnMut(&mut Image, usize) -> T) -> T {
        let mut state = self.state.lock();
        let block_bytes = state.block_bytes;
        let number = state.names.files[path];
        let file = state.files.get_mut(&number).expect("a named file");
        change(&mut file.durable, block_bytes);
        change(&mut file.volatile, block_bytes)
    }

    /// Removes a file's name.
    pub fn lose_file(&self, path: &str) {
        let mut state = self.state.lock();
        state.names.files.remove(path);
        state.durable_names.files.remove(path);
    }

    /// Replaces a file by what another disk has under this name: an old copy. False if there is none.
    pub fn copy_file(&self, other: &SimDisk, path: &str) -> bool {
        let copy = {
            let other = other.state.lock();
            let number = other.names.files.get(path);
            number.map(|number| FileState { pending: Vec::new(), ..other.files[number].clone() })
        };
        let mut state = self.state.lock();
        match (copy, state.names.files.get(path).copied()) {
            (Some(copy), Some(number)) => {
                state.files.insert(number, copy);
                true
            }
            _ => false,
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("the simulated disk is gone")
}

fn no_space() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

/// The error of a simulated fault.
fn broken() -> io::Error {
    io::Error::other("simulated I/O error")
}

impl State {
    /// An empty disk on which nothing has happened.
    fn new(random: Random, facts: FileFacts, block_bytes: usize) -> State {
        State {
            random,
            entropy: 0,
            faults: Faults::default(),
            facts,
            block_bytes,
            changes: 0,
            syncs: 0,
            reads: 0,
            writes: 0,
            punches: 0,
            crashed: false,
            locked: false,
            names: Names::default(),
            durable_names: Names::default(),
            pending_names: Vec::new(),
            files: BTreeMap::new(),
            next_file: 1,
            seen: Seen::new(),
        }
    }

    /// An empty disk of the same kind.
    fn successor(&self, random: Random, seen: Seen) -> State {
        State {
            entropy: self.entropy,
            faults: self.faults.of_device(),
            next_file: self.next_file,
            seen,
            ..State::new(random, self.facts, self.block_bytes)
        }
    }

    fn alive(&self) -> io::Result<()> {
        if self.crashed { Err(gone()) } else { Ok(()) }
    }

    fn see(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// True for a fault's share of calls, in 256.
    fn happens(&mut self, of_256: u8) -> bool {
        of_256 > 0 && self.random.below(256) < u64::from(of_256)
    }

    /// Faults that may happen to any call that transfers data, before it does.
    fn begin_transfer(&mut self, clock: &SimClock) -> io::Result<()> {
        self.alive()?;
        if self.happens(self.faults.slow_of_256) {
            self.see("slow calls");
            clock.pass(Duration::from_millis(1 + self.random.below(SLOW_SECONDS * 1000)));
        }
        if self.happens(self.faults.clock_of_256) {
            if self.random.chance(2) {
                self.see("clock stalls");
                clock.stall(self.random.below(STALL_LOOKS));
            } else {
                self.see("wall clock jumps");
                clock.set_wall(self.random.below(2 * WALL_JUMP_SECONDS) as i64 - WALL_JUMP_SECONDS as i64);
            }
        }
        if self.happens(self.faults.interrupted_of_256) {
            self.see("interrupted calls");
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }

    /// How many of `bytes` are transferred at once. A copy-on-write disk takes a write as a whole: ZFS and btrfs put it
    /// into one transaction.
    fn transfer(&mut self, bytes: usize, unit: usize) -> usize {
        if bytes > unit && !self.facts.copy_on_write && self.happens(self.faults.short_of_256) {
            self.see("short transfers");
            let units = bytes.div_ceil(unit) as u64;
            (1 + self.random.below(units - 1) as usize) * unit
        } else {
            bytes
        }
    }

    /// Counts a change. True on the change at which the disk dies: its effect may still survive in part.
    fn change(&mut self) -> io::Result<bool> {
        self.alive()?;
        self.changes += 1;
        self.crashed = self.faults.crash_at.is_some_and(|at| self.changes >= at);
        Ok(self.crashed)
    }

    fn change_name(&mut self, change: NameChange) -> io::Result<()> {
        let dying = self.change()?;
        self.names.apply(&change);
        self.pending_names.push(change);
        if dying { Err(gone()) } else { Ok(()) }
    }

    fn change_file(&mut self, number: u64, change: Change) -> io::Result<()> {
        let dying = self.change()?;
        let block_bytes = self.block_bytes;
        let file = self.files.get_mut(&number).expect("an open file");
        file.volatile.apply(&change, block_bytes);
        file.pending.push(change);
        if dying { Err(gone()) } else { Ok(()) }
    }

    fn used_blocks(&self) -> u64 {
        // Files whose name is removed are kept only for a crash that brings the name back.
        self.names.files.values().map(|number| self.files[number].volatile.block_count() as u64).sum()
    }

    /// Blocks that are still free; plenty where no limit is set.
    fn free_blocks(&self) -> u64 {
        self.faults.capacity_blocks.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.used_blocks()))
    }

    /// How many bytes of a range to be written or reserved fit, from its start on.
    fn fitting(&mut self, number: u64, offset: u64, bytes: u64) -> io::Result<u64> {
        if self.faults.capacity_blocks.is_none() {
            return Ok(bytes);
        }
        let free = self.free_blocks();
        match self.files[&number].volatile.fitting_bytes(offset, bytes, free, self.block_bytes) {
            0 if bytes > 0 => {
                self.see("full disk");
                Err(no_space())
            }
            fitting => Ok(fitting),
        }
    }

    /// A new name needs room in its directory.
    fn room_for_name(&mut self) -> io::Result<()> {
        if self.free_blocks() == 0 {
            self.see("full disk for a name");
            return Err(no_space());
        }
        Ok(())
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &str, mode: OpenMode, caching: Caching) -> io::Result<Arc<dyn File>> {
        let mut state = self.state.lock();
        state.alive()?;
        let known = state.names.files.get(path).copied();
        let number = match (mode, known) {
            (OpenMode::Create, Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (OpenMode::Create, None) => {
                if !state.names.has_directory(super::parent(path)) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                state.room_for_name()?;
                let number = state.next_file;
                state.next_file += 1;
                state.files.insert(number, FileState::default());
                state.change_name(NameChange::Link { path: path.into(), file: number })?;
                number
            }
            (_, Some(number)) => number,
            (_, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(Arc::new(SimFile::new(self.clone(), number, path, mode, caching)))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        let state = self.state.lock();
        state.alive()?;
        Ok(state.names.files.contains_key(path) || state.names.has_directory(path))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        if !state.names.files.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change_name(NameChange::Remove { path: path.into() })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        if !state.names.files.contains_key(from) || !state.names.has_directory(super::parent(to)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change_name(NameChange::Rename { from: from.into(), to: to.into() })
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.names.has_directory(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.room_for_name()?;
        state.change_name(NameChange::MakeDirectory { path: path.into() })
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        if !state.names.has_directory(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if state.names.files.keys().any(|name| super::parent(name) == path) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.change_name(NameChange::RemoveDirectory { path: path.into() })
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirectoryEntry>> {
        let state = self.state.lock();
        state.alive()?;
        if !state.names.has_directory(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let leaf = |name: &str| name.rsplit('/').next().unwrap_or_default().to_string();
        let here = |name: &&String| super::parent(name) == path;
        let files = state.names.files.keys().filter(here).map(|name| (leaf(name), false));
        let directories = state.names.directories.iter().filter(here).map(|name| (leaf(name), true));
        let mut entries: Vec<_> =
            files.chain(directories).map(|(name, is_directory)| DirectoryEntry { name, is_directory }).collect();
        entries.sort();
        Ok(entries)
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.change()? {
            return Err(gone());
        }
        let pending = std::mem::take(&mut state.pending_names);
        for change in pending {
            if change.concerns(path) {
                state.durable_names.apply(&change);
            } else {
                state.pending_names.push(change);
            }
        }
        Ok(())
    }

    fn restrict(&self, path: &str) -> io::Result<()> {
        if self.exists(path)? { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        // A stream of its own, so that these requests do not change which faults happen.
        let mut random = Random::new(state.random.clone().next() ^ state.entropy);
        state.entropy += 1;
        bytes.fill_with(|| random.next() as u8);
        Ok(())
    }

    fn lock(&self) -> io::Result<Box<dyn Send + Sync>> {
        struct Unlock(SimDisk);
        impl Drop for Unlock {
            fn drop(&mut self) {
                self.0.state.lock().locked = false;
            }
        }
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.locked, true) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(Unlock(self.clone())))
    }

    fn clock(&self) -> &dyn Clock {
        &*self.clock
    }
}

#[cfg(test)]
mod tests;
