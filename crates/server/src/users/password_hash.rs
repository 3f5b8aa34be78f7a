//! Hashes of passwords: Argon2, in PHC strings. Slow on purpose, so never computed on an event loop.

use super::HashFault;
use crate::users::password::Password;
use argon2::password_hash::phc;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use std::fmt;
use subtle::ConstantTimeEq;

/// Maximum memory of a hash, KiB: each AUTH uses it.
const MEMORY_KIB_MAX: u32 = 256 * 1024;
const PASSES_MAX: u32 = 16;
const LANES_MAX: u32 = 16;
/// Bytes of the salt and of the output of hashes made here, as RFC 9106 section 4 recommends.
const SALT_LEN: usize = 16;
const OUTPUT_LEN: usize = 32;

/// Memory for a computation, kept from one to the next. The allocator would not return short-lived megabytes to the
/// system, and the process would grow to ten times what one computation needs.
#[derive(Default)]
pub(crate) struct Workspace(Vec<Block>);

/// A hash that passwords are compared with.
#[derive(Clone)]
pub(crate) struct PasswordHash {
    function: Argon2<'static>,
    salt: Box<[u8]>,
    output: Box<[u8]>,
    /// The PHC string as it was given.
    text: Box<str>,
}

impl PasswordHash {
    /// Parses a PHC string of argon2id, argon2i or argon2d.
    pub(crate) fn parse(text: &str) -> Result<PasswordHash, HashFault> {
        let wrong = |_| HashFault::NotArgon2;
        let hash = phc::PasswordHash::new(text).map_err(|_| HashFault::NotArgon2)?;
        let algorithm = Algorithm::new(hash.algorithm).map_err(wrong)?;
        let version = hash.version.map_or(Ok(Version::default()), Version::try_from);
        let params = Params::try_from(&hash).map_err(|_| HashFault::NotArgon2)?;
        let (Some(salt), Some(output)) = (hash.salt, hash.hash) else {
            return Err(HashFault::NotArgon2);
        };
        let costly = params.m_cost() > MEMORY_KIB_MAX
            || params.t_cost() > PASSES_MAX
            || params.p_cost() > LANES_MAX;
        if costly {
            return Err(HashFault::TooCostly);
        }
        let salt: &[u8] = salt.as_ref();
        if salt.len() < argon2::MIN_SALT_LEN {
            return Err(HashFault::NotArgon2);
        }
        Ok(PasswordHash {
            function: Argon2::new(algorithm, version.map_err(wrong)?, params),
            salt: salt.into(),
            output: output.as_bytes().into(),
            text: text.into(),
        })
    }

    /// Reports whether both were given as the same text.
    pub(super) fn is_same(&self, other: &PasswordHash) -> bool {
        self.text == other.text
    }

    /// Returns a hash that costs as much as this one and that no password has.
    pub(crate) fn decoy(&self) -> Result<PasswordHash, getrandom::Error> {
        let mut decoy = self.clone();
        getrandom::fill(&mut decoy.salt)?;
        getrandom::fill(&mut decoy.output)?;
        Ok(decoy)
    }

    /// Reports whether `guess` is the password. Takes milliseconds, and 19 MiB with our own parameters.
    pub(crate) fn matches(&self, guess: &[u8], workspace: &mut Workspace) -> bool {
        let mut output = vec![0; self.output.len()];
        let blocks = self.function.params().block_count();
        if workspace.0.len() < blocks {
            workspace.0.resize(blocks, Block::new());
        }
        let memory = &mut workspace.0[..blocks];
        let computed =
            self.function.hash_password_into_with_memory(guess, &self.salt, &mut output, memory);
        computed.is_ok() & bool::from(output.ct_eq(&self.output))
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a password hash)")
    }
}

/// Hashes a password of 1 to 512 bytes for the settings file, as a PHC string: argon2id, version 19, 19 MiB, 2 passes,
/// 1 lane (the first choice of OWASP's Password Storage Cheat Sheet for servers), a random salt of 16 bytes.
///
/// # Errors
/// When the password is empty or too long, and when the system has no random bytes.
pub fn hash_password(password: &[u8]) -> Result<String, HashFault> {
    if password.is_empty() || password.len() > Password::LEN_MAX {
        return Err(HashFault::Length);
    }
    let mut salt = [0; SALT_LEN];
    getrandom::fill(&mut salt).map_err(|_| HashFault::Randomness)?;
    let mut output = [0; OUTPUT_LEN];
    let params = Params::DEFAULT;
    let function = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
    function.hash_password_into(password, &salt, &mut output).map_err(|_| HashFault::NotArgon2)?;
    let hash = phc::PasswordHash {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: params.try_into().map_err(|_| HashFault::NotArgon2)?,
        salt: Some(phc::Salt::new(&salt).map_err(|_| HashFault::NotArgon2)?),
        hash: Some(phc::Output::new(&output).map_err(|_| HashFault::NotArgon2)?),
    };
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_read_and_fits_its_password_alone() {
        let text = hash_password(b"secret").expect("it is hashed");
        assert!(text.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{text}");
        let hash = PasswordHash::parse(&text).expect("our own form");
        let mut space = Workspace::default();
        assert!(hash.matches(b"secret", &mut space));
        for guess in [&b""[..], b"secre", b"secret\0", b"Secret"] {
            assert!(!hash.matches(guess, &mut space), "{guess:?}");
        }
        assert!(!hash.decoy().expect("random bytes").matches(b"secret", &mut space));
        assert_ne!(hash_password(b"secret").expect("it is hashed"), text, "the salt is random");
        assert_eq!(format!("{hash:?}"), "(a password hash)");
        assert_eq!(hash_password(b""), Err(HashFault::Length));
        assert_eq!(hash_password(&[b'x'; 513]), Err(HashFault::Length));
    }

    #[test]
    fn hashes_of_other_makers_are_read() {
        let mut space = Workspace::default();
        // Test vectors of the reference implementation (P-H-C/phc-winner-argon2).
        for (text, password) in [
            (
                "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
                "password",
            ),
            (
                "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8",
                "password",
            ),
        ] {
            let hash = PasswordHash::parse(text).expect(text);
            assert!(hash.matches(password.as_bytes(), &mut space), "{text}");
            assert!(!hash.matches(b"passwort", &mut space), "{text}");
        }
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        let not = Err(HashFault::NotArgon2);
        let costly = Err(HashFault::TooCostly);
        for (text, expected) in [
            ("", not),
            ("secret", not),
            ("$2b$12$abcdefghijklmnopqrstuv", not),
            ("$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ", not),
            ("$argon2id$v=19$m=256,t=2,p=1", not),
            ("$argon2id$v=18$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEg", not),
            ("$argon2id$v=19$m=1,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEg", not),
            ("$argon2id$v=19$m=256,t=2,p=1$c2FsdA$nf65EOgLrQMR/uIPnA4rEg", not),
            ("$argon2x$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEg", not),
            ("$argon2id$v=19$m=262145,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEg", costly),
            ("$argon2id$v=19$m=256,t=17,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEg", costly),
            ("$argon2id$v=19$m=256,t=2,p=17$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEg", costly),
        ] {
            assert_eq!(PasswordHash::parse(text).map(|_| ()), expected, "{text}");
        }
    }
}
