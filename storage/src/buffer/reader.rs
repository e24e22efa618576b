//! The readers of read-ahead: each serves one request at a time, reads an extent with few large reads, and puts its
//! pages into the compressed cache.
//!
//! Which extents are requested: [`super::read_ahead`].

use std::sync::Arc;

use format::ids::{PageId, PageNo};
use format::page::header;
use format::transform;

use super::compressed_cache::Ticket;
use super::pool::Pool;
use super::read_ahead::GAP_MAX;
use crate::error::Result;
use crate::io::AlignedBuffer;
use crate::tablespace::Tablespace;

/// What a reader thread keeps: a buffer for an extent.
pub struct Reader {
    buffer: AlignedBuffer,
    wanted: Vec<(u32, Ticket)>,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader { buffer: AlignedBuffer::new(crate::io::ALIGNMENT), wanted: Vec::new() }
    }
}

impl Reader {
    /// Serves one request. False if there was none. A failed read is not reported: a thread that needs the page reads
    /// it again.
    pub fn step(&mut self, pool: &Pool) -> bool {
        let read_ahead = &pool.read_ahead;
        let Some(request) = read_ahead.take_request() else { return false };
        let Some(space) = pool.spaces.get(request.space) else { return true };
        let first = request.extent * read_ahead.extent_pages;
        let end = (first + read_ahead.extent_pages).min(space.pages());
        self.wanted.clear();
        for page in first..end {
            let id = PageId::new(request.space, PageNo(page));
            // Page 0 holds no rows, and stays in the pool anyway.
            if page != 0
                && let Some(ticket) = pool.compressed_cache.announce(id)
            {
                if pool.peek(id).is_some() || space.is_dropped() {
                    pool.compressed_cache.withdraw(id, ticket);
                } else {
                    self.wanted.push((page, ticket));
                }
            }
        }
        let mut links = (None, None);
        let mut at = 0;
        while at < self.wanted.len() {
            let mut last = at;
            while last + 1 < self.wanted.len() && self.wanted[last + 1].0 - self.wanted[last].0 <= GAP_MAX {
                last += 1;
            }
            if let Err(error) = self.read_run(pool, &space, at, last, request.is_random, &mut links) {
                tracing::debug!("read-ahead: {error}");
                for &(page, ticket) in &self.wanted[at..] {
                    pool.compressed_cache.withdraw(PageId::new(request.space, PageNo(page)), ticket);
                }
                return true;
            }
            at = last + 1;
        }
        read_ahead.note_way_on(request, links);
        true
    }

    /// Reads a run of wanted pages with one read, and puts them into the compressed cache.
    fn read_run(
        &mut self,
        pool: &Pool,
        space: &Arc<Tablespace>,
        from: usize,
        to: usize,
        is_random: bool,
        links: &mut (Option<u32>, Option<u32>),
    ) -> Result<()> {
        let read_ahead = &pool.read_ahead;
        let page_bytes = pool.frames_page_bytes();
        let first = self.wanted[from].0;
        let bytes = (self.wanted[to].0 - first + 1) as usize * page_bytes;
        if self.buffer.len() < bytes {
            self.buffer = AlignedBuffer::new(bytes.next_power_of_two());
        }
        space.read_run(PageNo(first), &mut self.buffer[..bytes])?;
        read_ahead.counters.reads.add(1);
        let now = pool.now();
        for &(page, ticket) in &self.wanted[from..=to] {
            let id = PageId::new(space.id(), PageNo(page));
            let stored = &self.buffer[(page - first) as usize * page_bytes..][..page_bytes];
            let exact = transform::stored_bytes(stored).min(page_bytes);
            // Compression and encryption leave the header readable.
            if header::page_id(stored) != id {
                pool.compressed_cache.withdraw(id, ticket);
                continue;
            }
            let extent = page / read_ahead.extent_pages;
            links.0 = links.0.or(read_ahead.beyond(extent, header::prev(stored)));
            links.1 = read_ahead.beyond(extent, header::next(stored)).or(links.1);
            if pool.compressed_cache.put(&pool.frames, &pool.lru, now, id, ticket, &stored[..exact]) {
                let counter = if is_random { &read_ahead.counters.random } else { &read_ahead.counters.linear };
                counter.add(1);
            }
        }
        pool.wake_cleaners_if_low();
        Ok(())
    }
}
