//! How the pages of a tablespace are compressed and encrypted before they are written.

pub use format::transform::Algorithm;

/// How pages are compressed and encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transform {
    pub algorithm: Algorithm,
    /// As the codec counts them; see `Algorithm::levels`.
    pub level: i32,
    /// Whether pages are encrypted afterwards. That is decided when the file is created, for its whole life.
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

    /// The form in the log's record of a created file: recovery writes pages before the dictionary is loaded.
    pub fn to_flags(self) -> u32 {
        u32::from(self.algorithm.number()) | (self.level as u32 & 0xFF) << 8 | u32::from(self.encrypted) << 16
    }

    pub fn from_flags(flags: u32) -> Transform {
        Transform { algorithm: known(flags as u8), level: (flags >> 8 & 0xFF) as i32, encrypted: flags >> 16 & 1 == 1 }
    }
}

/// The codec of a stored number, written by this version or an older one; a removed codec is not used for new pages.
fn known(number: u8) -> Algorithm {
    Algorithm::from_number(number).unwrap_or(Algorithm::NONE)
}
