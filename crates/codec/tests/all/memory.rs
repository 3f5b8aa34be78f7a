//! Readers allocate memory in proportion to the bytes from outside, whatever the bytes claim. An allocator counts the
//! bytes; nothing is timed.

use scurry_codec::{
    Seal, decode_account, decode_change, decode_foreign_account, read_chunk, read_frame,
};
use scurry_ledger::{Account, Change, Status, Time};

/// Most bytes allocated at once for each byte that is read. The densest object is a session of 24 bytes, which takes
/// several hundred in memory, in a list that doubles as it grows.
const FACTOR: u64 = 96;
/// Allowance in addition to that, bytes.
const ROOM: u64 = 16 << 10;

/// Returns an image of this length that claims as many objects of one kind as a count can state. `place` is the
/// position of the count among the numbers of a wide head. `filler` fills the bytes after the head.
fn claiming(place: usize, len: usize, filler: u8) -> Vec<u8> {
    // Version byte, then wide and with more; then four groups of numbers of 64 bits, each after its width codes.
    let mut image = vec![2, 1 << 2 | 1 << 3];
    let mut numbers = [0_i64; 16];
    numbers[0] = 1;
    numbers[place] = i64::try_from(len - 2 - 4 * 33).expect("short");
    for group in numbers.chunks(4) {
        image.push(0xff);
        group.iter().for_each(|number| image.extend(number.to_le_bytes()));
    }
    image.resize(len, filler);
    image
}

/// Returns the most bytes that were allocated at once.
fn set_aside(read: impl FnOnce()) -> u64 {
    allocation_counter::measure(read).bytes_max
}

#[test]
fn an_image_sets_no_memory_aside_for_what_it_only_claims() {
    for len in [1_000, 20_000, 1 << 20] {
        // Buckets, sessions, tombstones, transactions, identities, counters, uncollected.
        for place in [4, 5, 8, 9, 10, 11, 12] {
            for filler in [0, 1, 2, 0xff] {
                let image = claiming(place, len, filler);
                let max = FACTOR * len as u64 + ROOM;
                let own = set_aside(|| {
                    let _ = decode_account(&image, &mut Account::empty(Status::Active));
                });
                let foreign = set_aside(|| {
                    let _ = decode_foreign_account(&image, &mut Account::empty(Status::Active));
                });
                assert!(
                    own <= max && foreign <= max,
                    "{len} bytes of {filler}, count {place}: {own} and {foreign} bytes set aside"
                );
            }
        }
    }
}

#[test]
fn no_length_of_a_frame_a_chunk_or_a_change_is_believed() {
    let seal = Seal::new(|before, bytes| before ^ u32::try_from(bytes.len()).unwrap_or(0), 7);
    for filler in [0, 1, 0x7f, 0xff] {
        let mut bytes = vec![filler; 4_096];
        bytes[..4].copy_from_slice(&(1_u32 << 30).to_le_bytes());
        let max = FACTOR * bytes.len() as u64 + ROOM;
        let frame = set_aside(|| {
            let _ = read_frame(seal, &bytes);
        });
        let chunk = set_aside(|| {
            let _ = read_chunk(seal, &bytes);
        });
        let change = set_aside(|| {
            let _ = decode_change(&bytes[4..], &mut Change { at: Time(0), ops: Vec::new() });
        });
        assert!(frame.max(chunk).max(change) <= max, "{filler}: {frame}, {chunk}, {change}");
    }
}
