//! Encryption of stored pages, the second transform: what compression has made, or left alone, is encrypted. The bytes
//! are those of MySQL's InnoDB tablespace encryption.
//!
//! ```text
//!   plain page ---------------------------> type 15    all of [38, PS) is encrypted; 28: the plain type
//!   compressed page (14), C stream bytes -> type 16    [38, 38 + max(C, 64)) is encrypted
//!   R-tree page --------------------------> type 17    as 15; the type needs no place
//! ```
//!
//! The header stays readable, so any tool can tell which page it is. The cipher is AES-256-CBC, with one key and one IV
//! for all pages of a file. No padding: the whole 16-byte blocks are encrypted first, and where bytes remain, the last
//! 32 bytes once more, with the same IV; so nothing grows.
//!
//! Each file has a random key of its own. It lies in the file's page 0, wrapped by a *master key*, which lies
//! elsewhere: so changing the master key touches one page per file.
//!
//! ```text
//! key information: behind the last extent descriptor of page 0 (at 10390 with 16K pages)
//!      0  3  "lCC"
//!      3  4  number of the master key
//!      7 36  UUID of the server that made the master key
//!     43 64  the file's key (32) and IV (32, of which 16 are used), each block by AES-256 (ECB) under the master key
//!    107  4  CRC-32C of these 64 bytes before wrapping
//! ```
//!
//! Invariants:
//!
//! * `decrypt(encrypt(stored)) == stored`, for every page whose bytes 28 to 30 are zero or an envelope's.
//! * The key information lies within one 512-byte sector for every page size, so a torn page 0 has it whole: the one
//!   from
//!   before or the one from after.
//! * Keys are wiped from memory when they are dropped, and never shown.
//!
//! Protection: an attacker who has the files but not the master key learns which pages exist, how well they compress,
//! when they changed, and, since the IV is the same for all, which pages begin with the same 16 bytes. There is no
//! proof that a page is the one that was written last: the checksum of the plain page detects accidents, not forgery.
//!
//! Not here: where master keys are kept, and which page is encrypted. Page 0 never is.

use std::fmt;

use aes::Aes256;
use cbc::cipher::inout::InOutBuf;
use cbc::cipher::{BlockDecrypt, BlockDecryptMut, BlockEncrypt, BlockEncryptMut, InnerIvInit, KeyInit};
use zeroize::Zeroizing;

use crate::checksum::crc32c;
use crate::error::{Error, Result};
use crate::page::header::{self, BODY, PageType, TRANSFORM};
use crate::page::{get_u16, get_u32, put_u16, space};

/// Where a page of type 15 keeps its plain type; a compressed page has it in the same place.
const PLAIN_TYPE: usize = TRANSFORM + 2;
/// Where a compressed page keeps the length of its stream.
const STREAM_BYTES: usize = TRANSFORM + 6;

const AES_BLOCK: usize = 16;
/// What is encrypted of a page, however short its stream.
const ENCRYPTED_MIN: usize = 64;

/// A file's key and IV.
pub const SECRET_BYTES: usize = 64;
pub const MASTER_KEY_BYTES: usize = 32;

/// The key and IV of a file.
pub struct PageKey {
    cipher: Aes256,
    iv: [u8; AES_BLOCK],
    secret: Zeroizing<[u8; SECRET_BYTES]>,
}

impl PageKey {
    /// From 32 bytes of key and 32 of IV, all of them random.
    pub fn new(secret: Zeroizing<[u8; SECRET_BYTES]>) -> PageKey {
        let (key, iv) = secret.split_at(32);
        PageKey {
            cipher: Aes256::new_from_slice(key).expect("32 bytes of key"),
            iv: iv[..AES_BLOCK].try_into().expect("16 bytes of IV"),
            secret,
        }
    }

