//! The minimum that any RESP server must do: find where each request ends and its command name.

/// One complete request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// Command name; for a function call the name of the function.
    pub(super) name: &'a [u8],
    /// Length of the request in bytes.
    pub(super) length: usize,
}

/// Finds the request at the start of `bytes`. The outer option is None for input that is not an array of bulk strings,
/// the inner one while the request is incomplete.
pub(super) fn next_request(bytes: &[u8]) -> Option<Option<Request<'_>>> {
    let Some((count, mut at)) = line(bytes, 0, b'*')? else { return Some(None) };
    let mut name: &[u8] = b"";
    for index in 0..count {
        let Some((length, start)) = line(bytes, at, b'$')? else { return Some(None) };
        let end = start.checked_add(length)?;
        if bytes.len() < end + 2 {
            return Some(None);
        }
        let argument = &bytes[start..end];
        if index == 0 || (index == 1 && name.eq_ignore_ascii_case(b"FCALL")) {
            name = argument;
        }
        at = end + 2;
    }
    Some(Some(Request { name, length: at }))
}

/// Parses a line that begins with `kind`; returns its number and the offset of the next line.
fn line(bytes: &[u8], at: usize, kind: u8) -> Option<Option<(usize, usize)>> {
    let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) else { return Some(None) };
    if rest[0] != kind {
        return None;
    }
    let mut value = 0usize;
    for (index, byte) in rest.iter().enumerate().skip(1) {
        match byte {
            b'0'..=b'9' => value = value.checked_mul(10)?.checked_add(usize::from(byte - b'0'))?,
            b'\r' => {
                return Some((rest.len() > index + 1).then_some((value, at + index + 2)));
            }
            _ => return None,
        }
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::encode;

    #[test]
    fn a_request_is_found_however_it_is_split() {
        let one = encode(&["SCUR.GET", "acc:1"]);
        let two = [one.clone(), encode(&["PING"])].concat();
        for split in 0..one.len() {
            assert_eq!(next_request(&one[..split]), Some(None), "at {split}");
        }
        let found = next_request(&two).unwrap().unwrap();
        assert_eq!(found, Request { name: b"SCUR.GET", length: one.len() });
        assert_eq!(next_request(b"PING\r\n"), None);
    }

    #[test]
    fn a_function_call_is_named_by_its_function() {
        let call = encode(&["FCALL", "scur_get", "1", "acc:1"]);
        assert_eq!(next_request(&call).unwrap().unwrap().name, b"scur_get");
    }
}
