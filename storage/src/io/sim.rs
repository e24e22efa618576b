//! A disk that lies: the worst that a real one may do between two syncs, from a seed.
//!
//! Every file has two images. Writes change the *volatile* one, which is what reads see, and are remembered; a sync
//! carries them over to the *durable* one. A crash keeps the durable image and, of each remembered write, whatever the
//! seed says: all of it, nothing, some of its sectors, in any order with the others. Names of files live the same double
//! life, except that they survive in order, as in a journal.
//!
//! ```text
//!   write --> volatile ----------------> read
//!                |  remembered
//!     sync       v                         crash
//!   --------> durable  +  a random part of what was remembered  --> image of the next life
//! ```
//!
//! Faults are set in [`Faults`]: a crash at the n-th change, short reads and writes, a sync that fails once and forgets
//! what it was to write (as Linux does), a full disk, a filesystem that cannot punch.
//!
//! The same seed and the same calls give the same bytes. The disk does not know who calls, so it is only as
//! deterministic as its single-threaded user.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{Caching, Clock, DirectoryEntry, Disk, File, FileFacts, OpenMode, Punching};
use crate::sync::{Mutex, Rank};

/// What goes wrong, and when. All counts are of changing calls: writes, syncs, punches, names.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The disk is gone from this change on: it fails, and so does everything after it.
    pub crash_at: Option<u64>,
    /// This sync (counted from 1, of files) fails once, and what it was to make durable never will be.
    pub failing_sync: Option<u64>,
    /// Blocks on the device in all.
    pub capacity_blocks: Option<u64>,
    /// Of 256 reads and writes, how many transfer only a part.
    pub short_of_256: u8,
    /// Writes are torn at this unit: 512 or 4096.
    pub sector_bytes: usize,
    /// Punching a hole is not supported.
    pub no_punch: bool,
    /// Untorn writes are refused, whatever the facts say.
    pub no_untorn: bool,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults {
            crash_at: None,
            failing_sync: None,
            capacity_blocks: None,
            short_of_256: 0,
            sector_bytes: 512,
            no_punch: false,
            no_untorn: false,
        }
    }
}

/// A simulated disk. Clones are the same disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    clock: Arc<SimClock>,
}

struct State {
    random: Random,
    /// How often somebody asked for random bytes.
    entropy: u64,
    faults: Faults,
    block_bytes: usize,
    facts: FileFacts,
    changes: u64,
    syncs: u64,
    crashed: bool,
    locked: bool,
    names: Names,
    durable_names: Names,
    /// What happened to names since the last sync of their directory, in order.
    pending_names: Vec<NameChange>,
    /// By number, as inodes: a removed file lives on for those who have it open.
    files: BTreeMap<u64, FileState>,
    next_file: u64,
}

#[derive(Clone, Default)]
struct Names {
    files: BTreeMap<String, u64>,
    directories: BTreeSet<String>,
}

#[derive(Clone)]
enum NameChange {
    Link { path: String, file: u64 },
    Remove { path: String },
    Rename { from: String, to: String },
    MakeDirectory { path: String },
    RemoveDirectory { path: String },
}

#[derive(Clone, Default)]
struct FileState {
    volatile: Image,
    durable: Image,
    pending: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write { offset: u64, bytes: Vec<u8>, untorn: bool },
    SetLen(u64),
    Allocate { offset: u64, bytes: u64 },
    Punch { offset: u64, bytes: u64 },
}

/// A sparse file: blocks that are missing are holes.
#[derive(Clone, Default)]
struct Image {
    bytes: u64,
    blocks: BTreeMap<u64, Box<[u8]>>,
}

/// Random numbers from a seed (xorshift64*): enough to be unfair.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        // Small seeds differ in few bits; spread them (splitmix64), and never be zero.
        let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Random((mixed ^ (mixed >> 31)) | 1)
    }

    #[allow(clippy::should_implement_trait)] // An endless source is no collection.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }

    pub fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

impl SimDisk {
    pub fn new(seed: u64) -> SimDisk {
        SimDisk::with_blocks(seed, 4096)
    }

