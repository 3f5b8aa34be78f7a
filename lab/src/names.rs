//! The ids that the load uses. All have a fixed width, so that request templates can be
//! patched in place and every request of a kind is equally long.

/// Accounts (and keys) at most: the lab keeps a tally of each.
pub const ACCOUNTS_MAX: u32 = 100_000_000;

/// `acc:` and seven digits in base 36.
pub type AccountText = [u8; 11];
/// `s` and seven digits in base 36: 78 thousand million sessions.
pub type SessionText = [u8; 8];

/// The id of an account.
#[inline]
pub fn account_text(number: u32) -> AccountText {
    let mut text = *b"acc:0000000";
    digits(&mut text[4..], u64::from(number), 36);
    text
}

/// The key of a plain value: as wide as an account.
#[inline]
pub fn key_text(number: u32) -> AccountText {
    let mut text = *b"key:0000000";
    digits(&mut text[4..], u64::from(number), 36);
    text
}

/// The id of a session.
#[inline]
pub fn session_text(number: u64) -> SessionText {
    let mut text = *b"s0000000";
    digits(&mut text[1..], number, 36);
    text
}

/// Bytes of the number that a value begins with, in base 36.
pub const STAMP_LEN: usize = 8;

/// The number of a write, as a value begins with it.
#[inline]
pub fn stamp(number: u64) -> [u8; STAMP_LEN] {
    let mut stamp = [0; STAMP_LEN];
    digits(&mut stamp, number, 36);
    stamp
}

/// Writes `number` right-aligned in this base, from the right; what does not fit is cut off.
#[inline]
pub fn digits(out: &mut [u8], mut number: u64, base: u64) {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    for place in out.iter_mut().rev() {
        *place = DIGITS[usize::try_from(number % base).unwrap_or(0)];
        number /= base;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_a_fixed_width() {
        assert_eq!(&account_text(0), b"acc:0000000");
        assert_eq!(&account_text(ACCOUNTS_MAX - 1), b"acc:01njchr");
        assert_eq!(&key_text(42), b"key:0000016");
        assert_eq!(&session_text(35), b"s000000z");
        assert_eq!(&session_text(36 * 36), b"s0000100");
    }
}
