//! Why the applier stops, or tries again.

use std::fmt;

/// Errors after which a transaction is tried again.
const IN_THE_WAY: [u16; 2] = [1205, 1213];
const INTERRUPTED: u16 = 1317;

/// An error with MySQL's number.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: u16,
    pub message: String,
}

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(code: u16, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }

    /// What a thread that was told to stop returns; nobody sees it.
    pub fn stopped() -> Failure {
        Failure::new(INTERRUPTED, "Query execution was interrupted")
    }

    /// Other transactions were in the way, and may not be the next time.
    pub fn is_in_the_way(&self) -> bool {
        IN_THE_WAY.contains(&self.code)
    }

    pub fn is_interrupt(&self) -> bool {
        self.code == INTERRUPTED
    }
}

impl From<format::Error> for Failure {
    fn from(cause: format::Error) -> Failure {
        Failure::new(1610, format!("Corrupted replication event was detected: {cause}"))
    }
}

impl From<sql::Error> for Failure {
    fn from(error: sql::Error) -> Failure {
        Failure::new(error.code, error.message)
    }
}

impl From<storage::Error> for Failure {
    fn from(error: storage::Error) -> Failure {
        Failure::new(1594, format!("Relay log read failure: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
