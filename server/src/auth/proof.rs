//! The arithmetic of proofs: what a client makes of a challenge and its password.

use format::packet::handshake::CHALLENGE_BYTES;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use sql::accounts::password;

/// `SHA1(password) xor SHA1(challenge, SHA1(SHA1(password)))`: what a client of mysql_native_password sends.
pub fn native_proof(password: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    let mask = Sha1::new().chain_update(challenge).chain_update(Sha1::digest(once)).finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// Whether the proof belongs to the stored `SHA1(SHA1(password))`.
pub fn native_matches(proof: &[u8], challenge: &[u8; CHALLENGE_BYTES], twice: &[u8; 20]) -> bool {
    if proof.len() != 20 {
        return false;
    }
    let mask = Sha1::new().chain_update(challenge).chain_update(twice).finalize();
    let once: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    password::equal(&Sha1::digest(&once), twice)
}

/// `SHA256(SHA256(password))`, which the cache keeps.
pub fn sha2_hash(password: &[u8]) -> [u8; 32] {
    Sha256::digest(Sha256::digest(password)).into()
}

/// `SHA256(password) xor SHA256(SHA256(SHA256(password)), challenge)`: what a client of caching_sha2_password sends.
pub fn sha2_proof(password: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    let mask = Sha256::new().chain_update(sha2_hash(password)).chain_update(challenge).finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// Whether the proof belongs to the cached `SHA256(SHA256(password))`.
pub fn sha2_matches_hash(proof: &[u8], challenge: &[u8; CHALLENGE_BYTES], hash: &[u8; 32]) -> bool {
    if proof.len() != 32 {
        return false;
    }
    let mask = Sha256::new().chain_update(hash).chain_update(challenge).finalize();
    let once: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    password::equal(&Sha256::digest(&once), hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &[u8; CHALLENGE_BYTES] = b"abcdefghijklmnopqrst";

    #[test]
    fn native_proofs_match_their_password_alone() {
        let twice = password::native_hash(&password::native_verifier(b"secret")).unwrap();
        let proof = native_proof(b"secret", CHALLENGE);
        assert!(native_matches(&proof, CHALLENGE, &twice));
        assert!(!native_matches(&proof, b"bbcdefghijklmnopqrst", &twice));
        assert!(!native_matches(&native_proof(b"other", CHALLENGE), CHALLENGE, &twice));
        assert!(!native_matches(b"", CHALLENGE, &twice));
    }

    #[test]
    fn sha2_proofs_match_their_password_alone() {
        let hash = sha2_hash(b"secret");
        let proof = sha2_proof(b"secret", CHALLENGE);
        assert!(sha2_matches_hash(&proof, CHALLENGE, &hash));
        assert!(!sha2_matches_hash(&proof, b"bbcdefghijklmnopqrst", &hash));
        assert!(!sha2_matches_hash(&sha2_proof(b"other", CHALLENGE), CHALLENGE, &hash));
        assert!(!sha2_matches_hash(&proof[1..], CHALLENGE, &hash));
    }
}