    /// `block_bytes` is the filesystem's block: 512, 1024 or 4096.
    pub fn with_blocks(seed: u64, block_bytes: usize) -> SimDisk {
        SimDisk::from_state(State {
            random: Random::new(seed),
            entropy: 0,
            faults: Faults::default(),
            block_bytes,
            facts: FileFacts {
                filesystem: "sim",
                block_bytes,
                copy_on_write: false,
                atomic_write: None,
                punching: Punching::Frees,
            },
            changes: 0,
            syncs: 0,
            crashed: false,
            locked: false,
            names: Names::default(),
            durable_names: Names::default(),
            pending_names: Vec::new(),
            files: BTreeMap::new(),
            next_file: 1,
        })
    }

    fn from_state(state: State) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(Rank::Leaf, state)), clock: Arc::new(SimClock::new()) }
    }

    pub fn set_faults(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.state.lock().faults);
    }

    /// What files say of themselves. A disk that says more than the block's size also keeps to it: untorn writes are not
    /// torn, copy-on-write tears nothing at all.
    pub fn set_facts(&self, change: impl FnOnce(&mut FileFacts)) {
        change(&mut self.state.lock().facts);
    }

    /// Changing calls so far: a crash point is drawn below it.
    pub fn changes(&self) -> u64 {
        self.state.lock().changes
    }

    /// Syncs of files so far.
    pub fn syncs(&self) -> u64 {
        self.state.lock().syncs
    }

    /// Blocks that files occupy.
    pub fn used_blocks(&self) -> u64 {
        self.state.lock().used_blocks()
    }

    pub fn is_crashed(&self) -> bool {
        self.state.lock().crashed
    }

    /// What a new machine finds after the power went: a disk without faults. This disk is dead from here on.
    pub fn crash(&self) -> SimDisk {
        let mut state = self.state.lock();
        state.crashed = true;
        let mut random = Random::new(state.random.next());
        let sector_bytes = state.faults.sector_bytes;
        let block_bytes = state.block_bytes;

        let mut names = state.durable_names.clone();
        let survivors = random.below(state.pending_names.len() as u64 + 1) as usize;
        for change in &state.pending_names[..survivors] {
            names.apply(change);
        }

        let mut files = BTreeMap::new();
        for &number in names.files.values() {
            let file = &state.files[&number];
            let mut image = file.durable.clone();
            // Whole crashes differ in character: in some nearly all reached the device, in some nearly nothing.
            let kept_of_8 = random.below(9);
            for change in &file.pending {
                if random.below(8) < kept_of_8 {
                    image.apply(change, block_bytes);
                } else if let Change::Write { offset, bytes, untorn: false } = change {
                    image.apply_torn(*offset, bytes, sector_bytes, block_bytes, &mut random);
                }
            }
            files.insert(number, FileState { volatile: image.clone(), durable: image, pending: Vec::new() });
        }
        SimDisk::from_state(State {
            random,
            entropy: state.entropy,
            faults: Faults { sector_bytes, ..Faults::default() },
            block_bytes,
            facts: state.facts,
            changes: 0,
            syncs: 0,
            crashed: false,
            locked: false,
            durable_names: names.clone(),
            names,
            pending_names: Vec::new(),
            files,
            next_file: state.next_file,
        })
    }

    /// An independent copy of the disk as it is, nothing lost.
    pub fn duplicate(&self) -> SimDisk {
        let state = self.state.lock();
        SimDisk::from_state(State {
            random: state.random.clone(),
            entropy: state.entropy,
            faults: Faults { sector_bytes: state.faults.sector_bytes, ..Faults::default() },
            block_bytes: state.block_bytes,
            facts: state.facts,
            changes: 0,
            syncs: 0,
            crashed: false,
            locked: false,
            names: state.names.clone(),
            durable_names: state.durable_names.clone(),
            pending_names: state.pending_names.clone(),
            files: state.files.clone(),
            next_file: state.next_file,
        })
    }

    /// The length of a file; 0 if there is none.
    pub fn file_bytes(&self, path: &str) -> u64 {
        let state = self.state.lock();
        state.names.files.get(path).map_or(0, |number| state.files[number].volatile.bytes)
    }

    /// Flips bits at rest, in both images.
    pub fn corrupt(&self, path: &str, offset: u64, mask: u8) {
        let mut state = self.state.lock();
        let block_bytes = state.block_bytes as u64;
        let number = state.names.files[path];
        let file = state.files.get_mut(&number).expect("a named file");
        for image in [&mut file.volatile, &mut file.durable] {
            if let Some(block) = image.blocks.get_mut(&(offset / block_bytes)) {
                block[(offset % block_bytes) as usize] ^= mask;
            }
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("the simulated disk is gone")
}

fn no_space() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

impl State {
    fn alive(&self) -> io::Result<()> {
        if self.crashed { Err(gone()) } else { Ok(()) }
    }

    /// Counts a change. On the change at which the disk dies, true: it has still an effect that may survive in part.
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
        // Files whose name is gone are only kept for a crash that brings the name back.
        self.names.files.values().map(|number| self.files[number].volatile.blocks.len() as u64).sum()
    }

    fn has_room(&self, number: u64, offset: u64, bytes: u64) -> bool {
        let Some(capacity) = self.faults.capacity_blocks else { return true };
        let used = self.used_blocks();
        let wanted = self.files[&number].volatile.missing_blocks(offset, bytes, self.block_bytes);
        used + wanted <= capacity || wanted == 0
    }

    fn transfer(&mut self, bytes: usize) -> usize {
        if bytes > 1 && self.random.below(256) < u64::from(self.faults.short_of_256) {
            1 + self.random.below(bytes as u64 - 1) as usize
        } else {
            bytes
        }
    }
}