    /// `data` is a multiple of the AES block.
    fn encrypt_blocks(&self, data: &mut [u8]) {
        let (blocks, rest) = InOutBuf::from(data).into_chunks();
        debug_assert!(rest.is_empty(), "whole blocks are encrypted");
        cbc::Encryptor::inner_iv_init(self.cipher.clone(), &self.iv.into()).encrypt_blocks_inout_mut(blocks);
    }

    fn decrypt_blocks(&self, data: &mut [u8]) {
        let (blocks, rest) = InOutBuf::from(data).into_chunks();
        debug_assert!(rest.is_empty(), "whole blocks are decrypted");
        cbc::Decryptor::inner_iv_init(self.cipher.clone(), &self.iv.into()).decrypt_blocks_inout_mut(blocks);
    }

    /// `data` is at least two AES blocks.
    fn encrypt(&self, data: &mut [u8]) {
        let whole = data.len() / AES_BLOCK * AES_BLOCK;
        self.encrypt_blocks(&mut data[..whole]);
        if whole < data.len() {
            let tail = data.len() - 2 * AES_BLOCK;
            self.encrypt_blocks(&mut data[tail..]);
        }
    }

    fn decrypt(&self, data: &mut [u8]) {
        let whole = data.len() / AES_BLOCK * AES_BLOCK;
        if whole < data.len() {
            let tail = data.len() - 2 * AES_BLOCK;
            self.decrypt_blocks(&mut data[tail..]);
        }
        self.decrypt_blocks(&mut data[..whole]);
    }
}

impl fmt::Debug for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageKey")
    }
}

/// A key that wraps the keys of files.
pub struct MasterKey(Zeroizing<[u8; MASTER_KEY_BYTES]>);

impl MasterKey {
    pub fn new(key: Zeroizing<[u8; MASTER_KEY_BYTES]>) -> MasterKey {
        MasterKey(key)
    }

    pub fn bytes(&self) -> &[u8; MASTER_KEY_BYTES] {
        &self.0
    }

    fn cipher(&self) -> Aes256 {
        Aes256::new_from_slice(&*self.0).expect("32 bytes of key")
    }

    /// Wraps a file's key. `number` and `server_uuid` are this master key's.
    pub fn wrap(&self, key: &PageKey, number: u32, server_uuid: [u8; UUID_BYTES]) -> KeyInfo {
        let mut wrapped = *key.secret;
        self.cipher().encrypt_blocks_inout(InOutBuf::from(&mut wrapped[..]).into_chunks().0);
        KeyInfo { master_key: number, server_uuid, wrapped, checksum: crc32c(&*key.secret) }
    }

    /// The key that was wrapped; an error if that was done by another master key, or the bytes are damaged.
    pub fn unwrap(&self, info: &KeyInfo) -> Result<PageKey> {
        let mut secret = Zeroizing::new(info.wrapped);
        self.cipher().decrypt_blocks_inout(InOutBuf::from(&mut secret[..]).into_chunks().0);
        if crc32c(&*secret) != info.checksum {
            return Err(Error::corrupt("wrapped key of a tablespace", 0));
        }
        Ok(PageKey::new(secret))
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey")
    }
}

pub const UUID_BYTES: usize = 36;

/// What page 0 says of the file's key; see the module header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyInfo {
    pub master_key: u32,
    pub server_uuid: [u8; UUID_BYTES],
    wrapped: [u8; SECRET_BYTES],
    checksum: u32,
}

const MAGIC: [u8; 3] = *b"lCC";
const INFO_NUMBER: usize = MAGIC.len();
const INFO_UUID: usize = INFO_NUMBER + 4;
const INFO_WRAPPED: usize = INFO_UUID + UUID_BYTES;
const INFO_CHECKSUM: usize = INFO_WRAPPED + SECRET_BYTES;

impl KeyInfo {
    pub const BYTES: usize = INFO_CHECKSUM + 4;

    /// Where page 0 has it.
    pub const fn offset(page_bytes: usize) -> usize {
        space::DESCRIPTORS + space::descriptor_bytes(page_bytes) * space::descriptors_per_page(page_bytes)
    }

