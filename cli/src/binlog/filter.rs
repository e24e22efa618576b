//! Which events are wanted: by place, time, transaction, database and server.
//!
//! A transaction is wanted or not as a whole, by the GTID in front of it. Databases are judged as the replica's filters
//! do: a statement by the database it ran in, rows by the database of their table.

use format::binlog::{Control, Event, EventKind, GtidSet, gtid};
use format::value::{Zone, parse_datetime};

use super::file::Located;

/// Which events are wanted. Places count in the first and the last file.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Filter {
    /// Begin with the event at this place of the first file
    #[arg(long, short = 'j', value_name = "BYTE")]
    pub start_position: Option<u64>,
    /// End before the event at this place of the last file
    #[arg(long, value_name = "BYTE")]
    pub stop_position: Option<u64>,
    /// Begin with the first event of this time (UTC), such as "2026-01-31 23:00:00"
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub start_datetime: Option<u32>,
    /// End before the first event of this time (UTC)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub stop_datetime: Option<u32>,
    /// Only these transactions, such as 3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5
    #[arg(long, value_name = "SET")]
    pub include_gtids: Option<GtidSet>,
    /// All but these transactions
    #[arg(long, value_name = "SET")]
    pub exclude_gtids: Option<GtidSet>,
    /// Only what changes this database
    #[arg(long, short, value_name = "NAME")]
    pub database: Option<String>,
    /// Only what was first executed by the server with this number
    #[arg(long, value_name = "NUMBER")]
    pub server_id: Option<u32>,
}

/// Seconds since 1970 of a date and time in UTC.
fn parse_time(text: &str) -> Result<u32, String> {
    let parsed = parse_datetime(text.as_bytes());
    let is_moment = !parsed.flags.invalid && !parsed.value.date.has_zero_part();
    is_moment
        .then(|| parsed.value.to_unix_micros(Zone::UTC) / 1_000_000)
        .and_then(|seconds| u32::try_from(seconds).ok())
        .ok_or_else(|| "a date and time, such as 2026-01-31 23:00:00, is wanted".into())
}

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Wanted,
    Unwanted,
    /// Neither this one nor what follows in the file.
    End,
}

/// A filter on its way through a file.
pub struct Judge<'f> {
    filter: &'f Filter,
    start_position: u64,
    stop_position: u64,
    /// The transaction under way is not wanted.
    in_unwanted_transaction: bool,
}

impl Filter {
    pub fn judge(&self, is_first_file: bool, is_last_file: bool) -> Judge<'_> {
        Judge {
            filter: self,
            start_position: self.start_position.filter(|_| is_first_file).unwrap_or(0),
            stop_position: self.stop_position.filter(|_| is_last_file).unwrap_or(u64::MAX),
            in_unwanted_transaction: false,
        }
    }

    pub fn wants_database(&self, database: &[u8]) -> bool {
        self.database.as_ref().is_none_or(|wanted| wanted.as_bytes() == database)
    }
}

impl Judge<'_> {
    pub fn judge(&mut self, located: &Located<'_>) -> format::Result<Verdict> {
        let header = &located.event.header;
        if located.at >= self.stop_position {
            return Ok(Verdict::End);
        }
        if header.kind == EventKind::FORMAT_DESCRIPTION {
            return Ok(Verdict::Wanted); // Nothing can be replayed without it.
        }
        // An event without a time is artificial and stands at no moment.
        if header.timestamp != 0 && self.filter.stop_datetime.is_some_and(|stop| header.timestamp >= stop) {
            return Ok(Verdict::End);
        }
        if let Some(begin) = gtid::gtid_of(&located.event)? {
            let is_in = |set: &GtidSet| begin.gtid.is_some_and(|gtid| set.contains(gtid));
            let excluded = self.filter.exclude_gtids.as_ref().is_some_and(is_in);
            let included = self.filter.include_gtids.as_ref().is_none_or(is_in);
            self.in_unwanted_transaction = excluded || !included;
        } else if is_outside_transactions(&located.event)? {
            self.in_unwanted_transaction = false;
        }
        let wanted = !self.in_unwanted_transaction
            && located.at >= self.start_position
            && self.filter.start_datetime.is_none_or(|start| header.timestamp >= start)
            && self.filter.server_id.is_none_or(|server| header.server_id == server);
        Ok(if wanted { Verdict::Wanted } else { Verdict::Unwanted })
    }
}

/// Whether an event belongs to the file and to no transaction.
fn is_outside_transactions(event: &Event<'_>) -> format::Result<bool> {
    let control = Control::decode(event)?;
    Ok(matches!(control, Some(Control::Rotate { .. } | Control::Stop))
        || event.header.kind == EventKind::PREVIOUS_GTIDS)
}
