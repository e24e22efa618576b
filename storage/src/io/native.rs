//! Three services of the Linux kernel that no library of ours wraps: several writes in one call, the extents of a file,
//! and how much a filesystem sets aside for a copy on write.
//!
//! *Asynchronous I/O* (`io_submit`) hands a batch of direct writes to the device at once, so that a batch of pages takes
//! as long as its slowest write and not as their sum, with fewer calls. It is the older of the two interfaces: io_uring
//! could do the same, but is switched off in many containers.
//!
//! *FIEMAP* lists a file's extents, including those that are reserved but not written, which `SEEK_DATA` reports as
//! holes.
//!
//! Invariants:
//!
//! * Every submitted write is waited for before a call returns: memory that the device reads stays borrowed.
//! * The structs are the kernel's; their sizes are checked at compile time.

use std::fs;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::null_mut;

use super::Write;

/// Writes in progress at once, per thread, at most.
const DEPTH: usize = 64;

const COMMAND_WRITE: u16 = 1;
pub const RWF_ATOMIC: u32 = 0x40;

/// The kernel's `struct iocb`, on a machine whose integers are little-endian (`key` and `flags` swap places elsewhere).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Request {
    data: u64,
    key: u32,
    flags: u32,
    command: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    event_flags: u32,
    event_file: u32,
}

/// The kernel's `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    request: u64,
    result: i64,
    result2: i64,
}

const _: () = assert!(size_of::<Request>() == 64 && size_of::<Event>() == 32);
const _: () = assert!(cfg!(target_endian = "little"));

/// A thread's queue of writes.
pub struct WriteQueue {
    context: libc::c_ulong,
    requests: Box<[Request; DEPTH]>,
    /// The kernel's result for each.
    results: Box<[i64; DEPTH]>,
}