impl Names {
    fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Link { path, file } => {
                self.files.insert(path.clone(), *file);
            }
            NameChange::Remove { path } => {
                self.files.remove(path);
            }
            NameChange::Rename { from, to } => {
                if let Some(file) = self.files.remove(from) {
                    self.files.insert(to.clone(), file);
                }
            }
            NameChange::MakeDirectory { path } => {
                self.directories.insert(path.clone());
            }
            NameChange::RemoveDirectory { path } => {
                self.directories.remove(path);
            }
        }
    }

    fn has_directory(&self, path: &str) -> bool {
        path.is_empty() || self.directories.contains(path)
    }
}

impl NameChange {
    fn concerns(&self, directory: &str) -> bool {
        match self {
            NameChange::Rename { from, to } => super::parent(from) == directory || super::parent(to) == directory,
            NameChange::Link { path, .. }
            | NameChange::Remove { path }
            | NameChange::MakeDirectory { path }
            | NameChange::RemoveDirectory { path } => super::parent(path) == directory,
        }
    }
}

impl Image {
    fn block_range(offset: u64, bytes: u64, block_bytes: usize) -> std::ops::Range<u64> {
        offset / block_bytes as u64..(offset + bytes).div_ceil(block_bytes as u64)
    }

    fn missing_blocks(&self, offset: u64, bytes: u64, block_bytes: usize) -> u64 {
        Image::block_range(offset, bytes, block_bytes).filter(|block| !self.blocks.contains_key(block)).count() as u64
    }

