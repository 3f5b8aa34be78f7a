//! Lists: pinned bytes, and damage that is refused.

#[expect(dead_code, reason = "it uses its part of what the tests of the formats share")]
mod support;

use scurry_codec::{LIST_LEN_MAX, List, ListError, Malformed, encode_list, splice_list};
use support::flipped;

fn packed(elements: &[&[u8]]) -> Vec<u8> {
    let mut packed = b"what was there before".to_vec();
    assert_eq!(encode_list(elements.iter().copied(), &mut packed), Ok(elements.len()));
    packed
}

#[test]
fn version_1_is_pinned() {
    let long = [b'x'; 128];
    let bytes = packed(&[b"one", b"", &long, b"\0\xff"]);
    let expected = [&b"\x01\x04\x03one\x00\x80\x01"[..], &long, b"\x02\0\xff"].concat();
    assert_eq!(bytes, expected);
}

#[test]
fn elements_come_back_in_their_order() {
    let elements: Vec<Vec<u8>> =
        (0..300_u16).map(|len| vec![b'e'; usize::from(len % 200)]).collect();
    let elements: Vec<&[u8]> = elements.iter().map(Vec::as_slice).collect();
    let bytes = packed(&elements);
    let list = List::decode(&bytes).expect("a list");
    assert_eq!((list.len(), list.is_empty()), (300, false));
    assert_eq!(list.iter().collect::<Vec<_>>(), elements);
    assert_eq!(List::of(&bytes).iter().collect::<Vec<_>>(), elements);
    assert!(List::of(&packed(&[])).is_empty());
    assert!(List::of(b"").is_empty() && List::of(b"\x02\x01\x01a").is_empty());
}

#[test]
fn parts_are_put_together_as_the_elements_are() {
    let elements: [&[u8]; 5] = [b"one", b"", &[b'x'; 200], b"four", b"one"];
    let bytes = packed(&elements);
    let list = List::of(&bytes);
    for start in 0..7 {
        for end in 0..7 {
            let part = list.part(start..end);
            let expected = elements.get(start..end.min(5)).unwrap_or_default();
            assert_eq!(part.len(), expected.len(), "{start}..{end}");
            assert_eq!(part.iter().collect::<Vec<_>>(), expected, "{start}..{end}");
            let mut spliced = Vec::new();
            let more: [&[u8]; 2] = [b"new", b""];
            let len = splice_list(part, more.into_iter(), list, &mut spliced);
            assert_eq!(len, Ok(expected.len() + 7));
            assert_eq!(spliced, packed(&[expected, &more, &elements].concat()));
        }
    }
}

#[test]
fn a_list_has_a_greatest_length() {
    // The version, the count and the length of the one element take five bytes.
    let most = vec![b'x'; LIST_LEN_MAX - 5];
    let mut bytes = packed(&[&most]);
    assert_eq!(bytes.len(), LIST_LEN_MAX);
    assert_eq!(List::decode(&bytes).map(|list| list.len()), Ok(1));
    let mut out = Vec::new();
    assert_eq!(encode_list([&most[..], b""].into_iter(), &mut out), Err(ListError::Long));
    assert_eq!(encode_list([&most[..], b"", b""].into_iter(), &mut out), Err(ListError::Long));
    assert_eq!(encode_list([&[0; 1 << 20][..]].into_iter(), &mut out), Err(ListError::Long));
    bytes.push(0);
    assert!(matches!(List::decode(&bytes), Err(ListError::Long)));
}

#[test]
fn bytes_that_no_writer_writes_are_refused() {
    let malformed = ListError::Malformed;
    let wrong: [(&[u8], ListError); 8] = [
        (b"", malformed(Malformed::Ends)),
        (b"\x02\x01\x01a", ListError::Version(2)),
        (b"\x01", malformed(Malformed::Ends)),
        (b"\x01\x00", ListError::Empty),
        (b"\x01\x02\x01a", malformed(Malformed::Ends)),
        (b"\x01\x01\x02a", malformed(Malformed::Ends)),
        (b"\x01\x01\x01ab", malformed(Malformed::Left(1))),
        (b"\x01\x01\x81\x00a", malformed(Malformed::Number)),
    ];
    for (bytes, error) in wrong {
        assert_eq!(List::decode(bytes).map(|list| list.len()), Err(error), "{bytes:?}");
    }
}

/// A changed list is refused, or is another list in its one form; nothing panics.
#[test]
fn a_flipped_bit_gives_an_error_or_another_list() {
    let bytes = packed(&[b"one", b"", &[b'x'; 130], b"four"]);
    let mut refused = 0;
    for (bit, damaged) in flipped(&bytes) {
        // Unchecked bytes end early at worst.
        let _ = List::of(&damaged).iter().count();
        match List::decode(&damaged) {
            Ok(list) => {
                let elements: Vec<&[u8]> = list.iter().collect();
                assert_eq!(packed(&elements), damaged, "bit {bit}");
                assert_ne!(damaged, bytes, "bit {bit}");
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 30, "{refused}");
    for len in 0..bytes.len() {
        assert!(List::decode(&bytes[..len]).is_err(), "{len}");
    }
}
