//! Writes requests piece by piece, for requests with numbers that change from one to the next.

/// Appends `*count\r\n`, the start of a request.
#[inline]
pub fn write_count(out: &mut Vec<u8>, count: u64) {
    line(out, b'*', count);
}

/// Appends one argument.
#[inline]
pub fn write_word(out: &mut Vec<u8>, word: &[u8]) {
    line(out, b'$', word.len() as u64);
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

/// Appends one argument: a number in decimal.
#[inline]
pub fn write_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; DIGITS_MAX];
    write_word(out, decimal(number, &mut digits));
}

/// Most digits of a number of 64 bits.
const DIGITS_MAX: usize = 20;

#[inline]
fn line(out: &mut Vec<u8>, kind: u8, number: u64) {
    let mut digits = [0; DIGITS_MAX];
    out.push(kind);
    out.extend_from_slice(decimal(number, &mut digits));
    out.extend_from_slice(b"\r\n");
}

/// Writes the digits right-aligned into the buffer, and returns them.
#[inline]
fn decimal(mut number: u64, digits: &mut [u8; DIGITS_MAX]) -> &[u8] {
    let mut at = DIGITS_MAX;
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::encode;

    #[test]
    fn pieces_make_what_encode_makes() {
        for number in [0, 7, 10, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            write_count(&mut out, 3);
            write_word(&mut out, b"SET");
            write_word(&mut out, b"");
            write_number(&mut out, number);
            assert_eq!(out, encode(&["SET", "", &number.to_string()]));
        }
    }
}
