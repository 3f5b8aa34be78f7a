//! HPACK (RFC 7541): a writer that can use each form of a field, and a reader of answers.

use crate::huffman;
use scurry_model::Random;
use std::collections::VecDeque;

/// The static table (appendix A): its entries with a value, and the names of the others.
const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// A name and a value.
pub(crate) type Field = (String, String);

/// Returns an integer with a prefix of this many bits, under the bits before it (clause 5.1).
pub(crate) fn integer(before: u8, prefix: u8, value: u64) -> Vec<u8> {
    let most = (1_u64 << prefix) - 1;
    if value < most {
        return vec![before | value as u8];
    }
    let mut out = vec![before | most as u8];
    let mut rest = value - most;
    while rest >= 128 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out
}

/// Returns a text as it is (clause 5.2).
pub(crate) fn text(bytes: &[u8]) -> Vec<u8> {
    [integer(0, 7, bytes.len() as u64), bytes.to_vec()].concat()
}

/// Returns a text in the Huffman code.
pub(crate) fn coded_text(bytes: &[u8]) -> Vec<u8> {
    let coded = huffman::encode(bytes.iter().map(|byte| usize::from(*byte)));
    [integer(0x80, 7, coded.len() as u64), coded].concat()
}

/// Returns a field in the plainest form: a literal without indexing, with its name.
pub(crate) fn plain(name: &str, value: &str) -> Vec<u8> {
    [&[0][..], &text(name.as_bytes()), &text(value.as_bytes())].concat()
}

/// Returns a block in the plainest form.
pub(crate) fn plain_block(fields: &[(&str, &str)]) -> Vec<u8> {
    fields.iter().flat_map(|(name, value)| plain(name, value)).collect()
}

/// Returns a field in one of its valid forms.
pub(crate) fn any_form(random: &mut Random, name: &str, value: &str) -> Vec<u8> {
    if let Some(at) = STATIC.iter().position(|known| *known == (name, value))
        && !value.is_empty()
        && !random.one_in(4)
    {
        return integer(0x80, 7, at as u64 + 1);
    }
    let (before, prefix) = random.pick(&[(0, 4), (0x10, 4), (0x40, 6)]);
    let mut any_text = |text_of: &str| {
        let is_coded = random.one_in(2);
        if is_coded { coded_text(text_of.as_bytes()) } else { text(text_of.as_bytes()) }
    };
    let value = any_text(value);
    let name = match STATIC.iter().position(|known| known.0 == name) {
        Some(at) if value.len() % 3 > 0 => integer(before, prefix, at as u64 + 1),
        _ => [vec![before], any_text(name)].concat(),
    };
    [name, value].concat()
}

/// Reads the blocks of answers of one connection.
pub(crate) struct Decoder {
    entries: VecDeque<Field>,
    size_max: usize,
}

impl Decoder {
    pub(crate) fn new() -> Decoder {
        Decoder { entries: VecDeque::new(), size_max: 4096 }
    }

    /// Returns the fields of a block; None if it is not valid.
    pub(crate) fn decode(&mut self, mut block: &[u8]) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        while let Some(first) = block.first() {
            if first & 0x80 != 0 {
                let at = take_integer(&mut block, 7)?;
                fields.push(self.entry(at)?);
            } else if first & 0xe0 == 0x20 {
                self.size_max = take_integer(&mut block, 5)?;
                self.evict();
            } else {
                let is_kept = first & 0x40 != 0;
                let at = take_integer(&mut block, if is_kept { 6 } else { 4 })?;
                let name = if at == 0 { take_text(&mut block)? } else { self.entry(at)?.0 };
                let value = take_text(&mut block)?;
                if is_kept {
                    self.entries.push_front((name.clone(), value.clone()));
                    self.evict();
                }
                fields.push((name, value));
            }
        }
        Some(fields)
    }

    fn entry(&self, at: usize) -> Option<Field> {
        let at = at.checked_sub(1)?;
        if let Some((name, value)) = STATIC.get(at) {
            return Some(((*name).to_owned(), (*value).to_owned()));
        }
        self.entries.get(at - STATIC.len()).cloned()
    }

    fn evict(&mut self) {
        let size = |(name, value): &Field| name.len() + value.len() + 32;
        while self.entries.iter().map(size).sum::<usize>() > self.size_max {
            self.entries.pop_back();
        }
    }
}

fn take_integer(block: &mut &[u8], prefix: u8) -> Option<usize> {
    let most = (1_usize << prefix) - 1;
    let (first, mut rest) = block.split_first()?;
    let mut value = usize::from(*first) & most;
    if value == most {
        for shift in (0..28).step_by(7) {
            let (next, after) = rest.split_first()?;
            rest = after;
            value += (usize::from(*next) & 0x7f) << shift;
            if next & 0x80 == 0 {
                *block = rest;
                return Some(value);
            }
        }
        return None;
    }
    *block = rest;
    Some(value)
}

fn take_text(block: &mut &[u8]) -> Option<String> {
    let is_coded = block.first()? & 0x80 != 0;
    let len = take_integer(block, 7)?;
    let (bytes, rest) = block.split_at_checked(len)?;
    *block = rest;
    let bytes = if is_coded { huffman::decode(bytes)? } else { bytes.to_vec() };
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_that_is_written_is_read() {
        let fields = [(":method", "POST"), (":path", "/a"), ("location", "/x/y"), ("x-own", "1")];
        for seed in 0..200 {
            let random = &mut Random::new(seed);
            let mut decoder = Decoder::new();
            for _ in 0..5 {
                let block: Vec<u8> =
                    fields.iter().flat_map(|(name, value)| any_form(random, name, value)).collect();
                let read = decoder.decode(&block).expect("it is valid");
                let read: Vec<_> =
                    read.iter().map(|(name, value)| (&name[..], &value[..])).collect();
                assert_eq!(read, fields);
            }
        }
    }

    /// RFC 7541, C.6.1 and C.6.2: a table that evicts.
    #[test]
    fn answers_of_the_rfc_are_read() {
        let mut decoder = Decoder::new();
        decoder.size_max = 256;
        let first = b"\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\x61\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\
            \x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff\x6e\x91\x9d\x29\xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\
            \xe9\xae\x82\xae\x43\xd3";
        let read = decoder.decode(first).expect("it is valid");
        assert_eq!(read[0], (":status".to_owned(), "302".to_owned()));
        assert_eq!(read[3], ("location".to_owned(), "https://www.example.com".to_owned()));
        let read = decoder.decode(b"\x48\x83\x64\x0e\xff\xc1\xc0\xbf").expect("it is valid");
        assert_eq!(read[0].1, "307");
        assert_eq!(read[3].1, "https://www.example.com");
        assert_eq!(decoder.decode(b"\xff\x20"), None);
    }
}
