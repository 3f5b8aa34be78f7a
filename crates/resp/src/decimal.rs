//! Formats reply lines that hold one number in registers: eight digits by three multiplications, without a loop.

/// Longest line: kind, sign, 16 digits and CRLF.
const LINE_LEN_MAX: usize = 20;
/// End of a word that is stored at the largest 5-bit offset.
const PIECE_LEN: usize = 31 + 8;
/// Numbers below this have at most eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;
/// Numbers below this have at most 16 digits.
const SIXTEEN_DIGITS: u64 = EIGHT_DIGITS * EIGHT_DIGITS;

const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// Returns the digits of a number below 10^8, one per byte, the first digit in the lowest byte.
#[inline]
const fn eight(number: u64) -> u64 {
    // Two lanes of four digits, then four of two, then eight of one: each step divides by multiplying, and places the
    // remainder above the quotient.
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

/// Appends a line of this kind and number. Returns false, and appends nothing, if the number has more than 16 digits.
#[inline]
pub(crate) fn append_line(out: &mut Vec<u8>, kind: u8, number: i64) -> bool {
    let mut len = 0;
    append(out, |piece| {
        len = write_line(piece, kind, number);
        len
    });
    len > 0
}

/// Most lines that are appended together.
const LINES_MAX: usize = 8;
/// Length of that many lines, with the bytes that the last store may touch after them.
const LINES_LEN: usize = (LINES_MAX - 1) * LINE_LEN_MAX + PIECE_LEN;

/// Appends a line of this kind for each number, with one bounds check. Returns false, and appends nothing, if one of
/// them has more than 16 digits.
pub(crate) fn append_lines<const N: usize>(out: &mut Vec<u8>, kind: u8, numbers: [i64; N]) -> bool {
    const { assert!(N <= LINES_MAX) }
    let mut fit = true;
    append(out, |pieces: &mut [u8; LINES_LEN]| {
        let mut len = 0;
        for &number in &numbers {
            let Some(piece) = pieces[len..].first_chunk_mut() else { break };
            let line = write_line(piece, kind, number);
            if line == 0 {
                fit = false;
                return 0;
            }
            len += line;
        }
        len
    });
    fit
}

/// Writes a line of a number, and returns its length: 0 for a number of more than 16 digits.
#[inline]
fn write_line(piece: &mut [u8; PIECE_LEN], kind: u8, number: i64) -> usize {
    if let digit @ 0..10 = number {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "one digit")]
        piece[..4].copy_from_slice(&[kind, b'0' + digit as u8, b'\r', b'\n']);
        return 4;
    }
    let absolute = number.unsigned_abs();
    if absolute >= SIXTEEN_DIGITS {
        return 0;
    }
    (piece[0], piece[1]) = (kind, b'-');
    let mut put = |at: usize, word: u64| {
        // `at` is at most 18: the mask only lets the compiler drop a bounds check.
        let at = at & 31;
        piece[at..at + 8].copy_from_slice(&word.to_le_bytes());
    };
    let mut len = if number < 0 { 2 } else { 1 };
    let first = if absolute < EIGHT_DIGITS { absolute } else { absolute / EIGHT_DIGITS };
    let digits = eight(first);
    // Leading zeros are dropped; the last digit always stays.
    let zeros = (digits | (1 << 63)).trailing_zeros() & !7;
    put(len, (digits | ZEROS) >> zeros);
    len += 8 - zeros as usize / 8;
    if absolute >= EIGHT_DIGITS {
        put(len, eight(absolute % EIGHT_DIGITS) | ZEROS);
        len += 8;
    }
    put(len, u64::from(u16::from_le_bytes(*b"\r\n")));
    len + 2
}

/// Appends the first bytes of a piece whose whole length is known at compile time; `write` fills it and returns how
/// many to keep. The bytes are written directly where they stay: copying them as wider words than they were written
/// would wait for the writes to reach the cache.
#[inline]
pub(crate) fn append<const N: usize>(out: &mut Vec<u8>, write: impl FnOnce(&mut [u8; N]) -> usize) {
    let start = out.len();
    out.extend_from_slice(&[0; N]);
    if let Some(piece) = out[start..].first_chunk_mut() {
        let len = write(piece);
        out.truncate(start + len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_show_every_number_of_16_digits_as_it_is() {
        let mut numbers = vec![0];
        let mut power = 1i64;
        while let Some(next) = power.checked_mul(10) {
            for factor in 1..10 {
                for step in -2..=2 {
                    numbers.push(factor * power + step);
                    numbers.push(factor * power / 7 * 5 + step);
                }
            }
            power = next;
        }
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        for round in 0..100_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            numbers.push((random >> (round % 63 + 1)).cast_signed());
        }
        numbers.extend(0..100_000);
        for number in numbers.iter().flat_map(|&number| [number, -number]) {
            let mut out = b"before".to_vec();
            let fits = append_line(&mut out, b':', number);
            assert_eq!(fits, number.unsigned_abs() < SIXTEEN_DIGITS, "{number}");
            let line = if fits { format!("before:{number}\r\n") } else { "before".to_owned() };
            assert_eq!(out, line.into_bytes());
        }
    }

    #[test]
    fn lines_together_are_those_of_each() {
        let long = 9_999_999_999_999_999;
        for first in [0, 9, 10, -1, 123_456_789, -long, long, long + 1, i64::MIN] {
            for last in [7, -long, 10_000_000_000_000_000] {
                let numbers = [first, -long, 0, last, first, -long, -1, last];
                let mut out = b"before".to_vec();
                let fit = append_lines(&mut out, b':', numbers);
                assert_eq!(fit, first.unsigned_abs() <= 9_999_999_999_999_999 && last < long);
                let lines = numbers.map(|number| format!(":{number}\r\n")).concat();
                assert_eq!(
                    out,
                    if fit { format!("before{lines}") } else { "before".into() }.into_bytes()
                );
            }
        }
    }
}
