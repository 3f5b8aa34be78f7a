//! Signatures of requests, as Standard Webhooks has them: HMAC-SHA256 of id, time and body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac::{HMAC_SHA256, Key, sign};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Begin of a secret, which may be left out.
const PREFIX: &str = "whsec_";
/// Shortest and longest secret, bytes.
const LEN_MIN: usize = 16;
const LEN_MAX: usize = 128;
/// Most secrets: the present one and those before it.
const KEYS_MAX: usize = 4;

/// The secrets by which requests are signed: one, or during a change several with spaces between.
#[derive(Clone)]
pub struct SigningKeys(Vec<Key>);

/// Why a text has no secrets. It does not show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the secret is not whsec_ and base64 of 16 to 128 bytes (at most 4 of them, with spaces between): make one with \
     echo \"whsec_$(head -c 32 /dev/urandom | base64)\""
)]
pub struct SecretError;

impl SigningKeys {
    /// Returns the header `webhook-signature` of a request.
    pub(crate) fn signature(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mut content = format!("{id}.{timestamp}.").into_bytes();
        content.extend_from_slice(body);
        let signatures =
            self.0.iter().map(|key| format!("v1,{}", STANDARD.encode(sign(key, &content))));
        signatures.collect::<Vec<_>>().join(" ")
    }
}

impl FromStr for SigningKeys {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<SigningKeys, SecretError> {
        let key = |word: &str| {
            let bytes = STANDARD.decode(word.strip_prefix(PREFIX).unwrap_or(word)).ok()?;
            let has_len = (LEN_MIN..=LEN_MAX).contains(&bytes.len());
            has_len.then(|| Key::new(HMAC_SHA256, &bytes))
        };
        let keys: Option<Vec<Key>> = text.split_whitespace().map(key).collect();
        let keys = keys.filter(|keys| (1..=KEYS_MAX).contains(&keys.len()));
        keys.map(SigningKeys).ok_or(SecretError)
    }
}

impl fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKeys({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification of Standard Webhooks.
    #[test]
    fn a_signature_is_that_of_the_specification() {
        let keys: SigningKeys = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().expect("a secret");
        let body = br#"{"test": 2432232314}"#;
        let signature = keys.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn secrets_of_a_change_sign_all() {
        let secret = |byte: u8| format!("whsec_{}", STANDARD.encode([byte; 32]));
        let both: SigningKeys = format!("{} {}", secret(1), secret(2)).parse().expect("secrets");
        let one: SigningKeys = secret(2).parse().expect("a secret");
        let signed = both.signature("a", 1, b"{}");
        assert_eq!(signed.split(' ').nth(1), Some(one.signature("a", 1, b"{}").as_str()));
        for other in ["", "whsec_", "whsec_abc", "password", &STANDARD.encode([1; 8])] {
            assert_eq!(other.parse::<SigningKeys>().err(), Some(SecretError), "{other}");
        }
    }
}
