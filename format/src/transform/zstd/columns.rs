//! An index page taken apart, so that like comes to lie beside like.
//!
//! The front of each record (its header, the key, the hidden columns) is a window of the same width around its origin.
//! The windows are turned by 90 degrees: the first bytes of all records, the second ones, and so on. Such a *plane* is
//! mostly constant, or rises by the same step (heap numbers, ascending keys), and then takes a few bytes; what is noise
//! (transaction numbers) is kept as it is, and spoils nobody's statistics. What is left of the page, the *text*, is what
//! was between the windows.
//!
//! ```text
//!   body    | page header | rrrr text |rrrr text   |rrrr te|rrrr text |   zeros   | directory, trailer |
//!           0             HEAP                                  heap_end        tail
//!   side    | page header | directory, trailer | start | plane | plane | ...
//!   text    | text text text te text
//! ```
//!
//! A plane, of n bytes; the first two are the distances of the windows (n, too; the first one is not used), low and high:
//!
//! ```text
//!   0  first  step                                   each byte is the one before it, plus the step
//!   1  first  step  count 2  (index 2, step) ...     ... but these
//!   2  n bytes                                       as they are
//! ```
//!
//! How wide the windows should be is found out now and then, from the bytes ([`Shape::of`]); nobody has to describe the
//! table.
//!
//! Invariants:
//!
//! * `join(split(body)) == body`, whatever the body is; a body that is no index page is not split.
//! * `join` reads and writes within bounds, whatever the side says.
//!
//! Not here: what becomes of side and text. That is [`super`]'s.

use crate::page::get_u16;

/// Offsets in the body, which begins behind the page header's 38 bytes.
const PAGE_HEADER: usize = super::super::BODY;
const SLOTS: usize = 0;
const FREE: usize = 6;
const RECORDS: usize = 16;
const INFIMUM: usize = 99 - PAGE_HEADER;
const SUPREMUM: usize = 112 - PAGE_HEADER;
/// Where records may begin.
const HEAP: usize = 120 - PAGE_HEADER;
const TRAILER_BYTES: usize = 8;
/// The least and the most in front of an origin: the record's header; NULL flags and lengths may come before it.
const BEFORE_MIN: usize = 5;
const BEFORE_MAX: usize = 16;
const AFTER_MAX: usize = 64;

const STEADY: u8 = 0;
const SPARSE: u8 = 1;
const RAW: u8 = 2;
const EXCEPTION_BYTES: usize = 3;

/// The window around an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub before: u8,
    pub after: u8,
}

impl Shape {
    fn width(self) -> usize {
        usize::from(self.before) + usize::from(self.after)
    }
}

/// A body taken apart. Reused from page to page.
#[derive(Default)]
pub(super) struct Columns {
    pub side: Vec<u8>,
    pub text: Vec<u8>,
    /// Where the text ends in the body, and zeros begin.
    pub heap_end: usize,
    /// Where they end.
    pub tail: usize,
    pub shape: Shape,
    pub records: usize,
    origins: Vec<usize>,
    /// Windows, turned.
    planes: Vec<u8>,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { before: BEFORE_MIN as u8, after: 0 }
    }
}

/// The origins of all records, in the order of their places. `false` if this is no index page with records.
fn find_origins(body: &[u8], origins: &mut Vec<usize>) -> bool {
    origins.clear();
    let tail = tail_of(body);
    if tail <= HEAP || body[INFIMUM..INFIMUM + 8] != *b"infimum\0" || body[SUPREMUM..SUPREMUM + 8] != *b"supremum" {
        return false;
    }
    let next = |origin: usize| (PAGE_HEADER + origin + usize::from(get_u16(body, origin - 2))) & 0xFFFF;
    let is_place = |place: usize| (HEAP + BEFORE_MIN + PAGE_HEADER..tail + PAGE_HEADER).contains(&place);
    let count = usize::from(get_u16(body, RECORDS)).min(body.len());
    let mut place = next(INFIMUM);
    while is_place(place) && origins.len() < count {
        origins.push(place - PAGE_HEADER);
        place = next(place - PAGE_HEADER);
    }
    if origins.len() < 2 {
        return false;
    }
    // Freed records look like the others.
    let mut place = usize::from(get_u16(body, FREE));
    let most = origins.len() + count;
    while is_place(place) && origins.len() < most {
        origins.push(place - PAGE_HEADER);
        let origin = place - PAGE_HEADER;
        place = if get_u16(body, origin - 2) == 0 { 0 } else { next(origin) };
    }
    if !origins.is_sorted() {
        origins.sort_unstable();
    }
    origins.windows(2).all(|pair| pair[0] < pair[1])
}

