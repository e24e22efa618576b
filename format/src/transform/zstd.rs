//! Zstandard frames. Number 3 in the envelope, which MySQL leaves unused: its readers answer "unknown algorithm".

use zstd::bulk::{Compressor, Decompressor};

use super::{Algorithm, Codec, Description, Effort};
use crate::error::{Error, Result};

pub(super) const DESCRIPTION: Description = Description {
    algorithm: Algorithm::ZSTD,
    name: "zstd",
    levels: (1, 22),
    // Levels above cost much and win little on pages.
    usual_level: 1,
    // As seen on pages of rows, text and JSON. On rows of digits, levels 2 to 9 even lose.
    reach_percent: |level| match level {
        ..=1 => 0,
        2 => 6,
        3..10 => 14,
        _ => 20,
    },
    make: || Box::new(Zstd::default()),
};

impl Algorithm {
    pub const ZSTD: Algorithm = Algorithm(3);
}

#[derive(Default)]
struct Zstd {
    /// At level 1.
    quick: Option<(i32, Compressor<'static>)>,
    compressor: Option<(i32, Compressor<'static>)>,
    decompressor: Option<Decompressor<'static>>,
}

impl Codec for Zstd {
    fn compress(&mut self, body: &[u8], effort: Effort, out: &mut [u8]) -> Option<usize> {
        let (level, place) = match effort {
            Effort::Quick | Effort::Level(1) => (1, &mut self.quick),
            Effort::Level(level) => (level, &mut self.compressor),
        };
        if place.as_ref().is_none_or(|(built, _)| *built != level) {
            *place = Some((level, Compressor::new(level).ok()?));
        }
        let (_, compressor) = place.as_mut()?;
        compressor.compress_to_buffer(body, out).ok()
    }

    fn decompress(&mut self, stream: &[u8], body: &mut [u8]) -> Result<()> {
        let broken = Error::corrupt("zstd frame", super::BODY);
        if self.decompressor.is_none() {
            self.decompressor = Some(Decompressor::new().map_err(|_| broken)?);
        }
        match self.decompressor.as_mut().map(|decompressor| decompressor.decompress_to_buffer(stream, body)) {
            Some(Ok(bytes)) if bytes == body.len() => Ok(()),
            _ => Err(broken),
        }
    }
}
