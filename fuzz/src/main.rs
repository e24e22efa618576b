//! `fuzz`: random and damaged bytes for everything that decodes what comes from a disk or a network.
//!
//! ```text
//! fuzz --seconds N [--from SEED]   all targets in turn, N seconds in all, from a fresh seed (which is printed)
//! fuzz TARGET SEED                 one case again
//! fuzz --list                      the targets
//! ```
//!
//! A case is a target and a seed, and the seed decides every byte. Most cases begin with something whole and damage it
//! (see [`bytes`]): bytes that are all random seldom get past the first check. A target fails if it panics, or if it
//! takes more processor time than [`CASE_MAX`]: decoders are bounded. What a decoder makes of damaged bytes does not matter here; of
//! whole ones it must make what they were made from, and the targets check that too.

#![forbid(unsafe_code)]

mod binlog;
mod bytes;
mod connection;
mod instance;
mod login;
mod pages;
mod stored;
mod values;
mod wire;

use std::panic;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Random;

/// The most processor time of a case: it is the same however busy the machine is.
const CASE_MAX: Duration = Duration::from_secs(5);

/// Cases of a target before it is the next one's turn.
const CASES_PER_TURN: u64 = 64;

/// What is tried: a name, and a case of it.
type Target = (&'static str, fn(&mut Random));

const TARGETS: &[Target] = &[
    ("compressed-page", pages::compressed),
    ("encrypted-page", pages::encrypted),
    ("mariadb-page", pages::mariadb),
    ("page-header", pages::header),
    ("space-page", pages::space),
    ("index-page", pages::index),
    ("undo-page", pages::undo),
    ("blob-page", pages::blob),
    ("lob-page", pages::lob),
    ("redo-record", pages::redo),
    ("column-type", values::column_type),
    ("stored-value", values::stored_value),
    ("decimal", values::decimal),
    ("temporal", values::temporal),
    ("number", values::number),
    ("json", values::json),
    ("geometry", values::geometry),
    ("binlog", binlog::events),
    ("binlog-rows", binlog::rows),
    ("packet", wire::packet),
    ("handshake", wire::handshake),
    ("command", wire::command),
    ("parameters", wire::parameters),
    ("tls", connection::tls),
    ("login", login::login),
    ("proxy-header", connection::proxy_header),
    ("certificate", connection::certificate),
    ("compressed-frame", connection::compressed_frame),
    ("doublewrite", stored::doublewrite),
    ("key-ring", stored::key_ring),
    ("description", stored::description),
    ("exported", stored::exported),
    ("backup", stored::backup),
    ("undo-logs", stored::undo_logs),
    ("xid", stored::xid),
    ("instance-pages", instance::pages),
    ("instance-log", instance::log),
    ("instance-aside", instance::aside),
    ("instance-import", instance::import),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--list"] => {
            for (name, _) in TARGETS {
                println!("{name}");
            }
            ExitCode::SUCCESS
        }
        ["--seconds", seconds] => all(number(seconds), fresh_seed()),
        ["--seconds", seconds, "--from", seed] => all(number(seconds), number(seed)),
        [name, seed] => match TARGETS.iter().find(|(known, _)| *known == name) {
            Some(target) => one(target, number(seed)),
            None => usage(&format!("'{name}' is no target")),
        },
        _ => usage("--seconds N [--from SEED], TARGET SEED, or --list"),
    }
}

fn usage(what: &str) -> ! {
    eprintln!("fuzz: {what}");
    std::process::exit(2);
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| usage(&format!("'{text}' is no number")))
}

fn fresh_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64 >> 10)
}

/// A case again: its panic shows where.
fn one(target: &Target, seed: u64) -> ExitCode {
    (target.1)(&mut Random::new(seed));
    login::clean();
    println!("{} {seed}: nothing wrong", target.0);
    ExitCode::SUCCESS
}

fn all(seconds: u64, from: u64) -> ExitCode {
    println!("fuzz from seed {from}");
    // What panics is told below; its text would come in between.
    panic::set_hook(Box::new(|_| {}));
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut seed = from;
    let mut cases = 0_u64;
    let mut failures = Vec::new();
    while Instant::now() < until && failures.len() < 10 {
        for target in TARGETS {
            for case in seed..seed + CASES_PER_TURN {
                cases += 1;
                let began = processor_time();
                let result = panic::catch_unwind(|| (target.1)(&mut Random::new(case)));
                let what = match result {
                    Err(cause) => message(&*cause),
                    Ok(()) => match processor_time() - began {
                        taken if taken > CASE_MAX => format!("took {} s", taken.as_secs()),
                        _ => continue,
                    },
                };
                failures.push(format!("FAILED, again with `fuzz {} {case}`: {what}", target.0));
                break;
            }
        }
        seed += CASES_PER_TURN;
    }
    login::clean();
    for failure in &failures {
        println!("{failure}");
    }
    println!("{cases} cases of {} targets, {} failures", TARGETS.len(), failures.len());
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What the process has had of the processors so far.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn message(cause: &(dyn std::any::Any + Send)) -> String {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").to_owned()
}
