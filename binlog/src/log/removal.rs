//! Files that leave the log: one by one when nobody needs them any more, or all at once.

use std::sync::atomic::Ordering;

use format::binlog::GtidSet;
use storage::Result;
use tracing::info;

use super::{BinaryLog, Order};
use crate::files::{self, FileName, io};
use crate::recovery;
use crate::spill::Files;

/// What a purge did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purged {
    /// Files that were to go, and those that went.
    pub wanted: usize,
    pub removed: usize,
    /// The first file that stayed because dumps read it, and how many do.
    pub in_use: Option<(FileName, usize)>,
}

impl BinaryLog {
    /// Removes the files before this one; `None` = there is no such file.
    pub fn purge_to(&self, name: &FileName) -> Result<Option<Purged>> {
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        let Some(at) = order.files.iter().position(|other| other == name) else { return Ok(None) };
        self.purge_first(&mut order, at).map(Some)
    }

    /// Removes the files that were left before this time, in seconds since 1970.
    pub fn purge_before(&self, seconds: u64) -> Result<Purged> {
        let mut order = self.order.lock();
        self.finish_reset(&mut order)?;
        self.purge_older(&mut order, seconds)
    }

    pub(super) fn purge_older(&self, order: &mut Order, seconds: u64) -> Result<Purged> {
        let mut count = 0;
        // A file was left when the next one was begun.
        for next in &order.files[1..] {
            if recovery::begun_at(&*self.disk, next)? >= seconds {
                break;
            }
            count += 1;
        }
        self.purge_first(order, count)
    }

    pub(super) fn expire(&self, order: &mut Order) -> Result<()> {
        let seconds = self.expire_seconds.load(Ordering::Relaxed);
        let now = self.disk.clock().wall().as_secs();
        if seconds != 0 && now >= seconds {
            self.purge_older(order, now - seconds)?;
        }
        Ok(())
    }

    /// The files go first and the index follows: after a crash in between the next start takes the names of missing
    /// files off the index. A file that a dump reads stays, and so do those behind it: their order has no gaps.
    fn purge_first(&self, order: &mut Order, wanted: usize) -> Result<Purged> {
        let in_use = order.files[..wanted].iter().find_map(|name| {
            let readers = self.readers.of(name.number);
            (readers > 0).then(|| (name.clone(), readers))
        });
        let count = match &in_use {
            Some((kept, _)) => order.files.iter().take_while(|name| *name != kept).count(),
            None => wanted,
        };
        let purged = Purged { wanted, removed: count, in_use };
        if count == 0 {
            return Ok(purged);
        }
        for name in &order.files[..count] {
            self.disk.remove(&name.to_string()).map_err(io("remove a binary log"))?;
            info!("binary log {name} is removed");
        }
        self.disk.sync_directory("").map_err(io("sync the directory of the binary log"))?;
        order.files.drain(..count);
        files::write_index(&*self.disk, &self.options.base, &order.files)?;
        Ok(purged)
    }

    /// Removes all files and begins with the first one again; no transaction has a name then: RESET BINARY LOGS AND
    /// GTIDS. The checkpoint first passes all annexes, so that recovery has none of what is removed. If there is no room,
    /// nothing has happened; if something fails behind that, nothing is logged until it is finished.
    pub fn reset(&self) -> Result<()> {
        let mut order = self.order.lock();
        if order.resetting.is_none() {
            self.tail.settle()?;
            self.engine.store().checkpoint()?;
            let checksum = self.cache_files.checksum();
            let head = self.head(&GtidSet::default(), checksum);
            let decided = files::Reset::new(&*self.disk, &self.options.base).decide(&head);
            order.resetting = decided.0.then_some(checksum);
            decided.1?;
        }
        self.finish_reset(&mut order)
    }

    /// Finishes a reset that has been decided, if there is one.
    pub(super) fn finish_reset(&self, order: &mut Order) -> Result<()> {
        let Some(checksum) = order.resetting else { return Ok(()) };
        let file = files::Reset::new(&*self.disk, &self.options.base).finish(&order.files)?;
        let position = file.len().map_err(io("read a binary log"))?;
        let name = FileName { base: self.options.base.as_str().into(), number: 1 };
        self.tail.go_on_in(file, position);
        self.end.begin_again(name.number, position);
        order.checksum = checksum;
        order.files = vec![name];
        order.position = position;
        order.before_file = order.transactions;
        (order.executed, order.added) = (GtidSet::default(), GtidSet::default());
        order.resetting = None;
        Ok(())
    }
}
