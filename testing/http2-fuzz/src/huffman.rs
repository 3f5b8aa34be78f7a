//! The Huffman code of HPACK (RFC 7541 appendix B). It is canonical, so the lengths of its codes say all.

use std::sync::LazyLock;

/// Length in bits of the code of each byte, and of EOS.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
pub(crate) const EOS: usize = 256;

/// Code and length of each byte, and of EOS.
static CODES: LazyLock<Vec<(u32, u8)>> = LazyLock::new(|| {
    let mut order: Vec<usize> = (0..LENGTHS.len()).collect();
    order.sort_by_key(|symbol| (LENGTHS[*symbol], *symbol));
    let mut codes = vec![(0, 0); LENGTHS.len()];
    let (mut code, mut len) = (0_u32, LENGTHS[order[0]]);
    for symbol in order {
        code <<= LENGTHS[symbol] - len;
        len = LENGTHS[symbol];
        codes[symbol] = (code, len);
        code += 1;
    }
    codes
});

/// Returns the bytes of these symbols, padded with ones.
pub(crate) fn encode(symbols: impl Iterator<Item = usize>) -> Vec<u8> {
    let (mut out, mut bits, mut count) = (Vec::new(), 0_u64, 0_u32);
    for symbol in symbols {
        let (code, len) = CODES[symbol];
        bits = bits << len | u64::from(code);
        count += u32::from(len);
        while count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    if count > 0 {
        out.push((bits << (8 - count) & 0xff) as u8 | (0xff >> count));
    }
    out
}

/// Returns the text, or None if the bytes are no text in this code.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut code, mut len) = (Vec::new(), 0_u32, 0_u8);
    for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)) {
        code = code << 1 | u32::from(bit);
        len += 1;
        if let Some(symbol) = CODES.iter().position(|known| *known == (code, len)) {
            out.push(u8::try_from(symbol).ok()?);
            (code, len) = (0, 0);
        } else if len > 30 {
            return None;
        }
    }
    (len < 8 && code == (1 << len) - 1).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, C.4.1 and C.6.1.
    #[test]
    fn the_examples_of_the_rfc_are_read_and_written() {
        for (text, bytes) in [
            (&b"www.example.com"[..], &b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"[..]),
            (b"302", b"\x64\x02"),
        ] {
            assert_eq!(encode(text.iter().map(|byte| usize::from(*byte))), bytes);
            assert_eq!(decode(bytes).as_deref(), Some(text));
        }
        assert_eq!(decode(b"\xff\xff\xff\xff"), None);
        assert_eq!(decode(b"\x18"), None);
    }
}
