//! An index page split by columns, so that similar bytes stand together.
//!
//! The front of each record (its key, the hidden columns) is a window of the same width around its origin. The windows
//! are transposed, in the order of the keys: the first bytes of all records, the second ones, and so on. Such a *plane*
//! ([`super::planes`]) is mostly constant or rises by small steps, and then takes a few bits for each record; noise
//! (transaction numbers) is stored as it is, and does not disturb the statistics of the other bytes. The remainder of
//! the page, the *text*, consists of the bytes between the windows, in page order.
//!
//! Whatever can be derived is left out. A record's number in the heap gives its place among the others; so the numbers,
//! in the order of the keys, are a permutation, which determines the distances to the next records. The sizes of the
//! groups determine the directory. On a page whose records were inserted in key order all this takes some thirty bytes;
//! after inserts at random the permutation dominates: ten bits for each record of a thousand.
//!
//! ```text
//!   body    | page header | rrrr text |rrrr text   |rrrr te|rrrr text |   zeros   | directory, trailer |
//!           0             HEAP                                  heap_end        tail
//!
//!   side    66  page header, without what is the same on all pages
//!            8  trailer
//!            2  where the first window begins
//!            1  status of all records
//!               order: the numbers in the heap, of records by key, and then of free ones as they are linked
//!               planes: distances of windows from the one before, low and high, as they lie (the first is the second's)
//!               plane: sizes of the directory's groups
//!               planes: bytes before the record header; info bits (and of free records, the size of a group);
//!               bytes behind the header
//!   text    text text text te text
//! ```
//!
//! The widths of the windows are found from time to time from the bytes ([`Shape::of`]); no description of the table is
//! needed.
//!
//! Invariants:
//!
//! * `join(split(body)) == body`, whatever the body is. A body that is no index page, or that the split would not
//!   reproduce, is not split.
//! * `join` reads and writes within bounds, whatever the side contains.
//!
//! Not here: how side and text are stored, see [`super`].

use super::planes::{append_order, append_plane, plane_bytes, read_order, read_plane};
use crate::page::{get_u16, put_u16};

/// Offsets in the body, which begins behind the page header's 38 bytes.
const PAGE_HEADER: usize = super::super::BODY;
const SLOTS: usize = 0;
const HEAP_TOP: usize = 2;
const HEAP_COUNT: usize = 4;
const FREE: usize = 6;
const RECORDS: usize = 16;
const INFIMUM: usize = 99 - PAGE_HEADER;
const SUPREMUM: usize = 112 - PAGE_HEADER;
/// Where records may begin.
const HEAP: usize = 120 - PAGE_HEADER;
const TRAILER_BYTES: usize = 8;
const SLOT_BYTES: usize = 2;
/// The part that is the same on all pages.
const BOUNDS: [(usize, &[u8; 8]); 2] = [(INFIMUM, b"infimum\0"), (SUPREMUM, b"supremum")];
/// Heap numbers of infimum and supremum come first.
const BOUNDS_COUNT: u16 = 2;
/// The record header, and in it the byte with info bits and the size of a group, downward from the origin.
const BEFORE_MIN: usize = 5;
const HEAP_NUMBER: usize = 4;
const NEXT: usize = 2;
const GROUP: u8 = 0x0F;
/// The most in front of an origin: NULL flags and lengths may come before the header.
const BEFORE_MAX: usize = 16;
const AFTER_MAX: usize = 64;

/// The window around an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub before: u8,
    pub after: u8,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { before: BEFORE_MIN as u8, after: 0 }
    }
}

/// A body split into columns. Reused from page to page.
#[derive(Default)]
pub(super) struct Columns {
    pub side: Vec<u8>,
    pub text: Vec<u8>,
    /// Where the text ends in the body, and zeros begin.
    pub heap_end: usize,
    /// Where they end.
    pub tail: usize,
    pub shape: Shape,
    /// Free ones, too.
    pub records: usize,
    chain: Chain,
    /// Windows, transposed: all planes one behind the other.
    planes: Vec<u8>,
    /// Working space for computing the size of a plane.
    rests: Vec<u8>,
}

/// How records are linked.
#[derive(Default)]
struct Chain {
    /// Origins in the body: of records by key, then of free ones.
    origins: Vec<u16>,
    /// How many are not free.
    listed: usize,
    /// Their numbers in the heap, from 0 on.
    order: Vec<u16>,
    /// Origins by these numbers.
    heap: Vec<u16>,
    groups: Vec<u8>,
    status: u8,
}

