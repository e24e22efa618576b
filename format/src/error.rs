//! What can go wrong when bytes are read: one enum for the crate.
//!
//! Only bytes from disk and network end up here. Our own mistakes (a slice that is not a page, a field that does not
//! fit the layout) are asserts, because no caller could handle them.

use std::fmt;

pub type Result<T> = std::result::Result<T, Error>;

/// Why bytes could not be understood. The variants are what a caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not those that were written: take them from elsewhere (doublewrite, a backup) or give up.
    Corrupt { what: &'static str, at: usize },
    /// The bytes are fine but of a kind that this version does not read: say so and leave them alone.
    Unsupported { what: &'static str, value: u32 },
    /// A field does not have the form that its kind prescribes, or the bytes end within it.
    Malformed { what: &'static str },
    /// A change does not fit the page. The caller should have asked first, so in recovery this means corruption.
    Full,
}

impl Error {
    #[inline]
    pub const fn corrupt(what: &'static str, at: usize) -> Error {
        Error::Corrupt { what, at }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Corrupt { what, at } => write!(f, "corrupt at byte {at}: {what}"),
            Error::Unsupported { what, value } => write!(f, "not supported: {what} {value}"),
            Error::Malformed { what } => write!(f, "malformed: {what}"),
            Error::Full => write!(f, "the change does not fit the page"),
        }
    }
}

impl std::error::Error for Error {}
