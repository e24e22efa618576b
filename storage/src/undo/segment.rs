//! Rollback segments and their undo segments: how a transaction gets a log, and how recovery finds logs after a
//! restart.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use format::bytes::{get_u16, get_u32, get_u64};
use format::ids::{PageId, PageNo, SpaceId, TrxId};
use format::page::header::{PageType, TRAILER_BYTES, TYPE};
use format::page::space::{Address, BASE_BYTES, Base, Node};
use format::page::undo::{self as page, rseg_slot_count};
use format::redo::PageOp;
use format::xid::Xid;

use super::history::History;
use super::{Log, LogKind, RecoveredLog, Top, TrxUndo};
use crate::error::{Error, Result};
use crate::list::List;
use crate::mtr::{Changes, Mtr, PageHandle, Phase};
use crate::segment::{self, Direction, Segment};
use crate::store::Store;
use crate::sync::{Mutex, Rank};

/// Rollback segments of a new instance. Transactions are spread over them, so that their commits do not contend for one
/// page.
const SEGMENTS: usize = if cfg!(test) { 2 } else { 32 };

/// Rollback segments of temporary tables.
const TEMPORARY_SEGMENTS: u8 = 2;

/// Pages freed in one mini-transaction.
const FREE_STEP: usize = if cfg!(test) { 2 } else { 16 };

/// The transaction system page, which names the rollback segments.
const SYSTEM_PAGE: PageId = PageId::new(SpaceId(0), PageNo(page::TRX_SYS_PAGE));

/// All undo of an instance.
pub struct UndoSpace {
    pub(super) segments: Vec<RollbackSegment>,
    next: AtomicUsize,
    pub(super) history: History,
    pub(super) counters: Counters,
}

#[derive(Default)]
pub(super) struct Counters {
    pub records: AtomicU64,
    pub logs_created: AtomicU64,
    pub logs_reused: AtomicU64,
    pub logs_purged: AtomicU64,
}

/// Counters since start, and levels now.
#[derive(Clone, Copy, Debug, Default)]
pub struct UndoStatus {
    pub records_written: u64,
    pub logs_created: u64,
    pub logs_reused: u64,
    pub logs_purged: u64,
    /// Committed logs that purge has not read yet.
    pub history_length_now: u64,
}

pub(super) struct RollbackSegment {
    /// Its number in roll pointers.
    pub number: u8,
    pub header: PageId,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    free: Vec<u16>,
    cached_insert: Vec<Cached>,
    cached_update: Vec<Cached>,
}

/// An undo segment kept for a later transaction.
#[derive(Clone, Copy)]
struct Cached {
    slot: u16,
    first: PageNo,
}

impl RollbackSegment {
    /// A slot for a log: that of a cached segment (then with its first page), or a free one.
    fn take(&self, kind: LogKind) -> Option<(u16, Option<PageNo>)> {
        match self.take_cached_for(kind) {
            Some(cached) => Some((cached.slot, Some(cached.first))),
            None => self.slots.lock().free.pop().map(|slot| (slot, None)),
        }
    }

    /// A cached segment for a log of this kind.
    fn take_cached_for(&self, kind: LogKind) -> Option<Cached> {
        let mut slots = self.slots.lock();
        match kind {
            LogKind::Insert => slots.cached_insert.pop(),
            LogKind::Update => slots.cached_update.pop(),
        }
    }

    /// Any cached segment.
    fn take_any_cached(&self) -> Option<(LogKind, Cached)> {
        let mut slots = self.slots.lock();
        let update = slots.cached_update.pop().map(|cached| (LogKind::Update, cached));
        update.or_else(|| slots.cached_insert.pop().map(|cached| (LogKind::Insert, cached)))
    }

    pub(super) fn put_free(&self, slot: u16) {
        self.slots.lock().free.push(slot);
    }