impl Chain {
    /// Derives it from a body. `None` if that is no index page, or one that [`Columns::join`] would not reproduce.
    fn read(&mut self, body: &[u8]) -> Option<()> {
        let tail = tail_of(body)?;
        if BOUNDS.iter().any(|(at, name)| body[*at..at + 8] != **name) {
            return None;
        }
        let listed = usize::from(get_u16(body, RECORDS));
        let total = usize::from(get_u16(body, HEAP_COUNT) & 0x7FFF).checked_sub(BOUNDS_COUNT.into())?;
        if listed < 2 || listed > total || total > body.len() / BEFORE_MIN {
            return None;
        }
        self.listed = listed;
        self.origins.clear();
        self.order.clear();
        self.groups.clear();
        self.heap.clear();
        self.heap.resize(total, 0);
        let is_place = |place: usize| (HEAP + BEFORE_MIN..tail).contains(&place);
        let slot = |number: usize| usize::from(get_u16(body, body.len() - TRAILER_BYTES - SLOT_BYTES * (number + 1)));
        let slots = usize::from(get_u16(body, SLOTS));
        let mut group = 0_usize;
        let mut place = next(body, INFIMUM);
        for at in 0..total {
            if !is_place(place) {
                return None;
            }
            let number = get_u16(body, place - HEAP_NUMBER);
            if at == 0 {
                self.status = number as u8 & 7;
            }
            let rank = (number >> 3).wrapping_sub(BOUNDS_COUNT);
            let known = self.heap.get_mut(usize::from(rank))?;
            if *known != 0 || number as u8 & 7 != self.status {
                return None;
            }
            *known = place as u16;
            self.origins.push(place as u16);
            self.order.push(rank);
            if at >= listed {
                // The last one is linked to none.
                if (get_u16(body, place - NEXT) == 0) != (at + 1 == total) {
                    return None;
                }
                place = next(body, place);
                continue;
            }
            group += 1;
            let owned = body[place - BEFORE_MIN] & GROUP;
            if owned != 0 {
                self.groups.push(owned);
                if usize::from(owned) != group
                    || self.groups.len() >= slots
                    || slot(self.groups.len()) != place + PAGE_HEADER
                {
                    return None;
                }
                group = 0;
            }
            place = next(body, place);
            if at + 1 == listed {
                if place != SUPREMUM {
                    return None;
                }
                place = usize::from(get_u16(body, FREE)).wrapping_sub(PAGE_HEADER);
                if total == listed && get_u16(body, FREE) != 0 {
                    return None;
                }
            }
        }
        let bounds = slots == self.groups.len() + 2
            && slot(0) == INFIMUM + PAGE_HEADER
            && slot(slots - 1) == SUPREMUM + PAGE_HEADER;
        // All numbers are taken, since each was taken once.
        (bounds && self.heap.is_sorted_by(|one, other| one < other)).then_some(())
    }

    /// The least distance of two records.
    fn nearest(&self) -> usize {
        self.heap.windows(2).map(|pair| usize::from(pair[1] - pair[0])).min().unwrap_or(0)
    }

    fn ends(&self) -> (usize, usize) {
        (self.heap[0].into(), self.heap[self.heap.len() - 1].into())
    }
}

/// The place that the one at `place` is linked to; too large a number if that is none.
fn next(body: &[u8], place: usize) -> usize {
    let next = (PAGE_HEADER + place + usize::from(get_u16(body, place - NEXT))) & 0xFFFF;
    next.wrapping_sub(PAGE_HEADER)
}

/// What leads from a place to the next one.
fn distance(from: usize, to: usize) -> u16 {
    (to as u16).wrapping_sub(from as u16)
}

/// Where the directory begins; `None` if the body is no index page's.
fn tail_of(body: &[u8]) -> Option<usize> {
    if body.len() < HEAP + TRAILER_BYTES || body.len() > 0xFFFF {
        return None;
    }
    let slots = usize::from(get_u16(body, SLOTS));
    body.len().checked_sub(TRAILER_BYTES + SLOT_BYTES * slots).filter(|&tail| slots >= 2 && tail > HEAP)
}

impl Shape {
    fn width(self) -> usize {
        usize::from(self.before) + usize::from(self.after)
    }

