//! AES_ENCRYPT and AES_DECRYPT, RANDOM_BYTES, and MariaDB's PASSWORD.
//!
//! `block_encryption_mode` names the length of the key and the mode. A key of another length is folded: its bytes are
//! combined by XOR into one of the right length. ECB and CBC pad the text to whole blocks (PKCS 7); CFB and OFB make a
//! stream and do not.
//!
//! ```text
//! ECB       c[i] = E(p[i])
//! CBC       c[i] = E(p[i] ^ c[i-1])
//! CFBn      n bits of the text ^ the first n of E(register); the register is shifted by n bits of ciphertext
//! OFB       p[i] ^ E(E(...E(iv)))
//! ```
//!
//! Source: NIST SP 800-38A.

use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256, Block};
use format::collation::CollationId;
use format::value::Value;
use rand::RngCore;
use sha1::{Digest, Sha1};

use super::string::LENGTH_MAX;
use super::{Call, Function, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::types::{Coercibility, TypeInfo};

const BLOCK_BYTES: usize = 16;
const RANDOM_BYTES_MAX: i64 = 1024;

pub const FUNCTIONS: &[Function] = &[
    Function::new("aes_encrypt", (2, 6), encrypted_type, aes_encrypt).of_bytes(),
    Function::new("aes_decrypt", (2, 6), decrypted_type, aes_decrypt).of_bytes(),
    Function::new("random_bytes", (1, 1), random_type, random_bytes).volatile(),
    Function::new("password", (1, 1), password_type, password).of_bytes(),
];

fn encrypted_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let bytes = u64::from(typing.length(0)) * typing.args[0].ty.charset().bytes_max() as u64;
    let bytes = (bytes / BLOCK_BYTES as u64 + 1) * BLOCK_BYTES as u64;
    derived_keys(typing)?;
    Ok(TypeInfo::string(bytes.min(u64::from(LENGTH_MAX)) as u32, CollationId::BINARY, Coercibility::Literal))
}

fn decrypted_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    derived_keys(typing)?;
    Ok(TypeInfo::string(typing.length(0), CollationId::BINARY, Coercibility::Literal))
}

fn derived_keys(typing: &Typing<'_>) -> Result<()> {
    match typing.args.len() > 3 {
        true => Err(Error::unsupported("a key derivation function in AES_ENCRYPT and AES_DECRYPT")),
        false => Ok(()),
    }
}

fn random_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::string(RANDOM_BYTES_MAX as u32, CollationId::BINARY, Coercibility::Literal))
}

fn password_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(typing.text(41))
}

enum Cipher {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Ecb,
    Cbc,
    Cfb1,
    Cfb8,
    Cfb128,
    Ofb,
}

impl Cipher {
    /// A key of any length.
    fn new(bits: usize, key: &[u8]) -> Cipher {
        let mut folded = vec![0; bits / 8];
        key.iter().enumerate().for_each(|(at, byte)| folded[at % (bits / 8)] ^= byte);
        match bits {
            128 => Cipher::Aes128(Aes128::new(folded.as_slice().into())),
            192 => Cipher::Aes192(Aes192::new(folded.as_slice().into())),
            _ => Cipher::Aes256(Aes256::new(folded.as_slice().into())),
        }
    }

    fn encrypt(&self, block: &mut [u8; BLOCK_BYTES]) {
        let mut inner = Block::from(*block);
        match self {
            Cipher::Aes128(cipher) => cipher.encrypt_block(&mut inner),
            Cipher::Aes192(cipher) => cipher.encrypt_block(&mut inner),
            Cipher::Aes256(cipher) => cipher.encrypt_block(&mut inner),
        }
        *block = inner.into();
    }

    fn decrypt(&self, block: &mut [u8; BLOCK_BYTES]) {
        let mut inner = Block::from(*block);
        match self {
            Cipher::Aes128(cipher) => cipher.decrypt_block(&mut inner),
            Cipher::Aes192(cipher) => cipher.decrypt_block(&mut inner),
            Cipher::Aes256(cipher) => cipher.decrypt_block(&mut inner),
        }
        *block = inner.into();
    }

    /// Whole blocks, in place.
    fn encrypt_blocks(&self, mode: Mode, mut iv: [u8; BLOCK_BYTES], text: &mut [u8]) {
        for block in text.as_chunks_mut::<BLOCK_BYTES>().0 {
            if mode == Mode::Cbc {
                xor(block, &iv);
            }
            self.encrypt(block);
            iv = *block;
        }
    }