    pub(super) fn put_cached(&self, kind: LogKind, slot: u16, first: PageNo) {
        let mut slots = self.slots.lock();
        match kind {
            LogKind::Insert => slots.cached_insert.push(Cached { slot, first }),
            LogKind::Update => slots.cached_update.push(Cached { slot, first }),
        }
    }
}

#[inline]
fn slot_at(slot: u16) -> usize {
    page::RSEG_SLOTS + 4 * usize::from(slot)
}

pub(super) fn write_slot<P: Phase>(mtr: &mut Mtr<'_, P>, header: PageHandle, slot: u16, first: PageNo) {
    mtr.write(header, slot_at(slot), &first.0.to_be_bytes());
}

/// Makes the header page of a rollback segment: no history, all slots free.
fn create_rollback_segment(mtr: &mut Mtr<'_>, space: SpaceId) -> Result<PageId> {
    let slots = 4 * rseg_slot_count(mtr.store().page_bytes());
    let segment = segment::create(mtr, space)?;
    let header = segment::allocate_page(mtr, segment, PageNo(0), Direction::None)?;
    let id = mtr.page_id(header);
    mtr.apply(header, PageOp::Init { id, page_type: PageType::SYS })?;
    mtr.write(header, page::RSEG_MAX_PAGES, &(u32::MAX - 1).to_be_bytes());
    List { page: header, offset: page::RSEG_HISTORY }.init(mtr);
    mtr.write(header, page::RSEG_SEGMENT, &segment.to_bytes());
    mtr.apply(header, PageOp::Fill { offset: page::RSEG_SLOTS as u16, count: slots as u16, byte: 0xFF })?;
    Ok(id)
}

impl UndoSpace {
    /// Makes the rollback segments of a new instance in the (new, initialised) tablespace `space`, and names them on
    /// the transaction system page, which exists.
    pub fn create(store: &Store, space: SpaceId) -> Result<()> {
        for number in 0..page::TRX_SYS_RSEG_COUNT {
            let at = page::TRX_SYS_RSEGS + number * page::TRX_SYS_RSEG_BYTES;
            let mut mtr = Mtr::begin(store);
            let system = mtr.latch_exclusive(SYSTEM_PAGE)?;
            if number >= SEGMENTS {
                let count = (page::TRX_SYS_RSEG_COUNT - number) * page::TRX_SYS_RSEG_BYTES;
                mtr.apply(system, PageOp::Fill { offset: at as u16, count: count as u16, byte: 0xFF })?;
                mtr.commit();
                break;
            }
            let id = create_rollback_segment(&mut mtr, space)?;
            mtr.write(system, at, &space.0.to_be_bytes());
            mtr.write(system, at + 4, &id.page.0.to_be_bytes());
            mtr.commit();
        }
        Ok(())
    }

    /// Undo of temporary tables, in the (new, initialised) temporary tablespace `space`: no other place on disk refers
    /// to it.
    pub fn create_temporary(store: &Store, space: SpaceId) -> Result<UndoSpace> {
        let slot_count = rseg_slot_count(store.page_bytes()) as u16;
        let mut segments = Vec::new();
        for number in 0..TEMPORARY_SEGMENTS {
            let mut mtr = Mtr::begin(store);
            let header = create_rollback_segment(&mut mtr, space)?;
            mtr.commit();
            let slots = Slots { free: (0..slot_count).rev().collect(), ..Slots::default() };
            segments.push(RollbackSegment { number, header, slots: Mutex::new(Rank::Undo, slots) });
        }
        let (history, counters) = (History::new(0..TEMPORARY_SEGMENTS), Counters::default());
        Ok(UndoSpace { segments, next: AtomicUsize::new(0), history, counters })
    }

