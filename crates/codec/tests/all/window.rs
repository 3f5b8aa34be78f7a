//! Limits without periods: they come back from an image with their parts, and bytes that are none are refused.

use crate::support::{AT, hex, windows};
use scurry_codec::{ImageError, decode_account, encode_account};
use scurry_ledger::{Account, LimitPart, Status};

/// Returns an account with a rolling limit of two parts between rates, and another of one part.
fn account() -> Account {
    let mut account = Account::empty(Status::Active);
    (account.version, account.changed_at) = (9, AT);
    let [rolling, rate, burst] = windows();
    let second = scurry_ledger::Limit { parts: 1, used: 1, ..rolling };
    account.limits = vec![rate, scurry_ledger::Limit { parts: 2, ..rolling }, burst, second];
    let part = |ago_ms: i64, since, used| LimitPart { start: AT.plus_ms(-ago_ms), since, used };
    account.limit_parts = vec![part(1_200_000, 3, 50), part(600_000, 7, 800), part(600_000, 8, 1)];
    account
}

fn encode(account: &Account) -> Vec<u8> {
    let mut image = Vec::new();
    encode_account(account, &mut image);
    image
}

#[test]
fn limits_without_periods_come_back_with_their_parts() {
    let account = account();
    let mut copy = Account::empty(Status::Closed);
    decode_account(&encode(&account), &mut copy).expect("whole");
    assert_eq!(copy, account);
    // A second reading into the same account leaves no parts of the first.
    decode_account(&encode(&account), &mut copy).expect("whole");
    assert_eq!(copy, account);
}

#[test]
fn the_image_of_limits_without_periods_is_pinned() {
    expect_test::expect_file!["../golden/limits-v1.hex"].assert_eq(&hex(&encode(&account())));
}

#[test]
fn every_truncation_and_wrong_windows_are_refused() {
    let image = encode(&account());
    let mut copy = Account::empty(Status::Active);
    for len in 0..image.len() {
        let decoded = decode_account(&image[..len], &mut copy);
        assert!(decoded.is_err(), "{len}");
    }
    // The span of the last limit, before its number of parts and the part itself.
    let at = image.len() - 24 - 1 - 9;
    let wrong = |place: usize, byte| {
        let mut image = image.clone();
        image[place] = byte;
        image
    };
    assert_eq!(image[at], 128);
    for (place, byte) in [(at, 127), (at, 129), (at, 130), (at + 8, 0x80), (at + 9, 32)] {
        let decoded = decode_account(&wrong(place, byte), &mut copy);
        assert_eq!(decoded, Err(ImageError::Damaged), "{place} {byte}");
    }
}
