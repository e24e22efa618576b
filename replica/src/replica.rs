//! The channels of a server, of which each follows a source, and the statements about them.
//!
//! ```text
//!   source A  -->  channel ''      relay-bin.000003        applier, orders its commits   --+
//!   source B  -->  channel 'b'     relay-bin-b.000007      applier, orders its commits   --+--> tables, own log
//! ```
//!
//! Each channel has a relay log, threads, filters and rows of its own, and knows how far it is by itself. Their appliers meet
//! at row locks as any sessions do. A transaction with MySQL's name that comes by several channels is applied by the first
//! ([`crate::shared::Peers`]). A channel whose source was forgotten (RESET REPLICA ALL) is not seen any more; its row stays,
//! because of the names that it has applied.
//!
//! A start of the server goes on with all channels, unless `--skip-replica-start` is given.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use format::binlog::GtidSet;
use format::binlog::mariadb::MariadbPosition;
use parking_lot::Mutex;
use sql::Error;
use sql::error::Result;
use sql::instance::Instance;
use sql::parser::ast::{FilterKind, FilterRule, ReplicaStart, ReplicaThreads, SourceValue};
use sql::replication::{FilterStatus, ReplicaStatus, Replication};

use crate::channel::{Channel, not_configured};
use crate::filters::Filters;
use crate::playback;
use crate::repository;
use crate::shared::{ChannelName, Peers, now_micros};

/// See the module header.
pub struct Replica {
    instance: Arc<Instance>,
    peers: Arc<Peers>,
    channels: Mutex<BTreeMap<ChannelName, Arc<Channel>>>,
    /// What a new channel gets.
    filters: Mutex<Filters>,
    /// Held by a statement that changes or starts channels: one at a time.
    statement: Mutex<()>,
}

impl Replica {
    /// Reads what is known of the sources. `filters`: what the options say. Nothing runs yet.
    pub fn open(instance: &Arc<Instance>, filters: Filters) -> Result<Arc<Replica>> {
        let replica = Replica {
            instance: instance.clone(),
            peers: Arc::default(),
            channels: Mutex::default(),
            filters: Mutex::new(filters.clone()),
            statement: Mutex::default(),
        };
        replica.make(ChannelName::default(), &filters)?;
        for name in repository::names(instance)? {
            if let Some(name) = ChannelName::new(&name)
                && name.name() != playback::MARK
            {
                replica.make(name, &filters)?;
            }
        }
        Ok(Arc::new(replica))
    }

    /// The channel of this name, if need be a new one.
    fn make(&self, name: ChannelName, filters: &Filters) -> Result<Arc<Channel>> {
        let mut channels = self.channels.lock();
        if let Some(channel) = channels.get(&name) {
            return Ok(channel.clone());
        }
        if channels.keys().any(|other| other.slot() == name.slot()) {
            return Err(invalid_name());
        }
        let channel = Arc::new(Channel::open(&self.instance, name.clone(), &self.peers, filters.clone())?);
        channels.insert(name, channel.clone());
        Ok(channel)
    }

    /// Starts the threads of all channels with sources.
    pub fn start_with_server(&self) -> Result<()> {
        for channel in self.all().iter().filter(|channel| channel.is_configured()) {
            let threads = ReplicaThreads { receiver: true, applier: true };
            channel.start(&ReplicaStart { threads, until: None, user: None, password: None })?;
        }
        Ok(())
    }

    /// Ends all threads.
    pub fn close(&self) {
        self.all().iter().for_each(|channel| channel.close());
    }

    fn all(&self) -> Vec<Arc<Channel>> {
        self.channels.lock().values().cloned().collect()
    }

    /// The channels that a statement means. The one without a name is there always, others if they have sources.
    fn meant(&self, channel: Option<&str>) -> Result<Vec<Arc<Channel>>> {
        let all = self.all().into_iter().filter(|channel| channel.name().is_empty() || channel.has_source());
        let Some(name) = channel else { return Ok(all.collect()) };
        let wanted = name.to_lowercase();
        let found: Vec<_> = all.filter(|channel| channel.name() == wanted).collect();
        if found.is_empty() {
            return Err(Error::new(3074, b"HY000", format!("Replica channel '{name}' does not exist.")));
        }
        Ok(found)
    }

    /// The channel that a statement means which is about one.
    fn one(&self, channel: Option<&str>) -> Result<Arc<Channel>> {
        match &self.meant(channel)?[..] {
            [one] => Ok(one.clone()),
            _ => Err(several()),
        }
    }

    /// Everything that clients have seen is durable and can be told.
    fn settle(&self) {
        self.all().iter().for_each(|channel| channel.settle());
    }
}

fn several() -> Error {
    let text = "Multiple channels exist on the replica. Please provide channel name as an argument.";
    Error::new(3079, b"HY000", text)
}

