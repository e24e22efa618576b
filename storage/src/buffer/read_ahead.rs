//! Read-ahead: reads in the background the pages that will be requested soon.
//!
//! *Linear*: a scan visits the pages of an extent in order. When it has read enough of them
//! (`innodb_read_ahead_threshold`) and reaches the page whose link leads out of the extent, the linked extent is read,
//! with few large reads. The link decides, not the position in the file: an index need not be contiguous. The links of
//! an extent that was read ahead are known, so the next extent is requested long before the scan reaches it.
//!
//! *Random* (`innodb_random_read_ahead`): when many pages of an extent are in use, the rest of it is read.
//!
//! ```text
//!   load of a page --> streams: which extents are read in order?  --> queue --> reader threads --> compressed cache
//!                                        ^                                          |               |
//!                                        +----- way on, used, used for nothing -----+---------------+
//! ```
//!
//! It adapts: it tracks the share of pages read ahead that were used. When that share is small, only one request in a
//! few is served, as a probe, until the share rises again. An unused page costs a read and no more; see
//! [`super::compressed_cache`].
//!
//! Not here: deciding from its plan what a scan will read next. Upper layers give no hints.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use format::ids::{PageId, PageNo, SpaceId};

use crate::config::Config;
use crate::sync::{Condvar, Counter, Mutex, Rank};

/// Requests that may wait. More are dropped: pages that arrive too late are read for nothing.
const QUEUE_MAX: usize = 32;

/// Extents that are watched at a time.
const STREAMS_MAX: usize = 64;

/// Unwanted pages between two wanted ones that are read along instead of starting another read.
pub(super) const GAP_MAX: u32 = 4;

/// Usefulness is counted in thousandths. Below this, requests are only probes.
const USEFULNESS_MIN: u32 = 400;

/// One request in so many is a probe.
const PROBE: u32 = 16;

#[derive(Debug, Default)]
pub struct ReadAheadCounters {
    /// Pages read by linear and by random read-ahead.
    pub linear: Counter,
    pub random: Counter,
    /// Reads from disk that brought them.
    pub reads: Counter,
    /// Requests that were not served because earlier ones were of no use.
    pub throttled: Counter,
}

/// See the module header.
pub struct ReadAhead {
    queue: Mutex<Queue>,
    work: Condvar,
    streams: Mutex<Streams>,
    /// Thousandths of the pages that were read ahead lately and used.
    usefulness: AtomicU32,
    /// Requests since the last probe.
    skipped: AtomicU32,
    /// Pages in order that begin a linear read-ahead, 0 for never.
    threshold: AtomicU32,
    random: AtomicBool,
    pub(super) extent_pages: u32,
    pub counters: ReadAheadCounters,
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Request>,
    closing: bool,
}

/// An extent to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub space: SpaceId,
    pub extent: u32,
    pub is_random: bool,
}

/// An extent that is being read.
#[derive(Clone, Copy)]
struct Stream {
    space: SpaceId,
    extent: u32,
    /// The last page, how many came in order, and in which direction.
    last: u32,
    run: u32,
    ascending: bool,
    /// The following extent has been requested.
    asked: bool,
    /// The whole extent has been requested.
    asked_random: bool,
    /// For an extent that was read ahead: the extents before and behind it.
    way_on: Option<(Option<u32>, Option<u32>)>,
}

/// The extents read lately, the newest last.
#[derive(Default)]
struct Streams {
    all: Vec<Stream>,
}

/// What is known about a page that was loaded.
pub struct Loaded {
    pub page: PageId,
    pub prev: PageNo,
    pub next: PageNo,
    /// It came from the compressed cache and not from the disk.
    pub was_ahead: bool,
}

impl Streams {
    fn stream(&mut self, space: SpaceId, extent: u32) -> &mut Stream {
        let known = self.all.iter().position(|stream| stream.space == space && stream.extent == extent);
        let stream = match known {
            // The newest is the usual one.
            Some(at) if at + 1 == self.all.len() => return self.all.last_mut().expect("it is there"),
            Some(at) => self.all.remove(at),
            None => {
                if self.all.len() >= STREAMS_MAX {
                    self.all.remove(0);
                }
                Stream {
                    space,
                    extent,
                    last: u32::MAX,
                    run: 0,
                    ascending: true,
                    asked: false,
                    asked_random: false,
                    way_on: None,
                }
            }
        };
        self.all.push(stream);
        self.all.last_mut().expect("just pushed")
    }
}

