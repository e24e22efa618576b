//! The locks of the moment, for those who look.

use format::ids::TrxId;

use super::LockRequest;
use super::table::{Entry, Holder, LockTable};

/// One lock that is held or waited for, for a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockInfo {
    pub owner: TrxId,
    pub request: LockRequest,
    pub waiting: bool,
    /// Who waits has one entry for each lock in his way: whose it is, and what it is.
    pub blocked_by: Option<(TrxId, LockRequest)>,
}

impl LockTable {
    /// All locks that are held or waited for: a picture that may be slightly blurred, for the shards are latched one
    /// after the other. Who waits comes once for each that is in his way.
    pub fn list(&self) -> Vec<LockInfo> {
        let mut list = Vec::new();
        self.each_entry(|entry| {
            let info = |holder: &Holder, waiting, blocked_by| LockInfo {
                owner: holder.owner,
                request: holder.request(entry.id),
                waiting,
                blocked_by,
            };
            list.extend(entry.holders().map(|holder| info(holder, false, None)));
            for (place, waiting) in entry.waiting().enumerate() {
                let wanted = &waiting.wanted;
                list.extend(in_the_way(entry, place, wanted).map(|other| {
                    let blocker = (other.owner, other.request(entry.id));
                    info(wanted, true, Some(blocker))
                }));
            }
        });
        list
    }
}

/// Who keeps a waiter at `place` of the line from having the lock: holders, and those who stand before it.
pub(super) fn in_the_way<'e>(entry: &'e Entry, place: usize, wanted: &'e Holder) -> impl Iterator<Item = &'e Holder> {
    let ahead = entry.waiting().take(place).map(|waiting| &waiting.wanted);
    entry.holders().chain(ahead).filter(|other| other.owner != wanted.owner && wanted.conflicts_with(other))
}
