//! An open file of a simulated disk.

use std::io;
use std::time::Duration;

use rustix::io::Errno;

use super::faults::Faults;
use super::image::Change;
use super::{SimDisk, broken, gone};
use crate::io::{Caching, File, FileFacts, OpenMode, Punching};

/// The memory alignment that direct I/O requires, on any device.
const MEMORY_ALIGNMENT: usize = 512;

/// Shorter writes are not misdirected: they are not pages.
const MISDIRECTED_BYTES_MIN: usize = 512;

pub struct SimFile {
    disk: SimDisk,
    number: u64,
    path: String,
    writable: bool,
    direct: bool,
}

fn refused() -> io::Error {
    io::Error::from_raw_os_error(Errno::INVAL.raw_os_error())
}

impl SimFile {
    pub fn new(disk: SimDisk, number: u64, path: &str, mode: OpenMode, caching: Caching) -> SimFile {
        let writable = mode != OpenMode::Read;
        SimFile { disk, number, path: path.into(), writable, direct: caching == Caching::Direct }
    }

    /// The unit of direct I/O. Refuses what Linux would refuse.
    fn unit(&self, state: &super::State, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        if !self.direct {
            return Ok(1);
        }
        let unit = if state.block_bytes >= 4096 { state.faults.sector_bytes } else { 512 };
        let aligned = offset.is_multiple_of(unit as u64)
            && bytes.len().is_multiple_of(unit)
            && (bytes.as_ptr() as usize).is_multiple_of(MEMORY_ALIGNMENT);
        if aligned { Ok(unit) } else { Err(refused()) }
    }

    fn write_change(&self, state: &mut super::State, mut offset: u64, bytes: &[u8], untorn: bool) -> io::Result<()> {
        let misdirected = bytes.len() >= MISDIRECTED_BYTES_MIN && state.faults.misdirected.as_ref() == Some(&self.path);
        if misdirected {
            // To where as many bytes could be a neighbour's; a file without neighbours has no other place.
            let places = state.files[&self.number].volatile.bytes / bytes.len() as u64;
            let place = if places > 0 { state.random.below(places) * bytes.len() as u64 } else { offset };
            if place != offset {
                offset = place;
                state.faults.misdirected = None;
                state.see("writes misdirected");
            }
        }
        state.change_file(self.number, Change::Write { offset, bytes: bytes.to_vec(), untorn })
    }
}