impl Stream {
    /// Counts a page. A step in the other direction begins anew.
    fn count(&mut self, page: u32) {
        let ascending = page > self.last;
        if self.run == 0 || page == self.last {
            self.run = self.run.max(1);
        } else if self.run == 1 || ascending == self.ascending {
            self.ascending = ascending;
            self.run += 1;
        } else {
            self.run = 1;
            self.asked = false;
        }
        self.last = page;
    }
}

impl ReadAhead {
    pub fn new(config: &Config, extent_pages: u32) -> ReadAhead {
        let read_ahead = ReadAhead {
            queue: Mutex::new(Rank::Leaf, Queue::default()),
            work: Condvar::new(),
            streams: Mutex::new(Rank::Leaf, Streams::default()),
            usefulness: AtomicU32::new(1000),
            skipped: AtomicU32::new(0),
            threshold: AtomicU32::new(0),
            random: AtomicBool::new(false),
            extent_pages,
            counters: ReadAheadCounters::default(),
        };
        read_ahead.configure(config);
        read_ahead
    }

    pub fn configure(&self, config: &Config) {
        // MySQL counts in extents of 64 pages, whatever the page size.
        let threshold = match config.read_ahead_threshold {
            0 => 0,
            pages => (pages.min(64) * self.extent_pages / 64).max(2),
        };
        self.threshold.store(threshold, Ordering::Relaxed);
        self.random.store(config.random_read_ahead, Ordering::Relaxed);
    }

    /// Waits for a request, or for the time to pass. True if the instance closes.
    pub fn wait_for_work(&self, limit: Duration) -> bool {
        let mut queue = self.queue.lock();
        if queue.requests.is_empty() && !queue.closing {
            self.work.wait_for(&mut queue, limit);
        }
        queue.closing
    }

    pub fn close(&self) {
        self.queue.lock().closing = true;
        self.work.notify_all();
    }

    fn ask(&self, request: Request) {
        if self.usefulness.load(Ordering::Relaxed) < USEFULNESS_MIN
            && !self.skipped.fetch_add(1, Ordering::Relaxed).is_multiple_of(PROBE)
        {
            self.counters.throttled.add(1);
            return;
        }
        let mut queue = self.queue.lock();
        if queue.requests.len() < QUEUE_MAX && !queue.requests.contains(&request) {
            queue.requests.push_back(request);
            self.work.notify_one();
        }
    }

    /// Records whether pages that were read ahead were used.
    fn learn(&self, used: bool, pages: u32) {
        let mut usefulness = self.usefulness.load(Ordering::Relaxed);
        for _ in 0..pages.min(256) {
            usefulness = (usefulness * 255 + if used { 1000 } else { 0 }) / 256;
        }
        // Of two concurrent updates one may be lost; it is an average.
        self.usefulness.store(usefulness, Ordering::Relaxed);
    }

    /// The extent that a link leads to, if it is another one.
    pub(super) fn beyond(&self, extent: u32, link: PageNo) -> Option<u32> {
        let linked = link.0 / self.extent_pages;
        (link != PageNo::NULL && linked != extent).then_some(linked)
    }

    /// Watches a page that was loaded, and requests what should be read next. `in_use` counts the pages of the extent
    /// that are resident and used.
    pub fn watch(&self, loaded: &Loaded, in_use: impl FnOnce(PageId) -> u32) {
        let threshold = self.threshold.load(Ordering::Relaxed);
        let random = self.random.load(Ordering::Relaxed);
        if loaded.was_ahead {
            self.learn(true, 1);
        }
        if threshold == 0 && !random {
            return;
        }
        let PageId { space, page } = loaded.page;
        let extent = page.0 / self.extent_pages;
        let mut wanted = None;
        let mut consider_random = false;
        {
            let mut streams = self.streams.lock();
            let stream = streams.stream(space, extent);
            stream.count(page.0);
            if threshold != 0 && !stream.asked {
                let link = if stream.ascending { loaded.next } else { loaded.prev };
                let at_border = self.beyond(extent, link);
                wanted = match stream.way_on {
                    // Early, since the link is known. A scan that came from another extent has already proved
                    // sequential.
                    Some((before, behind)) if loaded.was_ahead && stream.run >= self.extent_pages / 8 => {
                        if stream.ascending { behind } else { before }
                    }
                    _ if stream.run >= threshold => at_border,
                    _ => None,
                };
                stream.asked = wanted.is_some();
            }
            if random && !loaded.was_ahead && !stream.asked_random {
                consider_random = true;
            }
        }
        if let Some(extent) = wanted {
            self.ask(Request { space, extent, is_random: false });
        }
        // As many as InnoDB asks for: an eighth of the extent and five more.
        if consider_random
            && in_use(PageId::new(space, PageNo(extent * self.extent_pages))) >= self.extent_pages / 8 + 5
        {
            self.streams.lock().stream(space, extent).asked_random = true;
            self.ask(Request { space, extent, is_random: true });
        }
    }
}

