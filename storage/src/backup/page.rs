//! One stored page of a backup: its stored length, and whether it is whole.

use format::ids::PageId;
use format::page::header::{self, PageType};
use format::transform::{self, Scratch};

use crate::error::{Error, Result};

/// What a slot of a tablespace file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing was ever written, or it was given back.
    Hole,
    /// A page whose stored form has this many bytes.
    Page { bytes: usize, encrypted: bool },
}

/// Verifies pages; keeps its buffers.
#[derive(Default)]
pub struct Verifier {
    scratch: Scratch,
    plain: Vec<u8>,
}

impl Verifier {
    /// Examines the bytes of a page's slot, which may end behind the stored page or be as long as a page. The page is
    /// decoded and its checksum verified, as far as possible without a key.
    pub fn look(&mut self, id: PageId, slot: &[u8], page_bytes: usize) -> Result<Slot> {
        let damaged = |cause: format::Error| Error::corrupt_page(id, cause);
        if slot.iter().all(|&byte| byte == 0) {
            return Ok(Slot::Hole);
        }
        if slot.len() < header::BODY {
            return Err(Error::corrupt_page(id, "it is shorter than its header"));
        }
        if is_encrypted(header::page_type(slot)) {
            let bytes = transform::stored_bytes_of(slot, page_bytes);
            if header::page_id(slot) != id {
                return Err(Error::corrupt_page(id, format!("it says that it is page {}", header::page_id(slot))));
            }
            return match slot.get(..bytes) {
                Some(_) if bytes <= page_bytes => Ok(Slot::Page { bytes, encrypted: true }),
                _ => Err(Error::corrupt_page(id, "it is cut off")),
            };
        }
        if transform::is_encoded(slot) {
            let bytes = transform::encoded_bytes(slot).map_err(damaged)?;
            let stored = slot.get(..bytes).ok_or_else(|| Error::corrupt_page(id, "it is cut off"))?;
            self.plain.resize(page_bytes, 0);
            transform::decode(stored, &mut self.scratch, &mut self.plain).map_err(damaged)?;
            header::verify(&self.plain, id).map_err(damaged)?;
            return Ok(Slot::Page { bytes, encrypted: false });
        }
        if slot.len() != page_bytes {
            return Err(Error::corrupt_page(id, format!("it has {} bytes of {page_bytes}", slot.len())));
        }
        header::verify(slot, id).map_err(damaged)?;
        Ok(Slot::Page { bytes: slot.len(), encrypted: false })
    }
}

fn is_encrypted(page_type: PageType) -> bool {
    matches!(page_type, PageType::ENCRYPTED | PageType::COMPRESSED_AND_ENCRYPTED | PageType::ENCRYPTED_RTREE)
}
