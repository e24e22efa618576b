//! Running sysbench 1.0 and reading what it says.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::Server;

/// One sysbench run.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    pub script: &'a str,
    pub tables: u32,
    pub rows: u32,
    pub threads: u32,
    pub seconds: u32,
    /// Server-side prepared statements; otherwise text.
    pub prepared: bool,
    /// More of sysbench's options, as they are.
    pub more: &'a [String],
}

/// Its result.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub transactions: u64,
    pub per_second: f64,
    pub p95_ms: f64,
    /// Errors that sysbench ignored (1205, 1213, 1020 ...), by its own count.
    pub ignored_errors: u64,
    pub server_cpu_ms: f64,
    pub written_bytes: u64,
}

impl Figures {
    pub fn cpu_us_per_transaction(&self) -> f64 {
        self.server_cpu_ms * 1000.0 / self.transactions.max(1) as f64
    }

    pub fn written_per_transaction(&self) -> f64 {
        self.written_bytes as f64 / self.transactions.max(1) as f64
    }
}

pub fn is_installed() -> bool {
    Command::new("sysbench").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

impl Run<'_> {
    fn command(&self, socket: &Path, verb: &str) -> Command {
        let mut command = Command::new("sysbench");
        command
            .arg("--db-driver=mysql")
            .arg("--mysql-host=localhost")
            .arg(format!("--mysql-socket={}", socket.display()))
            .args(["--mysql-user=root", "--mysql-db=sbtest"])
            .arg(format!("--threads={}", self.threads))
            .arg(format!("--time={}", self.seconds))
            .arg(format!("--db-ps-mode={}", if self.prepared { "auto" } else { "disable" }))
            .args(["--report-interval=0", "--events=0"])
            .args(self.more);
        // bulk_insert knows neither of these two and rejects them.
        if self.script != "bulk_insert" {
            command.arg(format!("--tables={}", self.tables)).arg(format!("--table-size={}", self.rows));
        }
        command.arg(self.script).arg(verb).stdin(Stdio::null());
        command
    }

    /// Creates and fills the tables (for bulk_insert: creates them).
    pub fn prepare(&self, server: &Server) -> io::Result<()> {
        let output = self.command(&server.socket, "prepare").output()?;
        if !output.status.success() {
            return Err(io::Error::other(format!(
                "sysbench {} prepare: {}{}",
                self.script,
                shortened(&output.stdout),
                shortened(&output.stderr)
            )));
        }
        Ok(())
    }

    pub fn cleanup(&self, server: &Server) -> io::Result<()> {
        self.command(&server.socket, "cleanup").output().map(|_| ())
    }

    /// Runs the script. Any error that sysbench does not ignore is an `Err`.
    pub fn run(&self, server: &Server) -> io::Result<Figures> {
        let before = server.usage();
        let output = self.command(&server.socket, "run").output()?;
        let after = server.usage();
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || text.contains("FATAL") {
            return Err(io::Error::other(format!(
                "sysbench {}: {}{}\nserver log:\n{}",
                self.script,
                shortened(&output.stdout),
                shortened(&output.stderr),
                server.log_tail(20)
            )));
        }
        let field = |label: &str| -> Option<&str> {
            text.lines().find_map(|line| Some(line.trim().strip_prefix(label)?.trim()))
        };
        let first = |text: Option<&str>| -> f64 {
            text.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
        };
        // bulk_insert counts events, not transactions.
        let transactions = first(field("transactions:").or_else(|| field("total number of events:"))) as u64;
        let seconds = field("total time:").and_then(|text| text.trim_end_matches('s').parse::<f64>().ok());
        Ok(Figures {
            transactions,
            per_second: transactions as f64 / seconds.unwrap_or(f64::from(self.seconds)),
            p95_ms: first(field("95th percentile:")),
            ignored_errors: first(field("ignored errors:")) as u64,
            server_cpu_ms: (after.cpu_seconds - before.cpu_seconds) * 1000.0,
            written_bytes: after.written_bytes - before.written_bytes,
        })
    }
}

/// Runs oltp_write_only until the server dies. What it then says is expected and thrown away.
pub fn until_killed(socket: &Path, tables: u32, rows: u32) {
    let run = Run { script: "oltp_write_only", tables, rows, threads: 2, seconds: 60, prepared: true, more: &[] };
    let _ = run.command(socket, "run").output();
}

/// The lines that tell something: sysbench repeats a failed statement with all its values.
fn shortened(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let told = ["FATAL", "rror", "invalid"];
    let lines = text.lines().filter(|line| told.iter().any(|word| line.contains(word))).take(5);
    lines.map(|line| line.chars().take(300).collect::<String>() + "\n").collect()
}

/// The middle of several figures.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[odd / 2],
        even => (values[even / 2 - 1] + values[even / 2]) / 2.0,
    }
}
