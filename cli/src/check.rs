//! `glassine check`: whether a data directory is sound, all of it.
//!
//! The server must not run. A directory that was not closed is recovered first, as the next start would do, and that is
//! said; then every page in use is read and verified, every tree walked, every secondary index compared with its
//! rows, and every page's owner looked up.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use storage::io::linux::LinuxDisk;
use storage::recovery::refuse_incomplete;
use storage::redo::LogFile;
use storage::{CheckReport, Config};

/// Checks a whole data directory whose server is stopped
#[derive(Parser, Debug)]
pub struct Args {
    /// The data directory
    #[arg(long, default_value = "./data")]
    datadir: PathBuf,
    /// Memory for pages, in MiB
    #[arg(long, default_value_t = 256)]
    memory_mb: u64,
    /// The key ring of encrypted tables, relative to the data directory
    #[arg(long, default_value = "keyring")]
    keyring_file_data: String,
    /// Says only what is wrong
    #[arg(long)]
    quiet: bool,
}

/// Success: sound. 1: not sound. 2: it could not be checked.
pub fn run(args: &Args) -> ExitCode {
    match check(args) {
        Ok(report) => {
            if !args.quiet {
                println!("{}", summary(&report));
            }
            for error in &report.errors {
                eprintln!("{error}");
            }
            if report.is_clean() {
                if !args.quiet {
                    println!("{} tablespaces are sound.", report.spaces.len());
                }
                ExitCode::SUCCESS
            } else {
                eprintln!("{} errors.", report.errors.len());
                ExitCode::from(1)
            }
        }
        Err(error) => {
            eprintln!("glassine check {}: {error}", args.datadir.display());
            ExitCode::from(2)
        }
    }
}

fn check(args: &Args) -> storage::Result<CheckReport> {
    let disk = Arc::new(LinuxDisk::new(&args.datadir));
    refuse_incomplete(&*disk)?;
    let page_bytes = LogFile::page_bytes(&*disk)?;
    let mut config = Config {
        page_bytes,
        pool_bytes: args.memory_mb << 20,
        keyring_file: args.keyring_file_data.clone(),
        background_threads: false,
        ..Config::default()
    };
    // The log keeps its size: a check changes the directory no more than recovery has to.
    config.log_bytes = LogFile::open(&*disk, &config)?.0.capacity();
    let engine = binlog::open_engine(disk, config)?;
    if !engine.recovery_report().was_clean() || !args.quiet {
        println!("{}", engine.recovery_report());
    }
    let report = engine.check()?;
    engine.close()?;
    Ok(report)
}

fn summary(report: &CheckReport) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["space", "name", "pages", "in use", "segments", "indexes", "rows", "delete-marked", "errors"]);
    for space in &report.spaces {
        table.add_row([
            space.space.to_string(),
            space.name.clone(),
            space.pages.to_string(),
            space.pages_used.to_string(),
            space.segments.to_string(),
            space.indexes.to_string(),
            space.rows.to_string(),
            space.delete_marked.to_string(),
            space.errors.to_string(),
        ]);
    }
    for column in [0, 2, 3, 4, 5, 6, 7, 8] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