    /// The rollback segments by number, with their header pages.
    pub fn header_pages(store: &Store) -> Result<Vec<(u8, PageId)>> {
        let system = store.read(SYSTEM_PAGE)?;
        let header = |number: usize| {
            let at = page::TRX_SYS_RSEGS + number * page::TRX_SYS_RSEG_BYTES;
            PageId::new(SpaceId(get_u32(&system, at)), PageNo(get_u32(&system, at + 4)))
        };
        let all = (0..page::TRX_SYS_RSEG_COUNT).map(|number| (number as u8, header(number)));
        Ok(all.filter(|(_, id)| !id.page.is_null()).collect())
    }

    /// Reads the rollback segments. Returns the transactions that had not ended, in the order of their ids, and the
    /// largest transaction number found, so that no smaller one is given again.
    pub fn open(store: &Store) -> Result<(UndoSpace, Vec<RecoveredLog>, TrxId)> {
        let headers = UndoSpace::header_pages(store)?;
        if headers.is_empty() {
            return Err(Error::corrupt_page(SYSTEM_PAGE, "no rollback segments"));
        }
        let mut recovered = BTreeMap::new();
        let mut newest = TrxId(0);
        let history = History::new(headers.iter().map(|(number, _)| *number));
        let mut segments = Vec::new();
        for (number, header) in headers {
            let segment = RollbackSegment { number, header, slots: Mutex::new(Rank::Undo, Slots::default()) };
            newest = newest.max(history.load(store, number, header)?);
            segment.load(store, &mut recovered, &mut newest)?;
            segments.push(segment);
        }
        let space = UndoSpace { segments, next: AtomicUsize::new(0), history, counters: Counters::default() };
        Ok((space, recovered.into_values().collect(), newest))
    }

    /// Frees the cached undo segments of rollback segments without history, because committed logs could lie on them.
    pub fn free_cached(&self, store: &Store) -> Result<()> {
        for segment in &self.segments {
            while let Some((kind, cached)) = segment.take_any_cached() {
                let freed = segment.free_without_history(store, cached.slot, cached.first);
                if !matches!(freed, Ok(true)) {
                    segment.put_cached(kind, cached.slot, cached.first);
                }
                if !freed? {
                    break;
                }
            }
        }
        Ok(())
    }

    pub fn status(&self) -> UndoStatus {
        UndoStatus {
            records_written: self.counters.records.load(Ordering::Relaxed),
            logs_created: self.counters.logs_created.load(Ordering::Relaxed),
            logs_reused: self.counters.logs_reused.load(Ordering::Relaxed),
            logs_purged: self.counters.logs_purged.load(Ordering::Relaxed),
            history_length_now: self.history.length(),
        }
    }

    pub(super) fn segment(&self, number: u8) -> Result<&RollbackSegment> {
        match self.segments.get(usize::from(number)) {
            // They are numbered as they come, unless a slot between them is empty.
            Some(segment) if segment.number == number => Ok(segment),
            _ => self
                .segments
                .iter()
                .find(|segment| segment.number == number)
                .ok_or_else(|| Error::corrupt(format!("rollback segment {number} does not exist"))),
        }
    }

    /// Gives a transaction a log. The caller holds no latch.
    pub(super) fn begin_log(&self, store: &Store, undo: &mut TrxUndo, kind: LogKind, trx_id: TrxId) -> Result<()> {
        let number = undo.segment;
        let (segment, (slot, cached)) = loop {
            let segment = match number {
                Some(number) => self.segment(number)?,
                None => self.next_segment(),
            };
            match segment.take(kind) {
                Some(taken) => break (segment, taken),
                // Full: it has hundreds of slots. The second log of a transaction must be in the same rollback segment
                // as the first.
                None if number.is_none() && self.segments.iter().any(|other| !other.slots.lock().free.is_empty()) => {}
                None => return Err(Error::Unsupported("so many transactions at once".into())),
            }
        };
        let owner = LogOwner { trx_id, dictionary: undo.dictionary, xid: undo.xid.as_deref() };
        let made = match cached {
            Some(first) => self.reuse(store, segment, kind, first, &owner),
            None => self.create_segment(store, segment, slot, kind, &owner),
        };
        match made {
            Ok((first, header)) => {
                let start = header + owner.header_bytes() as u16;
                undo.begun(segment, kind, Log::new(slot, first, header, start));
                Ok(())
            }
            Err(error) => {
                match cached {
                    Some(first) => segment.put_cached(kind, slot, first),
                    None => segment.put_free(slot),
                }
                Err(error)
            }
        }
    }

