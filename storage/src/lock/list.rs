//! A snapshot of the locks, for views.

use format::ids::TrxId;

use super::LockRequest;
use super::entry::Holder;
use super::table::LockTable;

/// One lock that is held or waited for, for a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockInfo {
    pub owner: TrxId,
    pub request: LockRequest,
    pub waiting: bool,
    /// The owner and the request of the conflicting lock. A waiter has one entry for each lock that blocks it.
    pub blocked_by: Option<(TrxId, LockRequest)>,
}

impl LockTable {
    /// All locks that are held or waited for. The shards are latched one after the other, so the list is not of one
    /// point in time. A waiter is listed once for each lock that blocks it.
    pub fn list(&self) -> Vec<LockInfo> {
        let mut list = Vec::new();
        self.shards().each_entry(|entry| {
            let info = |holder: &Holder, waiting, blocked_by| LockInfo {
                owner: holder.owner,
                request: holder.request(entry.id),
                waiting,
                blocked_by,
            };
            list.extend(entry.holders().map(|holder| info(holder, false, None)));
            for (place, waiting) in entry.waiting().enumerate() {
                let wanted = &waiting.wanted;
                list.extend(entry.in_the_way(place, wanted).map(|other| {
                    let blocker = (other.owner, other.request(entry.id));
                    info(wanted, true, Some(blocker))
                }));
            }
        });
        list
    }
}
