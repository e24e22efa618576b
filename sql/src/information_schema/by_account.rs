//! What accounts, users, hosts and sessions have done: connections, statements by their kind, errors, counters.
//!
//! A row of an account is one of a user and the host that it came from. Those of users and of hosts are sums of these. What
//! the server does itself belongs to no account.

use std::collections::BTreeMap;

use format::value::Value;

use super::statements::{moment, picos, summed, wall, work};
use super::{Facts, VirtualColumn, VirtualTable, number, optional, string, text};
use crate::error::symbols::symbol;
use crate::statements::accounts::{AccountName, Deeds, ErrorSum, EventSums};
use crate::status::AccountStatus;

/// How rows are put together.
#[derive(Clone, Copy)]
enum Of {
    Accounts,
    Users,
    Hosts,
}

impl Of {
    /// What the rows of an account are added up under.
    fn name(self, (user, host): &AccountName) -> Vec<String> {
        match self {
            Of::Accounts => vec![user.clone(), host.clone()],
            Of::Users => vec![user.clone()],
            Of::Hosts => vec![host.clone()],
        }
    }

    fn sums<T: Default>(
        self,
        accounts: BTreeMap<AccountName, T>,
        add: impl Fn(&mut T, &T),
    ) -> impl Iterator<Item = (Vec<Value>, T)> {
        let mut sums: BTreeMap<Vec<String>, T> = BTreeMap::new();
        for (account, own) in &accounts {
            add(sums.entry(self.name(account)).or_default(), own);
        }
        sums.into_iter().map(|(names, sum)| (names.iter().map(string).collect(), sum))
    }
}

fn is_collected(facts: &Facts<'_>) -> bool {
    facts.instance.statements.limits().enabled
}

const fn user() -> VirtualColumn {
    text("USER", 32)
}

const fn host() -> VirtualColumn {
    text("HOST", 255)
}

macro_rules! connections {
    ($table:ident $name:literal $of:ident $($column:expr),*) => {
        pub const $table: VirtualTable = VirtualTable {
            name: $name,
            columns: &[
                $($column,)*
                number("CURRENT_CONNECTIONS"),
                number("TOTAL_CONNECTIONS"),
                number("MAX_SESSION_CONTROLLED_MEMORY"),
                number("MAX_SESSION_TOTAL_MEMORY"),
            ],
            rows: |facts| connections(facts, Of::$of),
        };
    };
}

connections!(ACCOUNTS "accounts" Accounts user(), host());
connections!(USERS "users" Users user());
connections!(HOSTS "hosts" Hosts host());

fn connections(facts: &Facts<'_>, of: Of) -> Vec<Vec<Value>> {
    if !is_collected(facts) {
        return Vec::new();
    }
    let sums = of.sums(facts.instance.status.by_account(), AccountStatus::add);
    // Memory is not accounted for by session.
    sums.map(|(mut row, status)| {
        row.extend([status.connections, status.logins, 0, 0].map(Value::UInt));
        row
    })
    .collect()
}

macro_rules! status {
    ($table:ident $name:literal $of:ident $($column:expr),*) => {
        pub const $table: VirtualTable = VirtualTable {
            name: $name,
            columns: &[$($column,)* text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 1024)],
            rows: |facts| status(facts, Of::$of),
        };
    };
}

status!(STATUS_BY_ACCOUNT "status_by_account" Accounts user(), host());
status!(STATUS_BY_USER "status_by_user" Users user());
status!(STATUS_BY_HOST "status_by_host" Hosts host());

fn status(facts: &Facts<'_>, of: Of) -> Vec<Vec<Value>> {
    if !is_collected(facts) {
        return Vec::new();
    }
    let mut rows = Vec::new();
    for (names, status) in of.sums(facts.instance.status.by_account(), AccountStatus::add) {
        for (name, count) in status.counts() {
            let mut row = names.clone();
            row.extend([string(name), string(count.to_string())]);
            rows.push(row);
        }
    }
    rows
}

macro_rules! events {
    ($table:ident $name:literal $rows:expr, $($column:expr),*) => {
        pub const $table: VirtualTable = VirtualTable {
            name: $name,
            columns: summed!([$($column,)* text("EVENT_NAME", 128),] []),
            rows: $rows,
        };
    };
}

events!(EVENTS_BY_ACCOUNT "events_statements_summary_by_account_by_event_name" |facts| events(facts, Of::Accounts), user(), host());
events!(EVENTS_BY_USER "events_statements_summary_by_user_by_event_name" |facts| events(facts, Of::Users), user());
events!(EVENTS_BY_HOST "events_statements_summary_by_host_by_event_name" |facts| events(facts, Of::Hosts), host());
events!(EVENTS_BY_THREAD "events_statements_summary_by_thread_by_event_name" events_by_thread, number("THREAD_ID"));
events!(EVENTS_OF_ALL "events_statements_summary_global_by_event_name" events_of_all,);

