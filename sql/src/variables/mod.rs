//! System variables: their names, types, ranges and values.
//!
//! [`list`] has one line per variable: what MySQL's manual says about it, and
//! whether it has an effect here. A variable is known under MySQL's name and, where
//! they differ, under MariaDB's or a former one (`tx_isolation`); both are answered.
//!
//! ```text
//! option file, command line            SET GLOBAL            SET [SESSION]
//!         |  load_option                   |  set                |  set
//!         v                                v                     v
//!     GlobalVariables  -- hook --> engine, server        SessionVariables
//!         |                                                      ^
//!         +------ snapshot when a client connects ---------------+
//! ```
//!
//! Invariants:
//!
//! * A stored value always has its variable's type and lies in its range: text and
//!   numbers are checked and made canonical on their way in ([`Kind::accept`]).
//! * What the executor needs for each statement stands in plain typed fields
//!   ([`Settings`]), so that no statement looks a name up.
//! * Setting a variable that does nothing here is not an error, because configuration
//!   files move between servers; it answers a warning, so that no user relies on it.
//!
//! Not here: evaluating the right-hand side of SET, user variables, and the few
//! variables that are computed from the session's state (`warning_count`,
//! `last_insert_id`, ...: see [`Variable::computed`]).

mod kind;

mod list;

mod variable;

mod switches;

mod accept;

mod names;

mod payload_rules;

mod settings;

mod engine;

mod log;

mod statement_logs;

mod origins;

mod global;

mod session;

mod versions;

pub mod persisted;

pub use engine::{engine_config, reconfigure};
pub use global::{GlobalVariables, Hook};
pub use kind::Kind;
pub use log::{LogGlobals, RowMetadata};
pub use names::{find, find_by_prefix, names, nearest};
pub use origins::{Origin, Origins};
pub use payload_rules::PayloadRules;
pub use session::SessionVariables;
pub use settings::{
    Completion, RowImages, Settings, TimeZone, TrackedGtids, TrackedTransaction, is_read_by_runs_alone, mode_text,
};
pub use statement_logs::StatementLogs;
pub use variable::{Notice, Reach, Variable};
pub use versions::Versions;
