//! What statements take and do, told to [`Statements`](crate::statements::Statements) and to the logs of statements.
//!
//! A statement that runs within another one (EXECUTE) is told of by itself, too. What a replica applies, and what the
//! server's own sessions do, is not told of.

use std::time::Instant;

use format::value::Value;
use rustc_hash::FxHashMap;

use super::Session;
use super::statement_logs::ExtraCounts;
use super::uses::Uses;
use crate::error::Error;
use crate::executor::memory::Counts;
use crate::profiles::Profiles;
use crate::statements::accounts::AccountName;
use crate::statements::{Ended, Own, Timing, Work};
use crate::status::Counter;

/// A text that is longer is not remembered with its digest.
const TEXT_BYTES_MAX: usize = 64;
/// Texts that are remembered; when there are more, all are dropped.
const TEXTS_MAX: usize = 64;

/// A session's part in it.
pub(super) struct Measure {
    own: Own,
    /// The number of the running statement's digest, if it is known.
    digest: Option<u32>,
    /// Those of short texts that come again and again and have no plan, such as COMMIT: in the current schema.
    texts: FxHashMap<Box<[u8]>, u32>,
    /// The last error of the running statement.
    error: Option<Error>,
    depth: u32,
    /// What `profiling` keeps.
    profiles: Profiles,
    /// The running statement is SHOW PROFILE or SHOW PROFILES.
    pub asks: bool,
    /// A statement within the running one has been told of.
    has_told_inner: bool,
}

impl Measure {
    pub fn new(own: Own) -> Measure {
        Measure {
            own,
            digest: None,
            texts: FxHashMap::default(),
            error: None,
            depth: 0,
            profiles: Profiles::default(),
            asks: false,
            has_told_inner: false,
        }
    }

    /// From here on the session's statements are those of this account.
    pub fn log_in(&self, account: AccountName) {
        self.own.set_account(Some(account));
    }

    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    pub fn forget_texts(&mut self) {
        self.texts.clear();
    }

    /// The statement has been answered with an error.
    pub fn failed(&mut self, error: Error) {
        self.error = Some(error);
    }
}

