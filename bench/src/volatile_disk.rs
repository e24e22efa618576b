//! A disk with a volatile cache, whose power can be cut, under a real filesystem.
//!
//! ```text
//!   glassine ── filesystem ── loop device ── one file ── FUSE ── this module
//!                                                                 │
//!               cache: sector -> versions since the last flush ───┤
//!               image file: what the platters hold ───────────────┘
//! ```
//!
//! A write is answered when it is in the cache. A flush (the filesystem's own, for an
//! fsync or its journal, passed on by the loop device as FSYNC) moves the cache to the
//! image. A power cut keeps, of every sector in the cache, a random one of its
//! versions or none of them: writes since the last flush are lost, kept or reordered
//! sector by sector, and a write that spans several sectors is torn. That is all that
//! a correct disk may do to its user, and more than copying an image file shows,
//! because a copy keeps every write that was answered.
//!
//! Most of the time the cache is empty: servers flush what they write. A cut at a
//! random moment would seldom hit anything, so [`VolatileDisk::cut`] waits until
//! the cache holds a wanted number of sectors, right behind a write.
//!
//! After the cut the old mount may go on (it must, to be unmounted): what it writes
//! stays in the cache and is thrown away.
//!
//! The kernel's FUSE protocol is spoken here by hand, for the handful of requests that
//! a single regular file gets; the root of the filesystem *is* that file, so there are
//! no names. `mount(8)` gets the device as its standard input.
//!
//! Not here: the privilege to mount (see [`crate::mounts`]), and disks that lie about a flush.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;

/// What the disk writes whole: a modern disk's physical sector.
const SECTOR: usize = 4096;
/// The cache destages by itself at this size, as a disk may at any time.
const CACHE_BYTES_MAX: usize = 256 << 20;
/// The largest write in one request.
const WRITE_BYTES_MAX: u32 = 1 << 20;

/// The disk, mounted as a regular file.
pub struct VolatileDisk {
    /// The file that a loop device can be put on.
    pub path: PathBuf,
    shared: Arc<Shared>,
    server: Option<JoinHandle<()>>,
}

/// What a power cut did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cut {
    /// Sectors that were only in the cache.
    pub cached: usize,
    /// Of these, sectors that kept what was there before the last flush.
    pub lost: usize,
    /// Of these, sectors that kept an older one of several writes.
    pub older: usize,
}

struct Shared {
    state: Mutex<State>,
    /// Told when an armed cut has happened.
    done: Condvar,
}

/// A cut that waits for its moment.
struct Armed {
    sectors: usize,
    random: StdRng,
    at_cut: Box<dyn FnOnce() + Send>,
}

struct State {
    image: File,
    bytes: u64,
    cache: BTreeMap<u64, Vec<Vec<u8>>>,
    cached_bytes: usize,
    armed: Option<Armed>,
    /// What a cut left of the cache: applied when the disk is taken down.
    survivors: Option<BTreeMap<u64, Vec<u8>>>,
    cut: Option<Cut>,
    flushes: u64,
    writes: u64,
}

