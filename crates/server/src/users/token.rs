//! Tokens of HTTP. They are random and cannot be guessed, so a fast hash is sufficient.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use subtle::ConstantTimeEq;

/// Random bytes of a token.
const RANDOM_LEN: usize = 32;
/// Beginning of hashes in the settings.
const PREFIX: &str = "sha256:";

/// SHA-256 of a token.
#[derive(Clone)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    /// Parses `sha256:` and 64 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<TokenHash> {
        let digits = text.strip_prefix(PREFIX)?.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
        }
        Some(TokenHash(hash))
    }

    /// Returns the hash of a token.
    pub(crate) fn hash(token: &[u8]) -> TokenHash {
        TokenHash(Sha256::digest(token).into())
    }

    /// Compares two hashes in a time that does not depend on their bytes.
    pub(crate) fn is(&self, other: &TokenHash) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// A new token.
#[derive(Clone, Debug)]
pub struct MadeToken {
    /// The token that the client sends: `Authorization: Bearer TOKEN`.
    pub token: String,
    /// The hash that the settings keep.
    pub hash: String,
}

/// Makes a token of 256 random bits.
///
/// # Errors
/// When the system has no randomness.
pub fn make_token() -> Result<MadeToken, getrandom::Error> {
    let mut random = [0; RANDOM_LEN];
    getrandom::fill(&mut random)?;
    let token = format!("scurry_{}", hex(&random));
    let hash = format!("{PREFIX}{}", hex(&TokenHash::hash(token.as_bytes()).0));
    Ok(MadeToken { token, hash })
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_its_token_alone() {
        // SHA-256 of "abc": FIPS 180-4, example.
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let hash = TokenHash::parse(text).expect("a hash");
        assert!(hash.is(&TokenHash::hash(b"abc")) && !hash.is(&TokenHash::hash(b"abd")));
        for wrong in ["", "sha256:", &text[..text.len() - 1], &text[7..], "sha256:+a"] {
            assert!(TokenHash::parse(wrong).is_none(), "{wrong}");
        }
        assert!(TokenHash::parse(&text.replace('b', "g")).is_none());
    }

    #[test]
    fn made_tokens_differ_and_fit_their_hash() {
        let (one, other) = (make_token().expect("random"), make_token().expect("random"));
        assert_ne!(one.token, other.token);
        let hash = TokenHash::parse(&one.hash).expect("a hash");
        assert!(hash.is(&TokenHash::hash(one.token.as_bytes())));
        assert!(!hash.is(&TokenHash::hash(other.token.as_bytes())));
    }
}
