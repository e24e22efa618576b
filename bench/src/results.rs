//! What the storage benchmark measured, kept as it comes.
//!
//! One line of JSON per finished cell (arm x workload x round) and per loaded data
//! set, appended to `results-LABEL.jsonl`: a run that is cut off loses one cell, and
//! the next run with the same settings goes on where it stopped. Tables and verdicts
//! are computed from these lines and from nothing else.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use comfy_table::Table;
use serde::{Deserialize, Serialize};

use crate::arms::{ARMS, BASELINE};
use crate::sysbench::median;

/// One measured round.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    /// What must be equal for two cells to belong together.
    pub settings: String,
    pub arm: String,
    pub workload: String,
    pub round: u32,
    pub transactions: u64,
    pub per_second: f64,
    pub p95_ms: f64,
    /// Server CPU, user and system, per transaction.
    pub cpu_us: f64,
    /// `write_bytes` of /proc/PID/io per transaction.
    pub written: f64,
    pub ignored_errors: u64,
    /// How far the server's own `Innodb_%` counters moved.
    pub counters: BTreeMap<String, i64>,
}

/// What loading a data set took.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Loaded {
    pub settings: String,
    pub data: String,
    /// sysbench prepare.
    pub load_seconds: f64,
    /// The clean shutdown after it: what was still dirty.
    pub flush_seconds: f64,
    pub cpu_seconds: f64,
    pub written_bytes: u64,
    /// Of the tables' files, after the shutdown.
    pub allocated: u64,
    pub logical: u64,
}

/// What the tables take after all rounds and a clean shutdown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Aged {
    pub settings: String,
    pub arm: String,
    pub allocated: u64,
    pub logical: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Cell(Cell),
    Loaded(Loaded),
    Aged(Aged),
}

/// All lines of one file that were taken with the same settings.
pub struct Results {
    path: PathBuf,
    pub settings: String,
    pub cells: Vec<Cell>,
    pub loaded: Vec<Loaded>,
    pub aged: Vec<Aged>,
}

