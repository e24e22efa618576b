//! Connections: listeners, login, commands, and the way of rows to the client.
//!
//! The modules, bottom to top; each imports only those above it in this list.

#![forbid(unsafe_code)]

pub mod auth;
pub mod connection;
pub mod incoming;
pub mod listener;
pub mod sink;
pub mod stream;

pub use listener::{Options, Server};