/// Where the directory begins; 0 if the body is no index page's.
fn tail_of(body: &[u8]) -> usize {
    if body.len() < HEAP + TRAILER_BYTES {
        return 0;
    }
    body.len().saturating_sub(TRAILER_BYTES + 2 * usize::from(get_u16(body, SLOTS)))
}

impl Shape {
    /// The shape that suits pages like this one: as long as a column is cheaper turned than among the text, it belongs to
    /// the window. `None` if this is no index page.
    pub fn of(body: &[u8], columns: &mut Columns) -> Option<Shape> {
        if !find_origins(body, &mut columns.origins) {
            return None;
        }
        let origins = &columns.origins;
        let (first, last) = (origins[0], *origins.last()?);
        let mut counts = [1_u32; 256];
        for &byte in &body[first..last] {
            counts[usize::from(byte)] += 1;
        }
        let total = (last - first + 256) as f32;
        let bits = counts.map(|count| (total / count as f32).log2());
        let nearest = origins.windows(2).map(|pair| pair[1] - pair[0]).min()?;
        let tail = tail_of(body);
        let mut column = Vec::with_capacity(origins.len());
        // How many columns, one after the other in a direction, are worth it.
        let mut widest = |most: usize, place: &dyn Fn(usize, usize) -> usize| {
            let (mut sum, mut best, mut width) = (0.0, 0.0, 0);
            for at in 0..most {
                column.clear();
                column.extend(origins.iter().map(|&origin| body[place(origin, at)]));
                let among_text: f32 = column.iter().map(|&byte| bits[usize::from(byte)]).sum();
                sum += among_text / 8.0 - plane_bytes(&column) as f32;
                if sum > best {
                    (best, width) = (sum, at + 1);
                }
            }
            width
        };
        let before_most = BEFORE_MAX.min(nearest).min(first - HEAP);
        let before = widest(before_most, &|origin, at| origin - 1 - at).max(BEFORE_MIN);
        let after_most = AFTER_MAX.min(nearest.saturating_sub(before)).min(tail - last);
        let after = widest(after_most, &|origin, at| origin + at);
        Some(Shape { before: before as u8, after: after as u8 })
    }
}

/// What a plane would take.
fn plane_bytes(column: &[u8]) -> usize {
    let exceptions = exceptions(column, usual_step(column));
    3 + if exceptions == 0 { 0 } else { (2 + EXCEPTION_BYTES * exceptions).min(column.len()) }
}

fn usual_step(column: &[u8]) -> u8 {
    let step = |at: usize| column[at + 1].wrapping_sub(column[at]);
    if column.len() < 4 {
        return 0;
    }
    // Two of three; or the first that comes.
    let [a, b, c] = [step(0), step(column.len() / 2), step(column.len() - 2)];
    if b == c { b } else { a }
}

fn exceptions(column: &[u8], step: u8) -> usize {
    column.iter().zip(&column[1..]).map(|(one, next)| usize::from(next.wrapping_sub(*one) != step)).sum()
}

impl Columns {
    /// Takes a body apart. `false` if it is no index page, or one in which windows would not fit.
    pub fn split(&mut self, body: &[u8], wanted: Shape) -> bool {
        if body.len() > 0xFFFF || !find_origins(body, &mut self.origins) {
            return false;
        }
        let tail = tail_of(body);
        let origins = &self.origins;
        let (first, last) = (origins[0], origins[origins.len() - 1]);
        let nearest = origins.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0);
        let before = usize::from(wanted.before).min(first - HEAP);
        if before < BEFORE_MIN || nearest < before {
            return false;
        }
        let after = usize::from(wanted.after).min(nearest - before).min(tail - last);
        let shape = Shape { before: before as u8, after: after as u8 };
        let (width, records) = (shape.width(), origins.len());
        // What is free is zero, on a page that has not been used long.
        let zeros = body[last + after..tail].iter().rev().take_while(|&&byte| byte == 0).count();
        let heap_end = tail - zeros;

        self.text.clear();
        self.planes.clear();
        self.planes.resize((width + 2) * records, 0);
        let mut at = HEAP;
        for (record, &origin) in origins.iter().enumerate() {
            let start = origin - before;
            self.text.extend_from_slice(&body[at..start]);
            at = start + width;
            let distance = match record {
                0 => origins[1] - origins[0],
                _ => origin - origins[record - 1],
            };
            self.planes[record] = distance as u8;
            self.planes[records + record] = (distance >> 8) as u8;
            let columns = self.planes[2 * records..].chunks_exact_mut(records);
            for (column, &byte) in columns.zip(&body[start..at]) {
                column[record] = byte;
            }
        }
        self.text.extend_from_slice(&body[at..heap_end]);

