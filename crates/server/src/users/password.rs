//! The password of the default user. It is never shown, and compared in constant time, so that timing does not tell how
//! much of a guess was right.

use std::fmt;
use subtle::ConstantTimeEq;

/// A password that AUTH is compared with.
#[derive(Clone)]
pub struct Password {
    padded: Box<[u8; Password::LEN_MAX]>,
    len: u64,
}

impl Password {
    /// Longest password, bytes.
    pub const LEN_MAX: usize = 512;

    /// Creates a password; None when it is empty or longer than 512 bytes.
    pub fn new(text: &str) -> Option<Password> {
        if text.is_empty() { None } else { padded(text.as_bytes()) }
    }

    /// Reports whether both are the same password.
    pub(super) fn is_same(&self, other: &Password) -> bool {
        (self.padded.ct_eq(&*other.padded) & self.len.ct_eq(&other.len)).into()
    }

    /// Reports whether `guess` is the password.
    pub(crate) fn matches(&self, guess: &[u8]) -> bool {
        let Some(guess) = padded(guess) else {
            return false;
        };
        (self.padded.ct_eq(&*guess.padded) & self.len.ct_eq(&guess.len)).into()
    }
}

fn padded(bytes: &[u8]) -> Option<Password> {
    let mut padded = Box::new([0; Password::LEN_MAX]);
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(Password { padded, len: u64::try_from(bytes.len()).ok()? })
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a password)")
    }
}

#[cfg(test)]
mod tests {
    use super::Password;

    #[test]
    fn only_the_password_matches() {
        let password = Password::new("secret").expect("short enough");
        assert!(password.matches(b"secret"));
        for guess in [&b""[..], b"secre", b"secret\0", b"Secret", &[0; 600]] {
            assert!(!password.matches(guess), "{guess:?}");
        }
        assert_eq!(format!("{password:?}"), "(a password)");
        assert!(Password::new("").is_none());
        assert!(Password::new(&"x".repeat(513)).is_none());
    }
}
