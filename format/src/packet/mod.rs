//! The client protocol: what a MySQL client and its server say to each other,
//! as bytes.
//!
//! Both sides send *packets*. A packet is a header of four bytes and a payload:
//!
//! ```text
//! offset  bytes
//!      0      3  payload bytes, n (little-endian, as all numbers here)
//!      3      1  sequence number: begins at 0 with each command, counts both ways
//!      4      n  payload
//! ```
//!
//! A payload of 2^24-1 bytes or more is cut: every full piece of 2^24-1 bytes is
//! followed by another packet, if need be an empty one. [`frame`] knows this, and
//! nothing above it does.
//!
//! The conversation has two phases:
//!
//! ```text
//! connection   server: Handshake                    handshake.rs
//!              client: HandshakeResponse
//!              ( server: AuthSwitch | AuthMore ; client: bytes )*
//!              server: Ok | Error                   response.rs
//! commands     client: Command                      command.rs
//!              server: Ok | Error
//!                    | column count, ColumnDefinition*, (Eof), row*, Eof or Ok
//!                                                   column.rs, row.rs
//!                    | PrepareOk, ColumnDefinition*, ...
//!                                                   statement.rs
//! ```
//!
//! Invariants:
//!
//! * Reading checks every length; bytes from the network lead to [`Malformed`],
//!   never to a panic, and never to an allocation larger than the bytes received.
//! * Writing appends to a buffer that the caller owns and reuses: an answer of any
//!   number of packets is one buffer, and so one write to the socket.
//! * What is written here can be read here. Servers need one half and clients the
//!   other; tests need both.
//!
//! Not here: sockets, sessions, authentication decisions (all in `server`).
//!
//! Sources: "Client/Server Protocol" in the MySQL source documentation; the pages
//! of the same name in MariaDB's knowledge base.

pub mod reader;

pub mod writer;

pub mod capability;

pub mod frame;

pub mod handshake;

pub mod column;

pub mod row;

pub mod statement;

pub mod command;

pub mod response;

pub use capability::{Capabilities, status};
pub use column::{ColumnDefinition, ColumnKind, column_flags};
pub use command::Command;
pub use reader::{Malformed, Reader};
