//! Positions among events: a parsed position prints the same text, a printed one parses to the same position, and no
//! other text is a position.

use scurry_resp::{Position, WatchStart};

/// Parses the input as text; its first bytes also make a position.
pub fn check(data: &[u8]) {
    match WatchStart::parse(data) {
        Some(WatchStart::At(position)) => {
            assert_eq!(position.to_string().as_bytes(), data, "one position has one text");
            assert!(position.sequence > 0, "sequences begin at 1");
        }
        Some(WatchStart::Oldest) => assert_eq!(data, b"0"),
        Some(WatchStart::Newest) => assert_eq!(data, b"$"),
        None => assert!(!may_be(data), "{} is a position", data.escape_ascii()),
    }
    let Some((numbers, _)) = data.split_first_chunk::<18>() else { return };
    let (generation, rest) = numbers.split_first_chunk::<4>().expect("18 bytes");
    let (thread, rest) = rest.split_first_chunk::<2>().expect("14 bytes");
    let (sequence, index) = rest.split_first_chunk::<8>().expect("12 bytes");
    let position = Position {
        generation: u32::from_le_bytes(*generation),
        thread: u16::from_le_bytes(*thread),
        // Within the range that a log can count.
        sequence: (u64::from_le_bytes(*sequence) >> 1).max(1),
        index: u32::from_le_bytes(*index.first_chunk().expect("4 bytes")),
    };
    assert_eq!(Position::parse(position.to_string().as_bytes()), Some(position));
}

/// Implements the rules a second time, from the end: numbers that fit, and their separators.
fn may_be(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let number = |text: &str, most: u64| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let short = text == "0" || !text.starts_with('0');
        (plain && short).then(|| text.parse::<u64>().ok()).flatten().filter(|&n| n <= most)
    };
    let Some((place, sequence)) = text.rsplit_once(':') else { return text == "0" || text == "$" };
    let Some((generation, thread)) = place.rsplit_once('.') else { return false };
    let (sequence, is_index) = match sequence.rsplit_once('-') {
        Some((sequence, index)) => {
            (sequence, number(index, u32::MAX.into()).is_some_and(|index| index > 0))
        }
        None => (sequence, true),
    };
    is_index
        && number(generation, u32::MAX.into()).is_some()
        && number(thread, u16::MAX.into()).is_some()
        && number(sequence, i64::MAX.unsigned_abs()).is_some_and(|sequence| sequence > 0)
}
