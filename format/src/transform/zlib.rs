//! Zlib streams, as MySQL's `COMPRESSION="zlib"` has them: two bytes of header, deflate, Adler-32.

use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::{Algorithm, Codec, Description, Effort};
use crate::error::{Error, Result};

const QUICK_LEVEL: i32 = 1;

pub(super) const DESCRIPTION: Description = Description {
    algorithm: Algorithm::ZLIB,
    name: "zlib",
    // They mean what they mean to MySQL; the library's higher ones are out of proportion for pages.
    levels: (0, 9),
    usual_level: 6,
    // On pages of rows, text and JSON the highest levels win 4 to 16 % over level 1.
    reach_percent: |level| if level > QUICK_LEVEL { 16 } else { 0 },
    make: || Box::new(Zlib::default()),
};

impl Algorithm {
    pub const ZLIB: Algorithm = Algorithm(1);
}

#[derive(Default)]
struct Zlib {
    /// One for the quick pass, one for the level that was last asked for.
    compressors: [Option<(i32, Compressor)>; 2],
    decompressor: Option<Decompressor>,
}

impl Codec for Zlib {
    fn compress(&mut self, body: &[u8], effort: Effort, _block_bytes: usize, out: &mut [u8]) -> Option<usize> {
        let level = match effort {
            Effort::Quick => QUICK_LEVEL,
            Effort::Level(level) => level,
        };
        let compressor = &mut self.compressors[usize::from(effort != Effort::Quick)];
        if compressor.as_ref().is_none_or(|(built, _)| *built != level) {
            let library_level = CompressionLvl::new(level).expect("a level from 0 to 9");
            *compressor = Some((level, Compressor::new(library_level)));
        }
        let (_, compressor) = compressor.as_mut()?;
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