    /// Latches the page of a cached segment on which a transaction can begin a log along with its first record, of
    /// `bytes`. None if there is none with enough space.
    pub(super) fn take_cached(
        &self,
        mtr: &mut Mtr<'_>,
        undo: &TrxUndo,
        kind: LogKind,
        bytes: usize,
    ) -> Result<Option<NewLog<'_>>> {
        let segment = match undo.segment {
            Some(number) => self.segment(number)?,
            None => self.next_segment(),
        };
        let Some(cached) = segment.take_cached_for(kind) else {
            if undo.segment.is_none() {
                // The next transaction gets this one again.
                self.next.fetch_sub(1, Ordering::Relaxed);
            }
            return Ok(None);
        };
        let mut taken = Taken { segment, kind, cached, used: false };
        let id = PageId::new(segment.header.space, cached.first);
        let page = mtr.latch_exclusive(id)?;
        if let Err(error) = check_logs(id, mtr.page(page)) {
            // A damaged page: the next transaction does not get it again.
            taken.used = true;
            return Err(error);
        }
        let header_bytes = LogOwner::header_bytes_of(undo.xid.is_some());
        if room_behind(mtr.page(page), kind) < header_bytes + bytes {
            mtr.release(page);
            return Ok(None);
        }
        let header = match kind {
            LogKind::Insert => page::FIRST_LOG as u16,
            LogKind::Update => page::free(mtr.page(page)),
        };
        Ok(Some(NewLog { taken, page, start: header + header_bytes as u16 }))
    }

    /// The rollback segment of the next transaction.
    fn next_segment(&self) -> &RollbackSegment {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        &self.segments[turn % self.segments.len()]
    }

    fn create_segment(
        &self,
        store: &Store,
        rollback: &RollbackSegment,
        slot: u16,
        kind: LogKind,
        owner: &LogOwner<'_>,
    ) -> Result<(PageId, u16)> {
        let _room = segment::reserve(store, rollback.header.space, 2)?;
        let mut mtr = Mtr::begin(store);
        let rollback_header = mtr.latch_exclusive(rollback.header)?;
        let segment = segment::create(&mut mtr, rollback.header.space)?;
        let first = segment::allocate_page(&mut mtr, segment, PageNo(0), Direction::None)?;
        let id = mtr.page_id(first);
        init_page(&mut mtr, first, kind, page::FIRST_LOG)?;
        mtr.write(first, page::SEGMENT, &segment.to_bytes());
        let pages = List { page: first, offset: page::PAGE_LIST };
        pages.init(&mut mtr);
        pages.push_last(&mut mtr, Address::new(id.page, page::PAGE_NODE as u16))?;
        let header = begin_header(&mut mtr, first, 0, owner);
        write_slot(&mut mtr, rollback_header, slot, id.page);
        mtr.commit();
        self.counters.logs_created.fetch_add(1, Ordering::Relaxed);
        Ok((id, header))
    }

    fn reuse(
        &self,
        store: &Store,
        rollback: &RollbackSegment,
        kind: LogKind,
        first: PageNo,
        owner: &LogOwner<'_>,
    ) -> Result<(PageId, u16)> {
        let id = PageId::new(rollback.header.space, first);
        let mut mtr = Mtr::begin(store);
        let first = mtr.latch_exclusive(id)?;
        check_logs(id, mtr.page(first))?;
        if room_behind(mtr.page(first), kind) < owner.header_bytes() {
            return Err(Error::corrupt_page(id, "a cached undo segment without room"));
        }
        let mut changes = mtr.certain();
        let header = begin_again(&mut changes, first, kind, owner);
        changes.commit();
        self.counters.logs_reused.fetch_add(1, Ordering::Relaxed);
        Ok((id, header))
    }
}

