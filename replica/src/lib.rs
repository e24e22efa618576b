//! Replication of sources: their binary logs are read over the network, kept, and applied. Each has a channel:
//!
//! ```text
//!   source                   receiver                    relay log                      applier
//!   binlog.000007 -- TCP --> events as they come ------> relay-bin.000003 ------------> coordinator, and workers with
//!                            heartbeats, reconnects      payloads stay compressed       sessions (sql): transactions,
//!                                                        no sync                        and with each of them
//!                                                                                       mysql.slave_relay_log_info
//! ```
//!
//! Several transactions are applied at the same time, and commit in the source's order ([`schedule`]).
//!
//! What has been applied is known by the transactions themselves: each writes how far the replica has come, in the same
//! commit ([`progress`]). The relay log is not synced: after a crash it is dropped, and the source is asked again from
//! there. So a crash loses nothing and repeats nothing, at the price of one transfer.
//!
//! `sql` knows of this crate what its trait `Replication` says. docs/binlog.md has the statements.
//!
//! The modules, bottom to top; each imports only those above it in this list.

#![forbid(unsafe_code)]

pub mod link;

pub mod tls;

pub mod source;

pub mod progress;

pub mod client;

pub mod relay;

pub mod internal;

pub mod failure;

pub mod transactions;

pub mod schedule;

pub mod filters;

pub mod until;

pub mod shared;

pub mod repository;

pub mod receiver;

pub mod worker;

pub mod applier;

pub mod channel;

pub mod playback;

pub mod replica;

pub use filters::Filters;
pub use playback::Playback;
pub use replica::Replica;
