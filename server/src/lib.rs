//! Connections: listeners, login, commands, and the way of rows to the client.
//!
//! The modules, bottom to top; each imports only those above it in this list.

#![forbid(unsafe_code)]

pub mod socket;

pub mod compression;

mod hosts;

pub mod proxy;

pub mod tls;

pub mod incoming;

pub mod stream;

pub mod auth;

mod cursor;

mod local_file;

pub mod sink;

pub mod shared;

pub mod login;

pub mod prepared;

pub mod dump;

pub mod connection;

pub mod listener;

pub mod metrics;

pub use listener::{Options, Server};
