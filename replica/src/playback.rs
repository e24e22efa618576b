//! A log that is played back from files: a restore to a point in time.
//!
//! ```text
//!   binlog.000007 -- feed --> relay log --> applier --> tables, and with each transaction how far it is
//! ```
//!
//! The files take the place of the receiver: events go into a relay log as if a source had sent them, and the applier does
//! the rest. So a run that was killed goes on behind the last transaction that it has committed. The rows in which a replica
//! keeps its progress are used for this one and removed at the end; those of the replica that the backup was of are lost:
//! where its source's log goes on is not in its own.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use format::binlog::GtidSet;
use format::value::Value;
use sql::Error;
use sql::error::Result;
use sql::instance::Instance;

use crate::applier;
use crate::internal::InternalSession;
use crate::progress::{Progress, quoted};
use crate::relay::RelayLog;
use crate::repository::{TABLES, stored};
use crate::shared::{ChannelName, Peers, STACK_BYTES, Shared};

/// Files of the relay log.
const BASE: &str = "#restore-relay";

/// The row that tells a playback's progress from a replica's.
pub const MARK: &str = "#restore";

/// Bytes of a file of the relay log, and of all that wait for the applier.
const FILE_BYTES: u64 = 16 << 20;
const ROOM_BYTES: u64 = 64 << 20;

/// See the module header.
pub struct Playback {
    shared: Arc<Shared>,
    applier: Option<JoinHandle<()>>,
    /// Behind the last event that was fed.
    fed: Option<(String, u64)>,
}

impl Playback {
    /// Goes on where the last run was; the first begins at this place of a log, of which the tables have these
    /// transactions.
    pub fn open(instance: &Arc<Instance>, file: &str, position: u64, executed: &GtidSet) -> Result<Playback> {
        let channel = ChannelName::default();
        let has = instance.engine.table("mysql", "slave_relay_log_info").is_some();
        if !has || !is_marked(instance)? {
            let (_, known) = stored(instance, &channel)?;
            let number = known.number + 1;
            let applied = executed.clone();
            let start = Progress { number, file: file.to_owned(), position, applied, ..Progress::default() };
            begin(instance, &start)?;
        }
        let (_, progress) = stored(instance, &channel)?;
        let disk = instance.engine.store().disk().clone();
        let relay = RelayLog::open(disk, BASE).map_err(sql::catalog::storage_error)?;
        let shared = Arc::new(Shared::new(instance, channel, &Arc::new(Peers::default()), relay, (None, progress)));
        Ok(Playback { shared, applier: None, fed: None })
    }

    /// Starts to apply.
    pub fn start(&mut self) -> Result<()> {
        self.shared.lock().applier.running = true;
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name("replica_applier".into()).stack_size(STACK_BYTES);
        let thread = thread.spawn(move || applier::run(&shared));
        self.applier = Some(thread.map_err(|cause| Error::internal(format!("cannot start a thread: {cause}")))?);
        Ok(())
    }

    /// File and position behind the last transaction that was applied, and the names of all.
    pub fn progress(&self) -> (String, u64, GtidSet) {
        let state = self.shared.lock();
        (state.progress.file.clone(), state.progress.position, state.progress.applied.clone())
    }

    /// The events that follow are those of this file from this position on, and its description is this event.
    pub fn begin_file(&self, description: &[u8], file: &str, position: u64) -> Result<()> {
        self.shared.relay.begin(description, file, position).map_err(sql::catalog::storage_error)
    }

    /// The next event, which ends there.
    pub fn feed(&mut self, event: &[u8], file: &str, end: u64) -> Result<()> {
        let relay = &self.shared.relay;
        relay.append(event, true, FILE_BYTES, (file, end)).map_err(sql::catalog::storage_error)?;
        self.fed = Some((file.to_owned(), end));
        relay.wait_for_room(ROOM_BYTES, &|| !self.shared.lock().applier.running);
        self.check()
    }

    /// The error at which the applier has stopped.
    fn check(&self) -> Result<()> {
        let state = self.shared.lock();
        if state.applier.running {
            return Ok(());
        }
        let error = &state.applier.error;
        let message = if error.message.is_empty() { "the applier has ended" } else { &error.message };
        Err(Error::new(error.code, b"HY000", message))
    }

    /// Waits until everything that was fed is applied, and stops. `tell` is called now and then. The names of all
    /// transactions that there are then.
    pub fn finish(mut self, tell: &mut dyn FnMut()) -> Result<GtidSet> {
        if let Some((file, end)) = self.fed.take() {
            // What is still in memory becomes readable.
            self.shared.relay.rotate_source(&file, end).map_err(sql::catalog::storage_error)?;
            loop {
                let (at_file, at, _) = self.progress();
                if at_file == file && at >= end {
                    break;
                }
                self.check()?;
                std::thread::sleep(Duration::from_millis(20));
                tell();
            }
        }
        Ok(self.progress().2)
    }

    /// Removes what was only needed to go on, after the last [`Playback::finish`]. May be called again.
    pub fn forget(instance: &Arc<Instance>) -> Result<()> {
        let mut internal = InternalSession::new(instance);
        for table in ["slave_master_info", "slave_relay_log_info"] {
            internal.session.run_unlogged(&format!("DROP TABLE IF EXISTS mysql.{table}"))?;
        }
        let disk = instance.engine.store().disk().clone();
        RelayLog::open(disk, BASE).map(drop).map_err(sql::catalog::storage_error)
    }
}

impl Drop for Playback {
    fn drop(&mut self) {
        self.shared.stop_applier();
        if let Some(thread) = self.applier.take() {
            let _ = thread.join();
        }
    }
}

fn is_marked(instance: &Arc<Instance>) -> Result<bool> {
    let mut internal = InternalSession::new(instance);
    let count = format!("SELECT COUNT(*) FROM mysql.slave_relay_log_info WHERE Channel_name = '{MARK}'");
    let rows = internal.session.run_unlogged(&count)?;
    Ok(rows.first().is_some_and(|row| row[0] != Value::Int(0)))
}

/// Replaces what the tables say by the beginning of a playback, at once.
fn begin(instance: &Arc<Instance>, start: &Progress) -> Result<()> {
    let mut internal = InternalSession::new(instance);
    let session = &mut internal.session;
    for table in TABLES {
        session.run_unlogged(table)?;
    }
    session.apply_begin(None, None)?;
    session.run_unlogged("DELETE FROM mysql.slave_master_info")?;
    session.run_unlogged("DELETE FROM mysql.slave_relay_log_info")?;
    for name in ["", MARK] {
        session.run_unlogged(&format!(
            "INSERT INTO mysql.slave_relay_log_info (Channel_name, Number, Master_log_name, Master_log_pos, \
             Gtid_executed, Xa_step) VALUES ({}, 0, '', 4, '', '')",
            quoted(name)
        ))?;
    }
    session.apply_commit(&start.statement(""))
}