impl WriteQueue {
    /// `None` if the kernel or its limits do not allow one.
    pub fn new() -> Option<WriteQueue> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes the context's number to `context`, which lives on this stack.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, DEPTH as libc::c_long, &raw mut context) };
        (result == 0).then(|| WriteQueue {
            context,
            requests: Box::new([Request::default(); DEPTH]),
            results: Box::new([0; DEPTH]),
        })
    }

    /// Performs all writes to a file, which is open as `descriptor`; they are begun in the given order. Writes that the
    /// kernel leaves incomplete are passed to `finish`.
    pub fn write_all(
        &mut self,
        descriptor: RawFd,
        writes: &[Write<'_>],
        finish: impl Fn(&Write<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        for writes in writes.chunks(DEPTH) {
            self.perform(descriptor, writes);
            for (write, &result) in writes.iter().zip(self.results.iter()) {
                if let Some(rest) = rest(write, result)? {
                    finish(&rest)?;
                }
            }
        }
        Ok(())
    }

    /// Submits up to `DEPTH` writes and waits for all of them; fills in `results`.
    fn perform(&mut self, descriptor: RawFd, writes: &[Write<'_>]) {
        for (index, write) in writes.iter().enumerate() {
            self.results[index] = 0;
            self.requests[index] = Request {
                data: index as u64,
                flags: if write.untorn { RWF_ATOMIC } else { 0 },
                command: COMMAND_WRITE,
                file: descriptor as u32,
                buffer: write.bytes.as_ptr() as u64,
                bytes: write.bytes.len() as u64,
                offset: write.offset as i64,
                ..Request::default()
            };
        }
        let mut pointers: [*mut Request; DEPTH] = [null_mut(); DEPTH];
        for (pointer, request) in pointers.iter_mut().zip(self.requests.iter_mut()) {
            *pointer = request;
        }
        let (mut next, mut waiting) = (0, 0);
        while next < writes.len() {
            // SAFETY: the requests point to the bytes of `writes`, which are borrowed until this function returns, and it
            // returns only when `waiting` is 0: everything submitted has completed. The pointers lead to `requests`,
            // which is not moved in between.
            let submitted = unsafe {
                let first = pointers.as_mut_ptr().add(next);
                libc::syscall(libc::SYS_io_submit, self.context, (writes.len() - next) as libc::c_long, first)
            };
            match submitted {
                1.. => {
                    next += submitted as usize;
                    waiting += submitted as usize;
                }
                // The kernel's queue is full now.
                _ if waiting > 0 && last_error() == libc::EAGAIN => {
                    wait(self.context, &mut self.results, &mut waiting, 1)
                }
                // This one cannot be submitted: it has failed, and the others go on.
                _ => {
                    self.results[next] = -i64::from(last_error());
                    next += 1;
                }
            }
        }
        while waiting > 0 {
            let all = waiting;
            wait(self.context, &mut self.results, &mut waiting, all);
        }
    }
}

/// Waits for at least `count` of the writes in progress.
fn wait(context: libc::c_ulong, results: &mut [i64; DEPTH], waiting: &mut usize, count: usize) {
    let mut events = [Event::default(); DEPTH];
    // SAFETY: the kernel writes at most `DEPTH` events into `events`; there is no time limit.
    let completed = unsafe {
        libc::syscall(
            libc::SYS_io_getevents,
            context,
            count as libc::c_long,
            DEPTH as libc::c_long,
            events.as_mut_ptr(),
            null_mut::<libc::timespec>(),
        )
    };
    if completed < 0 {
        // Only a signal ends the wait early. Any other error would mean that the device still reads memory that is
        // about to be freed: the process cannot go on.
        if last_error() != libc::EINTR {
            std::process::abort();
        }
        return;
    }
    for event in &events[..completed as usize] {
        results[event.data as usize] = event.result;
    }
    *waiting -= completed as usize;
}

impl Drop for WriteQueue {
    fn drop(&mut self) {
        // SAFETY: the context is ours, and nothing is under way.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

fn last_error() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Completes a write after the kernel's result: with an ordinary call, which also reports the error, if there is one.
fn rest<'a>(write: &Write<'a>, result: i64) -> io::Result<Option<Write<'a>>> {
    let done = match usize::try_from(result) {
        Ok(bytes) if bytes == write.bytes.len() => return Ok(None),
        // The write must be all or nothing: so it is repeated as a whole.
        Ok(_) if write.untorn => 0,
        Ok(bytes) => bytes,
        Err(_) if [libc::EAGAIN, libc::EINTR, libc::ENOSYS, libc::EPERM].contains(&(-result as i32)) => 0,
        Err(_) => return Err(io::Error::from_raw_os_error(-result as i32)),
    };
    Ok(Some(Write { offset: write.offset + done as u64, bytes: &write.bytes[done..], untorn: write.untorn }))
}

/// The kernel's `struct fiemap`, with room for some extents behind it.
#[repr(C)]
struct ExtentMap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    capacity: u32,
    reserved: u32,
    extents: [Extent; EXTENTS],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

/// A page rarely has more than one or two.
const EXTENTS: usize = 8;

const _: () = assert!(size_of::<Extent>() == 56 && size_of::<ExtentMap>() == 32 + EXTENTS * 56);

/// `FS_IOC_FIEMAP`
const FIEMAP: u32 = 0xC020_660B;

/// The end of the last extent within `[offset, end)`, or `offset` if there is none. `Unsupported` where the filesystem
/// does not report extents.
pub fn extents_end(file: &fs::File, offset: u64, end: u64) -> io::Result<u64> {
    let mut last = offset;
    let mut start = offset;
    while start < end {
        let mut map = ExtentMap {
            start,
            length: end - start,
            flags: 0,
            mapped: 0,
            capacity: EXTENTS as u32,
            reserved: 0,
            extents: [Extent::default(); EXTENTS],
        };
        // SAFETY: the kernel reads the head of `map` and writes at most `capacity` extents behind it, for which it has
        // room.
        if unsafe { libc::ioctl(file.as_raw_fd(), FIEMAP as _, &raw mut map) } < 0 {
            return match last_error() {
                libc::EOPNOTSUPP | libc::ENOTTY | libc::EINVAL => Err(io::ErrorKind::Unsupported.into()),
                code => Err(io::Error::from_raw_os_error(code)),
            };
        }
        let extents = &map.extents[..(map.mapped as usize).min(EXTENTS)];
        let Some(furthest) = extents.iter().map(|extent| extent.logical + extent.length).max() else { break };
        last = furthest.min(end);
        start = if extents.len() < EXTENTS { end } else { last };
    }
    Ok(last)
}

/// The kernel's `struct fsxattr`.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    flags: u32,
    extent_bytes: u32,
    extents: u32,
    project: u32,
    copy_bytes: u32,
    reserved: [u8; 8],
}

const _: () = assert!(size_of::<Attributes>() == 28);

/// `FS_IOC_FSGETXATTR`, `FS_IOC_FSSETXATTR`
const GET_ATTRIBUTES: u32 = 0x801C_581F;
const SET_ATTRIBUTES: u32 = 0x401C_5820;

/// `FS_XFLAG_COWEXTSIZE`: `copy_bytes` counts.
const COPY_BYTES_COUNT: u32 = 0x1_0000;

/// Tells the filesystem to allocate no more than `bytes` when it copies on write. XFS takes 128K otherwise: every hole
/// behind a page would be filled for minutes.
pub fn set_copy_bytes(file: &fs::File, bytes: usize) -> io::Result<()> {
    let mut attributes = Attributes::default();
    // SAFETY: the kernel writes one `struct fsxattr`.
    if unsafe { libc::ioctl(file.as_raw_fd(), GET_ATTRIBUTES as _, &raw mut attributes) } < 0 {
        return Err(io::Error::last_os_error());
    }
    if attributes.flags & COPY_BYTES_COUNT != 0 && attributes.copy_bytes as usize == bytes {
        return Ok(());
    }
    attributes.flags |= COPY_BYTES_COUNT;
    attributes.copy_bytes = bytes as u32;
    // SAFETY: the kernel reads one `struct fsxattr`.
    if unsafe { libc::ioctl(file.as_raw_fd(), SET_ATTRIBUTES as _, &raw const attributes) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::io::linux::LinuxDisk;
    use crate::io::{AlignedBuffer, Caching, Disk, OpenMode};

    fn scratch(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("glassine-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn many_writes_all_arrive() {
        let root = scratch("queue");
        let disk = LinuxDisk::new(&root);
        for caching in [Caching::Direct, Caching::Cached] {
            let file = disk.open("a", OpenMode::Create, caching).unwrap();
            let mut buffer = AlignedBuffer::new(200 * 4096);
            for (page, bytes) in buffer.chunks_mut(4096).enumerate() {
                bytes.fill(page as u8 + 1);
            }
            // More than the queue holds, in another order than the file's.
            let writes: Vec<_> = (0..200_usize)
                .rev()
                .map(|page| Write {
                    offset: page as u64 * 8192,
                    bytes: &buffer[page * 4096..(page + 1) * 4096],
                    untorn: false,
                })
                .collect();
            file.write_all(&writes).unwrap();
            let mut found = AlignedBuffer::new(8192);
            for page in 0..199 {
                assert_eq!(file.read_at(page * 8192, &mut found).unwrap(), 8192);
                assert!(found[..4096].iter().all(|&byte| byte == page as u8 + 1), "page {page}");
                assert!(found[4096..].iter().all(|&byte| byte == 0));
            }
            disk.remove("a").unwrap();
        }
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_write_that_fails_says_so_and_the_others_happen() {
        let root = scratch("queue-error");
        let disk = LinuxDisk::new(&root);
        let file = disk.open("a", OpenMode::Create, Caching::Direct).unwrap();
        let buffer = AlignedBuffer::new(8192);
        // No filesystem has room for the second one.
        let offsets = [0, i64::MAX as u64 - 8191, 4096];
        let writes: Vec<_> =
            offsets.iter().map(|&offset| Write { offset, bytes: &buffer[..4096], untorn: false }).collect();
        assert!(file.write_all(&writes).is_err());
        assert_eq!(file.len().unwrap(), 8192);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn what_is_reserved_counts_as_occupied() {
        let root = scratch("extents");
        let file = fs::OpenOptions::new().read(true).write(true).create_new(true).open(root.join("a")).unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_all_at(&[1; 4096], 16384).unwrap();
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 65536, 8192).unwrap();
        match extents_end(&file, 16384, 32768) {
            Ok(end) => assert_eq!(end, 20480),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
        }
        if let Ok(end) = extents_end(&file, 65536, 81920) {
            assert_eq!(end, 73728);
            assert_eq!(extents_end(&file, 32768, 49152).unwrap(), 32768);
        }
        fs::remove_dir_all(root).unwrap();
    }
}