/// A cached segment that was taken. Dropping this unused puts it back.
struct Taken<'u> {
    segment: &'u RollbackSegment,
    kind: LogKind,
    cached: Cached,
    used: bool,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.segment.put_cached(self.kind, self.cached.slot, self.cached.first);
        }
    }
}

/// A log that a transaction can begin on a latched page with enough free space.
pub(super) struct NewLog<'u> {
    taken: Taken<'u>,
    pub page: PageHandle,
    /// Where its first record will be.
    pub start: u16,
}

impl NewLog<'_> {
    /// The number of its rollback segment.
    pub fn segment(&self) -> u8 {
        self.taken.segment.number
    }

    /// Begins the log.
    pub fn begin(mut self, changes: &mut Changes<'_>, undo: &mut TrxUndo, trx_id: TrxId) {
        let Taken { segment, kind, cached, .. } = self.taken;
        let owner = LogOwner { trx_id, dictionary: undo.dictionary, xid: undo.xid.as_deref() };
        let header = begin_again(changes, self.page, kind, &owner);
        let first = changes.page_id(self.page);
        undo.begun(segment, kind, Log::new(cached.slot, first, header, self.start));
        self.taken.used = true;
    }
}

/// Checks where the logs of an undo segment's first page begin and end.
fn check_logs(id: PageId, first: &[u8]) -> Result<()> {
    let log = get_u16(first, page::LAST_LOG);
    if usize::from(log) < page::FIRST_LOG || usize::from(log) + page::LOG_HEADER_BYTES > first.len() {
        return Err(Error::corrupt_page(id, "an undo segment without a log"));
    }
    let before = get_u16(first, usize::from(log) + page::LOG_PREV);
    if before != 0 && (usize::from(before) < page::FIRST_LOG || before >= log) {
        return Err(Error::corrupt_page(id, "an undo log behind one that is not before it"));
    }
    // A cached segment is one whose page has space left, see `log::state_after`.
    let cached = get_u16(first, page::STATE) == page::STATE_CACHED;
    let end = if cached { first.len() * 3 / 4 } else { first.len() - TRAILER_BYTES };
    if !(log..=end as u16).contains(&page::free(first)) {
        return Err(Error::corrupt_page(id, "an undo page whose free bytes begin elsewhere"));
    }
    Ok(())
}

/// Bytes available for a new log on the page of a cached segment.
fn room_behind(first: &[u8], kind: LogKind) -> usize {
    match kind {
        LogKind::Insert => page::room(first) + usize::from(page::free(first)) - page::FIRST_LOG,
        LogKind::Update => page::room(first),
    }
}

/// Begins a log on the page of a cached segment.
fn begin_again<P: Phase>(mtr: &mut Mtr<'_, P>, first: PageHandle, kind: LogKind, owner: &LogOwner<'_>) -> u16 {
    let before = match kind {
        // The old records are no longer needed: the page starts over.
        LogKind::Insert => {
            mtr.write(first, page::FREE, &(page::FIRST_LOG as u16).to_be_bytes());
            0
        }
        // The old logs are in the history.
        LogKind::Update => get_u16(mtr.page(first), page::LAST_LOG),
    };
    begin_header(mtr, first, before, owner)
}

/// Initialises an undo page without records.
pub(super) fn init_page(mtr: &mut Mtr<'_>, handle: PageHandle, kind: LogKind, free: usize) -> Result<()> {
    let id = mtr.page_id(handle);
    mtr.apply(handle, PageOp::Init { id, page_type: PageType::UNDO_LOG })?;
    let kind = match kind {
        LogKind::Insert => page::KIND_INSERT,
        LogKind::Update => page::KIND_UPDATE,
    };
    let mut head = [0; 6];
    head[..2].copy_from_slice(&kind.to_be_bytes());
    head[2..4].copy_from_slice(&(free as u16).to_be_bytes());
    head[4..].copy_from_slice(&(free as u16).to_be_bytes());
    mtr.write(handle, page::KIND, &head);
    Ok(())
}