impl VolatileDisk {
    /// Serves `image` as the file `path` (created empty, to be mounted over).
    pub fn mount(image: &Path, path: &Path) -> io::Result<VolatileDisk> {
        let image = File::options().read(true).write(true).open(image)?;
        let bytes = image.metadata()?.len();
        File::create(path)?;
        let device = File::options().read(true).write(true).open("/dev/fuse")?;
        let status = Command::new("mount")
            .args(["-i", "-t", "fuse", "-o", "fd=0,rootmode=100000,user_id=0,group_id=0", "volatile-disk"])
            .arg(path)
            .stdin(Stdio::from(device.try_clone()?))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(io::Error::other("FUSE cannot be mounted here"));
        }
        let shared = Arc::new(Shared { state: Mutex::new(State::new(image, bytes)), done: Condvar::new() });
        let served = shared.clone();
        let server = thread::spawn(move || serve(&device, &served));
        Ok(VolatileDisk { path: path.to_path_buf(), shared, server: Some(server) })
    }

    /// Cuts the power behind the write that brings the cache to `sectors`, or after `patience` if that does not come.
    /// What survives is decided then, and `at_cut` is called while this disk answers no request.
    pub fn cut(&self, sectors: usize, patience: Duration, random: StdRng, at_cut: Box<dyn FnOnce() + Send>) -> Cut {
        let mut state = self.shared.lock();
        state.armed = Some(Armed { sectors, random, at_cut });
        let waited = self.shared.done.wait_timeout_while(state, patience, |state| state.cut.is_none());
        let (mut state, _) = waited.unwrap_or_else(|poison| poison.into_inner());
        state.cut_now();
        state.cut.unwrap_or_default()
    }

    /// Flushes and writes so far.
    pub fn traffic(&self) -> (u64, u64) {
        let state = self.shared.lock();
        (state.flushes, state.writes)
    }

    /// Takes the disk down; no process may have it open. The image then holds what survived.
    pub fn unmount(mut self) -> io::Result<()> {
        self.take_down();
        let mut state = self.shared.lock();
        match state.survivors.take() {
            Some(survivors) => {
                for (sector, data) in survivors {
                    state.image.write_all_at(&data, sector * SECTOR as u64)?;
                }
            }
            None => state.flush()?,
        }
        state.image.sync_all()
    }

    fn take_down(&mut self) {
        let Some(server) = self.server.take() else { return };
        // A loop device closes its file a moment after it was told to.
        for last in (0..100).rev() {
            let mut umount = Command::new("umount");
            if last == 0 {
                umount.arg("-l");
            }
            let unmounted = umount.arg(&self.path).stderr(Stdio::null()).status();
            if unmounted.is_ok_and(|status| status.success()) {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let _ = server.join(); // It ends when the kernel has gone; if it panicked, its message is printed already.
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for VolatileDisk {
    fn drop(&mut self) {
        self.take_down();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl State {
    fn new(image: File, bytes: u64) -> State {
        State {
            image,
            bytes,
            cache: BTreeMap::new(),
            cached_bytes: 0,
            armed: None,
            survivors: None,
            cut: None,
            flushes: 0,
            writes: 0,
        }
    }

    fn read(&self, offset: u64, size: usize) -> io::Result<Vec<u8>> {
        let size = size.min(self.bytes.saturating_sub(offset) as usize);
        let mut data = vec![0; size];
        self.image.read_exact_at(&mut data, offset)?;
        let (first, last) = (offset / SECTOR as u64, (offset + size as u64).div_ceil(SECTOR as u64));
        for (&sector, versions) in self.cache.range(first..last) {
            let Some(newest) = versions.last() else { continue };
            let start = sector * SECTOR as u64;
            let (from, to) = (start.max(offset), (start + SECTOR as u64).min(offset + size as u64));
            data[(from - offset) as usize..(to - offset) as usize]
                .copy_from_slice(&newest[(from - start) as usize..(to - start) as usize]);
        }
        Ok(data)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.writes += 1;
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let sector = at / SECTOR as u64;
            let within = (at % SECTOR as u64) as usize;
            let count = (SECTOR - within).min(data.len() - done);
            let mut version =
                if count == SECTOR { vec![0; SECTOR] } else { self.read(sector * SECTOR as u64, SECTOR)? };
            version.resize(SECTOR, 0);
            version[within..within + count].copy_from_slice(&data[done..done + count]);
            self.cache.entry(sector).or_default().push(version);
            self.cached_bytes += SECTOR;
            done += count;
        }
        if self.cached_bytes > CACHE_BYTES_MAX && self.survivors.is_none() {
            self.destage()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushes += 1;
        // After the cut there is no power to write with.
        if self.survivors.is_some() { Ok(()) } else { self.destage() }
    }

    fn destage(&mut self) -> io::Result<()> {
        for (sector, versions) in std::mem::take(&mut self.cache) {
            if let Some(newest) = versions.last() {
                self.image.write_all_at(newest, sector * SECTOR as u64)?;
            }
        }
        self.cached_bytes = 0;
        Ok(())
    }

    /// The armed cut, if it has not happened yet.
    fn cut_now(&mut self) {
        let Some(Armed { mut random, at_cut, .. }) = self.armed.take() else { return };
        at_cut();
        let mut cut = Cut::default();
        let mut survivors = BTreeMap::new();
        // Some cuts lose nearly all, some nearly nothing.
        let kept: f64 = [0.05, 0.5, 0.95][random.random_range(0..3)];
        for (&sector, versions) in &self.cache {
            cut.cached += 1;
            if !random.random_bool(kept) {
                cut.lost += 1;
                continue;
            }
            let newest = versions.len() - 1;
            let chosen = if random.random_bool(0.5) { newest } else { random.random_range(0..=newest) };
            cut.older += usize::from(chosen < newest);
            survivors.insert(sector, versions[chosen].clone());
        }
        self.survivors = Some(survivors);
        self.cut = Some(cut);
    }
}

// --- The FUSE protocol ----------------------------------------------------------------------------------------------

const HEADER_IN: usize = 40;
const EIO: i32 = 5;
const ENOSYS: i32 = 38;

/// Requests by their numbers in linux/fuse.h.
mod operation {
    pub const FORGET: u32 = 2;
    pub const GETATTR: u32 = 3;
    pub const OPEN: u32 = 14;
    pub const READ: u32 = 15;
    pub const WRITE: u32 = 16;
    pub const STATFS: u32 = 17;
    pub const RELEASE: u32 = 18;
    pub const FSYNC: u32 = 20;
    pub const FLUSH: u32 = 25;
    pub const INIT: u32 = 26;
    pub const INTERRUPT: u32 = 36;
    pub const DESTROY: u32 = 38;
    pub const BATCH_FORGET: u32 = 42;
}

/// Answers requests until the filesystem is unmounted.
fn serve(mut device: &File, shared: &Shared) {
    let mut request = vec![0; WRITE_BYTES_MAX as usize + 4096];
    loop {
        let bytes = match device.read(&mut request) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // ENOENT: a request was taken back before we read it.
            Err(error) if error.raw_os_error() == Some(2) => continue,
            Err(_) => return, // ENODEV: unmounted.
        };
        if bytes < HEADER_IN {
            return;
        }
        let unique = u64_at(&request, 8);
        let answer = match u32_at(&request, 4) {
            operation::FORGET | operation::BATCH_FORGET | operation::INTERRUPT => continue,
            code => handle(code, &request[HEADER_IN..bytes], shared),
        };
        let (error, body) = match answer {
            Ok(body) => (0, body),
            Err(errno) => (-errno, Vec::new()),
        };
        let mut reply = Vec::with_capacity(16 + body.len());
        reply.extend_from_slice(&(16 + body.len() as u32).to_le_bytes());
        reply.extend_from_slice(&error.to_le_bytes());
        reply.extend_from_slice(&unique.to_le_bytes());
        reply.extend_from_slice(&body);
        // ENOENT here: the asker was killed meanwhile.
        let _ = device.write(&reply);
    }
}

fn handle(code: u32, body: &[u8], shared: &Shared) -> Result<Vec<u8>, i32> {
    let mut state = shared.lock();
    let failed = |_: io::Error| EIO;
    match code {
        operation::INIT => Ok(init(u32_at(body, 4))),
        operation::GETATTR => Ok(attributes(state.bytes)),
        // FOPEN_DIRECT_IO and FOPEN_PARALLEL_DIRECT_WRITES: no cache but ours.
        operation::OPEN => Ok(words(&[0, 0, 1 | 1 << 6, 0])),
        operation::READ => state.read(u64_at(body, 8), u32_at(body, 16) as usize).map_err(failed),
        operation::WRITE => {
            let size = u32_at(body, 16);
            let data = body.get(40..40 + size as usize).ok_or(EIO)?;
            state.write(u64_at(body, 8), data).map_err(failed)?;
            if state.armed.as_ref().is_some_and(|armed| state.cache.len() >= armed.sectors) {
                state.cut_now();
                shared.done.notify_all();
            }
            Ok(words(&[size, 0]))
        }
        operation::FSYNC => state.flush().map(|()| Vec::new()).map_err(failed),
        operation::STATFS => Ok(vec![0; 80]),
        operation::FLUSH | operation::RELEASE | operation::DESTROY => Ok(Vec::new()),
        _ => Err(ENOSYS),
    }
}

fn init(minor: u32) -> Vec<u8> {
    const ASYNC_READ: u32 = 1;
    const BIG_WRITES: u32 = 1 << 5;
    const MAX_PAGES: u32 = 1 << 22;
    let mut out = words(&[7, minor.min(31), 1 << 20, ASYNC_READ | BIG_WRITES | MAX_PAGES]);
    out.extend_from_slice(&64u16.to_le_bytes()); // requests in the background
    out.extend_from_slice(&48u16.to_le_bytes()); // and from when on the kernel is to hold back
    out.extend(words(&[WRITE_BYTES_MAX, 1]));
    out.extend_from_slice(&((WRITE_BYTES_MAX / 4096) as u16).to_le_bytes());
    out.resize(64, 0);
    out
}

/// A regular file of `bytes` that root may read and write.
fn attributes(bytes: u64) -> Vec<u8> {
    let mut out = vec![0; 16]; // Valid for no time: asked again whenever it matters.
    for number in [1, bytes, bytes / 512, 0, 0, 0] {
        out.extend_from_slice(&u64::to_le_bytes(number));
    }
    out.extend(words(&[0, 0, 0, 0o100_600, 1, 0, 0, 0, SECTOR as u32, 0]));
    out
}

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn state(name: &str) -> State {
        let path = std::env::temp_dir().join(format!("volatile-disk-{name}-{}", std::process::id()));
        let image = File::options().create(true).truncate(true).read(true).write(true).open(&path).expect("an image");
        fs::remove_file(&path).expect("a file without a name");
        image.set_len(64 * SECTOR as u64).expect("its size");
        State::new(image, 64 * SECTOR as u64)
    }

    #[test]
    fn reads_see_the_newest_write_in_and_out_of_the_cache() {
        let mut disk = state("reads");
        disk.write(5000, &[1; 10_000]).expect("a write");
        disk.flush().expect("a flush");
        disk.write(6000, &[2; 100]).expect("a write");
        let data = disk.read(4990, 2000).expect("a read");
        let expected: Vec<u8> = (4990..6990)
            .map(|at| {
                if at < 5000 {
                    0
                } else if (6000..6100).contains(&at) {
                    2
                } else {
                    1
                }
            })
            .collect();
        assert_eq!(data, expected);
    }

    #[test]
    fn a_cut_never_touches_what_was_flushed_and_loses_some_of_the_rest() {
        let (mut lost, mut older, mut kept) = (0, 0, 0);
        for seed in 0..20 {
            let mut disk = state("cut");
            disk.write(0, &[1; 32 * SECTOR]).expect("a write");
            disk.flush().expect("a flush");
            disk.write(16 * SECTOR as u64, &[2; 16 * SECTOR]).expect("a write");
            disk.write(16 * SECTOR as u64, &[3; 16 * SECTOR]).expect("a write");
            let random = StdRng::seed_from_u64(seed);
            disk.armed = Some(Armed { sectors: 1, random, at_cut: Box::new(|| ()) });
            disk.cut_now();
            let cut = disk.cut.expect("a cut");
            assert_eq!(cut.cached, 16);
            disk.write(0, &[4; SECTOR]).expect("a write of the dead");
            disk.flush().expect("a flush of the dead");
            let mut image = vec![0; 32 * SECTOR];
            disk.image.read_exact_at(&mut image, 0).expect("the image");
            assert!(image.iter().all(|byte| *byte == 1), "what was flushed has changed");
            let survivors = disk.survivors.expect("survivors");
            assert_eq!(survivors.len(), cut.cached - cut.lost);
            assert!(survivors.keys().all(|sector| (16..32).contains(sector)));
            lost += cut.lost;
            older += cut.older;
            kept += survivors.len();
        }
        assert!(lost > 0 && older > 0 && kept > 0, "{lost} lost, {older} older, {kept} kept");
    }
}