impl File for SimFile {
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.disk.state.lock();
        state.begin_transfer(&self.disk.clock)?;
        let unit = self.unit(&state, offset, buffer)?;
        state.reads += 1;
        assert!(state.faults.panicking_read != Some(state.reads), "a panic in a read, as the test wants it");
        let Faults { failing_read, failing_reads, .. } = state.faults;
        if failing_read.is_some_and(|first| (first..first + failing_reads).contains(&state.reads)) {
            state.see("reads failed");
            return Err(broken());
        }
        let count = state.transfer(buffer.len(), unit);
        let block_bytes = state.block_bytes;
        Ok(state.files[&self.number].volatile.read(offset, &mut buffer[..count], block_bytes))
    }

    fn write_some(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state.lock();
        state.begin_transfer(&self.disk.clock)?;
        assert!(self.writable, "{} was opened for reading", self.path);
        let unit = self.unit(&state, offset, bytes)?;
        state.writes += 1;
        let end = offset + bytes.len() as u64;
        state.files.get_mut(&self.number).expect("an open file").in_flight.add(offset..end);
        assert!(state.faults.panicking_write != Some(state.writes), "a panic in a write, as the test wants it");
        if state.faults.failing_write == Some(state.writes) {
            state.see("writes failed");
            let part = state.random.below(bytes.len() as u64 + 1) as usize / unit * unit;
            let part = if state.facts.copy_on_write { 0 } else { part };
            self.write_change(&mut state, offset, &bytes[..part], false)?;
            return Err(broken());
        }
        let count = state.transfer(bytes.len(), unit);
        // The part that fits is written; the next call fails with a full disk.
        let fitting = state.fitting(self.number, offset, count as u64)? as usize / unit * unit;
        if fitting == 0 && count > 0 || fitting < count && state.facts.copy_on_write {
            return Err(super::no_space());
        }
        let written = self.write_change(&mut state, offset, &bytes[..fitting], false);
        let file = state.files.get_mut(&self.number).expect("an open file");
        file.in_flight.remove(offset..offset + fitting as u64);
        written?;
        Ok(fitting)
    }

    fn expect_untorn(&self, _: usize) -> io::Result<()> {
        // Nothing is ever set aside here.
        Ok(())
    }

    fn write_untorn(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        let Some((min, max)) = state.facts.atomic_write.filter(|_| !state.faults.no_untorn) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        self.unit(&state, offset, bytes)?;
        let fits = bytes.len().is_power_of_two()
            && (min..=max).contains(&bytes.len())
            && offset.is_multiple_of(bytes.len() as u64);
        if !fits {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        state.writes += 1;
        if state.faults.failing_write == Some(state.writes) {
            state.see("writes failed");
            return Err(broken());
        }
        if state.fitting(self.number, offset, bytes.len() as u64)? < bytes.len() as u64 {
            state.see("full disk");
            return Err(super::no_space());
        }
        state.see("untorn writes");
        let end = offset + bytes.len() as u64;
        state.files.get_mut(&self.number).expect("an open file").in_flight.remove(offset..end);
        self.write_change(&mut state, offset, bytes, true)
    }

    fn sync(&self) -> io::Result<()> {
        while self.disk.state.lock().faults.hold_syncs {
            std::thread::sleep(Duration::from_millis(1));
        }
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
            } else if let Change::Write { offset, bytes, .. } = &change {
                file.in_flight.add(*offset..*offset + bytes.len() as u64);
            }
        }
        state.random = random;
        if fails {
            state.see("syncs failed");
            return Err(broken());
        }
        Ok(())
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
        let fitting = state.fitting(self.number, offset, bytes)?;
        if fitting < bytes {
            // As ext4 and XFS do: what was reserved until then stays so.
            state.see("full disk for a reservation");
            let part = fitting / state.block_bytes as u64 * state.block_bytes as u64;
            state.change_file(self.number, Change::Allocate { offset, bytes: part })?;
            return Err(super::no_space());
        }
        state.change_file(self.number, Change::Allocate { offset, bytes })
    }

    fn punch_hole(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        state.alive()?;
        if state.faults.no_punch || state.facts.punching == Punching::Unsupported {
            state.see("punches unsupported");
            return Err(io::ErrorKind::Unsupported.into());
        }
        state.punches += 1;
        if state.faults.failing_punch.is_some_and(|from| state.punches >= from) {
            state.see("punches failed");
            return Err(broken());
        }
        // Splitting an extent needs room, too.
        if state.free_blocks() == 0 && state.random.chance(4) {
            state.see("full disk for a punch");
            return Err(super::no_space());
        }
        if state.facts.punching == Punching::FreesNothing {
            state.see("punches that free nothing");
            return state.change_file(self.number, Change::Zero { offset, bytes });
        }
        state.change_file(self.number, Change::Punch { offset, bytes })
    }

    fn facts(&self) -> io::Result<FileFacts> {
        Ok(self.disk.state.lock().facts)
    }

    fn allocated_bytes(&self) -> io::Result<u64> {
        let state = self.disk.state.lock();
        Ok((state.files[&self.number].volatile.block_count() * state.block_bytes) as u64)
    }

    fn data_end(&self, offset: u64, bytes: u64) -> io::Result<u64> {
        let state = self.disk.state.lock();
        state.alive()?;
        Ok(state.files[&self.number].volatile.data_end(offset, bytes, state.block_bytes))
    }
}