/// The statements of `deeds`, by their kind, each behind the names of whose they are.
fn event_rows(names: &[Value], deeds: &Deeds) -> Vec<Vec<Value>> {
    let mut events: Vec<_> = deeds.events.iter().collect();
    events.sort_unstable_by_key(|(name, _)| **name);
    let row = |(name, sums): (&&'static str, &EventSums)| {
        let mut row = names.to_vec();
        row.extend([
            string(name),
            Value::UInt(sums.count),
            picos(sums.wait),
            picos(sums.wait_min),
            picos(sums.wait / sums.count.max(1)),
            picos(sums.wait_max),
            picos(sums.lock),
        ]);
        row.extend(work(&sums.work));
        row.push(picos(sums.cpu));
        // Memory is not measured by statement, and there is no secondary engine.
        row.extend([0; 3].map(Value::UInt));
        row
    };
    events.into_iter().map(row).collect()
}

fn events(facts: &Facts<'_>, of: Of) -> Vec<Vec<Value>> {
    let sums = of.sums(facts.instance.statements.deeds_by_account(), Deeds::add);
    sums.flat_map(|(names, deeds)| event_rows(&names, &deeds)).collect()
}

fn events_by_thread(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    let threads = facts.instance.statements.deeds_by_thread();
    threads.iter().flat_map(|(thread, deeds)| event_rows(&[Value::UInt(*thread)], deeds)).collect()
}

fn deeds_of_all(facts: &Facts<'_>) -> Deeds {
    let mut all = Deeds::default();
    facts.instance.statements.deeds_by_account().values().for_each(|deeds| all.add(deeds));
    all
}

fn events_of_all(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    event_rows(&[], &deeds_of_all(facts))
}

macro_rules! errors {
    ($table:ident $name:literal $rows:expr, $($column:expr),*) => {
        pub const $table: VirtualTable = VirtualTable {
            name: $name,
            columns: &[
                $($column,)*
                number("ERROR_NUMBER"),
                text("ERROR_NAME", 64),
                text("SQL_STATE", 5),
                number("SUM_ERROR_RAISED"),
                number("SUM_ERROR_HANDLED"),
                moment("FIRST_SEEN"),
                moment("LAST_SEEN"),
            ],
            rows: $rows,
        };
    };
}

errors!(ERRORS_BY_ACCOUNT "events_errors_summary_by_account_by_error" |facts| errors(facts, Of::Accounts), user(), host());
errors!(ERRORS_BY_USER "events_errors_summary_by_user_by_error" |facts| errors(facts, Of::Users), user());
errors!(ERRORS_BY_HOST "events_errors_summary_by_host_by_error" |facts| errors(facts, Of::Hosts), host());
errors!(ERRORS_BY_THREAD "events_errors_summary_by_thread_by_error" errors_by_thread, number("THREAD_ID"));
errors!(ERRORS_OF_ALL "events_errors_summary_global_by_error" |facts| error_rows(facts, &[], &deeds_of_all(facts)),);

/// Errors that were the answer to a statement of a client. Those that a handler of a program took are no answers.
fn error_rows(facts: &Facts<'_>, names: &[Value], deeds: &Deeds) -> Vec<Vec<Value>> {
    let mut errors: Vec<_> = deeds.errors.iter().collect();
    errors.sort_unstable_by_key(|(code, _)| **code);
    let row = |(code, sum): (&u16, &ErrorSum)| {
        let mut row = names.to_vec();
        row.extend([
            Value::UInt((*code).into()),
            optional(symbol(*code)),
            string(String::from_utf8_lossy(&sum.sqlstate)),
            Value::UInt(sum.raised),
            Value::UInt(0),
            wall(facts, sum.first_seen),
            wall(facts, sum.last_seen),
        ]);
        row
    };
    errors.into_iter().map(row).collect()
}

fn errors(facts: &Facts<'_>, of: Of) -> Vec<Vec<Value>> {
    let sums = of.sums(facts.instance.statements.deeds_by_account(), Deeds::add);
    sums.flat_map(|(names, deeds)| error_rows(facts, &names, &deeds)).collect()
}

fn errors_by_thread(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    let threads = facts.instance.statements.deeds_by_thread();
    threads.iter().flat_map(|(thread, deeds)| error_rows(facts, &[Value::UInt(*thread)], deeds)).collect()
}

pub const VARIABLES_BY_THREAD: VirtualTable = VirtualTable {
    name: "variables_by_thread",
    columns: &[number("THREAD_ID"), text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 1024)],
    rows: |facts| {
        let mut rows = Vec::new();
        for session in facts.instance.status.living().iter().filter(|_| is_collected(facts)) {
            let Some(variables) = session.variables() else { continue };
            let row = |(name, value): (&str, String)| vec![Value::UInt(session.thread()), string(name), string(value)];
            rows.extend(variables.show_own().into_iter().map(row));
        }
        rows
    },
};
