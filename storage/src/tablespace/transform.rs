//! How the pages of a tablespace are made smaller, and encrypted, on their way to disk.

pub use format::transform::Algorithm;

/// How pages are made smaller on their way to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transform {
    pub algorithm: Algorithm,
    /// As the codec counts them; see `Algorithm::levels`.
    pub level: i32,
    /// Whether pages are encrypted then. That is decided when the file is made, and for its whole life.
    pub encrypted: bool,
}

impl Transform {
    pub const NONE: Transform = Transform::new(Algorithm::NONE, 0);

    pub const fn new(algorithm: Algorithm, level: i32) -> Transform {
        Transform { algorithm, level, encrypted: false }
    }

    /// A codec at its usual level.
    pub fn usual(algorithm: Algorithm) -> Transform {
        Transform::new(algorithm, algorithm.usual_level())
    }

    /// As the log's record of a created file carries it: recovery writes pages before the dictionary is up.
    pub fn to_flags(self) -> u32 {
        u32::from(self.algorithm.number()) | (self.level as u32 & 0xFF) << 8 | u32::from(self.encrypted) << 16
    }

    pub fn from_flags(flags: u32) -> Transform {
        Transform { algorithm: known(flags as u8), level: (flags >> 8 & 0xFF) as i32, encrypted: flags >> 16 & 1 == 1 }
    }
}

/// The codec of a number that was written by us or an older us; one that is gone is not written any more.
fn known(number: u8) -> Algorithm {
    Algorithm::from_number(number).unwrap_or(Algorithm::NONE)
}