    fn decrypt_blocks(&self, mode: Mode, mut iv: [u8; BLOCK_BYTES], text: &mut [u8]) {
        for block in text.as_chunks_mut::<BLOCK_BYTES>().0 {
            let cipher = *block;
            self.decrypt(block);
            if mode == Mode::Cbc {
                xor(block, &iv);
            }
            iv = cipher;
        }
    }

    /// A stream, in place; it differs from its reverse only in which side of it is the ciphertext.
    fn stream(&self, mode: Mode, mut register: [u8; BLOCK_BYTES], text: &mut [u8], encrypts: bool) {
        match mode {
            Mode::Cfb1 => {
                for byte in text {
                    let mut out = 0;
                    for shift in (0..8).rev() {
                        let mut key = register;
                        self.encrypt(&mut key);
                        let from = *byte >> shift & 1;
                        let to = from ^ key[0] >> 7;
                        let fed = if encrypts { to } else { from };
                        let number = u128::from_be_bytes(register) << 1 | u128::from(fed);
                        register = number.to_be_bytes();
                        out |= to << shift;
                    }
                    *byte = out;
                }
            }
            Mode::Cfb8 => {
                for byte in text {
                    let mut key = register;
                    self.encrypt(&mut key);
                    let (from, to) = (*byte, *byte ^ key[0]);
                    *byte = to;
                    register.rotate_left(1);
                    register[BLOCK_BYTES - 1] = if encrypts { to } else { from };
                }
            }
            _ => {
                for part in text.chunks_mut(BLOCK_BYTES) {
                    let mut key = register;
                    self.encrypt(&mut key);
                    register = key;
                    for (at, byte) in part.iter_mut().enumerate() {
                        let (from, to) = (*byte, *byte ^ key[at]);
                        *byte = to;
                        if mode == Mode::Cfb128 {
                            register[at] = if encrypts { to } else { from };
                        }
                    }
                }
            }
        }
    }
}

fn xor(block: &mut [u8; BLOCK_BYTES], other: &[u8; BLOCK_BYTES]) {
    block.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
}

/// What the session encrypts with: the key's bits and the mode.
fn session_mode(call: &Call<'_>) -> Result<(usize, Mode)> {
    let name = match call.context.session.system_variable(None, "block_encryption_mode")? {
        Value::Bytes(name) => String::from_utf8_lossy(&name).to_ascii_lowercase(),
        _ => String::new(),
    };
    parsed_mode(&name).ok_or_else(|| Error::internal(format!("block_encryption_mode is {name}")))
}

/// `aes-256-cbc` and its kin. None: there is no such mode.
fn parsed_mode(name: &str) -> Option<(usize, Mode)> {
    let (bits, mode) = name.strip_prefix("aes-")?.split_once('-')?;
    let bits = [128, 192, 256].into_iter().find(|known| known.to_string() == bits)?;
    let mode = match mode {
        "ecb" => Mode::Ecb,
        "cbc" => Mode::Cbc,
        "cfb1" => Mode::Cfb1,
        "cfb8" => Mode::Cfb8,
        "cfb128" => Mode::Cfb128,
        "ofb" => Mode::Ofb,
        _ => return None,
    };
    Some((bits, mode))
}

/// The initialization vector; of ECB, which has none, zeros. None is NULL.
fn vector(call: &Call<'_>, mode: Mode) -> Result<Option<[u8; BLOCK_BYTES]>> {
    if mode == Mode::Ecb {
        if call.has(2) {
            call.context.warn(Error::new(1618, b"HY000", "<IV> option ignored"));
        }
        return Ok(Some([0; BLOCK_BYTES]));
    }
    if !call.has(2) {
        return Err(Error::wrong_argument_count(call.name));
    }
    let Some(bytes) = call.text(2)? else { return Ok(None) };
    match bytes.first_chunk() {
        Some(vector) => Ok(Some(*vector)),
        None => {
            let name = call.name;
            let text = format!(
                "The initialization vector supplied to {name} is too short. Must be at least {BLOCK_BYTES} bytes long"
            );
            Err(Error::new(1882, b"HY000", text))
        }
    }
}