/// The log's owner, for its header.
struct LogOwner<'x> {
    trx_id: TrxId,
    dictionary: bool,
    xid: Option<&'x Xid>,
}

impl LogOwner<'_> {
    fn header_bytes(&self) -> usize {
        LogOwner::header_bytes_of(self.xid.is_some())
    }

    fn header_bytes_of(has_xid: bool) -> usize {
        if has_xid { page::LOG_HEADER_XID_BYTES } else { page::LOG_HEADER_BYTES }
    }
}

const _: () = assert!(page::LOG_XID_FORMAT + Xid::BYTES == page::LOG_HEADER_XID_BYTES);

/// Begins a log at the first free byte of a segment's first page, behind the log whose header is at `before` (0 if
/// none).
fn begin_header<P: Phase>(mtr: &mut Mtr<'_, P>, first: PageHandle, before: u16, owner: &LogOwner<'_>) -> u16 {
    let header = page::free(mtr.page(first));
    let header_bytes = owner.header_bytes();
    let start = header + header_bytes as u16;
    let mut bytes = [0; page::LOG_HEADER_XID_BYTES];
    bytes[page::LOG_TRX_ID..page::LOG_TRX_ID + 8].copy_from_slice(&owner.trx_id.0.to_be_bytes());
    bytes[page::LOG_START..page::LOG_START + 2].copy_from_slice(&start.to_be_bytes());
    bytes[page::LOG_DICTIONARY] = u8::from(owner.dictionary);
    bytes[page::LOG_PREV..page::LOG_PREV + 2].copy_from_slice(&before.to_be_bytes());
    if let Some(xid) = owner.xid {
        bytes[page::LOG_FLAGS] = page::LOG_FLAG_XID;
        bytes[page::LOG_XID_FORMAT..].copy_from_slice(&xid.encode());
    }
    mtr.write(first, usize::from(header), &bytes[..header_bytes]);
    if before != 0 {
        mtr.write(first, usize::from(before) + page::LOG_NEXT, &header.to_be_bytes());
    }
    mtr.write(first, page::STATE, &state_and_log(page::STATE_ACTIVE, header));
    let mut range = [0; 4];
    range[..2].copy_from_slice(&start.to_be_bytes());
    range[2..].copy_from_slice(&start.to_be_bytes());
    mtr.write(first, page::START, &range);
    header
}

pub(super) fn state_and_log(state: u16, log: u16) -> [u8; 4] {
    let mut bytes = [0; 4];
    bytes[..2].copy_from_slice(&state.to_be_bytes());
    bytes[2..].copy_from_slice(&log.to_be_bytes());
    bytes
}

const _: () = assert!(page::STATE + 2 == page::LAST_LOG && page::START + 2 == page::FREE);
const _: () = assert!(page::KIND + 2 == page::START && page::PAGE_LIST + BASE_BYTES == page::FIRST_LOG);

