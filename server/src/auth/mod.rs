//! Login: how a client proves that it knows an account's password.
//!
//! ```text
//! greeting (challenge, our default plugin)          ->
//!                                                   <- answer (user, proof, its plugin)
//! if its plugin is not the account's:
//!     switch (the account's plugin, challenge)      ->
//!                                                   <- proof
//! mysql_native_password:  the proof decides
//! caching_sha2_password:  the proof decides if the password is in the cache, else
//!     "send me the password" (4)                    ->
//!     on the socket, or with TLS:                   <- password, in clear
//!     on TCP without TLS:                           <- "your public key?" (2)
//!         key                                       ->
//!                                                   <- password, encrypted
//! sha256_password:        the password, as in the last steps of caching_sha2_password; a client asks for the key by (1)
//! OK or error
//! auth_socket:            the system says who the client is: no step of its own
//! ```
//!
//! Invariants:
//!
//! * A client without an account goes through the same steps as one with a wrong
//!   password, and gets the same error.
//! * An account without a password accepts no login from another machine.
//! * The time that a comparison of proofs takes does not reveal how much of them agrees.
//!
//! Not here: the conversation itself (`connection`); what is stored of a password
//! (`sql::accounts`).

mod cache;
mod key;
mod proof;
mod system_user;

pub use cache::PasswordCache;
pub use key::{ServerKey, wait_for_beat};
pub use proof::{native_matches, native_proof, sha2_hash, sha2_matches_hash, sha2_proof};
pub use system_user::name_of;

use format::packet::handshake::CHALLENGE_BYTES;

/// Steps of caching_sha2_password.
pub const REQUEST_PUBLIC_KEY: u8 = 2;
/// The same in sha256_password.
pub const SHA256_REQUEST_PUBLIC_KEY: u8 = 1;
pub const FAST_AUTH_SUCCESS: u8 = 3;
pub const PERFORM_FULL_AUTH: u8 = 4;

/// A fresh challenge: random bytes, none of them zero, for clients keep it as a C string.
pub fn challenge() -> [u8; CHALLENGE_BYTES] {
    std::array::from_fn(|_| rand::random_range(33..=126))
}
