//! Sessions of the server's own.

use std::sync::Arc;

use sql::Session;
use sql::instance::Instance;
use sql::processlist::Process;
use sql::status::SessionStatus;

/// A session that applies what a source has committed, in the process list as MySQL shows it.
pub struct InternalSession {
    instance: Arc<Instance>,
    pub process: Arc<Process>,
    status: Arc<SessionStatus>,
    pub session: Session,
}

impl InternalSession {
    pub fn new(instance: &Arc<Instance>) -> InternalSession {
        let (process, status) = (instance.processes.register(""), instance.status.register());
        let mut session = Session::new(instance.clone(), process.clone(), status.clone());
        session.work_internally_as("system user");
        session.be_applier();
        process.begin("Connect", b"");
        InternalSession { instance: instance.clone(), process, status, session }
    }
}

impl Drop for InternalSession {
    fn drop(&mut self) {
        self.instance.processes.remove(&self.process);
        self.instance.status.retire(&self.status);
    }
}
