//! Replication of a source: its binary log is read over the network, kept, and applied.
//!
//! ```text
//!   source                   receiver                    relay log                      applier
//!   binlog.000007 -- TCP --> events as they come ------> relay-bin.000003 ------------> a session (sql)
//!                            heartbeats, reconnects      payloads stay compressed       transactions, and with each:
//!                                                        no sync                        mysql.slave_relay_log_info
//! ```
//!
//! What has been applied is known by the transactions themselves: each writes how far the replica has come, in the same
//! commit ([`progress`]). The relay log is not synced: after a crash it is dropped, and the source is asked again from
//! there. So a crash loses nothing and repeats nothing, at the price of one transfer.
//!
//! `sql` knows of this crate what its trait `Replication` says. docs/binlog.md has the statements.
//!
//! The modules, bottom to top; each imports only those above it in this list.

#![forbid(unsafe_code)]

pub mod source;

pub mod progress;

pub mod client;

pub mod relay;

pub mod internal;

pub mod shared;

pub mod receiver;

pub mod applier;

pub mod replica;

pub mod playback;

pub use playback::Playback;
pub use replica::Replica;
