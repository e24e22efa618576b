//! The replicas that are connected: SHOW REPLICAS, and which connection sends them the binary log.

use std::sync::Arc;

use parking_lot::Mutex;
use storage::Kill;

use crate::processlist::Process;

/// What a replica has told of itself by COM_REGISTER_SLAVE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    pub server_id: u32,
    pub host: String,
    pub port: u16,
    pub source_id: u32,
    pub uuid: String,
}

/// All replicas of a server.
#[derive(Default)]
pub struct Dumps {
    /// With the connection that it came over.
    replicas: Mutex<Vec<(u32, Replica)>>,
    dumping: Mutex<Vec<(String, Arc<Process>)>>,
}

impl Dumps {
    /// A replica tells who it is. Another of the same number is one that was there before.
    pub fn register(&self, connection: u32, replica: Replica) {
        let mut replicas = self.replicas.lock();
        replicas.retain(|(other, known)| *other != connection && known.server_id != replica.server_id);
        replicas.push((connection, replica));
    }

    /// The connection has ended.
    pub fn forget(&self, connection: u32) {
        self.replicas.lock().retain(|(other, _)| *other != connection);
    }

    /// The replicas by their numbers.
    pub fn replicas(&self) -> Vec<Replica> {
        let mut replicas: Vec<Replica> = self.replicas.lock().iter().map(|(_, replica)| replica.clone()).collect();
        replicas.sort_by_key(|replica| replica.server_id);
        replicas
    }

    /// A dump begins. A replica that asks again has lost its connection: the dump that it had before ends.
    /// `identity`: the replica's UUID or number; empty for a client that is no replica.
    pub fn begin<'d>(&'d self, identity: &str, process: &Arc<Process>) -> Dumping<'d> {
        let mut dumping = self.dumping.lock();
        if !identity.is_empty() {
            let same = dumping.iter().filter(|(other, _)| other == identity);
            same.for_each(|(_, process)| process.kill(Kill::Connection));
        }
        dumping.push((identity.to_owned(), process.clone()));
        Dumping { dumps: self, connection: process.id }
    }
}

/// A dump is under way.
pub struct Dumping<'d> {
    dumps: &'d Dumps,
    connection: u32,
}

impl Drop for Dumping<'_> {
    fn drop(&mut self) {
        self.dumps.dumping.lock().retain(|(_, process)| process.id != self.connection);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processlist::ProcessList;

    #[test]
    fn a_replica_that_comes_again_ends_its_older_dump() {
        let (list, dumps) = (ProcessList::new(), Dumps::default());
        let processes: Vec<_> = (0..4).map(|_| list.register("localhost")).collect();
        let dumping: Vec<_> =
            ["a", "b", "", "a"].iter().zip(&processes).map(|(who, process)| dumps.begin(who, process)).collect();
        let killed: Vec<bool> = processes.iter().map(|process| process.is_killed()).collect();
        assert_eq!(killed, [true, false, false, false]);
        drop(dumping);
        assert!(dumps.dumping.lock().is_empty());
    }

    #[test]
    fn registered_replicas_are_listed_once_while_they_are_connected() {
        let dumps = Dumps::default();
        let replica = |server_id| Replica { server_id, host: "h".into(), port: 1, source_id: 0, uuid: "u".into() };
        dumps.register(10, replica(3));
        dumps.register(11, replica(2));
        dumps.register(12, replica(3));
        assert_eq!(dumps.replicas(), [replica(2), replica(3)]);
        dumps.forget(10);
        assert_eq!(dumps.replicas().len(), 2);
        dumps.forget(12);
        assert_eq!(dumps.replicas(), [replica(2)]);
    }
}
