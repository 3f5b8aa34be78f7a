//! Requests that are formatted once as templates, then copied and patched in place.

use std::io::Write;

use super::reply::Cursor;

/// One request whose account (and session) texts are patched in place. Both have a fixed width, so no bytes move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    bytes: Vec<u8>,
    first: usize,
    second: Option<usize>,
}

impl Template {
    /// Formats `arguments` once. `first` and `second` are the indexes of the arguments that are patched.
    pub fn new<A: AsRef<[u8]>>(arguments: &[A], first: usize, second: Option<usize>) -> Template {
        let bytes = encode(arguments);
        let length = |index: usize| arguments[index].as_ref().len();
        let offset = |index: usize| {
            let before: usize = (0..index).map(|before| bulk_len(length(before))).sum();
            line_len(arguments.len()) + before + line_len(length(index))
        };
        let (first, second) = (offset(first), second.map(offset));
        Template { bytes, first, second }
    }

    /// Does the same as [`Template::new`] without the line that states the number of arguments, for a part of a request
    /// whose rest is written elsewhere.
    pub fn part<A: AsRef<[u8]>>(arguments: &[A], first: usize, second: Option<usize>) -> Template {
        let mut template = Template::new(arguments, first, second);
        let line = line_len(arguments.len());
        template.bytes.drain(..line);
        template.first -= line;
        template.second = template.second.map(|at| at - line);
        template
    }

    /// Appends the request with these texts as the patched arguments. The texts must have the widths of the arguments
    /// that the template was made with.
    pub fn append(&self, out: &mut Vec<u8>, first: &[u8], second: &[u8]) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let request = &mut out[start..];
        request[self.first..self.first + first.len()].copy_from_slice(first);
        if let Some(at) = self.second {
            request[at..at + second.len()].copy_from_slice(second);
        }
    }
}

/// Encodes one request as an array of bulk strings.
pub fn encode<A: AsRef<[u8]>>(arguments: &[A]) -> Vec<u8> {
    let mut out = Vec::new();
    append(arguments, &mut out);
    out
}

/// Does the same as [`encode`], but appends to `out`.
pub fn append<A: AsRef<[u8]>>(arguments: &[A], out: &mut Vec<u8>) {
    let line = |out: &mut Vec<u8>, kind: char, length: usize| {
        write!(out, "{kind}{length}\r\n").expect("a vector takes every byte");
    };
    line(out, '*', arguments.len());
    for argument in arguments {
        let argument = argument.as_ref();
        line(out, '$', argument.len());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}

/// Iterates over the arguments of a request that [`encode`] or a [`Template`] made.
pub fn words(request: &[u8]) -> impl ExactSizeIterator<Item = &[u8]> {
    let mut cursor = Cursor::new(request);
    let count = cursor.array().ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    (0..count).map(move |_| {
        let bytes = cursor.kind().and_then(|_| cursor.bulk());
        bytes.ok().flatten().expect("requests are arrays of bulk strings")
    })
}

/// Returns the length of `*n\r\n` or `$n\r\n`.
fn line_len(number: usize) -> usize {
    1 + number.to_string().len() + 2
}

fn bulk_len(length: usize) -> usize {
    line_len(length) + length + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Vec<Vec<u8>> {
        words.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn patching_gives_the_same_bytes_as_formatting() {
        let blank =
            arguments(&["FCALL", "scur_update", "1", "acc:0000000", "s0000000", "1", "ITEM"]);
        let filled =
            arguments(&["FCALL", "scur_update", "1", "acc:0012345", "s00000zz", "1", "ITEM"]);
        let template = Template::new(&blank, 3, Some(4));
        let mut out = b"before".to_vec();
        template.append(&mut out, b"acc:0012345", b"s00000zz");
        assert_eq!(out, [&b"before"[..], &encode(&filled)].concat());
    }

    #[test]
    fn a_request_is_read_back() {
        let request = arguments(&["SET", "k", "", "two\r\nlines"]);
        assert_eq!(words(&encode(&request)).collect::<Vec<_>>(), request);
        assert_eq!(words(&encode(&request)).len(), 4);
    }

    #[test]
    fn parts_make_a_request() {
        let pair = Template::part(&arguments(&["k0", "v0"]), 0, Some(1));
        let mut out = b"*5\r\n$4\r\nMSET\r\n".to_vec();
        pair.append(&mut out, b"k1", b"v1");
        pair.append(&mut out, b"k2", b"v2");
        assert_eq!(out, encode(&["MSET", "k1", "v1", "k2", "v2"]));
    }

    #[test]
    fn a_template_without_a_session_ignores_it() {
        let template = Template::new(&arguments(&["SCUR.GET", "acc:0000000"]), 1, None);
        let mut out = Vec::new();
        template.append(&mut out, b"acc:0000007", b"s00000zz");
        assert_eq!(out, encode(&["SCUR.GET", "acc:0000007"]));
    }
}
