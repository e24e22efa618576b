//! What all sessions of a server share: the engine, the global variables, the
//! counters, the accounts and the list of processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use storage::Engine;

use crate::accounts::Accounts;
use crate::processlist::ProcessList;
use crate::status::ServerStatus;
use crate::variables::GlobalVariables;
use crate::variables::persisted::Persisted;

/// One running server, without its listeners.
pub struct Instance {
    pub engine: Arc<Engine>,
    pub variables: GlobalVariables,
    pub status: ServerStatus,
    pub processes: ProcessList,
    pub accounts: Accounts,
    /// What SET PERSIST keeps.
    pub persisted: Persisted,
    pub datadir: PathBuf,
    pub started: Instant,
}

impl Instance {
    pub fn new(engine: Arc<Engine>, variables: GlobalVariables, accounts: Accounts, datadir: PathBuf) -> Arc<Instance> {
        Arc::new(Instance {
            engine,
            variables,
            status: ServerStatus::new(),
            processes: ProcessList::new(),
            accounts,
            persisted: Persisted::new(&datadir),
            datadir,
            started: Instant::now(),
        })
    }
}