fn invalid_name() -> Error {
    let text = "Couldn't create channel: Channel name is either invalid or too long.";
    Error::new(3075, b"HY000", text)
}

impl Replication for Replica {
    fn change_source(&self, channel: Option<&str>, options: &[(String, SourceValue)]) -> Result<()> {
        let _one = self.statement.lock();
        let filters = self.filters.lock().clone();
        let channel = match channel {
            None => self.one(None)?,
            Some(name) => self.make(ChannelName::new(name).ok_or_else(invalid_name)?, &filters)?,
        };
        if !channel.has_source() {
            channel.set_filters(filters);
        }
        channel.change_source(options)
    }

    fn change_filters(&self, channel: Option<&str>, changes: &[(FilterKind, Vec<FilterRule>)]) -> Result<()> {
        let _one = self.statement.lock();
        let meant = self.meant(channel)?;
        if channel.is_some_and(str::is_empty) && !meant[0].has_source() {
            return Err(Error::new(3074, b"HY000", "Replica channel '' does not exist."));
        }
        if meant.iter().any(|channel| channel.is_applying()) {
            let text = "This operation cannot be performed with a running replica sql thread; run STOP REPLICA \
                        SQL_THREAD first";
            return Err(Error::new(3017, b"HY000", text));
        }
        // All or none.
        self.filters.lock().clone().change(changes, now_micros())?;
        for channel in meant {
            channel.change_filters(changes)?;
        }
        if channel.is_none() { self.filters.lock().change(changes, now_micros()) } else { Ok(()) }
    }

    fn filters(&self) -> (Vec<FilterStatus>, Vec<(String, Vec<FilterStatus>)>) {
        let all = self.all().into_iter().filter(|channel| channel.has_source());
        let of_channels = all.map(|channel| (channel.name().to_owned(), channel.filters())).collect();
        (self.filters.lock().status(), of_channels)
    }

    fn start(&self, channel: Option<&str>, start: &ReplicaStart) -> Result<Vec<Error>> {
        let _one = self.statement.lock();
        let mut meant = self.meant(channel)?;
        if channel.is_none() && meant.len() > 1 {
            if start.until.is_some() || start.user.is_some() || start.password.is_some() {
                return Err(several());
            }
            meant.retain(|channel| channel.is_configured());
        }
        if meant.is_empty() {
            return Err(not_configured());
        }
        let mut notices = Vec::new();
        for channel in meant {
            notices.extend(channel.start(start)?);
        }
        Ok(notices)
    }

    fn stop(&self, channel: Option<&str>, threads: ReplicaThreads) -> Result<Vec<Error>> {
        let _one = self.statement.lock();
        let mut meant = self.meant(channel)?;
        if channel.is_none() && meant.len() > 1 {
            meant.retain(|channel| channel.is_configured());
        }
        let mut notices = Vec::new();
        for channel in meant {
            notices.extend(channel.stop(threads)?);
        }
        Ok(notices)
    }

    fn reset(&self, channel: Option<&str>, all: bool) -> Result<()> {
        let _one = self.statement.lock();
        let meant = self.meant(channel)?;
        if let Some(running) = meant.iter().find(|channel| channel.is_running()) {
            return running.reset(all);
        }
        meant.iter().try_for_each(|channel| channel.reset(all))
    }

    fn status(&self, channel: Option<&str>) -> Result<Vec<ReplicaStatus>> {
        let executed = self.executed();
        Ok(self.meant(channel)?.iter().filter_map(|channel| channel.status(executed.clone())).collect())
    }

    fn wait_for_position(
        &self,
        channel: Option<&str>,
        place: (&str, u64),
        timeout: Option<Duration>,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<i64>> {
        Ok(self.one(channel)?.wait_for_position(place, timeout, is_interrupted))
    }

    fn mariadb_position(&self) -> MariadbPosition {
        self.settle();
        let mut position = MariadbPosition::default();
        self.all().iter().for_each(|channel| position.advance_to_newest(&channel.mariadb_position()));
        position
    }

    fn set_mariadb_position(&self, position: MariadbPosition) -> Result<()> {
        let _one = self.statement.lock();
        let meant = self.meant(None)?;
        if let Some(running) = meant.iter().find(|channel| channel.is_running()) {
            return running.set_mariadb_position(position);
        }
        meant.iter().try_for_each(|channel| channel.set_mariadb_position(position.clone()))
    }

    fn executed(&self) -> GtidSet {
        self.settle();
        let all = self.all();
        let Some(first) = all.first() else { return GtidSet::default() };
        // A statement of definition is in this server's log before others see its table.
        let executed = first.executed();
        all.iter().fold(executed, |executed, channel| executed.without(&channel.pending_names()))
    }
}