impl Results {
    /// Opens `path`, which need not exist. Lines of other settings stay in the file and out of the tables.
    pub fn open(path: &Path, settings: &str) -> io::Result<Results> {
        let mut results = Results {
            path: path.to_path_buf(),
            settings: settings.to_string(),
            cells: Vec::new(),
            loaded: Vec::new(),
            aged: Vec::new(),
        };
        let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
        // The last line of a run that was killed may be half: it is not counted.
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            results.take(line);
        }
        Ok(results)
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Cell(cell) if cell.settings == self.settings => self.cells.push(cell),
            Line::Loaded(loaded) if self.settings.starts_with(&loaded.settings) => {
                self.loaded.retain(|other| other.data != loaded.data);
                self.loaded.push(loaded);
            }
            Line::Aged(aged) if aged.settings == self.settings => {
                self.aged.retain(|other| other.arm != aged.arm);
                self.aged.push(aged);
            }
            _ => {}
        }
    }

    fn append(&mut self, line: Line) -> io::Result<()> {
        let mut file = File::options().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", serde_json::to_string(&line).map_err(io::Error::other)?)?;
        self.take(line);
        Ok(())
    }

    pub fn add_cell(&mut self, cell: Cell) -> io::Result<()> {
        self.append(Line::Cell(cell))
    }

    pub fn add_loaded(&mut self, loaded: Loaded) -> io::Result<()> {
        self.append(Line::Loaded(loaded))
    }

    pub fn add_aged(&mut self, aged: Aged) -> io::Result<()> {
        self.append(Line::Aged(aged))
    }

    pub fn has(&self, arm: &str, workload: &str, round: u32) -> bool {
        self.cells.iter().any(|cell| cell.arm == arm && cell.workload == workload && cell.round == round)
    }

    /// The median of a figure over the rounds, if there is one round at least.
    fn of(&self, arm: &str, workload: &str, figure: impl Fn(&Cell) -> f64) -> Option<f64> {
        let values: Vec<f64> =
            self.cells.iter().filter(|cell| cell.arm == arm && cell.workload == workload).map(figure).collect();
        (!values.is_empty()).then(|| median(values))
    }

    fn loaded(&self, arm: &str) -> Option<&Loaded> {
        let data = ARMS.iter().find(|candidate| candidate.name == arm)?.data.name;
        self.loaded.iter().find(|loaded| loaded.data == data)
    }

    /// One table per workload, in the order they were run, and one for the data sets.
    pub fn print(&self) {
        let mut workloads: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !workloads.contains(&cell.workload.as_str()) {
                workloads.push(&cell.workload);
            }
        }
        for workload in &workloads {
            println!("\n{workload}  ({})\n{}", self.settings, self.workload_table(workload));
        }
        if !self.loaded.is_empty() {
            println!("\nload\n{}", self.load_table());
        }
        let claims = self.claims();
        if !claims.is_empty() {
            let mut table = markdown();
            table.set_header(["claim", "asked", "measured", ""]);
            for (claim, asked, measured, held) in claims {
                let verdict = held.map_or("", |held| if held { "holds" } else { "FALLS SHORT" });
                table.add_row([claim, asked, measured, verdict.to_string()]);
            }
            println!("\nclaims\n{table}");
        }
    }

    fn workload_table(&self, workload: &str) -> Table {
        let mut table = markdown();
        table.set_header([
            "arm",
            "rounds",
            "tps",
            "ratio",
            "p95 ms",
            "CPU us/txn",
            "ratio",
            "bytes/txn",
            "ratio",
            "pages out/txn",
            "pages in/txn",
            "waits for a frame",
            "punches/txn",
        ]);
        for arm in ARMS.iter().map(|arm| arm.name) {
            let rounds = self.cells.iter().filter(|cell| cell.arm == arm && cell.workload == workload).count();
            if rounds == 0 {
                continue;
            }
            let show = |figure: &dyn Fn(&Cell) -> f64, digits: usize| {
                let value = self.of(arm, workload, figure).unwrap_or(0.0);
                let ratio = self.of(BASELINE, workload, figure).filter(|base| *base > 0.0).map(|base| value / base);
                [format!("{value:.digits$}"), ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"))]
            };
            let counter = |name: &str, per_transaction: bool| {
                let value = self.of(arm, workload, |cell| {
                    let moved = cell.counters.get(name).copied().unwrap_or(0) as f64;
                    if per_transaction { moved / cell.transactions.max(1) as f64 } else { moved }
                });
                format!("{:.*}", if per_transaction { 2 } else { 0 }, value.unwrap_or(0.0))
            };
            let [tps, tps_ratio] = show(&|cell| cell.per_second, 0);
            let [cpu, cpu_ratio] = show(&|cell| cell.cpu_us, 0);
            let [written, written_ratio] = show(&|cell| cell.written, 0);
            let [p95, _] = show(&|cell| cell.p95_ms, 2);
            table.add_row([
                arm.to_string(),
                rounds.to_string(),
                tps,
                tps_ratio,
                p95,
                cpu,
                cpu_ratio,
                written,
                written_ratio,
                counter("Innodb_buffer_pool_pages_flushed", true),
                counter("Innodb_buffer_pool_reads", true),
                counter("Innodb_buffer_pool_wait_free", false),
                counter("Innodb_num_page_compressed_trim_op", true),
            ]);
        }
        table
    }

    fn load_table(&self) -> Table {
        let mut table = markdown();
        table.set_header([
            "data",
            "load s",
            "ratio",
            "flush s",
            "CPU s",
            "written MB",
            "logical MB",
            "allocated MB",
            "ratio",
            "allocated MB after the rounds",
        ]);
        let base = self.loaded.iter().find(|loaded| loaded.data == BASELINE);
        let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
        for loaded in &self.loaded {
            let ratio = |own: f64, base: Option<f64>| base.map_or("-".into(), |base| format!("{:.2}", own / base));
            let aged: Vec<String> = ARMS
                .iter()
                .filter(|arm| arm.data.name == loaded.data)
                .filter_map(|arm| self.aged.iter().find(|aged| aged.arm == arm.name))
                .map(|aged| format!("{} {}", aged.arm, megabytes(aged.allocated)))
                .collect();
            table.add_row([
                loaded.data.clone(),
                format!("{:.1}", loaded.load_seconds),
                ratio(loaded.load_seconds, base.map(|base| base.load_seconds)),
                format!("{:.1}", loaded.flush_seconds),
                format!("{:.1}", loaded.cpu_seconds),
                megabytes(loaded.written_bytes),
                megabytes(loaded.logical),
                megabytes(loaded.allocated),
                ratio(loaded.allocated as f64, base.map(|base| base.allocated as f64)),
                aged.join(", "),
            ]);
        }
        table
    }

    /// What was promised and what was claimed by others: (claim, asked, measured, whether it holds if that is a
    /// question).
    fn claims(&self) -> Vec<(String, String, String, Option<bool>)> {
        let mut claims = Vec::new();
        let tps = |arm: &str, workload: &str| self.of(arm, workload, |cell| cell.per_second);
        let written = |arm: &str| self.of(arm, WRITE_ONLY, |cell| cell.written);
        let cpu = |arm: &str| self.of(arm, WRITE_ONLY, |cell| cell.cpu_us);
        let ratio = |own: Option<f64>, base: Option<f64>| Some(own? / base.filter(|base| *base > 0.0)?);
        let mut asked = |claim: &str, bound: f64, at_least: bool, measured: Option<f64>| {
            if let Some(measured) = measured {
                let held = if at_least { measured >= bound } else { measured <= bound };
                let relation = if at_least { ">=" } else { "<=" };
                claims.push((claim.into(), format!("{relation} {bound:.2}"), format!("{measured:.2}"), Some(held)));
            }
        };
        for peer in ["innodb-lz4", "innodb-zlib", "innodb-kbs8"] {
            let claim = format!("write_only: zstd against {peer}, tps");
            asked(&claim, 1.3, true, ratio(tps("zstd", WRITE_ONLY), tps(peer, WRITE_ONLY)));
        }
        asked(
            "write_only: zstd against innodb, tps",
            1.0,
            true,
            ratio(tps("zstd", WRITE_ONLY), tps(BASELINE, WRITE_ONLY)),
        );
        let point = "oltp_point_select";
        asked("point_select: zstd against innodb, tps", 1.0, true, ratio(tps("zstd", point), tps(BASELINE, point)));
        asked("write_only: zstd against innodb, bytes", 0.5, false, ratio(written("zstd"), written(BASELINE)));
        asked(
            "write_only: zstd-atomic against innodb, bytes",
            0.25,
            false,
            ratio(written("zstd-atomic"), written(BASELINE)),
        );
        let allocated = |arm: &str| self.loaded(arm).map(|loaded| loaded.allocated as f64);
        let load = |arm: &str| self.loaded(arm).map(|loaded| loaded.load_seconds);
        asked("zstd against innodb, allocated", 0.55, false, ratio(allocated("zstd"), allocated(BASELINE)));
        asked("zstd against innodb, load time", 1.0, false, ratio(load("zstd"), load(BASELINE)));

        // The originals' claims: figures beside theirs, no verdict by a machine.
        let mut observed = |claim: &str, theirs: &str, measured: Option<f64>| {
            if let Some(measured) = measured {
                let percent = (measured - 1.0) * 100.0;
                claims.push((claim.into(), theirs.into(), format!("{percent:+.0} %"), None));
            }
        };
        for codec in ["zstd", "lz4"] {
            let nopunch = format!("{codec}-nopunch");
            observed(
                &format!("{codec}: tps won by not punching"),
                "+500 %, +33 % (NVMFS)",
                ratio(tps(&nopunch, WRITE_ONLY), tps(codec, WRITE_ONLY)),
            );
            observed(&format!("{codec}: CPU/txn of not punching"), "", ratio(cpu(&nopunch), cpu(codec)));
            observed(
                &format!("{codec}: tps against none"),
                "-15 %",
                ratio(tps(codec, WRITE_ONLY), tps("none", WRITE_ONLY)),
            );
            observed(&format!("{codec}: CPU/txn against none"), "", ratio(cpu(codec), cpu("none")));
        }
        for codec in ["zstd", "none", "innodb"] {
            let guarded = if codec == BASELINE { codec.to_string() } else { format!("{codec}-doublewrite") };
            observed(
                &format!("{codec}: tps won by untorn writes over doublewrite"),
                "+30 %",
                ratio(tps(&format!("{codec}-atomic"), WRITE_ONLY), tps(&guarded, WRITE_ONLY)),
            );
            observed(
                &format!("{codec}: tps won by no protection over doublewrite"),
                "",
                ratio(tps(&format!("{codec}-unprotected"), WRITE_ONLY), tps(&guarded, WRITE_ONLY)),
            );
        }
        for cleaners in ["2cleaners", "4cleaners"] {
            observed(
                &format!("zstd: tps of {cleaners} over one"),
                "",
                ratio(tps(&format!("zstd-{cleaners}"), WRITE_ONLY), tps("zstd-1cleaner", WRITE_ONLY)),
            );
        }
        claims
    }
}

const WRITE_ONLY: &str = "oltp_write_only";

/// Tables that can be pasted into a document.
fn markdown() -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table
}