    /// The shape that suits pages like this one: as long as a column is cheaper transposed than in the text, it belongs
    /// to the window. `None` if this is no index page.
    pub fn of(body: &[u8], columns: &mut Columns) -> Option<Shape> {
        let Columns { chain, rests, .. } = columns;
        chain.read(body)?;
        let (first, last) = chain.ends();
        let mut counts = [1_u32; 256];
        for &byte in &body[first..last] {
            counts[usize::from(byte)] += 1;
        }
        let total = (last - first + 256) as f32;
        let bits = counts.map(|count| (total / count as f32).log2());
        let nearest = chain.nearest();
        let mut column = Vec::with_capacity(chain.origins.len());
        // How many columns, one after the other in a direction, are worth it.
        let mut widest = |most: usize, place: &dyn Fn(usize, usize) -> usize| {
            let (mut sum, mut best, mut width) = (0.0, 0.0, 0);
            for at in 0..most {
                column.clear();
                column.extend(chain.origins.iter().map(|&origin| body[place(origin.into(), at)]));
                let among_text: f32 = column.iter().map(|&byte| bits[usize::from(byte)]).sum();
                sum += among_text / 8.0 - plane_bytes(&column, rests) as f32;
                if sum > best {
                    (best, width) = (sum, at + 1);
                }
            }
            width
        };
        let before_most = BEFORE_MAX.min(nearest).min(first - HEAP).saturating_sub(BEFORE_MIN);
        let before = BEFORE_MIN + widest(before_most, &|origin, at| origin - BEFORE_MIN - 1 - at);
        let after_most = AFTER_MAX.min(nearest.saturating_sub(before)).min(tail_of(body)? - last);
        let after = widest(after_most, &|origin, at| origin + at);
        Some(Shape { before: before as u8, after: after as u8 })
    }
}

impl Columns {
    /// Splits a body. `false` if it is no index page, or one in which windows would not fit.
    pub fn split(&mut self, body: &[u8], wanted: Shape) -> bool {
        self.try_split(body, wanted).is_some()
    }

    fn try_split(&mut self, body: &[u8], wanted: Shape) -> Option<()> {
        let Columns { side, text, chain, planes, rests, .. } = self;
        chain.read(body)?;
        let tail = tail_of(body)?;
        let (first, last) = chain.ends();
        let nearest = chain.nearest();
        let before = usize::from(wanted.before).min(first - HEAP);
        if before < BEFORE_MIN || nearest < before {
            return None;
        }
        let after = usize::from(wanted.after).min(nearest - before).min(tail - last);
        let shape = Shape { before: before as u8, after: after as u8 };
        let (width, records) = (shape.width(), chain.origins.len());
        // Free bytes are zero, on a page that only this server has written.
        let heap_top = usize::from(get_u16(body, HEAP_TOP)).saturating_sub(PAGE_HEADER);
        let is_zero = (last + after..tail).contains(&heap_top) && body[heap_top..tail].iter().all(|&byte| byte == 0);
        let heap_end = if is_zero { heap_top } else { tail };

        side.clear();
        append_header(body, side);
        side.extend_from_slice(&body[body.len() - TRAILER_BYTES..]);
        side.extend_from_slice(&((first - before) as u16).to_be_bytes());
        side.push(chain.status);
        append_order(&chain.order, side);

        text.clear();
        planes.clear();
        planes.resize((width + 2) * records, 0);
        let mut at = HEAP;
        for (record, &origin) in chain.heap.iter().enumerate() {
            let start = usize::from(origin) - before;
            text.extend_from_slice(&body[at..start]);
            at = start + width;
            let distance = match record {
                0 => chain.heap.get(1).map_or(0, |second| second - origin),
                _ => origin - chain.heap[record - 1],
            };
            planes[record] = distance as u8;
            planes[records + record] = (distance >> 8) as u8;
        }
        text.extend_from_slice(&body[at..heap_end]);
        for column in planes[..2 * records].chunks_exact(records) {
            append_plane(column, rests, side);
        }
        append_plane(&chain.groups, rests, side);

        for (column, place) in planes.chunks_exact_mut(records).zip(kept_bytes(shape)) {
            for (byte, &origin) in column.iter_mut().zip(&chain.origins) {
                *byte = body[usize::from(origin) + place - before];
            }
        }
        let info = before - BEFORE_MIN;
        for info in &mut planes[info * records..][..chain.listed] {
            *info &= !GROUP;
        }
        for (column, _) in planes.chunks_exact(records).zip(kept_bytes(shape)) {
            append_plane(column, rests, side);
        }
        (self.heap_end, self.tail, self.shape, self.records) = (heap_end, tail, shape, records);
        Some(())
    }

    /// Bytes of text, if the head of a stream is consistent.
    pub fn text_bytes(&self, body_bytes: usize) -> Option<usize> {
        let windows = self.records.checked_mul(self.shape.width())?;
        let fits = self.heap_end <= self.tail && self.tail <= body_bytes && self.records > 1;
        let is_shape = usize::from(self.shape.before) >= BEFORE_MIN;
        self.heap_end.checked_sub(HEAP)?.checked_sub(windows).filter(|_| fits && is_shape)
    }

