//! Scripts for the lower half of the engine: operations on pages, and the I/O they cause.
//!
//! A script under `testscripts/` is prose (`#`) and commands; behind `---` are their answers, up to an empty line. A
//! command with `[io]` shows the calls that reach the disk.
//!
//! ```text
//! open page=16k block=4k pool=64     an instance on a simulated disk; also atomic=4k-64k, cow=yes,
//!                                    holes=none|unsupported, doublewrite=off|detect, trim=off
//! space id=1 transform=zstd          a tablespace with one segment, its fixed pages written
//! allocate space=1 count=2           pages for the segment
//! fill page=1:3 with=a|random        one mini-transaction that fills the page's body, or `bytes` of it
//! flush, checkpoint, close           what the page cleaners do; a clean shutdown
//! crash lose=all|some                the power goes; the disk keeps what was synced, and perhaps more
//! recover                            opens what is there
//! bring_up                           applies the redo that recovery left to the next pages
//! tear page=1:3                      the second half of the page as stored turns to zeros
//! tear file=x from=8k bytes=512      some bytes of a file turn to zeros
//! stored space=1                     how each page is stored
//! torn space=1                       how the file is kept from torn pages, and why
//! punch space=1                      whether holes are punched, and why
//! atomic space=1 table=on|off        ATOMIC_WRITES of the table
//! fault punch=no untorn=no           what the disk refuses from now on; without a word, nothing
//!       sync|read|write|punch=fails  the next one fails (EIO); every punch from then on
//!       misdirect=t1.ibd             the next write of a page to the file goes to another page's place
//!       short=128 interrupted=64     of 256 calls, so many transfer a part, or are interrupted
//!       room=0                       blocks that are left on the device
//! release space=1 from=4 to=6        gives back what free pages occupy
//! statistics space=1                 the sum over all pages, surveyed if need be
//! check page=1:3 with=a              the page holds what `fill` wrote
//! drop space=1, rename space=1 to=x.ibd, survey space=1, files
//! set threshold=8 random=on ...      options that may change at run time
//! read space=1 from=64 to=127        reads pages in this order, down if `to` is smaller
//! ahead                              serves what read-ahead has been asked for
//! status                             what read-ahead and compressed cache have counted
//! ```
//!
//! `UPDATE_SCRIPTS=1` writes the answers into the scripts: look at the difference before it is committed. `SCRIPT=name`
//! runs one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use format::ids::{PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
use format::redo::PageOp;
use storage::config::Doublewrite;
use storage::io::sim::{Random, SimDisk};
use storage::io::trace::TraceDisk;
use storage::io::{Caching, Disk, OpenMode, Punching};
use storage::recovery::apply;
use storage::schema::AtomicWrites;
use storage::segment::{self, Direction, Segment, survey};
use storage::store::{Store, Tablespace, Transform};
use storage::tablespace::Algorithm;
use storage::{Config, Mtr};

/// One instance and its disk.
struct World {
    sim: SimDisk,
    trace: TraceDisk,
    config: Config,
    store: Option<Arc<Store>>,
    segments: BTreeMap<SpaceId, Segment>,
}

/// The words of a command: `name key=value ...`.
struct Command<'a> {
    name: &'a str,
    words: BTreeMap<&'a str, &'a str>,
    io: bool,
}

