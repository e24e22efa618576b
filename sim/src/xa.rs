//! Branches of distributed transactions: prepared, and ended by another session, perhaps lives later.
//!
//! Prepared branches are part of the model: after a crash exactly the expected ones are prepared, and committing one
//! then makes the changes that it would have made before.

use std::sync::Arc;

use format::xid::Xid;
use storage::{Engine, Error, XidClaim};

use crate::model::Change;
use crate::run::{End, Run};
use crate::work::{Open, SLOTS, Scene};

impl Run {
    /// Claims a name for a branch that is to begin. None = drawn before, and not ended yet.
    pub fn claim_xid(&mut self, engine: &Arc<Engine>) -> Option<XidClaim> {
        let number = self.random.below(1000);
        let bytes = number.to_be_bytes();
        // With parts of any length: names are in the log header, and the records begin behind it.
        let gtrid = [&b"branch"[..], &bytes, &[b'.'; 50][..self.random.below(50) as usize]].concat();
        let bqual = vec![b'q'; self.random.below(65) as usize];
        engine.claim_xid(Xid::new(number as u32, &gtrid, &bqual)?)
    }

    pub fn prepare(&mut self, current: Open) -> Result<(), End> {
        if !current.trx.has_changes() {
            // A row that was changed back: nothing on the disk would show that the branch is prepared.
            return self.rollback(current);
        }
        let Some(claim) = current.claim else { return Ok(()) };
        let xid = claim.xid().to_sql();
        self.say(|| format!("prepare {xid}, {} changes", current.changes.len()));
        self.doing = "prepare";
        self.aim_crash(8, 10);
        let prepared = current.trx.prepare(claim, false);
        self.note_prepare(prepared, xid, current.changes)
    }

    /// XA PREPARE has ended.
    pub fn note_prepare(&mut self, prepared: Result<(), Error>, xid: String, changes: Vec<Change>) -> Result<(), End> {
        let mut after = self.model().clone();
        after.prepared.insert(xid, Arc::new(self.model().effective(changes)));
        match prepared {
            Ok(()) => {
                self.report.count("prepared");
                self.set_model(after);
                Ok(())
            }
            Err(error) => Err(self.perhaps(error, after, "prepare")),
        }
    }

    /// Commits one of the prepared transactions, or rolls it back; but none of a slot whose next transaction is open,
    /// because that reads the slot's rows as its own. Returns what was committed.
    pub fn end_prepared(
        &mut self,
        engine: &Arc<Engine>,
        scene: &Scene,
        may_crash: bool,
    ) -> Result<Option<Arc<Vec<Change>>>, End> {
        let prepared = engine.prepared();
        if prepared.is_empty() {
            return Ok(None);
        }
        let xid = &prepared[self.random.below(prepared.len() as u64) as usize];
        let mut after = self.model().clone();
        let Some(changes) = after.prepared.remove(&xid.to_sql()) else {
            return Err(End::Failure(format!("{} is prepared, and ought not to be", xid.to_sql())));
        };
        if changes.iter().any(|change| scene.open.contains_key(&(change.id % SLOTS))) {
            return Ok(None);
        }
        let commits = self.random.chance(2);
        let doing = if commits { "commit of what was prepared" } else { "rollback of what was prepared" };
        self.say(|| format!("{doing}: {}, {} changes", xid.to_sql(), changes.len()));
        self.doing = doing;
        if may_crash {
            self.aim_crash(8, 20);
        }
        let result = match commits {
            true => {
                after.apply(&changes);
                engine.commit_prepared(xid, false)
            }
            false => engine.rollback_prepared(xid, false),
        };
        match result {
            Ok(true) => {
                self.report.count(doing);
                self.set_model(after);
                Ok(commits.then_some(changes))
            }
            Ok(false) => Err(End::Failure(format!("{} is not to be had", xid.to_sql()))),
            Err(error) => Err(self.perhaps(error, after, doing)),
        }
    }

    /// A call failed, in a crash: perhaps all of it has happened.
    fn perhaps(&mut self, error: Error, after: crate::model::Model, doing: &str) -> End {
        self.allowed.push(after);
        self.end(error, doing)
    }
}
