//! Branches of distributed transactions (XA): names in use, and prepared transactions.
//!
//! ```text
//!   claim_xid        a session claims the name; its transaction is like any other, but its undo logs carry the name
//!      | prepare     undo logs change state, log flushed
//!      v
//!   prepared         here, without a session: locks, metadata locks and undo stay.   <--- recovery adds those it finds
//!      |
//!      +-- commit_prepared, rollback_prepared: by any session that names it
//! ```
//!
//! A name belongs to one branch from XA START until the branch has ended. A session may keep its prepared branch
//! attached: then no other session can end it until that session detaches it.
//!
//! Invariants:
//!
//! * A transaction is prepared on disk before the client is told, and before another session can find it here.
//! * If the commit of a prepared transaction fails, it stays prepared.
//! * The rollback of a prepared transaction first makes it active on disk, so that after a crash recovery continues the
//!   rollback and does not report it as prepared again.
//!
//! Not here: the states of a session (ACTIVE, IDLE ...) and which statements each allows, see `sql::session::xa`.

use std::sync::Arc;

use format::xid::Xid;
use rustc_hash::FxHashMap;

use super::prepared::Prepared;
use super::{Engine, Trx, TrxOptions};
use crate::error::{Error, Result};
use crate::lock::Interrupt;
use crate::sync::{Mutex, Rank};
use crate::transaction::CommitLog;

/// All branches that have a name now.
pub(super) struct Branches {
    named: Mutex<FxHashMap<Xid, Branch>>,
}

enum Branch {
    /// In use by a session, before it is prepared or while it is being ended.
    Busy,
    Prepared(Box<Prepared>),
}

/// A name that a session has claimed for its branch; dropping this releases it.
pub struct XidClaim {
    engine: Arc<Engine>,
    xid: Xid,
    /// The branch has been prepared, and keeps the name.
    kept: bool,
}

impl Branches {
    pub fn new() -> Branches {
        Branches { named: Mutex::new(Rank::Instance, FxHashMap::default()) }
    }

    /// Adds a prepared transaction.
    pub fn put(&self, xid: Xid, prepared: Prepared) {
        self.named.lock().insert(xid, Branch::Prepared(Box::new(prepared)));
    }

    pub fn prepared_count(&self) -> usize {
        self.named.lock().values().filter(|branch| matches!(branch, Branch::Prepared(_))).count()
    }

    /// Takes a prepared transaction to end it; no other session finds it meanwhile.
    fn take(&self, xid: &Xid, own: bool) -> Option<Box<Prepared>> {
        let mut named = self.named.lock();
        let branch = named.get_mut(xid)?;
        match std::mem::replace(branch, Branch::Busy) {
            Branch::Prepared(prepared) if own || !prepared.attached => Some(prepared),
            other => {
                *branch = other;
                None
            }
        }
    }

    fn free(&self, xid: &Xid) {
        self.named.lock().remove(xid);
    }
}

impl XidClaim {
    pub fn xid(&self) -> &Xid {
        &self.xid
    }

    /// Begins the branch's transaction.
    pub fn begin(&self, options: TrxOptions) -> Trx {
        let mut trx = self.engine.begin(options);
        trx.inner.undo.xid = Some(Box::new(self.xid.clone()));
        trx
    }
}

impl Drop for XidClaim {
    fn drop(&mut self) {
        if !self.kept {
            self.engine.inner.branches.free(&self.xid);
        }
    }
}

impl Engine {
    /// Claims a name for a branch that is to begin. None = another branch has it.
    pub fn claim_xid(self: &Arc<Self>, xid: Xid) -> Option<XidClaim> {
        let mut named = self.inner.branches.named.lock();
        if named.contains_key(&xid) {
            return None;
        }
        named.insert(xid.clone(), Branch::Busy);
        Some(XidClaim { engine: self.clone(), xid, kept: false })
    }

    /// The names of all prepared transactions, in the order of their bytes.
    pub fn prepared(&self) -> Vec<Xid> {
        let named = self.inner.branches.named.lock();
        let is_prepared = |(_, branch): &(&Xid, &Branch)| matches!(branch, Branch::Prepared(_));
        let mut xids: Vec<Xid> = named.iter().filter(is_prepared).map(|(xid, _)| xid.clone()).collect();
        xids.sort_by_key(|xid| (xid.gtrid().to_vec(), xid.bqual().to_vec()));
        xids
    }

