//! A transaction's own undo: appending, undoing, committing.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use format::bytes::get_u16;
use format::ids::{Lsn, PageId, RollPtr, TableId, TrxId, UndoNo};
use format::page::space::{Address, Node};
use format::page::undo as page;
use format::redo::PageOp;

use super::history::Committed;
use super::segment::{NewLog, UndoSpace, free_page, init_page, state_and_log, write_slot};
use super::{LogKind, Top, TopRecord, TrxUndo, UndoRecord};
use crate::error::{Error, Result};
use crate::list::{End, List};
use crate::mtr::{Annexed, Changes, Mtr, PageHandle};
use crate::segment::{self, Direction, Segment};
use crate::store::Store;

/// The number of records of a transaction that are not undone, and the tables they are about, as far as the records
/// have been read. The newest are read first.
pub struct Survey {
    pub records: u64,
    pub tables: BTreeSet<TableId>,
    /// The next record of each log, updates first.
    next: [Option<Top>; 2],
}

impl Survey {
    /// A survey that has read nothing yet.
    pub fn new(undo: &TrxUndo) -> Survey {
        let next = [&undo.update, &undo.insert].map(|log| log.as_ref().and_then(|log| log.top));
        Survey { records: 0, tables: BTreeSet::new(), next }
    }
}

impl UndoSpace {
    /// The number that the next record of a transaction will have.
    #[inline]
    pub fn next_number(undo: &TrxUndo) -> UndoNo {
        UndoNo(undo.next)
    }

