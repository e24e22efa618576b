//! Branches of distributed transactions (XA): names that are taken, and transactions that have been prepared.
//!
//! ```text
//!   claim_xid        a session has the name; its transaction is one like any other, whose undo logs carry the name
//!      | prepare     undo logs change state, log flushed
//!      v
//!   prepared         here, in nobody's hands: locks, metadata locks and undo stay.    <--- recovery puts those it finds here
//!      |
//!      +-- commit_prepared, rollback_prepared: by whoever knows the name
//! ```
//!
//! A name belongs to one branch from XA START until the branch has ended. A session may keep what it prepared attached:
//! then nobody else ends it before the session lets go.
//!
//! Invariants:
//!
//! * A transaction is prepared on disk before anybody is told, and before anybody can find it here.
//! * What fails while a prepared transaction is committed leaves it prepared.
//! * A prepared transaction that is to be rolled back is an active one on disk first, so that a crash goes on with the
//!   rollback and does not promise it again.
//!
//! Not here: the states of a session (ACTIVE, IDLE ...) and what may be said in which, see `sql::session::xa`.

use std::sync::Arc;

use format::xid::Xid;
use rustc_hash::FxHashMap;

use super::trx::ChangedTables;
use super::{Engine, Trx, TrxOptions};
use crate::error::{Error, Result};
use crate::lock::{Interrupt, MetadataHeld};
use crate::sync::{Mutex, Rank};
use crate::transaction::Transaction;

/// All branches that have a name now.
pub(super) struct Branches {
    named: Mutex<FxHashMap<Xid, Branch>>,
}

enum Branch {
    /// In a session's hands, before it is prepared or while it is ended.
    Busy,
    Prepared(Box<Prepared>),
}

/// See the module header.
pub(super) struct Prepared {
    pub trx: Transaction,
    pub metadata: MetadataHeld,
    pub changed: ChangedTables,
    /// Only the session that prepared it may end it.
    pub attached: bool,
    /// A table that it has changed and that cannot be read now: it can be committed, and not be undone.
    pub unreadable: Option<String>,
}

/// A name that a session has taken for a branch of its own; given back when dropped.
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

    /// Takes in a prepared transaction.
    pub fn put(&self, xid: Xid, prepared: Prepared) {
        self.named.lock().insert(xid, Branch::Prepared(Box::new(prepared)));
    }

    pub fn prepared_count(&self) -> usize {
        self.named.lock().values().filter(|branch| matches!(branch, Branch::Prepared(_))).count()
    }

    /// Takes a prepared transaction to end it; nobody else finds it meanwhile.
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
    /// Takes a name for a branch that is to begin. None = another branch has it.
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

    /// Lets go of a transaction that a session had prepared and kept to itself.
    pub fn detach_prepared(&self, xid: &Xid) {
        if let Some(Branch::Prepared(prepared)) = self.inner.branches.named.lock().get_mut(xid) {
            prepared.attached = false;
        }
    }

    /// Commits a prepared transaction. False = there is none of this name, or not for this caller, who has not (`own`)
    /// prepared it himself. After an error it is as it was.
    pub fn commit_prepared(&self, xid: &Xid, own: bool) -> Result<bool> {
        let inner = &self.inner;
        let Some(mut prepared) = inner.branches.take(xid, own) else { return Ok(false) };
        let id = prepared.trx.id;
        match prepared.trx.commit(&inner.store, &inner.undo, &inner.registry, &inner.locks) {
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
        let inner = &self.inner;
        let Some(mut prepared) = inner.branches.take(xid, own) else { return Ok(false) };
        let unprepared = match &prepared.unreadable {
            Some(table) => Err(Error::corrupt(format!("{table}, which the transaction has changed, cannot be read"))),
            None => prepared.trx.unprepare(&inner.store, &inner.undo),
        };
        match unprepared {
            Ok(lsn) => {
                // From here on it is one like any other, for a device that does not allow to undo, too.
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
    /// [`Engine::commit_prepared`] or [`Engine::rollback_prepared`]. `attached`: for those of this caller only, until
    /// [`Engine::detach_prepared`]. After an error it is rolled back.
    pub fn prepare(mut self, mut claim: XidClaim, attached: bool) -> Result<()> {
        assert!(self.inner.undo.xid.as_deref() == Some(&claim.xid), "a branch is prepared under its own name");
        let engine = self.engine().clone();
        let inner = &engine.inner;
        let prepared = match self.inner.prepare(&inner.store, &inner.undo) {
            Ok(Some(lsn)) => inner.store.commit_log(lsn),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = prepared {
            // What may say "prepared" on disk must not while it is undone. If that fails, too, so does the rollback.
            let _ = self.inner.unprepare(&inner.store, &inner.undo);
            self.rollback()?;
            return Err(error);
        }
        let mut prepared = self.into_prepared(attached);
        // Whoever is killed from now on is not this transaction's session.
        prepared.trx.interrupt = Arc::new(Interrupt::new());
        claim.kept = true;
        inner.branches.put(claim.xid.clone(), prepared);
        Ok(())
    }
}
