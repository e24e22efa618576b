//! Glassine beside its peers: what the benchmarks and the tests against real
//! servers share. Nothing imports this crate.
//!
//! Everything here works from outside, as a user would: it starts the released
//! binary, speaks the client protocol over a Unix socket, and reads `/proc`. So
//! that the benchmarks share no mistakes with the server, no code of the server is
//! used, not even its packet codec. One test is about code of the server and has it:
//! `tests/collations.rs` compares its table of weights with a peer's.

#![forbid(unsafe_code)]

pub mod client;
pub mod process;
pub mod random;
pub mod sysbench;

pub mod replicas;

pub mod arms;
pub mod ledger;
pub mod results;
pub mod volatile_disk;

pub mod mounts;

pub mod anomalies;
pub mod bank;
pub mod changes;
pub mod ddl;
pub mod definitions;
pub mod disk;
pub mod faults;
pub mod files;
pub mod filesystems;
pub mod grants;
pub mod isolation;
pub mod load;
pub mod logins;
pub mod logs;
pub mod oltp;
pub mod online;
pub mod replay;
pub mod replication;
pub mod statements;
pub mod suite;
pub mod tpcc;
pub mod tpch;
pub mod turmoil;
