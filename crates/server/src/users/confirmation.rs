//! Recognizes a password that Argon2 has confirmed once by a fast keyed digest, so that hundreds of reconnecting
//! clients do not cost milliseconds each.

use blake2::Blake2sMac256;
use blake2::digest::{FixedOutput, KeyInit, Update};
use std::sync::OnceLock;
use subtle::ConstantTimeEq;

/// The key of the digests: random, for this run of the server only.
pub(crate) struct ConfirmationKey(Blake2sMac256);

/// The digest of a user's name and a password, 256 bits.
#[derive(Clone, Copy)]
pub(crate) struct Digest([u8; 32]);

/// The digest of the confirmed password; empty until one was confirmed. A user has one password, so this is bounded by
/// the number of users, and nothing needs to be forgotten.
#[derive(Default)]
pub(crate) struct Confirmation(OnceLock<Digest>);

impl ConfirmationKey {
    pub(crate) fn random() -> Result<ConfirmationKey, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(ConfirmationKey(Blake2sMac256::new(&key.into())))
    }

    /// Returns the digest of a pair. The name's length goes first, so that no two pairs are the same sequence of bytes.
    pub(crate) fn digest(&self, name: &[u8], password: &[u8]) -> Digest {
        let mut state = self.0.clone();
        state.update(&(name.len() as u64).to_le_bytes());
        state.update(name);
        state.update(password);
        Digest(state.finalize_fixed().into())
    }
}

impl Confirmation {
    /// Remembers a password. Only for passwords that Argon2 has confirmed.
    pub(crate) fn set(&self, digest: Digest) {
        // Another check of the same password may have been faster.
        let _ = self.0.set(digest);
    }

    /// Reports whether this is the password that was confirmed.
    pub(crate) fn holds(&self, digest: &Digest) -> bool {
        self.0.get().is_some_and(|own| own.0.ct_eq(&digest.0).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_confirmed_pair_is_known_again() {
        let key = ConfirmationKey::random().expect("random bytes");
        let digest = key.digest(b"alice", b"secret");
        let confirmation = Confirmation::default();
        assert!(!confirmation.holds(&digest), "nothing is confirmed at first");
        confirmation.set(digest);
        assert!(confirmation.holds(&digest));
        for (name, password) in
            [("alice", "wrong"), ("bob", "secret"), ("alices", "ecret"), ("", "alicesecret")]
        {
            let other = key.digest(name.as_bytes(), password.as_bytes());
            assert!(!confirmation.holds(&other), "{name} {password}");
        }
        let other = ConfirmationKey::random().expect("random bytes").digest(b"alice", b"secret");
        assert!(!confirmation.holds(&other), "the key is random");
    }
}