impl RollbackSegment {
    /// Sorts the slots into free, cached, and the logs of transactions that had not ended. Finishes what a crash left.
    fn load(&self, store: &Store, recovered: &mut BTreeMap<TrxId, RecoveredLog>, newest: &mut TrxId) -> Result<()> {
        let count = rseg_slot_count(store.page_bytes()) as u16;
        // Backward, so that low slots are used first.
        for slot in (0..count).rev() {
            let first = PageNo(get_u32(&store.read(self.header)?, slot_at(slot)));
            if first.is_null() {
                self.put_free(slot);
                continue;
            }
            let id = PageId::new(self.header.space, first);
            let (state, kind, log, trx_id, dictionary, xid, annexed) = {
                let page = store.read(id)?;
                check_logs(id, &page)?;
                let log = get_u16(&page, page::LAST_LOG);
                let kind = match get_u16(&page, page::KIND) {
                    page::KIND_INSERT => LogKind::Insert,
                    _ => LogKind::Update,
                };
                let trx_id = TrxId::checked(get_u64(&page, usize::from(log) + page::LOG_TRX_ID))
                    .ok_or_else(|| Error::corrupt_page(id, "a transaction id of more than 48 bits"))?;
                let dictionary = page[usize::from(log) + page::LOG_DICTIONARY] != 0;
                let xid = read_xid(&page, usize::from(log)).map_err(|cause| Error::corrupt_page(id, cause))?;
                let annexed = page[usize::from(log) + page::LOG_FLAGS] & page::LOG_FLAG_ANNEXED != 0;
                (get_u16(&page, page::STATE), kind, log, trx_id, dictionary, xid, annexed)
            };
            *newest = (*newest).max(trx_id);
            match state {
                page::STATE_CACHED => self.put_cached(kind, slot, first),
                page::STATE_TO_FREE => self.free_segment(store, slot, id)?,
                page::STATE_ACTIVE | page::STATE_PREPARED => {
                    let log = self.recover_log(store, slot, id, log)?;
                    let entry = recovered.entry(trx_id).or_insert_with(|| RecoveredLog {
                        trx_id,
                        dictionary,
                        prepared: state == page::STATE_PREPARED,
                        undo: TrxUndo { dictionary, xid, annexed, segment: Some(self.number), ..TrxUndo::default() },
                    });
                    let next = log.top.map_or(0, |top| top.number + 1);
                    entry.undo.next = entry.undo.next.max(next);
                    *entry.undo.log_mut(kind) = Some(log);
                }
                _ => return Err(Error::corrupt_page(id, format_args!("an undo segment in state {state}"))),
            }
        }
        Ok(())
    }

    /// Finds the end of a log.
    fn recover_log(&self, store: &Store, slot: u16, first: PageId, header: u16) -> Result<Log> {
        let (last, start) = {
            let page = store.read(first)?;
            let last = PageId::new(first.space, Base::read(&page, page::PAGE_LIST).last.page);
            (last, get_u16(&page, usize::from(header) + page::LOG_START))
        };
        let mut log = Log { last, ..Log::new(slot, first, header, start) };
        log.top = log.record_before(store, last, None)?;
        Ok(log)
    }

    /// Frees a cached undo segment, which has one page, and its slot. False = this rollback segment has history.
    fn free_without_history(&self, store: &Store, slot: u16, first: PageNo) -> Result<bool> {
        let first = PageId::new(self.header.space, first);
        let mut mtr = Mtr::begin(store);
        let header = mtr.latch_exclusive(self.header)?;
        if Base::read(mtr.page(header), page::RSEG_HISTORY).length > 0 {
            return Ok(false);
        }
        let page = mtr.latch_exclusive(first)?;
        let Some(segment) = Segment::read(mtr.page(page), page::SEGMENT) else {
            return Err(Error::corrupt_page(first, "an undo segment without its header"));
        };
        while !segment::drop_step(&mut mtr, segment)? {}
        write_slot(&mut mtr, header, slot, PageNo::NULL);
        mtr.commit();
        self.put_free(slot);
        Ok(true)
    }

    /// Frees an undo segment that is in a slot, and then the slot.
    pub(super) fn free_segment(&self, store: &Store, slot: u16, first: PageId) -> Result<()> {
        free_all_but_first(store, first)?;
        let mut mtr = Mtr::begin(store);
        let header = mtr.latch_exclusive(self.header)?;
        let page = mtr.latch_exclusive(first)?;
        let Some(segment) = Segment::read(mtr.page(page), page::SEGMENT) else {
            return Err(Error::corrupt_page(first, "an undo segment without its header"));
        };
        // One page and the inode, together with the slot: a slot never leads to a page that is free.
        while !segment::drop_step(&mut mtr, segment)? {}
        write_slot(&mut mtr, header, slot, PageNo::NULL);
        mtr.commit();
        self.put_free(slot);
        Ok(())
    }
}