    /// Latches the page of a transaction's next record, of `bytes`, in the mini-transaction of the change it describes.
    /// `None` if there is no space: the caller releases its latches, calls [`UndoSpace::grow`], and tries again.
    #[inline]
    pub fn find_room(
        &self,
        mtr: &mut Mtr<'_>,
        undo: &TrxUndo,
        kind: LogKind,
        bytes: usize,
    ) -> Result<Option<RecordPlace<'_>>> {
        let (page, offset, segment, begins) = match undo.log(kind) {
            Some(log) => {
                debug_assert!(!log.untruncated, "a partial rollback ends with a truncation");
                let handle = mtr.latch_exclusive(log.last)?;
                let page = mtr.page(handle);
                if usize::from(page::free(page)) < page::BODY {
                    return Err(Error::corrupt_page(log.last, "an undo page whose free bytes begin in its header"));
                }
                if page::room(page) < bytes {
                    return Ok(None);
                }
                (handle, page::free(page), undo.segment.expect("who has a log has a segment"), None)
            }
            None => match self.take_cached(mtr, undo, kind, bytes)? {
                Some(log) => (log.page, log.start, log.segment(), Some(log)),
                None => return Ok(None),
            },
        };
        let roll_ptr = RollPtr::new(kind == LogKind::Insert, segment, mtr.page_id(page).page, offset);
        Ok(Some(RecordPlace { page, kind, roll_ptr, begins }))
    }

    /// Appends a record at its position; the first one begins the log.
    #[inline]
    pub fn append(
        &self,
        changes: &mut Changes<'_>,
        undo: &mut TrxUndo,
        place: RecordPlace<'_>,
        trx_id: TrxId,
        record: &[u8],
    ) {
        let RecordPlace { page, kind, roll_ptr, begins } = place;
        if let Some(new) = begins {
            new.begin(changes, undo, trx_id);
            self.counters.logs_reused.fetch_add(1, Ordering::Relaxed);
        }
        changes.apply(page, PageOp::UndoAppend { record });
        let number = undo.next;
        let log = undo.log_mut(kind).as_mut().expect("there was one, or it was begun");
        log.top = Some(Top { page: log.last, offset: roll_ptr.offset(), number });
        undo.next += 1;
        self.counters.records.fetch_add(1, Ordering::Relaxed);
    }

    /// Makes space for a record of `bytes`: begins the log, or adds a page to it. The caller holds no latch.
    pub fn grow(&self, store: &Store, undo: &mut TrxUndo, kind: LogKind, trx_id: TrxId, bytes: usize) -> Result<()> {
        let bytes_max = store.page_bytes() - page::BODY - page::RECORD_FRAME_BYTES - 8;
        if bytes > bytes_max {
            return Err(Error::RowTooLarge { bytes, bytes_max });
        }
        if undo.log(kind).is_none() {
            self.begin_log(store, undo, kind, trx_id)?;
        }
        let log = undo.log_mut(kind).as_mut().expect("begun a moment ago");
        if page::room(&store.read(log.last)?) >= bytes {
            return Ok(());
        }
        let _room = segment::reserve(store, log.first.space, 1)?;
        let mut mtr = Mtr::begin(store);
        let first = mtr.latch_exclusive(log.first)?;
        let Some(segment) = Segment::read(mtr.page(first), page::SEGMENT) else {
            return Err(Error::corrupt_page(log.first, "an undo segment without its header"));
        };
        let handle = segment::allocate_page(&mut mtr, segment, log.last.page, Direction::Up)?;
        init_page(&mut mtr, handle, kind, page::BODY)?;
        let id = mtr.page_id(handle);
        List { page: first, offset: page::PAGE_LIST }
            .push_last(&mut mtr, Address::new(id.page, page::PAGE_NODE as u16))?;
        mtr.commit();
        log.last = id;
        Ok(())
    }

    /// The newest record that is not undone, if its number is at least `to`: copied into `record`.
    pub fn top(&self, store: &Store, undo: &TrxUndo, to: UndoNo, record: &mut Vec<u8>) -> Result<Option<TopRecord>> {
        let top_of = |kind| undo.log(kind).as_ref().and_then(|log| log.top).map(|top: Top| (top.number, kind, top));
        let newest = match (top_of(LogKind::Insert), top_of(LogKind::Update)) {
            (Some(insert), Some(update)) => Some(if insert.0 > update.0 { insert } else { update }),
            (insert, update) => insert.or(update),
        };
        let Some((number, kind, top)) = newest.filter(|(number, ..)| *number >= to.0) else {
            return Ok(None);
        };
        let page = store.read(top.page)?;
        let bytes = page::record(&page, top.offset).map_err(|cause| Error::corrupt_page(top.page, cause))?;
        record.clear();
        record.extend_from_slice(bytes);
        let segment = undo.segment.expect("who has records has a segment");
        let roll_ptr = RollPtr::new(kind == LogKind::Insert, segment, top.page.page, top.offset);
        Ok(Some(TopRecord { kind, number: UndoNo(number), roll_ptr }))
    }

    /// Drops the record that [`UndoSpace::top`] returned: it is undone. Its bytes stay until [`UndoSpace::truncate`],
    /// so after a crash it may be undone once more, which must do no harm.
    pub fn pop(&self, store: &Store, undo: &mut TrxUndo, kind: LogKind) -> Result<()> {
        let log = undo.log_mut(kind).as_mut().expect("its top was answered");
        let top = log.top.expect("its top was answered");
        log.top = log.record_before(store, top.page, Some(top.offset))?;
        log.untruncated = true;
        let left_page = log.top.map_or(log.first, |before| before.page) != top.page;
        if left_page {
            self.truncate_log(store, undo, kind)?;
        }
        Ok(())
    }

    /// Removes the undone records from the pages, at the end of a whole or partial rollback. Their numbers are not used
    /// again.
    pub fn truncate(&self, store: &Store, undo: &mut TrxUndo) -> Result<()> {
        for kind in [LogKind::Insert, LogKind::Update] {
            if undo.log(kind).as_ref().is_some_and(|log| log.untruncated) {
                self.truncate_log(store, undo, kind)?;
            }
        }
        Ok(())
    }

    fn truncate_log(&self, store: &Store, undo: &mut TrxUndo, kind: LogKind) -> Result<()> {
        let log = undo.log_mut(kind).as_mut().expect("there is a log to truncate");
        // Whole pages first, from the end; each in its own mini-transaction.
        let keep = log.top.map_or(log.first, |top| top.page);
        while log.last != keep {
            let mut mtr = Mtr::begin(store);
            let first = mtr.latch_exclusive(log.first)?;
            let Some(segment) = Segment::read(mtr.page(first), page::SEGMENT) else {
                return Err(Error::corrupt_page(log.first, "an undo segment without its header"));
            };
            let last = mtr.latch_exclusive(log.last)?;
            let before = Node::read(mtr.page(last), page::PAGE_NODE).prev;
            if before.is_null() {
                return Err(Error::corrupt_page(log.last, "an undo page without a page before it"));
            }
            List { page: first, offset: page::PAGE_LIST }
                .remove(&mut mtr, Address::new(log.last.page, page::PAGE_NODE as u16))?;
            free_page(&mut mtr, segment, last)?;
            mtr.commit();
            log.last = PageId::new(log.first.space, before.page);
        }
        let mut mtr = Mtr::begin(store);
        let last = mtr.latch_exclusive(log.last)?;
        let free = match log.top {
            // Behind the record that stays.
            Some(top) => {
                page::record(mtr.page(last), top.offset).map_err(|cause| mtr.corrupt(last, cause))?;
                get_u16(mtr.page(last), usize::from(top.offset))
            }
            None => log.start_on(log.last),
        };
        let mut changes = mtr.certain();
        changes.write(last, page::FREE, &free.to_be_bytes());
        changes.commit();
        log.untruncated = false;
        Ok(())
    }

    /// Marks the transaction's undo as prepared, or (`STATE_ACTIVE`) as no longer prepared, in one mini-transaction:
    /// this decides whether recovery keeps it or undoes it. Returns the LSN up to which the log must be flushed.
    fn set_state(&self, store: &Store, undo: &TrxUndo, state: u16, annex: Annexed<'_>) -> Result<Lsn> {
        let mut mtr = Mtr::begin_last(store);
        let logs = undo.update.iter().chain(&undo.insert);
        let pages: Vec<_> = logs.map(|log| Ok((mtr.latch_exclusive(log.first)?, log.header))).collect::<Result<_>>()?;
        let mut changes = mtr.certain();
        for (first, header) in pages {
            changes.write(first, page::STATE, &state.to_be_bytes());
            if annex.is_some() && state == page::STATE_PREPARED {
                let flags = page::LOG_FLAG_XID | page::LOG_FLAG_ANNEXED;
                changes.write(first, usize::from(header) + page::LOG_FLAGS, &[flags]);
            }
        }
        if let Some((kind, bytes)) = annex {
            changes.annex(kind, bytes);
        }
        Ok(changes.commit())
    }

    /// From here on recovery keeps the transaction, which has an XID, as it is, and knows whether there was an annex.
    pub fn prepare(&self, store: &Store, undo: &mut TrxUndo, annex: Annexed<'_>) -> Result<Lsn> {
        assert!(undo.is_empty() || undo.xid.is_some(), "a prepared transaction is found by its XID");
        let lsn = self.set_state(store, undo, page::STATE_PREPARED, annex)?;
        undo.annexed = annex.is_some();
        Ok(lsn)
    }

    /// The opposite of [`UndoSpace::prepare`]: before a prepared transaction is rolled back.
    pub fn unprepare(&self, store: &Store, undo: &TrxUndo, annex: Annexed<'_>) -> Result<Lsn> {
        self.set_state(store, undo, page::STATE_ACTIVE, annex)
    }

    /// Continues the survey by at most `records` records. Returns true once it has read all.
    pub fn survey(&self, store: &Store, undo: &TrxUndo, survey: &mut Survey, records: u64) -> Result<bool> {
        let end = survey.records.saturating_add(records);
        for (log, next) in [&undo.update, &undo.insert].into_iter().zip(&mut survey.next) {
            let Some(log) = log else { continue };
            while let Some(top) = *next {
                if survey.records == end {
                    return Ok(false);
                }
                {
                    let page = store.read(top.page)?;
                    let bytes =
                        page::record(&page, top.offset).map_err(|cause| Error::corrupt_page(top.page, cause))?;
                    survey.tables.insert(UndoRecord::read(bytes)?.table);
                }
                survey.records += 1;
                *next = log.record_before(store, top.page, Some(top.offset))?;
            }
        }
        Ok(true)
    }

    /// Marks the transaction's undo as committed, in one mini-transaction. From then on recovery will not undo it.
    /// `number` is its place in the history; it needs one if it [`TrxUndo::has_updates`].
    ///
    /// Returns the LSN up to which the log must be flushed. [`UndoSpace::finish`] frees what is no longer needed, and
    /// may run after other transactions see the commit.
    pub fn commit(
        &self,
        store: &Store,
        undo: &mut TrxUndo,
        trx_id: TrxId,
        number: Option<TrxId>,
        annex: Annexed<'_>,
    ) -> Result<Lsn> {
        let Some(number_of_segment) = undo.segment else { return Ok(store.current_lsn()) };
        let segment = self.segment(number_of_segment)?;
        let mut mtr = Mtr::begin_last(store);
        let update = match &undo.update {
            Some(log) => {
                let rollback = mtr.latch_exclusive(segment.header)?;
                let first = mtr.latch_exclusive(log.first)?;
                let history = List { page: rollback, offset: page::RSEG_HISTORY };
                let node = Address::new(log.first.page, log.header + page::LOG_HISTORY_NODE as u16);
                Some((rollback, first, history.prepare_push(&mut mtr, node, End::First)?))
            }
            None => None,
        };
        let insert = match &undo.insert {
            Some(log) => Some(mtr.latch_exclusive(log.first)?),
            None => None,
        };

        let mut changes = mtr.certain();
        let mut committed = None;
        if let (Some(log), Some((rollback, first, history))) = (&mut undo.update, update) {
            let number = number.expect("a transaction with updates commits with a number");
            log.state = state_after(changes.page(first), log);
            changes.write(first, page::STATE, &state_and_log(log.state, log.header));
            changes.write(first, usize::from(log.header) + page::LOG_TRX_NO, &number.0.to_be_bytes());
            if log.state == page::STATE_TO_PURGE {
                write_slot(&mut changes, rollback, log.slot, format::ids::PageNo::NULL);
            }
            history.write(&mut changes);
            committed =
                Some(Committed { number, trx_id, segment: segment.number, first: log.first, header: log.header });
        }
        if let (Some(log), Some(first)) = (&mut undo.insert, insert) {
            log.state = match state_after(changes.page(first), log) {
                page::STATE_TO_PURGE => page::STATE_TO_FREE,
                state => state,
            };
            changes.write(first, page::STATE, &state_and_log(log.state, log.header));
        }
        if let Some((kind, bytes)) = annex {
            changes.annex(kind, bytes);
        }
        if let Some(committed) = committed {
            self.history.push(committed);
        }
        Ok(changes.commit())
    }

    /// Returns the logs of a transaction that has committed, or was rolled back entirely.
    pub fn finish(&self, store: &Store, undo: &mut TrxUndo) -> Result<()> {
        let Some(number) = undo.segment.take() else { return Ok(()) };
        let segment = self.segment(number)?;
        undo.next = 0;
        let (insert, update) = (undo.insert.take(), undo.update.take());
        if let Some(log) = update {
            match log.state {
                page::STATE_CACHED => segment.put_cached(LogKind::Update, log.slot, log.first.page),
                // It is in no slot any more; purge frees it.
                page::STATE_TO_PURGE => segment.put_free(log.slot),
                _ => segment.free_segment(store, log.slot, log.first)?,
            }
        }
        if let Some(log) = insert {
            match log.state {
                page::STATE_CACHED => segment.put_cached(LogKind::Insert, log.slot, log.first.page),
                _ => segment.free_segment(store, log.slot, log.first)?,
            }
        }
        Ok(())
    }

    /// Ends the undo of a transaction whose changes have all been undone: recovery will not find it again.
    /// [`UndoSpace::finish`] returns its logs. After an error nothing has changed.
    pub fn end_rollback(&self, store: &Store, undo: &mut TrxUndo) -> Result<Lsn> {
        if undo.segment.is_none() {
            return Ok(store.current_lsn());
        }
        let mut mtr = Mtr::begin_last(store);
        let update = match &undo.update {
            Some(log) => {
                debug_assert!(log.first == log.last && log.top.is_none() && !log.untruncated);
                let first = mtr.latch_exclusive(log.first)?;
                let before = get_u16(mtr.page(first), usize::from(log.header) + page::LOG_PREV);
                if before != 0 && !(page::FIRST_LOG..usize::from(log.header)).contains(&usize::from(before)) {
                    return Err(mtr.corrupt(first, "an undo log behind one that is not before it"));
                }
                Some((first, before))
            }
            None => None,
        };
        let insert = match &undo.insert {
            Some(log) => Some(mtr.latch_exclusive(log.first)?),
            None => None,
        };

        let mut changes = mtr.certain();
        if let (Some(log), Some((first, before))) = (&mut undo.update, update) {
            // A page with earlier logs in the history must not be freed: it goes back to the cache, without the log
            // that was rolled back.
            if before == 0 {
                log.state = page::STATE_TO_FREE;
                changes.write(first, page::STATE, &state_and_log(log.state, log.header));
            } else {
                log.state = page::STATE_CACHED;
                changes.write(first, page::FREE, &log.header.to_be_bytes());
                changes.write(first, usize::from(before) + page::LOG_NEXT, &[0, 0]);
                changes.write(first, page::STATE, &state_and_log(log.state, before));
            }
        }
        if let (Some(log), Some(first)) = (&mut undo.insert, insert) {
            log.state = page::STATE_TO_FREE;
            changes.write(first, page::STATE, &state_and_log(log.state, log.header));
        }
        Ok(changes.commit())
    }
}

/// The position of a transaction's next record: a latched page with enough space.
#[must_use]
pub struct RecordPlace<'u> {
    page: PageHandle,
    kind: LogKind,
    roll_ptr: RollPtr,
    /// The log that the record begins.
    begins: Option<NewLog<'u>>,
}

impl RecordPlace<'_> {
    /// The roll pointer of the record.
    #[inline]
    pub fn roll_ptr(&self) -> RollPtr {
        self.roll_ptr
    }
}

/// The state of a log's segment after its commit: cached for the next transaction if it has one page with space left.
fn state_after(first: &[u8], log: &super::Log) -> u16 {
    let small = log.first == log.last && usize::from(page::free(first)) < first.len() * 3 / 4;
    if small { page::STATE_CACHED } else { page::STATE_TO_PURGE }
}