        let side = &mut self.side;
        side.clear();
        side.extend_from_slice(&body[..HEAP]);
        side.extend_from_slice(&body[tail..]);
        side.extend_from_slice(&((first - before) as u16).to_be_bytes());
        for column in self.planes.chunks_exact(records) {
            append_plane(column, side);
        }
        (self.heap_end, self.tail, self.shape, self.records) = (heap_end, tail, shape, records);
        true
    }

    /// Bytes of text, if what was read of a stream makes sense.
    pub fn text_bytes(&self, body_bytes: usize) -> Option<usize> {
        let windows = self.records.checked_mul(self.shape.width())?;
        let fits = self.heap_end <= self.tail && self.tail <= body_bytes && self.records > 1;
        self.heap_end.checked_sub(HEAP)?.checked_sub(windows).filter(|_| fits)
    }

    /// Puts a body together from `side`, `text` and the rest. `None` if they make no sense.
    pub fn join(&mut self, body: &mut [u8]) -> Option<()> {
        if self.text_bytes(body.len())? != self.text.len() {
            return None;
        }
        let (width, records) = (self.shape.width(), self.records);
        let (header, side) = self.side.split_at_checked(HEAP)?;
        let (directory, side) = side.split_at_checked(body.len() - self.tail)?;
        let (start, mut side) = side.split_at_checked(2)?;
        self.planes.resize((width + 2) * records, 0);
        for column in self.planes.chunks_exact_mut(records) {
            side = read_plane(side, column)?;
        }
        if !side.is_empty() {
            return None;
        }
        let mut text = &self.text[..];
        let mut place = usize::from(u16::from_be_bytes([start[0], start[1]]));
        let mut at = HEAP;
        for record in 0..records {
            if record > 0 {
                let distance = u16::from_be_bytes([self.planes[records + record], self.planes[record]]);
                place += usize::from(distance);
            }
            let end = place + width;
            if place < at || end > self.heap_end {
                return None;
            }
            let (between, rest) = text.split_at_checked(place - at)?;
            body[at..place].copy_from_slice(between);
            text = rest;
            let columns = self.planes[2 * records..].chunks_exact(records);
            for (byte, column) in body[place..end].iter_mut().zip(columns) {
                *byte = column[record];
            }
            at = end;
        }
        // As much as is left, since all lengths add up.
        body[at..self.heap_end].copy_from_slice(text);
        body[self.heap_end..self.tail].fill(0);
        body[..HEAP].copy_from_slice(header);
        body[self.tail..].copy_from_slice(directory);
        Some(())
    }
}

fn append_plane(column: &[u8], side: &mut Vec<u8>) {
    let step = usual_step(column);
    let exceptions = exceptions(column, step);
    if exceptions == 0 {
        side.extend_from_slice(&[STEADY, column[0], step]);
    } else if 5 + EXCEPTION_BYTES * exceptions < column.len() {
        side.extend_from_slice(&[SPARSE, column[0], step]);
        side.extend_from_slice(&(exceptions as u16).to_be_bytes());
        for at in 1..column.len() {
            let change = column[at].wrapping_sub(column[at - 1]);
            if change != step {
                side.extend_from_slice(&(at as u16).to_be_bytes());
                side.push(change);
            }
        }
    } else {
        side.push(RAW);
        side.extend_from_slice(column);
    }
}

/// Reads a plane into `column`. Answers what is behind it.
fn read_plane<'a>(side: &'a [u8], column: &mut [u8]) -> Option<&'a [u8]> {
    let (&kind, side) = side.split_first()?;
    if kind == RAW {
        let (bytes, side) = side.split_at_checked(column.len())?;
        column.copy_from_slice(bytes);
        return Some(side);
    }
    let (&[first, step], mut side) = side.split_first_chunk()?;
    let mut exceptions: &[u8] = &[];
    if kind == SPARSE {
        let (count, rest) = side.split_first_chunk()?;
        (exceptions, side) = rest.split_at_checked(usize::from(u16::from_be_bytes(*count)) * EXCEPTION_BYTES)?;
    } else if kind != STEADY {
        return None;
    }
    // The column as runs, each up to the next exception.
    let mut value = first;
    let mut at = 0;
    for exception in exceptions.chunks_exact(EXCEPTION_BYTES) {
        let index = usize::from(u16::from_be_bytes([exception[0], exception[1]]));
        for byte in column.get_mut(at..index)? {
            *byte = value;
            value = value.wrapping_add(step);
        }
        // The run has gone one step too far.
        value = value.wrapping_sub(step).wrapping_add(exception[2]);
        at = index;
    }
    for byte in &mut column[at..] {
        *byte = value;
        value = value.wrapping_add(step);
    }
    Some(side)
}