    fn apply(&mut self, change: &Change, block_bytes: usize) {
        match *change {
            Change::Write { offset, ref bytes, .. } => self.write(offset, bytes, block_bytes),
            Change::SetLen(bytes) => {
                self.blocks.retain(|&block, _| block * (block_bytes as u64) < bytes);
                let cut = (bytes % block_bytes as u64) as usize;
                if bytes < self.bytes
                    && cut > 0
                    && let Some(block) = self.blocks.get_mut(&(bytes / block_bytes as u64))
                {
                    block[cut..].fill(0);
                }
                self.bytes = bytes;
            }
            Change::Allocate { offset, bytes } => {
                for block in Image::block_range(offset, bytes, block_bytes) {
                    self.blocks.entry(block).or_insert_with(|| vec![0; block_bytes].into());
                }
                self.bytes = self.bytes.max(offset + bytes);
            }
            Change::Punch { offset, bytes } => {
                let end = offset + bytes;
                for block in Image::block_range(offset, bytes, block_bytes) {
                    let start = block * block_bytes as u64;
                    if start >= offset && start + block_bytes as u64 <= end {
                        self.blocks.remove(&block);
                    } else if let Some(content) = self.blocks.get_mut(&block) {
                        let from = offset.saturating_sub(start) as usize;
                        let to = (end - start).min(block_bytes as u64) as usize;
                        content[from..to].fill(0);
                    }
                }
            }
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8], block_bytes: usize) {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let start = (at % block_bytes as u64) as usize;
            let count = (block_bytes - start).min(bytes.len() - done);
            let block =
                self.blocks.entry(at / block_bytes as u64).or_insert_with(|| vec![0; block_bytes].into_boxed_slice());
            block[start..start + count].copy_from_slice(&bytes[done..done + count]);
            done += count;
        }
        self.bytes = self.bytes.max(offset + bytes.len() as u64);
    }

    /// Some sectors of a write, as the seed wants: none, those before a point, those after it, or any.
    fn apply_torn(&mut self, offset: u64, bytes: &[u8], sector: usize, block_bytes: usize, random: &mut Random) {
        let sectors = bytes.len().div_ceil(sector).max(1);
        let point = random.below(sectors as u64 + 1) as usize;
        let kind = random.below(4);
        for index in 0..sectors {
            let kept = match kind {
                0 => false,
                1 => index < point,
                2 => index >= point,
                _ => random.chance(2),
            };
            if kept {
                let range = index * sector..((index + 1) * sector).min(bytes.len());
                self.write(offset + range.start as u64, &bytes[range], block_bytes);
            }
        }
    }

    fn read(&self, offset: u64, buffer: &mut [u8], block_bytes: usize) -> usize {
        let count = self.bytes.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let mut done = 0;
        while done < count {
            let at = offset + done as u64;
            let start = (at % block_bytes as u64) as usize;
            let part = (block_bytes - start).min(count - done);
            match self.blocks.get(&(at / block_bytes as u64)) {
                Some(block) => buffer[done..done + part].copy_from_slice(&block[start..start + part]),
                None => buffer[done..done + part].fill(0),
            }
            done += part;
        }
        count
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &str, mode: OpenMode, _: Caching) -> io::Result<Arc<dyn File>> {
        let mut state = self.state.lock();
        state.alive()?;
        let known = state.names.files.get(path).copied();
        let number = match (mode, known) {
            (OpenMode::Create, Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (OpenMode::Create, None) => {
                if !state.names.has_directory(super::parent(path)) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                let number = state.next_file;
                state.next_file += 1;
                state.files.insert(number, FileState::default());
                state.change_name(NameChange::Link { path: path.into(), file: number })?;
                number
            }
            (_, Some(number)) => number,
            (_, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(Arc::new(SimFile { disk: self.clone(), number }))
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
        // A stream of its own, so that who asks does not change what goes wrong with the disk.
        let mut random = Random::new(state.random.0 ^ state.entropy);
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

struct SimFile {
    disk: SimDisk,
    number: u64,
}

impl File for SimFile {
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        let count = state.transfer(buffer.len());
        let block_bytes = state.block_bytes;
        Ok(state.files[&self.number].volatile.read(offset, &mut buffer[..count], block_bytes))
    }

    fn write_some(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        let count = state.transfer(bytes.len());
        if !state.has_room(self.number, offset, count as u64) {
            return Err(no_space());
        }
        let untorn = state.facts.copy_on_write;
        state.change_file(self.number, Change::Write { offset, bytes: bytes[..count].to_vec(), untorn })?;
        Ok(count)
    }

    fn write_untorn(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        let Some((min, max)) = state.facts.atomic_write.filter(|_| !state.faults.no_untorn) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let natural = bytes.len().is_power_of_two() && offset.is_multiple_of(bytes.len() as u64);
        if !natural || !(min..=max).contains(&bytes.len()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if !state.has_room(self.number, offset, bytes.len() as u64) {
            return Err(no_space());
        }
        state.change_file(self.number, Change::Write { offset, bytes: bytes.to_vec(), untorn: true })
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        if state.change()? {
            return Err(gone());
        }
        state.syncs += 1;
        let fails = state.faults.failing_sync == Some(state.syncs);
        let block_bytes = state.block_bytes;
        let mut random = state.random.clone();
        let file = state.files.get_mut(&self.number).expect("an open file");
        for change in std::mem::take(&mut file.pending) {
            if !fails || random.chance(2) {
                file.durable.apply(&change, block_bytes);
            }
        }
        state.random = random;
        if fails { Err(io::Error::other("simulated I/O error")) } else { Ok(()) }
    }

    fn len(&self) -> io::Result<u64> {
        let state = self.disk.state.lock();
        state.alive()?;
        Ok(state.files[&self.number].volatile.bytes)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.disk.state.lock().change_file(self.number, Change::SetLen(bytes))
    }

    fn allocate(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        if !state.has_room(self.number, offset, bytes) {
            return Err(no_space());
        }
        state.change_file(self.number, Change::Allocate { offset, bytes })
    }

    fn punch_hole(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        if state.faults.no_punch {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if state.facts.punching == Punching::FreesNothing {
            // The bytes read as zero, and stay allocated.
            let end = (offset + bytes).min(state.files[&self.number].volatile.bytes);
            let zeros = vec![0; end.saturating_sub(offset) as usize];
            return state.change_file(self.number, Change::Write { offset, bytes: zeros, untorn: false });
        }
        state.change_file(self.number, Change::Punch { offset, bytes })
    }

    fn facts(&self) -> io::Result<FileFacts> {
        let state = self.disk.state.lock();
        state.alive()?;
        Ok(state.facts)
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        let state = self.disk.state.lock();
        Ok((state.files[&self.number].volatile.blocks.len() * state.block_bytes) as u64)
    }

    fn data_end(&self, offset: u64, bytes: u64) -> io::Result<u64> {
        let state = self.disk.state.lock();
        state.alive()?;
        let block_bytes = state.block_bytes as u64;
        let image = &state.files[&self.number].volatile;
        let end = (offset + bytes).min(image.bytes);
        let last = image.blocks.range(offset / block_bytes..end.div_ceil(block_bytes).max(offset / block_bytes));
        Ok(last.last().map_or(offset, |(&block, _)| ((block + 1) * block_bytes).clamp(offset, offset + bytes)))
    }
}

/// A clock that moves a little each time somebody looks at it.
struct SimClock {
    micros: std::sync::atomic::AtomicU64,
}

impl SimClock {
    fn new() -> SimClock {
        SimClock { micros: std::sync::atomic::AtomicU64::new(1) }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Duration {
        Duration::from_micros(self.micros.fetch_add(10, std::sync::atomic::Ordering::Relaxed))
    }

    fn wall(&self) -> Duration {
        // The simulated world begins on 2024-01-01.
        Duration::from_secs(1_704_067_200) + self.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_synced_survives_and_the_rest_may() {
        let mut seen_old = 0;
        let mut seen_new = 0;
        let mut seen_torn = 0;
        for seed in 0..200 {
            let disk = SimDisk::new(seed);
            let file = disk.open("a", OpenMode::Create, Caching::Cached).unwrap();
            disk.sync_directory("").unwrap();
            file.write_at(0, &[1; 8192]).unwrap();
            file.sync().unwrap();
            file.write_at(0, &[2; 4096]).unwrap();
            let after = disk.crash();
            assert!(file.write_at(0, &[3]).is_err());
            let file = after.open("a", OpenMode::Read, Caching::Cached).unwrap();
            let mut bytes = [0; 8192];
            assert_eq!(file.read_at(0, &mut bytes).unwrap(), 8192);
            assert!(bytes[4096..].iter().all(|&byte| byte == 1));
            let new = bytes[..4096].iter().filter(|&&byte| byte == 2).count();
            assert_eq!(new % 512, 0);
            match new {
                0 => seen_old += 1,
                4096 => seen_new += 1,
                _ => seen_torn += 1,
            }
        }
        assert!(seen_old > 10 && seen_new > 10 && seen_torn > 10);
    }

    #[test]
    fn names_survive_in_order() {
        for seed in 0..50 {
            let disk = SimDisk::new(seed);
            disk.open("a", OpenMode::Create, Caching::Cached).unwrap();
            disk.sync_directory("").unwrap();
            disk.rename("a", "b").unwrap();
            disk.open("c", OpenMode::Create, Caching::Cached).unwrap();
            let after = disk.crash();
            let names: Vec<_> = after.list("").unwrap().into_iter().map(|entry| entry.name).collect();
            assert!(["a", "b", "b c"].contains(&names.join(" ").as_str()), "{names:?}");
        }
    }

    #[test]
    fn a_full_disk_says_so() {
        let disk = SimDisk::new(1);
        disk.set_faults(|faults| faults.capacity_blocks = Some(2));
        let file = disk.open("a", OpenMode::Create, Caching::Cached).unwrap();
        file.write_at(0, &[1; 8192]).unwrap();
        file.write_at(0, &[2; 8192]).unwrap();
        assert_eq!(file.write_at(8192, &[1]).unwrap_err().kind(), io::ErrorKind::StorageFull);
        file.punch_hole(0, 4096).unwrap();
        assert_eq!(file.data_end(0, 8192).unwrap(), 8192);
        assert_eq!(file.allocated_bytes().unwrap(), 4096);
        file.write_at(8192, &[1]).unwrap();
    }
}