    /// Builds a body from `side`, `text` and the rest. `None` if they are inconsistent.
    pub fn join(&mut self, body: &mut [u8]) -> Option<()> {
        if self.text_bytes(body.len())? != self.text.len() {
            return None;
        }
        let Columns { chain, planes, shape, records, .. } = self;
        let (width, records) = (shape.width(), *records);
        let before = usize::from(shape.before);
        let side = read_header(&self.side, body)?;
        let (trailer, side) = side.split_at_checked(TRAILER_BYTES)?;
        let (&[high, low, status], side) = side.split_first_chunk()?;
        let trailer_place = body.len() - TRAILER_BYTES;
        body[trailer_place..].copy_from_slice(trailer);
        chain.listed = usize::from(get_u16(body, RECORDS));
        let groups = usize::from(get_u16(body, SLOTS)).checked_sub(2)?;
        if tail_of(body)? != self.tail || chain.listed > records || groups > chain.listed {
            return None;
        }
        chain.order.resize(records, 0);
        let mut side = read_order(side, &mut chain.order)?;
        planes.resize((kept_bytes(*shape).count() + 2) * records, 0);
        chain.groups.resize(groups, 0);
        let (distances, windows) = planes.split_at_mut(2 * records);
        for column in distances.chunks_exact_mut(records) {
            side = read_plane(side, column)?;
        }
        side = read_plane(side, &mut chain.groups)?;
        for column in windows.chunks_exact_mut(records) {
            side = read_plane(side, column)?;
        }
        if !side.is_empty() {
            return None;
        }

        // Text, as it lies.
        chain.heap.clear();
        let mut text = &self.text[..];
        let mut start = usize::from(u16::from_be_bytes([high, low]));
        let mut at = HEAP;
        for record in 0..records {
            if record > 0 {
                start += usize::from(u16::from_be_bytes([distances[records + record], distances[record]]));
            }
            let end = start + width;
            if start < at || end > self.heap_end {
                return None;
            }
            let (between, rest) = text.split_at_checked(start - at)?;
            body[at..start].copy_from_slice(between);
            text = rest;
            chain.heap.push((start + before) as u16);
            at = end;
        }
        // As much as is left, since all lengths add up.
        body[at..self.heap_end].copy_from_slice(text);
        body[self.heap_end..self.tail].fill(0);

        // Records, by key.
        chain.origins.clear();
        for &rank in &chain.order {
            let origin = *chain.heap.get(usize::from(rank))?;
            chain.origins.push(origin);
            let number = (rank.wrapping_add(BOUNDS_COUNT) << 3) | u16::from(status & 7);
            put_u16(body, usize::from(origin) - HEAP_NUMBER, number);
        }
        for (column, place) in windows.chunks_exact(records).zip(kept_bytes(*shape)) {
            for (byte, &origin) in column.iter().zip(&chain.origins) {
                body[usize::from(origin) + place - before] = *byte;
            }
        }
        self.chain.link(body)
    }
}

/// Places in a window that cannot be derived: all but heap number and link.
fn kept_bytes(shape: Shape) -> impl Iterator<Item = usize> {
    let before = usize::from(shape.before);
    (0..before - BEFORE_MIN + 1).chain(before..shape.width())
}

impl Chain {
    /// Writes links and directory.
    fn link(&self, body: &mut [u8]) -> Option<()> {
        let (listed, free) = self.origins.split_at_checked(self.listed)?;
        for (chain, end) in [(listed, Some(SUPREMUM)), (free, None)] {
            let ends = chain.iter().skip(1).map(|&to| Some(usize::from(to))).chain([end]);
            for (&from, to) in chain.iter().zip(ends) {
                let from = usize::from(from);
                put_u16(body, from - NEXT, to.map_or(0, |to| distance(from, to)));
            }
        }
        let mut slot = body.len() - TRAILER_BYTES;
        let mut put_slot = |body: &mut [u8], place: usize| {
            slot -= SLOT_BYTES;
            put_u16(body, slot, (place + PAGE_HEADER) as u16);
        };
        put_slot(body, INFIMUM);
        let mut at = 0;
        for &group in &self.groups {
            at += usize::from(group);
            let owner = usize::from(*listed.get(at.checked_sub(1)?)?);
            body[owner - BEFORE_MIN] |= group & GROUP;
            put_slot(body, owner);
        }
        put_slot(body, SUPREMUM);
        Some(())
    }
}

/// Appends what stands before the records, but for what all pages have.
fn append_header(body: &[u8], side: &mut Vec<u8>) {
    let mut at = 0;
    for (bound, name) in BOUNDS {
        side.extend_from_slice(&body[at..bound]);
        at = bound + name.len();
    }
}

/// Reads it back. Answers what is behind it.
fn read_header<'a>(mut side: &'a [u8], body: &mut [u8]) -> Option<&'a [u8]> {
    let mut at = 0;
    for (bound, name) in BOUNDS {
        let (part, rest) = side.split_at_checked(bound - at)?;
        body[at..bound].copy_from_slice(part);
        at = bound + name.len();
        body[bound..at].copy_from_slice(name);
        side = rest;
    }
    Some(side)
}