/// The XID of the log at `header`, if it has one.
fn read_xid(first: &[u8], header: usize) -> format::Result<Option<Box<Xid>>> {
    if first[header + page::LOG_FLAGS] & page::LOG_FLAG_XID == 0 {
        return Ok(None);
    }
    let bytes = first.get(header + page::LOG_XID_FORMAT..).unwrap_or_default();
    Xid::decode(bytes).map(|xid| Some(Box::new(xid)))
}

/// Frees the pages of an undo segment from the end up to the first, a few at a time.
pub(super) fn free_all_but_first(store: &Store, first: PageId) -> Result<()> {
    loop {
        let mut mtr = Mtr::begin(store);
        let page = mtr.latch_exclusive(first)?;
        let Some(segment) = Segment::read(mtr.page(page), page::SEGMENT) else {
            return Err(Error::corrupt_page(first, "an undo segment without its header"));
        };
        let pages = List { page, offset: page::PAGE_LIST };
        let mut left = pages.length(&mtr);
        for _ in 0..FREE_STEP {
            if left > 1 {
                let last = PageId::new(first.space, pages.base(&mtr).last.page);
                let handle = mtr.latch_exclusive(last)?;
                pages.remove(&mut mtr, Address::new(last.page, page::PAGE_NODE as u16))?;
                free_page(&mut mtr, segment, handle)?;
                left -= 1;
            }
        }
        mtr.commit();
        if left <= 1 {
            return Ok(());
        }
    }
}

/// Frees an undo page. Its type is overwritten, so that a stale page number cannot be taken for an undo page.
pub(super) fn free_page(mtr: &mut Mtr<'_>, segment: Segment, handle: PageHandle) -> Result<()> {
    mtr.write(handle, TYPE, &PageType::ALLOCATED.0.to_be_bytes());
    let id = mtr.page_id(handle);
    segment::free_page(mtr, segment, id.page)
}

impl Log {
    /// A log without records whose header is there.
    fn new(slot: u16, first: PageId, header: u16, start: u16) -> Log {
        let state = page::STATE_ACTIVE;
        Log { slot, first, header, start, last: first, top: None, untruncated: false, state }
    }

    /// Where the records of this log begin on a page.
    pub(super) fn start_on(&self, page: PageId) -> u16 {
        if page == self.first { self.start } else { page::BODY as u16 }
    }

    /// The newest record before `offset` of a page, or (`None`) on it at all, or on a page before it.
    pub(super) fn record_before(&self, store: &Store, page: PageId, offset: Option<u16>) -> Result<Option<Top>> {
        let mut id = page;
        let mut from = offset;
        // More pages than there are would be a cycle.
        let pages = store.space(page.space).map_or(0, |space| space.pages());
        for _ in 0..pages {
            let page = store.read(id)?;
            let end = from.take().unwrap_or_else(|| page::free(&page));
            let found = page::prev_record(&page, end, self.start_on(id));
            if let Some(offset) = found.map_err(|cause| Error::corrupt_page(id, cause))? {
                let record = page::record(&page, offset).map_err(|cause| Error::corrupt_page(id, cause))?;
                let number = super::UndoRecord::read(record)?.number.0;
                return Ok(Some(Top { page: id, offset, number }));
            }
            if id == self.first {
                return Ok(None);
            }
            let before = Node::read(&page, page::PAGE_NODE).prev;
            if before.is_null() {
                return Err(Error::corrupt_page(id, "an undo page without a page before it"));
            }
            id = PageId::new(id.space, before.page);
        }
        Err(Error::corrupt_page(id, "undo pages that go in a circle"))
    }
}