impl<'a> Command<'a> {
    fn parse(line: &'a str) -> Command<'a> {
        let (line, io) = match line.strip_suffix(" [io]") {
            Some(line) => (line, true),
            None => (line, false),
        };
        let mut words = line.split_whitespace();
        let name = words.next().expect("a command");
        Command { name, words: words.filter_map(|word| word.split_once('=')).collect(), io }
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.words.get(key).copied()
    }

    fn number(&self, key: &str, default: usize) -> usize {
        let Some(text) = self.get(key) else { return default };
        match text.strip_suffix('k') {
            Some(kilo) => kilo.parse::<usize>().unwrap() << 10,
            None => text.parse().unwrap(),
        }
    }

    fn space(&self) -> SpaceId {
        SpaceId(self.number("space", 0) as u32)
    }

    fn page(&self) -> PageId {
        let (space, page) = self.get("page").and_then(|page| page.split_once(':')).expect("page=space:number");
        PageId::new(SpaceId(space.parse().unwrap()), PageNo(page.parse().unwrap()))
    }

    fn transform(&self) -> Transform {
        let algorithm = match self.get("transform").unwrap_or("none") {
            "none" => Algorithm::NONE,
            "zlib" => Algorithm::ZLIB,
            "lz4" => Algorithm::LZ4,
            "zstd" => Algorithm::ZSTD,
            other => panic!("no transform {other}"),
        };
        Transform::usual(algorithm)
    }

    /// What `with=` fills a body with.
    fn content(&self, bytes: usize) -> Vec<u8> {
        match self.get("with").unwrap_or("a") {
            "random" => {
                let mut random = Random::new(self.number("seed", 1) as u64);
                (0..bytes).map(|_| random.next() as u8).collect()
            }
            text => text.bytes().cycle().take(bytes).collect(),
        }
    }
}

impl World {
    fn new(sim: SimDisk, config: Config) -> World {
        let trace = TraceDisk::new(Arc::new(sim.clone()));
        World { sim, trace, config, store: None, segments: BTreeMap::new() }
    }

    fn store(&self) -> &Arc<Store> {
        self.store.as_ref().expect("open or recover comes first")
    }

    fn space(&self, command: &Command<'_>) -> Arc<Tablespace> {
        self.store().space(command.space()).expect("an open tablespace")
    }

    fn run(&mut self, command: &Command<'_>, out: &mut String) -> storage::Result<()> {
        match command.name {
            "open" => self.open(command),
            "space" => self.create_space(command),
            "allocate" => self.allocate(command, out),
            "fill" => self.fill(command),
            "check" => self.check(command, out),
            "flush" => self.store().flush_step(command.number("pages", 1000)).map(|_| ()),
            "set" => {
                self.set(command);
                Ok(())
            }
            "read" => self.read(command),
            "ahead" => {
                while self.store().read_ahead_step() {}
                Ok(())
            }
            "status" => {
                let status = self.store().status();
                writeln!(
                    out,
                    "read ahead: {} linear, {} random, with {} reads; {} used, {} unused; now {} in {} frames",
                    status.read_ahead_linear,
                    status.read_ahead_random,
                    status.read_ahead_reads,
                    status.read_ahead_used,
                    status.read_ahead_evicted,
                    status.compressed_cache_pages_now,
                    status.compressed_cache_frames_now,
                )
                .unwrap();
                Ok(())
            }
            "log" => self.store().flush_log(self.store().current_lsn()),
            "checkpoint" => self.store().checkpoint(),
            "transform" => {
                self.store().space(command.space()).expect("an open tablespace").set_transform(command.transform());
                Ok(())
            }
            "close" => self.store.take().expect("an open instance").close(),
            "crash" => self.crash(command),
            "recover" => self.recover(out),
            "tear" => self.tear(command),
            "stored" => self.stored(command, out),
            "torn" => {
                let info = self.space(command).info()?;
                writeln!(out, "{}: {}", info.torn_protection, info.torn_reason).unwrap();
                Ok(())
            }
            "punch" => {
                let info = self.space(command).info()?;
                writeln!(out, "{}: {}", if info.punch { "yes" } else { "no" }, info.punch_reason).unwrap();
                Ok(())
            }
            "atomic" => {
                self.space(command).set_atomic_writes(match command.get("table") {
                    Some("on") => AtomicWrites::On,
                    Some("off") => AtomicWrites::Off,
                    _ => AtomicWrites::Default,
                });
                Ok(())
            }
            "fault" => {
                self.fault(command);
                Ok(())
            }
            "bring_up" => {
                let more = apply::step(self.store())?;
                let left = self.store().pool().pending_pages();
                writeln!(out, "{}, {left} pages wait", if more { "went on" } else { "nothing to do" }).unwrap();
                Ok(())
            }
            "release" => {
                let pages = command.number("from", 0) as u32..command.number("to", 0) as u32;
                writeln!(out, "{} bytes", self.space(command).release_pages(pages)?).unwrap();
                Ok(())
            }
            "statistics" => self.statistics(command, out),
            "drop" => self.store().drop_space(command.space()),
            "rename" => self.store().rename_space(command.space(), command.get("to").unwrap()),
            "survey" => {
                let survey = survey::survey(self.store(), command.space())?;
                let segments: Vec<_> = survey.segments.iter().map(|segment| segment.pages.len()).collect();
                writeln!(out, "{} pages; segments of {segments:?} pages; errors: {:?}", survey.size, survey.errors)
                    .unwrap();
                Ok(())
            }
            "files" => {
                for entry in self.sim.list("").unwrap() {
                    writeln!(out, "{}", entry.name).unwrap();
                }
                Ok(())
            }
            other => panic!("no command {other}"),
        }
    }

