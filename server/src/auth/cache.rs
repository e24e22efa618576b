//! The cache of caching_sha2_password: accounts that have proved their password since the server started.

use std::collections::HashMap;

use parking_lot::RwLock;
use sql::accounts::Account;

/// An account's verifier, and the hash of the password that it belongs to.
type Entry = (String, [u8; 32]);

/// `SHA256(SHA256(password))` by account. An entry counts only as long as the account's verifier is the one it was
/// made for, so that a changed password empties its entry by itself.
#[derive(Default)]
pub struct PasswordCache {
    hashes: RwLock<HashMap<(String, String), Entry>>,
}

impl PasswordCache {
    pub fn get(&self, account: &Account) -> Option<[u8; 32]> {
        let hashes = self.hashes.read();
        let (verifier, hash) = hashes.get(&(account.user.clone(), account.host.clone()))?;
        (*verifier == account.verifier).then_some(*hash)
    }

    pub fn insert(&self, account: &Account, hash: [u8; 32]) {
        let key = (account.user.clone(), account.host.clone());
        self.hashes.write().insert(key, (account.verifier.clone(), hash));
    }
}
