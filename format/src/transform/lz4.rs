//! LZ4 blocks, as MySQL's `COMPRESSION="lz4"` has them: one raw block, no frame, no length.

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};

use super::{Algorithm, Codec, Description, Effort};
use crate::error::{Error, Result};

pub(super) const DESCRIPTION: Description = Description {
    algorithm: Algorithm::LZ4,
    name: "lz4",
    levels: (0, 0),
    usual_level: 0,
    reach_percent: |_| 0,
    make: || Box::new(Lz4::default()),
};

impl Algorithm {
    pub const LZ4: Algorithm = Algorithm(2);
}

#[derive(Default)]
struct Lz4 {
    /// The library compresses only into room enough for the worst case.
    buffer: Vec<u8>,
    table: CompressTable,
}

impl Codec for Lz4 {
    fn compress(&mut self, body: &[u8], _effort: Effort, _block_bytes: usize, out: &mut [u8]) -> Option<usize> {
        self.buffer.resize(get_maximum_output_size(body.len()), 0);
        let bytes = compress_into_with_table(body, &mut self.buffer, &mut self.table).ok()?;
        out.get_mut(..bytes)?.copy_from_slice(&self.buffer[..bytes]);
        Some(bytes)
    }

    fn decompress(&mut self, stream: &[u8], body: &mut [u8]) -> Result<()> {
        match decompress_into(stream, body) {
            Ok(bytes) if bytes == body.len() => Ok(()),
            _ => Err(Error::corrupt("LZ4 block", super::BODY)),
        }
    }
}
