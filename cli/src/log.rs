//! The server's messages on standard error, a line each, in the form that MySQL's
//! users and their tools know:
//!
//! ```text
//! 2026-11-21T07:20:00.123456Z 0 [Note] recovery applied 1234 records
//! ```
//!
//! How much is said follows `log_error_verbosity`: 1 errors, 2 warnings too, 3 notes
//! too. What marks a server's life (ready, shutting down) is always said.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

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

/// Says what marks the server's life.
pub fn system(message: impl fmt::Display) {
    eprintln!("{} 0 [System] {message}", Timestamp::now());
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
        writeln!(writer, "{} 0 [{label}] {}", Timestamp::now(), text.0)
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

/// A moment in UTC, to the microsecond.
struct Timestamp {
    micros: u64,
}

impl Timestamp {
    fn now() -> Self {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { micros: elapsed.as_micros() as u64 }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.micros / 1_000_000;
        let (year, month, day) = civil(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let micros = self.micros % 1_000_000;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

/// The date of a day counted from 1970-01-01, by the usual trick of years that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_dates() {
        assert_eq!(Timestamp { micros: 0 }.to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(Timestamp { micros: 951_782_400_000_001 }.to_string(), "2000-02-29T00:00:00.000001Z");
        assert_eq!(Timestamp { micros: 1_795_243_200_000_000 }.to_string(), "2026-11-21T06:40:00.000000Z");
    }
}