    pub fn to_bytes(&self) -> [u8; KeyInfo::BYTES] {
        let mut out = [0; KeyInfo::BYTES];
        out[..INFO_NUMBER].copy_from_slice(&MAGIC);
        out[INFO_NUMBER..INFO_UUID].copy_from_slice(&self.master_key.to_be_bytes());
        out[INFO_UUID..INFO_WRAPPED].copy_from_slice(&self.server_uuid);
        out[INFO_WRAPPED..INFO_CHECKSUM].copy_from_slice(&self.wrapped);
        out[INFO_CHECKSUM..].copy_from_slice(&self.checksum.to_be_bytes());
        out
    }

    /// From the bytes of [`KeyInfo::to_bytes`]; `None` if they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<KeyInfo> {
        let bytes = bytes.get(..KeyInfo::BYTES)?;
        if bytes[..INFO_NUMBER] != MAGIC {
            return None;
        }
        Some(KeyInfo {
            master_key: get_u32(bytes, INFO_NUMBER),
            server_uuid: bytes[INFO_UUID..INFO_WRAPPED].try_into().expect("36 bytes"),
            wrapped: bytes[INFO_WRAPPED..INFO_CHECKSUM].try_into().expect("64 bytes"),
            checksum: get_u32(bytes, INFO_CHECKSUM),
        })
    }

    /// From a whole page 0; `None` if the file is not encrypted, or this is no page.
    pub fn read(page: &[u8]) -> Option<KeyInfo> {
        if !crate::page::SIZES.contains(&page.len()) {
            return None;
        }
        KeyInfo::from_bytes(page.get(KeyInfo::offset(page.len())..)?)
    }

    /// The name of the master key, as key rings know it.
    pub fn master_key_name(&self) -> String {
        format!("INNODBKey-{}-{}", String::from_utf8_lossy(&self.server_uuid), self.master_key)
    }
}

const fn lies_in_one_sector(page_bytes: usize) -> bool {
    let offset = KeyInfo::offset(page_bytes);
    offset / 512 == (offset + KeyInfo::BYTES - 1) / 512
}

const _: () = {
    assert!(KeyInfo::offset(16384) == 10390);
    assert!(lies_in_one_sector(4096) && lies_in_one_sector(8192) && lies_in_one_sector(16384));
    assert!(lies_in_one_sector(32768) && lies_in_one_sector(65536));
};

/// Whether the bytes are those of an encrypted page.
#[inline]
pub fn is_encrypted(stored: &[u8]) -> bool {
    stored.len() >= BODY
        && matches!(
            header::page_type(stored),
            PageType::ENCRYPTED | PageType::COMPRESSED_AND_ENCRYPTED | PageType::ENCRYPTED_RTREE
        )
}

/// Bytes of a compressed page, header and stream, that are there for encryption: at least this many must be stored.
pub(super) fn encrypted_bytes(stored: &[u8]) -> usize {
    BODY + usize::from(get_u16(stored, STREAM_BYTES)).max(ENCRYPTED_MIN)
}

/// Encrypts a stored page in place: a whole plain page, or a compressed one with zeros behind its stream up to a block.
pub fn encrypt(stored: &mut [u8], key: &PageKey) {
    let (page_type, bytes) = match header::page_type(stored) {
        PageType::COMPRESSED => (PageType::COMPRESSED_AND_ENCRYPTED, encrypted_bytes(stored)),
        PageType::RTREE => (PageType::ENCRYPTED_RTREE, stored.len()),
        plain_type => {
            put_u16(stored, PLAIN_TYPE, plain_type.0);
            (PageType::ENCRYPTED, stored.len())
        }
    };
    assert!(bytes <= stored.len(), "a compressed page is stored in whole blocks");
    header::set_page_type(stored, page_type);
    key.encrypt(&mut stored[BODY..bytes]);
}

