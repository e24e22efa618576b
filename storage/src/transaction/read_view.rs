//! Read views: the transactions whose changes a reader sees.
//!
//! A view is a point in time. A version of a row is visible if the transaction that wrote it had ended by then:
//!
//! ```text
//! ids   0 ........... up_limit ................ low_limit ........
//!       all visible   visible unless active     none visible
//! ```
//!
//! A transaction's own changes are visible too; a view may be shared and does not know its transactions, so
//! [`Transaction::sees`](super::Transaction::sees) checks for that first.

use format::ids::TrxId;

/// See the module header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadView {
    /// Every transaction with a smaller id had ended: the smallest active id.
    up_limit: TrxId,
    /// No transaction with this or a larger id had begun.
    low_limit: TrxId,
    /// The transactions that were active, ascending.
    active: Box<[TrxId]>,
    /// Every transaction with a smaller commit number is visible: this view does not need its history.
    no_limit: TrxId,
}

impl ReadView {
    pub(super) fn new(active: &[TrxId], next: TrxId, no_limit: TrxId) -> ReadView {
        debug_assert!(active.is_sorted(), "active ids ascend");
        ReadView { up_limit: active.first().copied().unwrap_or(next), low_limit: next, active: active.into(), no_limit }
    }

    /// Whether a version written by this transaction is visible.
    #[inline]
    pub fn sees(&self, writer: TrxId) -> bool {
        writer < self.up_limit || writer < self.low_limit && self.active.binary_search(&writer).is_err()
    }

    /// Every writer with a smaller id is visible. If a page's newest writer is below, its rows need no check.
    #[inline]
    pub fn up_limit(&self) -> TrxId {
        self.up_limit
    }

    /// No transaction with this or a larger id had begun.
    #[inline]
    pub fn low_limit(&self) -> TrxId {
        self.low_limit
    }

    /// History of transactions with a smaller commit number is not needed by this view.
    #[inline]
    pub fn no_limit(&self) -> TrxId {
        self.no_limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_sees_who_had_ended() {
        let view = ReadView::new(&[TrxId(5), TrxId(8)], TrxId(10), TrxId(10));
        let seen: Vec<u64> = (3..12).filter(|id| view.sees(TrxId(*id))).collect();
        assert_eq!(seen, [3, 4, 6, 7, 9]);
        let calm = ReadView::new(&[], TrxId(10), TrxId(10));
        assert!(calm.sees(TrxId(9)) && !calm.sees(TrxId(10)));
    }
}
