//! The server's RSA key, by which a client on TCP without TLS hides its password.
//!
//! How long the decryption takes depends on the key and on what a stranger sent, and the arithmetic of `rsa` does not
//! hide that. So the number is blinded, which makes the time independent of what was sent, and the answer leaves at a
//! multiple of [`BEAT`] after the question, which hides what is left. The key is made at each start and never stored.
//! Clients with TLS do not come here.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use format::packet::handshake::CHALLENGE_BYTES;
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::{Oaep, RsaPrivateKey, RsaPublicKey};
use sha1::Sha1;

const BITS: usize = 2048;

/// Answers that depend on a decryption leave at a multiple of this after the question; one decryption takes a small part
/// of it.
const BEAT: Duration = Duration::from_millis(50);

/// Waits for the next beat.
pub fn wait_for_beat(asked: Instant) {
    let into = asked.elapsed().as_nanos() % BEAT.as_nanos();
    thread::sleep(BEAT - Duration::from_nanos(into as u64));
}

/// Made when first asked for, since most clients never need it, and new with each start.
#[derive(Default)]
pub struct ServerKey {
    key: OnceLock<RsaPrivateKey>,
}

impl ServerKey {
    fn key(&self) -> &RsaPrivateKey {
        self.key.get_or_init(|| RsaPrivateKey::new(&mut rsa::rand_core::OsRng, BITS).expect("a key of this size"))
    }

    /// The public key as clients want it.
    pub fn public_pem(&self) -> String {
        RsaPublicKey::from(self.key()).to_public_key_pem(LineEnding::LF).expect("a key can be written")
    }

    /// The password that a client encrypted: OAEP over the password and a zero, masked with the challenge.
    pub fn decrypt(&self, encrypted: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Option<Vec<u8>> {
        let key = self.key();
        let mut password = key.decrypt_blinded(&mut rsa::rand_core::OsRng, Oaep::new::<Sha1>(), encrypted).ok()?;
        for (byte, mask) in password.iter_mut().zip(challenge.iter().cycle()) {
            *byte ^= mask;
        }
        (password.pop() == Some(0)).then_some(password)
    }

    /// What a client does: for tests.
    pub fn encrypt(pem: &str, password: &[u8], challenge: &[u8; CHALLENGE_BYTES]) -> Option<Vec<u8>> {
        use rsa::pkcs8::DecodePublicKey;
        let key = RsaPublicKey::from_public_key_pem(pem).ok()?;
        let mut masked = password.to_vec();
        masked.push(0);
        for (byte, mask) in masked.iter_mut().zip(challenge.iter().cycle()) {
            *byte ^= mask;
        }
        key.encrypt(&mut rsa::rand_core::OsRng, Oaep::new::<Sha1>(), &masked).ok()
    }
}
