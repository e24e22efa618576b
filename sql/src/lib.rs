//! Statements: parsed, planned and executed with MySQL's semantics on top of the storage engine.
//!
//! The modules, bottom to top; each imports only those above it in this list.

#![forbid(unsafe_code)]

pub mod error;

mod base64;

pub mod locales;

pub mod types;

pub mod parser;

pub mod result;

pub mod variables;

pub mod transport;

pub mod statements;

pub mod profiles;

pub mod status;

pub mod temporary;

pub mod key_table;

pub mod processlist;

pub mod dumps;

pub mod event_alarm;

pub mod read_lock;

pub mod user_locks;

pub mod accounts;

pub mod column_types;

pub mod histograms;

mod plane;

mod globe;

pub mod expression;

pub mod catalog;
pub mod components;

pub mod sequences;

pub mod partitions;

pub mod replication;

pub mod shared_plans;

pub mod instance;

pub mod describe;

pub mod views;

pub mod programs;

pub mod locks;

pub mod information_schema;

pub mod monitor;

pub mod show;

pub mod table_locks;

pub mod row_log;

pub mod planner;

pub mod executor;

pub mod ddl;

pub mod session;

pub mod scheduler;

pub use error::Error;
pub use instance::Instance;
pub use result::{OkSummary, ResultSink};
pub use session::{Prepared, Session};
