//! The note of how much of a log was on the device: pinned bytes, and damage that is refused.

use crate::support::{CHECKSUM, LOG_ID, flipped, hex};
use scurry_codec::{FileKind, HeaderError, SyncedPart};

const REACH: SyncedPart = SyncedPart { log_id: LOG_ID, core: 3, sequence: 4_711 };

fn bytes() -> Vec<u8> {
    let mut bytes = Vec::new();
    REACH.encode(CHECKSUM, &mut bytes);
    bytes
}

#[test]
fn version_1_is_pinned() {
    expect_test::expect_file!["../golden/reach-v1.hex"].assert_eq(&hex(&bytes()));
    assert_eq!(
        (bytes().len(), SyncedPart::decode(CHECKSUM, &bytes())),
        (SyncedPart::LEN, Ok(REACH))
    );
}

#[test]
fn what_is_not_whole_is_refused() {
    for (bit, damaged) in flipped(&bytes()) {
        assert!(SyncedPart::decode(CHECKSUM, &damaged).is_err(), "bit {bit}");
    }
    for len in 0..SyncedPart::LEN {
        assert!(SyncedPart::decode(CHECKSUM, &bytes()[..len]).is_err(), "{len} bytes");
    }
    let zeros = SyncedPart::decode(CHECKSUM, &[0; 512]);
    assert_eq!(zeros, Err(HeaderError::Magic(FileKind::Reach)));
}

#[test]
fn a_newer_version_is_told_from_damage() {
    let mut newer = bytes();
    newer[8] = 2;
    let found = SyncedPart::decode(CHECKSUM, &newer);
    assert_eq!(found, Err(HeaderError::Newer { found: 2, known: 1 }));
}
