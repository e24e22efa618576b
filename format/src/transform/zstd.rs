//! Zstandard frames. Number 3 in the envelope, which MySQL leaves unused: its readers answer "unknown algorithm".

use zstd::bulk::{Compressor, Decompressor};

use super::{Algorithm, Codec, Description};
use crate::error::{Error, Result};

pub(super) const DESCRIPTION: Description = Description {
    algorithm: Algorithm::ZSTD,
    name: "zstd",
    levels: (1, 22),
    // Levels above cost much and win little on pages.
    usual_level: 1,
    make: || Box::new(Zstd::default()),
};

impl Algorithm {
    pub const ZSTD: Algorithm = Algorithm(3);
}

#[derive(Default)]
struct Zstd {
    compressor: Option<(i32, Compressor<'static>)>,
    decompressor: Option<Decompressor<'static>>,
}

impl Codec for Zstd {
    fn compress(&mut self, body: &[u8], level: i32, out: &mut [u8]) -> Option<usize> {
        if self.compressor.as_ref().is_none_or(|(built, _)| *built != level) {
            self.compressor = Some((level, Compressor::new(level).ok()?));
        }
        let (_, compressor) = self.compressor.as_mut()?;
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