impl ReadAhead {
    pub(super) fn take_request(&self) -> Option<Request> {
        self.queue.lock().requests.pop_front()
    }

    /// An extent was read: `way_on` are the extents before and behind it.
    pub(super) fn note_way_on(&self, request: Request, way_on: (Option<u32>, Option<u32>)) {
        self.streams.lock().stream(request.space, request.extent).way_on = Some(way_on);
    }

    /// Pages that were read ahead have left the compressed cache unused.
    pub fn regret(&self, pages: u32) {
        self.learn(false, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_ahead(config: &Config) -> ReadAhead {
        ReadAhead::new(config, 64)
    }

    /// Loads a page whose neighbours are those in the file.
    fn load(read_ahead: &ReadAhead, page: u32, in_use: u32) {
        let (prev, next) = (PageNo(page - 1), PageNo(page + 1));
        let id = PageId::new(SpaceId(1), PageNo(page));
        read_ahead.watch(&Loaded { page: id, prev, next, was_ahead: false }, |_| in_use);
    }

    fn asked(read_ahead: &ReadAhead) -> Vec<(u32, bool)> {
        read_ahead.queue.lock().requests.drain(..).map(|request| (request.extent, request.is_random)).collect()
    }

    #[test]
    fn an_extent_read_in_order_asks_for_the_next_at_its_border() {
        let read_ahead = read_ahead(&Config::default());
        (64..127).for_each(|page| load(&read_ahead, page, 0));
        assert_eq!(asked(&read_ahead), []);
        load(&read_ahead, 127, 0);
        assert_eq!(asked(&read_ahead), [(2, false)]);
        (193..256).rev().for_each(|page| load(&read_ahead, page, 0));
        load(&read_ahead, 192, 0);
        assert_eq!(asked(&read_ahead), [(2, false)]);
    }

    #[test]
    fn disorder_and_a_threshold_of_0_ask_for_nothing() {
        let orderly = read_ahead(&Config::default());
        for page in (65..127).chain([70]).chain(80..128) {
            load(&orderly, page, 64);
        }
        assert_eq!(asked(&orderly), []); // After the step back, fewer than the threshold.
        let off = read_ahead(&Config { read_ahead_threshold: 0, ..Config::default() });
        (64..128).for_each(|page| load(&off, page, 64));
        assert_eq!(asked(&off), []);
    }

    #[test]
    fn an_extent_that_is_much_used_is_asked_for_once_if_that_is_wanted() {
        let random = read_ahead(&Config { random_read_ahead: true, ..Config::default() });
        load(&random, 70, 12);
        assert_eq!(asked(&random), []);
        load(&random, 90, 13);
        load(&random, 80, 14);
        assert_eq!(asked(&random), [(1, true)]);
    }

    #[test]
    fn what_is_of_no_use_is_throttled_and_probed() {
        let read_ahead = read_ahead(&Config::default());
        read_ahead.regret(256);
        for extent in 0..PROBE {
            read_ahead.ask(Request { space: SpaceId(1), extent, is_random: false });
        }
        assert_eq!(asked(&read_ahead).len(), 1);
        assert_eq!(read_ahead.counters.throttled.get(), u64::from(PROBE) - 1);
        for _ in 0..256 {
            read_ahead.learn(true, 1);
        }
        for extent in 0..PROBE {
            read_ahead.ask(Request { space: SpaceId(1), extent, is_random: false });
        }
        assert_eq!(asked(&read_ahead).len(), PROBE as usize);
    }
}