    fn open(&mut self, command: &Command<'_>) -> storage::Result<()> {
        let page_bytes = command.number("page", 16384);
        self.config = Config {
            page_bytes,
            pool_bytes: (command.number("pool", 64) * page_bytes) as u64,
            log_bytes: command.number("log", 256 << 10) as u64,
            doublewrite: match command.get("doublewrite") {
                Some("off") => Doublewrite::Off,
                Some("detect") => Doublewrite::DetectOnly,
                _ => Doublewrite::On,
            },
            punch: command.get("trim") != Some("off"),
            ..Config::tiny()
        };
        let sim = SimDisk::with_blocks(command.number("seed", 1) as u64, command.number("block", 4096));
        sim.set_facts(|facts| {
            let kilobytes = |text: &str| text.trim_end_matches('k').parse::<usize>().unwrap() << 10;
            facts.atomic_write = command
                .get("atomic")
                .and_then(|lengths| lengths.split_once('-'))
                .map(|(min, max)| (kilobytes(min), kilobytes(max)));
            facts.copy_on_write = command.get("cow") == Some("yes");
            facts.punching = match command.get("holes") {
                Some("none") => Punching::FreesNothing,
                Some("unsupported") => Punching::Unsupported,
                _ => Punching::Frees,
            };
        });
        *self = World::new(sim, self.config.clone());
        Store::create(&self.trace, &self.config)?;
        self.store = Some(apply::open(Arc::new(self.trace.clone()), self.config.clone())?.0);
        Ok(())
    }

    fn create_space(&mut self, command: &Command<'_>) -> storage::Result<()> {
        let space = SpaceId(command.number("id", 1) as u32);
        let path = format!("t{space}.ibd");
        let store = self.store().clone();
        store.create_space(space, command.get("path").unwrap_or(&path), command.transform())?;
        let mut mtr = Mtr::begin(&store);
        segment::init_space(&mut mtr, space, segment::space_flags(store.page_bytes()))?;
        let segment = segment::create(&mut mtr, space)?;
        mtr.commit();
        store.checkpoint()?;
        self.segments.insert(space, segment);
        Ok(())
    }

    fn allocate(&mut self, command: &Command<'_>, out: &mut String) -> storage::Result<()> {
        let segment = self.segments[&command.space()];
        for _ in 0..command.number("count", 1) {
            let _room = segment::reserve(self.store(), segment.space, 1)?;
            let mut mtr = Mtr::begin(self.store());
            let page = segment::allocate_page(&mut mtr, segment, PageNo::NULL, Direction::None)?;
            let id = mtr.page_id(page);
            mtr.apply(page, PageOp::Init { id, page_type: PageType::BLOB }).unwrap();
            mtr.commit();
            if command.get("quiet").is_none() {
                write!(out, "{id} ").unwrap();
            }
        }
        if command.get("quiet").is_none() {
            out.push('\n');
        }
        Ok(())
    }

    fn fill(&mut self, command: &Command<'_>) -> storage::Result<()> {
        let mut mtr = Mtr::begin(self.store());
        let page = mtr.latch_exclusive(command.page())?;
        let body = self.config.page_bytes - header::BODY - header::TRAILER_BYTES;
        let bytes = command.number("bytes", body);
        mtr.write(page, header::BODY, &command.content(bytes));
        mtr.commit();
        Ok(())
    }