/// Nanoseconds that this thread has spent on a processor.
fn thread_cpu_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Session {
    /// Runs a statement, and tells what it took. `known` is the number of its digest; `run` may find it, too.
    #[inline]
    pub(super) fn measured<T>(
        &mut self,
        known: Option<u32>,
        text: &[u8],
        parameters: &[Value],
        run: impl FnOnce(&mut Session) -> T,
    ) -> T {
        if self.applying.is_some() || self.rights.is_internal() {
            return run(self);
        }
        let state = &self.state;
        for count in [&state.rows_sent, &state.rows_examined, &state.rows_affected] {
            count.set(0);
        }
        state.uses.set(Uses::default());
        state.spilled.set(Counts::default());
        self.measure.digest = None;
        self.measure.error = None;
        self.measure.has_told_inner = false;
        self.measure.asks = false;
        self.measure.depth += 1;
        let waited = self.process.interrupt.waited_nanos();
        let cpu = self.instance.statements.collects().cpu().then(thread_cpu_nanos);
        let before = self.instance.variables.statement_logs().extra().then(|| self.extra_counts());
        let profiles = self.variables.settings.profiling;
        let started = Instant::now();
        let done = run(self);
        let wait = started.elapsed().as_nanos() as u64;
        self.measure.depth -= 1;
        let timing = Timing {
            started: self.instance.statements.nanos_at(started),
            wait,
            lock: self.process.interrupt.waited_nanos() - waited,
            cpu: cpu.map_or(0, |before| thread_cpu_nanos().saturating_sub(before)),
        };
        // As in MySQL a statement counts that begins and ends with profiling on, if it does not ask for profiles itself.
        if profiles && self.variables.settings.profiling && self.measure.depth == 0 && !self.measure.asks {
            let most = self.variables.settings.profiling_history_size;
            self.measure.profiles.add(text, &timing, most);
        }
        self.tell(known, text, parameters, timing, before.as_ref());
        done
    }

    fn tell(
        &mut self,
        known: Option<u32>,
        text: &[u8],
        parameters: &[Value],
        timing: Timing,
        before: Option<&ExtraCounts>,
    ) {
        let work = self.work();
        if timing.wait >= self.variables.settings.long_query_us * 1000 {
            self.status.add(Counter::SlowQueries, 1);
        }
        // EXECUTE is logged as what it executes.
        if self.instance.variables.statement_logs().slow() && !self.measure.has_told_inner {
            let extra = before.map(|before| self.extra_of_slow(before, timing, self.measure.error.as_ref()));
            self.log_if_slow(text, parameters, timing, &work, extra.as_deref().unwrap_or_default());
        }
        self.measure.has_told_inner = self.measure.depth > 0;
        let collects = self.instance.statements.collects();
        if collects.nothing() {
            return;
        }
        let number = collects.digests().then(|| {
            let found = self.measure.digest.take().or(known);
            let found = found.filter(|number| self.instance.statements.is_current(*number));
            found.unwrap_or_else(|| self.digest_number(text))
        });
        let error = self.measure.error.as_ref();
        self.measure.own.tell(
            collects,
            &Ended {
                number,
                timing,
                work,
                schema: self.state.database.as_deref(),
                text,
                error: error.map(|error| (error.code, error.sqlstate, error.message.as_str())),
                nested: self.measure.depth > 0,
            },
        );
    }

    fn work(&self) -> Work {
        let (state, uses) = (&self.state, self.state.uses.get());
        let rows_sent = state.rows_sent.get();
        Work {
            errors: self.measure.error.is_some().into(),
            warnings: self.warnings.count(),
            rows_affected: state.rows_affected.get(),
            rows_sent,
            rows_examined: state.rows_examined.get(),
            select_full_join: uses.full_join.into(),
            select_range: uses.range.into(),
            select_scan: uses.scan.into(),
            sort_range: (uses.sorts && !uses.scan).into(),
            sort_rows: if uses.sorts { rows_sent } else { 0 },
            sort_scan: (uses.sorts && uses.scan).into(),
            no_index_used: uses.no_index.into(),
            tmp_disk_tables: state.spilled.get().tables,
            sort_merge_passes: state.spilled.get().merge_passes,
        }
    }

    /// A plan runs.
    #[inline]
    pub(super) fn note_uses(&self, uses: Uses) {
        self.state.uses.set(uses);
        if uses == Uses::default() {
            return;
        }
        let noted = [
            (uses.full_join, Counter::SelectFullJoin),
            (uses.range, Counter::SelectRange),
            (uses.scan, Counter::SelectScan),
            (uses.sorts && uses.scan, Counter::SortScan),
            (uses.sorts && !uses.scan, Counter::SortRange),
        ];
        noted.iter().filter(|(uses, _)| *uses).for_each(|(_, counter)| self.status.add(*counter, 1));
    }

    /// A plan has run.
    #[inline]
    pub(super) fn note_spilled(&self, counts: Counts) {
        if counts == Counts::default() {
            return;
        }
        let before = self.state.spilled.get();
        self.state.spilled.set(Counts {
            files: before.files + counts.files,
            tables: before.tables + counts.tables,
            merge_passes: before.merge_passes + counts.merge_passes,
        });
        self.status.add(Counter::CreatedTmpFiles, counts.files);
        self.status.add(Counter::CreatedTmpDiskTables, counts.tables);
        self.status.add(Counter::SortMergePasses, counts.merge_passes);
    }

    /// The running statement's digest is that of its plan, which may not know it yet, or know one that was forgotten.
    #[inline]
    pub(super) fn follow_digest(&mut self, digest: &mut Option<u32>, text: &[u8]) {
        let statements = &self.instance.statements;
        if !statements.collects().digests() {
            return;
        }
        if !digest.is_some_and(|number| statements.is_current(number)) {
            *digest = Some(self.digest_number(text));
        }
        self.measure.digest = *digest;
    }

    /// The same for a prepared statement, whose digest belongs to the schema of this generation.
    pub(super) fn prepared_digest(&mut self, digest: &mut Option<(u64, u32)>, text: &[u8]) -> Option<u32> {
        let statements = &self.instance.statements;
        if !statements.collects().digests() {
            return None;
        }
        if let Some((generation, number)) = digest
            && *generation == self.generation.get()
            && statements.is_current(*number)
        {
            return Some(*number);
        }
        let number = self.digest_number(text);
        *digest = Some((self.generation.get(), number));
        Some(number)
    }

    /// The number of a text's digest in the current schema.
    fn digest_number(&mut self, text: &[u8]) -> u32 {
        let statements = &self.instance.statements;
        if let Some(number) = self.measure.texts.get(text)
            && statements.is_current(*number)
        {
            return *number;
        }
        let schema = self.state.database.as_deref();
        let number = statements.number_of(schema, text, self.variables.settings.sql_mode);
        if text.len() <= TEXT_BYTES_MAX {
            let texts = &mut self.measure.texts;
            if texts.len() >= TEXTS_MAX {
                texts.clear();
            }
            texts.insert(text.into(), number);
        }
        number
    }
}
