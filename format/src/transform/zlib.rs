//! Zlib streams, as MySQL's `COMPRESSION="zlib"` has them: two bytes of header, deflate, Adler-32.

use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::{Algorithm, Codec, Description};
use crate::error::{Error, Result};

pub(super) const DESCRIPTION: Description = Description {
    algorithm: Algorithm::ZLIB,
    name: "zlib",
    // They mean what they mean to MySQL; the library's higher ones are out of proportion for pages.
    levels: (0, 9),
    usual_level: 6,
    make: || Box::new(Zlib::default()),
};

impl Algorithm {
    pub const ZLIB: Algorithm = Algorithm(1);
}

#[derive(Default)]
struct Zlib {
    compressor: Option<(i32, Compressor)>,
    decompressor: Option<Decompressor>,
}

impl Codec for Zlib {
    fn compress(&mut self, body: &[u8], level: i32, out: &mut [u8]) -> Option<usize> {
        if self.compressor.as_ref().is_none_or(|(built, _)| *built != level) {
            let library_level = CompressionLvl::new(level).expect("a level from 0 to 9");
            self.compressor = Some((level, Compressor::new(library_level)));
        }
        let (_, compressor) = self.compressor.as_mut()?;
        compressor.zlib_compress(body, out).ok()
    }

    fn decompress(&mut self, stream: &[u8], body: &mut [u8]) -> Result<()> {
        let decompressor = self.decompressor.get_or_insert_with(Decompressor::new);
        match decompressor.zlib_decompress(stream, body) {
            Ok(bytes) if bytes == body.len() => Ok(()),
            _ => Err(Error::corrupt("zlib stream", super::BODY)),
        }
    }
}