    /// Detaches a transaction that a session had prepared and kept attached.
    pub fn detach_prepared(&self, xid: &Xid) {
        if let Some(Branch::Prepared(prepared)) = self.inner.branches.named.lock().get_mut(xid) {
            prepared.attached = false;
        }
    }

    /// Commits a prepared transaction. False = there is none of this name, or it is attached to another session than
    /// the caller's (`own` = the caller prepared it). After an error it is as it was.
    pub fn commit_prepared(&self, xid: &Xid, own: bool) -> Result<bool> {
        self.commit_prepared_with(xid, own, None)
    }

    /// The same, together with a log of an upper layer, if the log has the branch.
    pub fn commit_prepared_with(&self, xid: &Xid, own: bool, log: Option<&dyn CommitLog>) -> Result<bool> {
        let inner = &self.inner;
        let Some(mut prepared) = inner.branches.take(xid, own) else { return Ok(false) };
        let id = prepared.trx.id;
        let log = log.filter(|_| prepared.trx.undo.annexed);
        match prepared.trx.commit(&inner.store, &inner.undo, &inner.registry, &inner.locks, log) {
            Ok(lsn) => {
                inner.commit_temporary(&mut prepared.trx, id);
                prepared.metadata.release_all();
                inner.branches.free(xid);
                let Some(lsn) = lsn else { return Ok(true) };
                self.committed(lsn, &prepared.changed).map(|()| true)
            }
            Err(error) => {
                inner.branches.put(xid.clone(), *prepared);
                Err(error)
            }
        }
    }

    /// Rolls a prepared transaction back; otherwise like [`Engine::commit_prepared`].
    pub fn rollback_prepared(self: &Arc<Self>, xid: &Xid, own: bool) -> Result<bool> {
        self.rollback_prepared_with(xid, own, None)
    }

    /// The same, together with a log of an upper layer, if the log has the branch.
    pub fn rollback_prepared_with(self: &Arc<Self>, xid: &Xid, own: bool, log: Option<&dyn CommitLog>) -> Result<bool> {
        let inner = &self.inner;
        let Some(mut prepared) = inner.branches.take(xid, own) else { return Ok(false) };
        let log = log.filter(|_| prepared.trx.undo.annexed);
        let unprepared = match &prepared.unreadable {
            Some(table) => Err(Error::corrupt(format!("{table}, which the transaction has changed, cannot be read"))),
            None => prepared.trx.unprepare(&inner.store, &inner.undo, log),
        };
        match unprepared {
            Ok(lsn) => {
                // From here on it is a transaction like any other, also for a device that does not allow it to be
                // undone.
                let rolled_back = Trx::of_prepared(self, *prepared).rollback();
                inner.branches.free(xid);
                rolled_back?;
                lsn.map_or(Ok(()), |lsn| inner.store.commit_log(lsn)).map(|()| true)
            }
            Err(error) => {
                inner.branches.put(xid.clone(), *prepared);
                Err(error)
            }
        }
    }
}

impl Trx {
    /// Prepares the branch: when this returns, neither a crash nor the end of the session undoes it, and it waits for
    /// [`Engine::commit_prepared`] or [`Engine::rollback_prepared`]. `attached`: only this session may end it, until
    /// [`Engine::detach_prepared`]. After an error it is rolled back.
    pub fn prepare(self, claim: XidClaim, attached: bool) -> Result<()> {
        self.prepare_with(claim, attached, None)
    }

    /// The same, together with a log of an upper layer. A branch without changes does not reach that log.
    pub fn prepare_with(mut self, mut claim: XidClaim, attached: bool, log: Option<&dyn CommitLog>) -> Result<()> {
        assert!(self.inner.undo.xid.as_deref() == Some(&claim.xid), "a branch is prepared under its own name");
        let engine = self.engine().clone();
        let inner = &engine.inner;
        let prepared = match self.inner.prepare(&inner.store, &inner.undo, log) {
            Ok(Some(lsn)) => inner.store.commit_log(lsn),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = prepared {
            // What may be "prepared" on disk must not be so while it is undone. If that fails, too, so does the
            // rollback. An upper layer's log does not have the branch, or nothing is written any more.
            let _ = self.inner.unprepare(&inner.store, &inner.undo, None);
            self.rollback()?;
            return Err(error);
        }
        let mut prepared = self.into_prepared(attached);
        // From now on a KILL of the session does not reach this transaction.
        prepared.trx.interrupt = Arc::new(Interrupt::new());
        claim.kept = true;
        inner.branches.put(claim.xid.clone(), prepared);
        Ok(())
    }
}