/// Undoes [`encrypt`]. `stored` is a whole plain page, or a compressed one with at least as much as was encrypted.
///
/// With another key, or damaged bytes, what comes out is noise: the checksum of the plain page will say so.
pub fn decrypt(stored: &mut [u8], key: &PageKey) -> Result<()> {
    if !is_encrypted(stored) {
        return Err(Error::corrupt("not an encrypted page", header::TYPE));
    }
    let (page_type, bytes) = match header::page_type(stored) {
        PageType::COMPRESSED_AND_ENCRYPTED => {
            // Version 1 encrypted up to the end of the block, and does not say how long that was.
            if stored[TRANSFORM] != super::VERSION_WRITTEN {
                let value = stored[TRANSFORM].into();
                return Err(Error::Unsupported { what: "version of an encrypted page", value });
            }
            (PageType::COMPRESSED, encrypted_bytes(stored))
        }
        PageType::ENCRYPTED_RTREE => (PageType::RTREE, stored.len()),
        _ => (PageType(get_u16(stored, PLAIN_TYPE)), stored.len()),
    };
    let Some(data) = stored.get_mut(BODY..bytes).filter(|data| data.len() >= 2 * AES_BLOCK) else {
        return Err(Error::corrupt("length of an encrypted page", STREAM_BYTES));
    };
    key.decrypt(data);
    if page_type != PageType::COMPRESSED {
        put_u16(stored, PLAIN_TYPE, 0);
    }
    header::set_page_type(stored, page_type);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Lsn, PageId, PageNo, SpaceId};
    use crate::transform::{Algorithm, Scratch, decode, encode, is_encoded, stored_bytes};
    use proptest::prelude::*;

    const ID: PageId = PageId::new(SpaceId(7), PageNo(9));

    fn key(seed: u8) -> PageKey {
        PageKey::new(Zeroizing::new(std::array::from_fn(|at| seed ^ (at as u8).wrapping_mul(37))))
    }

    fn page(bytes: usize, page_type: PageType, fill: impl Fn(usize) -> u8) -> Vec<u8> {
        let mut page = vec![0; bytes];
        header::init(&mut page, ID, page_type);
        for (at, byte) in page.iter_mut().enumerate().take(bytes - 8).skip(BODY) {
            *byte = fill(at);
        }
        header::seal(&mut page, Lsn(4711));
        page
    }

    /// The cipher against an independent implementation (OpenSSL's, by its command line).
    #[test]
    fn the_cipher_is_aes_256_cbc() {
        let key = PageKey::new(Zeroizing::new(std::array::from_fn(|at| at as u8)));
        let mut data: Vec<u8> = (0..48).collect();
        key.encrypt(&mut data);
        let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, OPENSSL);
        key.decrypt(&mut data);
        assert_eq!(data, (0..48).collect::<Vec<u8>>());
    }

    const OPENSSL: &str =
        "72d75c294159fac28a43f67c6e07ee4b9c6dcff1fb62d285ff59864ad9cf94119e175a14ca7d64d50979f9e08382257c";

    #[test]
    fn plain_pages_are_encrypted_whole_and_come_back() {
        for bytes in crate::page::SIZES {
            for (page_type, encrypted) in
                [(PageType::INDEX, PageType::ENCRYPTED), (PageType::RTREE, PageType::ENCRYPTED_RTREE)]
            {
                let plain = page(bytes, page_type, |at| (at / 100) as u8);
                let mut stored = plain.clone();
                encrypt(&mut stored, &key(1));
                assert!(is_encrypted(&stored) && header::page_type(&stored) == encrypted);
                assert_eq!(stored_bytes(&stored), bytes);
                assert_eq!(stored[..24], plain[..24]);
                // Nothing of the body is to be seen: not even the last bytes, which make no whole block.
                let kept = stored[BODY..].iter().zip(&plain[BODY..]).filter(|(a, b)| a == b).count();
                assert!(kept < bytes / 64, "{kept} bytes of {bytes}");
                assert!(stored[bytes - 16..] != plain[bytes - 16..]);
                decrypt(&mut stored, &key(1)).unwrap();
                assert_eq!(stored, plain);
            }
        }
    }

    #[test]
    fn compressed_pages_grow_by_nothing() {
        let mut scratch = Scratch::new();
        let mut out = Vec::new();
        // All zero: a stream of a few bytes, less than is encrypted at least.
        for fill in [|_| 0, |at: usize| (at / 60) as u8, |at: usize| (at * at / 7) as u8 & 0x0F] {
            for algorithm in Algorithm::codecs() {
                let plain = page(16384, PageType::INDEX, fill);
                let Some(bytes) = encode(&plain, algorithm, 1, 512, &mut scratch, &mut out) else { continue };
                let encoded = out.clone();
                encrypt(&mut out, &key(1));
                assert_eq!(out.len(), bytes);
                assert!(!is_encoded(&out) && stored_bytes(&out).next_multiple_of(512) == bytes);
                // A read brings the hole along; decryption takes no more than what was written.
                out.resize(16384, 0);
                decrypt(&mut out, &key(1)).unwrap();
                assert_eq!(out[..bytes], encoded);
                let mut back = vec![0; 16384];
                decode(&out, &mut scratch, &mut back).unwrap();
                assert_eq!(back, plain);
            }
        }
    }

    #[test]
    fn another_key_gives_noise_that_is_noticed() {
        let plain = page(16384, PageType::INDEX, |at| (at / 100) as u8);
        let mut stored = plain.clone();
        encrypt(&mut stored, &key(1));
        decrypt(&mut stored, &key(2)).unwrap();
        assert!(header::verify(&stored, ID).is_err());

        let mut scratch = Scratch::new();
        let mut out = Vec::new();
        encode(&plain, Algorithm::ZSTD, 1, 4096, &mut scratch, &mut out).unwrap();
        encrypt(&mut out, &key(1));
        decrypt(&mut out, &key(2)).unwrap();
        assert!(decode(&out, &mut scratch, &mut stored).is_err());
    }

    #[test]
    fn a_key_is_wrapped_and_unwrapped() {
        let master = |seed| MasterKey::new(Zeroizing::new([seed; 32]));
        let uuid = *b"00000000-0000-4000-8000-000000000001";
        let info = master(1).wrap(&key(5), 3, uuid);
        assert_eq!(info.master_key_name(), "INNODBKey-00000000-0000-4000-8000-000000000001-3");
        let bytes = info.to_bytes();
        assert_eq!(KeyInfo::from_bytes(&bytes), Some(info));
        assert_eq!(KeyInfo::from_bytes(&bytes[1..]), None);
        assert_eq!(*master(1).unwrap(&info).unwrap().secret, *key(5).secret);
        assert!(master(2).unwrap(&info).is_err());
        for at in INFO_WRAPPED..KeyInfo::BYTES {
            let mut damaged = bytes;
            damaged[at] ^= 4;
            assert!(master(1).unwrap(&KeyInfo::from_bytes(&damaged).unwrap()).is_err());
        }
        // Keys do not show themselves.
        assert_eq!(format!("{:?} {:?}", key(5), master(1)), "PageKey MasterKey");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_length_comes_back(data in prop::collection::vec(any::<u8>(), 32..400), seed: u8) {
            let mut out = data.clone();
            key(seed).encrypt(&mut out);
            prop_assert_ne!(&out, &data);
            key(seed).decrypt(&mut out);
            prop_assert_eq!(out, data);
        }

        #[test]
        fn random_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), page_type in 14_u16..18, version in 0_u8..4) {
            if bytes.len() >= BODY {
                put_u16(&mut bytes, header::TYPE, page_type);
                bytes[TRANSFORM] = version;
            }
            let _ = decrypt(&mut bytes, &key(1));
            let _ = KeyInfo::read(&bytes);
        }
    }
}
