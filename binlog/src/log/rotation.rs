//! One file of the log after the other. If the device has no room for the next one, the log stays in its file.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use format::binlog::{Checksum, Control, GtidSet, event, flags};
use storage::io::File;
use storage::{Error, Result};
use tracing::warn;

use super::{BinaryLog, Order};
use crate::files::{self, FileName, Head, io};
use crate::spill::Files;

/// The next file of a log.
pub(super) struct Next {
    pub file: Arc<dyn File>,
    /// Where its transactions begin.
    pub position: u64,
    pub checksum: Checksum,
}

/// Makes it.
pub(super) type NewFile<'n> = dyn FnMut(&Order, &FileName) -> Result<Next> + 'n;

impl BinaryLog {
    /// Begins a new file: FLUSH BINARY LOGS.
    pub fn rotate(&self) -> Result<()> {
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        self.rotate_locked(&mut order)?;
        self.expire(&mut order)
    }

    pub(super) fn rotate_or_stay(&self, order: &mut Order) -> Result<()> {
        match self.rotate_locked(order) {
            Err(error @ Error::DiskFull { .. }) => {
                warn!("the binary log stays in {}: {error}", order.current());
                Ok(())
            }
            Ok(()) => self.expire_or_stay(order),
            other => other,
        }
    }

    pub(super) fn expire_or_stay(&self, order: &mut Order) -> Result<()> {
        self.expire(order).or_else(|error| match error {
            Error::Poisoned => Err(error),
            error => {
                warn!("expired binary logs stay: {error}");
                Ok(())
            }
        })
    }

    pub(super) fn rotate_locked(&self, order: &mut Order) -> Result<()> {
        self.rotate_to(order, &mut |order, name| {
            let checksum = self.cache_files.checksum();
            let head = self.head(&order.executed, checksum);
            self.cache_files.head_bytes.store(head.len() as u64, Ordering::Relaxed);
            Ok(Next { file: files::create(&*self.disk, name, &head)?, position: head.len() as u64, checksum })
        })
    }

    /// Goes on in the file that `create` makes, behind what is in it. If the device has no room, the log stays where it
    /// is.
    pub(super) fn rotate_to(&self, order: &mut Order, create: &mut NewFile<'_>) -> Result<()> {
        self.tail.settle()?;
        let name = order.current().next();
        let stay = order.position;
        let created = create(order, &name);
        let moved = created.and_then(|created| {
            self.end_file(order, &Control::Rotate { position: 4, file: name.to_string().as_bytes() })?;
            let mut names = order.files.clone();
            names.push(name.clone());
            files::write_index(&*self.disk, &self.options.base, &names)?;
            Ok((created, names))
        });
        let (Next { file, position, checksum }, names) = match moved {
            Ok(moved) => moved,
            Err(error) => {
                self.stay(order, &name, stay)?;
                return Err(error);
            }
        };
        self.tail.go_on_in(file, position);
        self.end.go_on_in(name.number, position);
        (order.files, order.position, order.before_file) = (names, position, order.transactions);
        order.checksum = checksum;
        Ok(())
    }

    /// Undoes a rotation that failed.
    pub(super) fn stay(&self, order: &mut Order, next: &FileName, position: u64) -> Result<()> {
        let path = next.to_string();
        if self.disk.exists(&path).map_err(io("look for a binary log"))? {
            self.disk.remove(&path).map_err(io("remove an unfinished binary log"))?;
        }
        let file = self.tail.file();
        file.set_len(position).map_err(io("cut the binary log"))?;
        file.write_at(files::DESCRIPTION_FLAGS, &(flags::IN_USE as u8).to_le_bytes())
            .map_err(io("go on in a binary log"))?;
        self.tail.moved(position);
        order.position = position;
        Ok(())
    }

    pub(super) fn head(&self, previous: &GtidSet, checksum: Checksum) -> Vec<u8> {
        let head = Head {
            server: &self.options.server,
            server_id: self.server_id.load(Ordering::Relaxed),
            now: self.disk.clock().wall().as_secs() as u32,
            is_first: false,
            checksum,
            previous,
        };
        head.encode()
    }

    /// Writes the last event of the current file, which is complete and durable but for it.
    pub(super) fn end_file(&self, order: &mut Order, last: &Control<'_>) -> Result<()> {
        let file = self.tail.file();
        let mut bytes = Vec::new();
        let header = self.header(last.kind(), self.disk.clock().wall().as_secs() as u32, 0);
        event::append(&mut bytes, header, order.checksum, |out| last.encode(out));
        let end = order.position + bytes.len() as u64;
        event::place(&mut bytes, end as u32, order.checksum);
        file.write_at(order.position, &bytes).map_err(io("end a binary log"))?;
        file.write_at(files::DESCRIPTION_FLAGS, &[0, 0]).map_err(io("end a binary log"))?;
        file.sync().map_err(io("sync a binary log"))?;
        self.tail.moved(end);
        order.position = end;
        Ok(())
    }
}
