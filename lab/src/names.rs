//! The ids that the load uses. All have a fixed width, so that request templates can be patched in place and every
//! request of a kind is equally long.

/// Most accounts (and keys): the lab keeps a tally of each.
pub const ACCOUNTS_MAX: u32 = 100_000_000;

/// Account id: `acc:` and seven digits in base 36.
pub type AccountText = [u8; 11];
/// Session id: `s` and seven digits in base 36, enough for 78 thousand million sessions.
pub type SessionText = [u8; 8];

/// Returns the id of an account.
#[inline]
pub fn account_text(number: u32) -> AccountText {
    let mut text = *b"acc:0000000";
    digits(&mut text[4..], u64::from(number), 36);
    text
}

/// Returns the key of a plain value, as long as an account id.
#[inline]
pub fn key_text(number: u32) -> AccountText {
    let mut text = *b"key:0000000";
    digits(&mut text[4..], u64::from(number), 36);
    text
}

/// Returns the id of a session.
#[inline]
pub fn session_text(number: u64) -> SessionText {
    let mut text = *b"s0000000";
    digits(&mut text[1..], number, 36);
    text
}

/// Length of the number at the start of a value, bytes in base 36.
pub const STAMP_LEN: usize = 8;

/// Returns the number of a write as it stands at the start of a value.
#[inline]
pub fn stamp(number: u64) -> [u8; STAMP_LEN] {
    let mut stamp = [0; STAMP_LEN];
    digits(&mut stamp, number, 36);
    stamp
}

/// Writes `number` right-aligned in this base, padded with zeros; digits that do not fit are cut off.
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
