//! The bytes of temporary files, encrypted: AES-256 in counter mode.
//!
//! ```text
//! counter of a block of 16 bytes    0  8  number of the file
//!                                   8  8  place of the block in the file, divided by 16
//! ```
//!
//! A counter must not serve twice under one key: whoever has a keystream writes each byte of a numbered file once.

use aes::Aes256;
use ctr::cipher::{InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper, StreamCipherSeek};
use ctr::{CtrCore, flavors};

/// The stream of one key.
#[derive(Clone)]
pub struct Keystream(Aes256);

impl Keystream {
    pub fn new(key: &[u8; 32]) -> Keystream {
        Keystream(Aes256::new(key.into()))
    }

    /// Encrypts bytes at a place of a file, or decrypts them: one is the other.
    pub fn apply(&self, number: u64, place: u64, bytes: &mut [u8]) {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&number.to_be_bytes());
        let core = CtrCore::<Aes256, flavors::Ctr64BE>::inner_iv_init(self.0.clone(), &nonce.into());
        let mut stream = StreamCipherCoreWrapper::from_core(core);
        stream.seek(place);
        stream.apply_keystream(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_encrypted_as_in_the_whole() {
        let key: [u8; 32] = std::array::from_fn(|at| at as u8);
        let stream = Keystream::new(&key);
        let mut whole = vec![0; 1000];
        stream.apply(7, 0, &mut whole);
        for (from, to) in [(0, 1), (1, 16), (15, 17), (16, 32), (3, 300), (999, 1000), (5, 5)] {
            let mut part = vec![0; to - from];
            stream.apply(7, from as u64, &mut part);
            assert_eq!(part, whole[from..to]);
        }
        let mut other = vec![0; 1000];
        stream.apply(8, 0, &mut other);
        assert_ne!(other[..16], whole[..16]);
        // The first block is the cipher's answer to its counter.
        use aes::cipher::BlockEncrypt;
        let mut block = aes::Block::default();
        block[7] = 7;
        Aes256::new(&key.into()).encrypt_block(&mut block);
        assert_eq!(whole[..16], block[..]);
    }
}