    fn set(&mut self, command: &Command<'_>) {
        self.store().set_config(|config| {
            config.read_ahead_threshold = command.number("threshold", config.read_ahead_threshold as usize) as u32;
            config.random_read_ahead = command.get("random").map_or(config.random_read_ahead, |word| word == "on");
            config.flush_neighbors = command.number("neighbors", usize::from(config.flush_neighbors)) as u8;
            config.old_blocks_ms = command.number("old_ms", config.old_blocks_ms as usize) as u32;
        });
    }

    fn fault(&mut self, command: &Command<'_>) {
        let sim = &self.sim;
        let next = |word: &str, done: u64| (command.get(word) == Some("fails")).then_some(done + 1);
        let sync = next("sync", sim.syncs());
        let (read, write, punch) =
            (next("read", sim.reads()), next("write", sim.writes()), next("punch", sim.punches()));
        let used = sim.used_blocks();
        sim.set_faults(|faults| {
            faults.no_punch = command.get("punch") == Some("no");
            faults.no_untorn = command.get("untorn") == Some("no");
            (faults.failing_sync, faults.failing_read, faults.failing_write) = (sync, read, write);
            faults.failing_punch = punch;
            faults.misdirected = command.get("misdirect").map(str::to_string);
            faults.short_of_256 = command.number("short", 0) as u8;
            faults.interrupted_of_256 = command.number("interrupted", 0) as u8;
            faults.capacity_blocks = command.get("room").map(|_| used + command.number("room", 0) as u64);
        });
    }

    fn read(&mut self, command: &Command<'_>) -> storage::Result<()> {
        let (from, to) = (command.number("from", 0) as u32, command.number("to", 0) as u32);
        let pages: Vec<u32> = if from <= to { (from..=to).collect() } else { (to..=from).rev().collect() };
        for page in pages {
            self.store().read(PageId::new(command.space(), PageNo(page)))?;
        }
        Ok(())
    }

    fn check(&mut self, command: &Command<'_>, out: &mut String) -> storage::Result<()> {
        let page = self.store().read(command.page())?;
        let body = &page[header::BODY..page.len() - header::TRAILER_BYTES];
        let verdict = if body == command.content(body.len()) { "yes" } else { "no" };
        writeln!(out, "{verdict}").unwrap();
        Ok(())
    }

    fn crash(&mut self, command: &Command<'_>) -> storage::Result<()> {
        self.store = None;
        let sim = match command.get("lose") {
            Some("nothing") => self.sim.duplicate(),
            _ => self.sim.crash(),
        };
        let segments = std::mem::take(&mut self.segments);
        *self = World { segments, ..World::new(sim, self.config.clone()) };
        Ok(())
    }

    fn recover(&mut self, out: &mut String) -> storage::Result<()> {
        let (store, report) = apply::open(Arc::new(self.trace.clone()), self.config.clone())?;
        let clean = if report.was_clean { "clean" } else { "not clean" };
        let (records, pages) = (report.records, report.pages);
        write!(out, "{clean}: {records} records for {pages} pages, {} torn pages", report.torn_pages_restored).unwrap();
        if report.torn_pages_detected > 0 {
            write!(out, ", {} of them without a copy", report.torn_pages_detected).unwrap();
        }
        out.push('\n');
        if report.was_clean {
            for space in self.segments.keys().copied() {
                store.open_space(space, &format!("t{space}.ibd"), Transform::NONE)?;
            }
        }
        self.store = Some(store);
        Ok(())
    }

    fn tear(&mut self, command: &Command<'_>) -> storage::Result<()> {
        if let Some(path) = command.get("file") {
            let file = self.sim.open(path, OpenMode::ReadWrite, Caching::Cached).unwrap();
            let from = command.number("from", 0);
            file.write_at(from as u64, &vec![0; command.number("bytes", 512)]).unwrap();
            file.sync().unwrap();
            return Ok(());
        }
        let page = command.page();
        let path = self
            .sim
            .list("")
            .unwrap()
            .into_iter()
            .map(|entry| entry.name)
            .find(|name| name == &format!("t{}.ibd", page.space));
        let file = self.sim.open(&path.expect("a file"), OpenMode::ReadWrite, Caching::Cached).unwrap();
        let offset = u64::from(page.page.0) * self.config.page_bytes as u64;
        let stored = file.data_end(offset, self.config.page_bytes as u64).unwrap() - offset;
        file.write_at(offset + stored / 2, &vec![0; stored as usize / 2]).unwrap();
        file.sync().unwrap();
        Ok(())
    }