fn aes_encrypt<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (bits, mode) = session_mode(call)?;
    let text = not_null!(call.text(0)?);
    let key = not_null!(call.text(1)?);
    let iv = not_null!(vector(call, mode)?);
    if !call.fits(call.name, text.len() as u64 + BLOCK_BYTES as u64) {
        return Ok(Datum::Null);
    }
    let cipher = Cipher::new(bits, &key);
    let mut text = text.into_owned();
    match mode {
        Mode::Ecb | Mode::Cbc => {
            let padding = BLOCK_BYTES - text.len() % BLOCK_BYTES;
            text.resize(text.len() + padding, padding as u8);
            cipher.encrypt_blocks(mode, iv, &mut text);
        }
        _ => cipher.stream(mode, iv, &mut text, true),
    }
    Ok(Datum::bytes(text))
}

/// NULL for what has not been encrypted so.
fn aes_decrypt<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (bits, mode) = session_mode(call)?;
    let mut text = not_null!(call.text(0)?).into_owned();
    let key = not_null!(call.text(1)?);
    let iv = not_null!(vector(call, mode)?);
    let cipher = Cipher::new(bits, &key);
    if !matches!(mode, Mode::Ecb | Mode::Cbc) {
        cipher.stream(mode, iv, &mut text, false);
        return Ok(Datum::bytes(text));
    }
    if text.is_empty() || text.len() % BLOCK_BYTES != 0 {
        return Ok(Datum::Null);
    }
    cipher.decrypt_blocks(mode, iv, &mut text);
    let padding = usize::from(text[text.len() - 1]);
    let is_padded = (1..=BLOCK_BYTES).contains(&padding)
        && text[text.len() - padding..].iter().all(|byte| usize::from(*byte) == padding);
    if !is_padded {
        return Ok(Datum::Null);
    }
    text.truncate(text.len() - padding);
    Ok(Datum::bytes(text))
}

fn random_bytes<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let count = not_null!(call.int(0)?);
    if !(1..=RANDOM_BYTES_MAX).contains(&count) {
        return Err(Error::out_of_range("length", "random_bytes"));
    }
    let mut bytes = vec![0; count as usize];
    rand::rng().fill_bytes(&mut bytes);
    Ok(Datum::bytes(bytes))
}

/// What mysql_native_password keeps of a password.
fn password<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let text = call.text(0)?.unwrap_or_default();
    if text.is_empty() {
        return Ok(Datum::text(""));
    }
    let twice = Sha1::digest(Sha1::digest(&*text));
    let mut out = String::from("*");
    twice.iter().for_each(|byte| out.push_str(&format!("{byte:02X}")));
    Ok(Datum::text(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of SP 800-38A, F.1 to F.4: the first two blocks.
    #[test]
    fn modes_are_those_of_the_standard() {
        let bytes = |text: &str| -> Vec<u8> {
            (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
        };
        let cipher = Cipher::new(128, &bytes("2b7e151628aed2a6abf7158809cf4f3c"));
        let iv: [u8; 16] = bytes("000102030405060708090a0b0c0d0e0f").try_into().unwrap();
        let plain = bytes("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        for (mode, expected) in [
            (Mode::Ecb, "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"),
            (Mode::Cbc, "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"),
            (Mode::Cfb128, "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b"),
            (Mode::Ofb, "3b3fd92eb72dad20333449f8e83cfb4a7789508d16918f03f53c52dac54ed825"),
        ] {
            let mut text = plain.clone();
            let is_block = matches!(mode, Mode::Ecb | Mode::Cbc);
            match is_block {
                true => cipher.encrypt_blocks(mode, iv, &mut text),
                false => cipher.stream(mode, iv, &mut text, true),
            }
            assert_eq!(text, bytes(expected));
            match is_block {
                true => cipher.decrypt_blocks(mode, iv, &mut text),
                false => cipher.stream(mode, iv, &mut text, false),
            }
            assert_eq!(text, plain);
        }
        let mut text = plain[..2].to_vec();
        cipher.stream(Mode::Cfb1, iv, &mut text, true);
        assert_eq!(text, bytes("68b3"));
        cipher.stream(Mode::Cfb1, iv, &mut text, false);
        assert_eq!(text, plain[..2]);
        let mut text = plain[..18].to_vec();
        cipher.stream(Mode::Cfb8, iv, &mut text, true);
        assert_eq!(text, bytes("3b79424c9c0dd436bace9e0ed4586a4f32b9"));
    }
}
