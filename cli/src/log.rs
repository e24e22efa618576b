//! The server's messages on standard error, a line each, in the form that MySQL's
//! users and their tools know:
//!
//! ```text
//! 2026-11-21T07:20:00.123456Z 0 [Note] recovery applied 1234 records
//! ```
//!
//! How much is said follows `log_error_verbosity`: 1 errors, 2 warnings too, 3 notes
//! too. What marks a server's life (ready, shutting down) is always said. `log_timestamps` says whether moments are in
//! UTC or in the machine's zone.

use std::fmt;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use format::value::Zone;
use sql::statements::log_file;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt as subscriber};

/// As `log_error_verbosity`; 4 is everything, for developers (`GLASSINE_LOG=debug`).
static VERBOSITY: AtomicU8 = AtomicU8::new(2);

/// The zone in which moments are written.
static ZONE: RwLock<Zone> = RwLock::new(Zone::UTC);

/// Sends messages to standard error from now on.
pub fn start() {
    if std::env::var("GLASSINE_LOG").is_ok_and(|level| level == "debug") {
        VERBOSITY.store(4, Ordering::Relaxed);
    }
    let layer = subscriber::layer().event_format(Line).with_writer(std::io::stderr);
    // A second start (tests) keeps the first.
    let _ = tracing_subscriber::registry().with(Threshold).with(layer).try_init();
}

/// Follows the variable.
pub fn set_verbosity(level: u64) {
    if VERBOSITY.load(Ordering::Relaxed) != 4 {
        VERBOSITY.store(level.clamp(1, 3) as u8, Ordering::Relaxed);
    }
}

/// Follows `log_timestamps`: the zone of the moments.
pub fn set_zone(zone: Zone) {
    if let Ok(mut known) = ZONE.write() {
        *known = zone;
    }
}

/// Says what marks the server's life.
pub fn system(message: impl fmt::Display) {
    eprintln!("{} 0 [System] {message}", now());
}

/// Lets through what the verbosity asks for.
struct Threshold;

impl<S: Subscriber> Layer<S> for Threshold {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        severity(*event.metadata().level()) <= VERBOSITY.load(Ordering::Relaxed)
    }
}

fn severity(level: Level) -> u8 {
    match level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        _ => 4,
    }
}

/// One message on one line.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let label = match *event.metadata().level() {
            Level::ERROR => "ERROR",
            Level::WARN => "Warning",
            Level::INFO => "Note",
            _ => "Debug",
        };
        let mut text = Text(String::new());
        event.record(&mut text);
        writeln!(writer, "{} 0 [{label}] {}", now(), text.0)
    }
}

/// The message, and the fields behind it.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        use fmt::Write;
        let _ = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }
}

/// Now, as logs have it.
fn now() -> String {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let zone = ZONE.read().map_or(Zone::UTC, |zone| *zone);
    log_file::moment(elapsed.as_micros() as u64, zone)
}