    fn stored(&mut self, command: &Command<'_>, out: &mut String) -> storage::Result<()> {
        let space = self.store().space(command.space()).expect("an open tablespace");
        let file = self.sim.open(&space.path(), OpenMode::Read, Caching::Cached).unwrap();
        let page_bytes = self.config.page_bytes;
        let mut page = vec![0; page_bytes];
        for number in 0..space.pages() {
            let offset = u64::from(number) * page_bytes as u64;
            file.read_at(offset, &mut page).unwrap();
            let occupied = file.data_end(offset, page_bytes as u64).unwrap() - offset;
            let form = match format::transform::is_encoded(&page) {
                true => format!("encoded, {} bytes", format::transform::encoded_bytes(&page).unwrap()),
                false if header::is_zero(&page) => "zero".into(),
                false => "plain".into(),
            };
            writeln!(out, "{number:>3} {occupied:>6} {form}").unwrap();
        }
        Ok(())
    }
}

impl World {
    fn statistics(&mut self, command: &Command<'_>, out: &mut String) -> storage::Result<()> {
        let space = self.space(command);
        let unknown = space.compression_stats().pages_unknown;
        // In slices of two pages, so that there are some.
        while space.survey(2)? {}
        let stats = space.compression_stats();
        let allocated = space.info()?.allocated_bytes;
        let encoded = stats.pages_zlib + stats.pages_lz4 + stats.pages_zstd;
        writeln!(out, "{unknown} pages were unknown").unwrap();
        writeln!(out, "{} unwritten, {} plain, {encoded} encoded", stats.pages_unwritten, stats.pages_plain).unwrap();
        writeln!(out, "stored in {} bytes of {allocated}, exactly {}", stats.stored_bytes, stats.exact_bytes).unwrap();
        let (issued, avoided, failed) = (stats.punches_issued, stats.punches_avoided, stats.punches_failed);
        writeln!(out, "punches: {issued} issued, {avoided} avoided, {failed} failed").unwrap();
        Ok(())
    }
}

/// Runs a script and returns it with the answers that its commands give now.
fn run(script: &str) -> String {
    let mut world = World::new(SimDisk::new(0), Config::tiny());
    let mut answered = String::new();
    let mut output = String::new();
    let mut lines = script.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "---" {
            // The old answers are skipped, the new ones written.
            while lines.peek().is_some_and(|line| !line.is_empty()) {
                lines.next();
            }
            answered.push_str("---\n");
            answered.push_str(&std::mem::take(&mut output));
            continue;
        }
        answered.push_str(line);
        answered.push('\n');
        if line.is_empty() || line.starts_with('#') {
            assert!(output.is_empty(), "an answer without a place for it, before {line:?}: {output}");
            continue;
        }
        let command = Command::parse(line);
        world.trace.take();
        if let Err(error) = world.run(&command, &mut output) {
            writeln!(output, "! {error}").unwrap();
        }
        if command.io {
            for line in world.trace.take() {
                writeln!(output, "{line}").unwrap();
            }
        }
    }
    answered
}

fn scripts(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { scripts(&path, found) } else { found.push(path) }
    }
}

#[test]
fn scripts_answer_as_they_say() {
    let mut paths = Vec::new();
    scripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testscripts"), &mut paths);
    paths.sort();
    let wanted = std::env::var("SCRIPT").ok();
    let mut differ = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if wanted.as_ref().is_some_and(|wanted| *wanted != name) {
            continue;
        }
        let script = fs::read_to_string(&path).unwrap();
        let answered = run(&script);
        if answered == script {
            continue;
        }
        if std::env::var_os("UPDATE_SCRIPTS").is_some() {
            fs::write(&path, answered).unwrap();
            continue;
        }
        for (line, (old, new)) in script.lines().zip(answered.lines()).enumerate() {
            if old != new {
                differ.push(format!("{}:{}\n  says   {old}\n  answer {new}", path.display(), line + 1));
                break;
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
