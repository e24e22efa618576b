//! `sim`: the storage engine on a simulated disk with faults, from seeds.
//!
//! ```text
//! sim SEED                  one seed, printed step by step
//! sim --io SEED             ... with every call that reached the disk
//! sim --seeds N --from S    N seeds from S on, one line for each thousand
//! sim --concurrent ...      transactions that want the same rows, under a seeded scheduler; see `concurrent`
//! sim --threads ...         the engine with its threads; see `threads`
//! sim --log ...             the binary log beside the engine; see `log`
//! sim --log-threads ...     the same with the threads of both; see `log::several`
//! ```
//!
//! A seed decides everything: the configuration, the operations, the faults and
//! what survives them. A failure names its seed, and the seed replays it.

#![forbid(unsafe_code)]

mod backup;
mod concurrent;
mod damage;
mod ddl;
mod definitions;
mod device;
mod facts;
mod family;
mod log;
mod model;
mod report;
mod run;
mod threads;
mod work;
mod workload;
mod xa;

use std::panic;
use std::process::ExitCode;

/// Runs a seed, with or without output.
type One = fn(u64, Talk) -> Result<report::Report, String>;

/// How much of a run is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    Nothing,
    Steps,
    /// Steps and disk calls.
    Io,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut seeds, mut from, mut single) = (0u64, 1u64, None);
    let mut one: One = run::seed;
    let mut talk = Talk::Steps;
    while let Some(argument) = arguments.next() {
        let mut number = |what: &str| -> u64 {
            let text = arguments.next().unwrap_or_default();
            text.parse().unwrap_or_else(|_| usage(&format!("{what} needs a number, not '{text}'")))
        };
        match argument.as_str() {
            "--seeds" => seeds = number("--seeds"),
            "--from" => from = number("--from"),
            "--io" => talk = Talk::Io,
            "--threads" => one = threads::seed,
            "--concurrent" => one = concurrent::seed,
            "--log" => one = log::seed,
            "--log-threads" => one = log::several::seed,
            seed => single = Some(seed.parse().unwrap_or_else(|_| usage(&format!("'{seed}' is no seed")))),
        }
    }
    if let Some(seed) = single {
        return match one(seed, talk) {
            Ok(report) => {
                println!("seed {seed}: {report}");
                ExitCode::SUCCESS
            }
            Err(failure) => {
                println!("seed {seed} FAILED: {failure}");
                ExitCode::FAILURE
            }
        };
    }
    if seeds == 0 {
        usage("a seed, or --seeds N [--from S]");
    }
    many(one, seeds, from)
}

fn usage(problem: &str) -> ! {
    eprintln!(
        "sim: {problem}\nusage: sim [--concurrent | --threads | --log | --log-threads] [--io] SEED | sim [...] --seeds N \
         [--from S]"
    );
    std::process::exit(2);
}

fn many(one: One, seeds: u64, from: u64) -> ExitCode {
    let mut failed = Vec::new();
    let mut sum = report::Report::default();
    panic::set_hook(Box::new(|_| {})); // A panic is a failure of its seed; the replay shows where.
    for seed in from..from + seeds {
        match panic::catch_unwind(|| one(seed, Talk::Nothing)) {
            Ok(Ok(report)) => sum.merge(&report),
            Ok(Err(failure)) => {
                println!("seed {seed} FAILED: {failure}");
                failed.push(seed);
            }
            Err(cause) => {
                let text = threads::message(&*cause);
                println!("seed {seed} PANICKED: {text}");
                failed.push(seed);
            }
        }
        let done = seed - from + 1;
        if done.is_multiple_of(1000) {
            println!("{done} seeds: {sum}");
        }
        if failed.len() >= 20 {
            println!("stopped after 20 failures");
            break;
        }
    }
    println!("{seeds} seeds from {from}: {} failed; {sum}", failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
