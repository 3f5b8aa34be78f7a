//! The account image: pinned bytes, whole round trips, and damage that is refused.

use scurry_codec::{ImageError, decode_account, encode_account, encode_account_over};
use scurry_ledger::{
    Account, BucketAttributes, Command, Create, Decision, ItemRequest, Limits, Name, NewBucket,
    Period, SessionRequest, Status, Time, decide_in_place,
};

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn run(account: &mut Option<Account>, now: i64, command: Command<'_>) {
    let decision = decide_in_place(account, &command, Time(now), &Limits::default());
    assert!(matches!(decision, Decision::Commit(..)), "{decision:?}");
}

fn request<'a>(session: &'a [u8], request: u32, items: &'a [ItemRequest]) -> SessionRequest<'a> {
    SessionRequest {
        session,
        request,
        if_version: None,
        validity_ms: None,
        tcc_ms: None,
        overrun: None,
        close_on_denial: false,
        blob: None,
        items,
    }
}

/// An account with something in every part of the image.
fn full() -> Account {
    let mut account = None;
    let bucket = |id: &str, priority, amount| NewBucket {
        bucket: name(id),
        unit: name("octets"),
        amount,
        attributes: BucketAttributes {
            priority: Some(priority),
            valid_to: Some(Some(Time(2_000_000_000_000))),
            floor: Some(-5),
            ..Default::default()
        },
    };
    let buckets = [bucket("main", 10, 40), bucket("bonus", 5, 30), bucket("gift", 1, 20)];
    let identities = [(name("msisdn"), &b"15550100"[..])];
    let create = Create { status: Status::Active, identities: &identities, buckets: &buckets };
    run(&mut account, 1_700_000_000_000, Command::Create(create));
    let item =
        ItemRequest { key: 7, unit: name("octets"), used: None, requested: Some(85), min: None };
    let items = [item];
    let reserve = SessionRequest { blob: Some(b"blob\0\xff"), ..request(b"s-1", 0, &items) };
    run(&mut account, 1_700_000_001_000, Command::Reserve(reserve));
    let used = ItemRequest { used: Some(3), requested: Some(60), ..item };
    run(&mut account, 1_700_000_002_000, Command::Update(request(b"s-1", 1, &[used])));
    let denied = ItemRequest { unit: name("events"), ..item };
    run(&mut account, 1_700_000_003_000, Command::Reserve(request(b"s-2", 0, &[denied])));
    let debit = Command::Debit { txn: b"t1", unit: name("octets"), amount: 4 };
    run(&mut account, 1_700_000_004_000, debit);
    let count = Command::Counter {
        txn: b"t2",
        counter: name("calls"),
        amount: -3,
        unit: None,
        period: Some(Period::Week),
    };
    run(&mut account, 1_700_000_005_000, count);
    let unpaid =
        ItemRequest { key: 8, unit: name("minutes"), used: Some(9), requested: None, min: None };
    run(&mut account, 1_700_000_006_000, Command::Update(request(b"s-1", 2, &[unpaid])));
    account.expect("an account")
}

fn encode(account: &Account) -> Vec<u8> {
    let mut image = Vec::new();
    encode_account(account, &mut image);
    image
}

#[test]
fn every_part_comes_back() {
    let account = full();
    assert_eq!(account.sessions[0].items[0].slices.len(), 3, "more than one slice group");
    assert!(!account.uncollected.is_empty() && account.tombstones.len() == 1);
    let mut copy = Account::empty(Status::Closed);
    decode_account(&encode(&account), &mut copy).expect("whole");
    assert_eq!(copy, account);
    // A second image into the same buffers leaves nothing of the first.
    let empty = Account::empty(Status::Suspended);
    decode_account(&encode(&empty), &mut copy).expect("whole");
    assert_eq!(copy, empty);
}

#[test]
fn version_1_is_pinned() {
    let hex: String = encode(&full()).iter().map(|byte| format!("{byte:02x}")).collect();
    expect_test::expect_file!["golden/account-image-v1.hex"].assert_eq(&hex);
}

#[test]
fn an_image_over_another_is_the_same() {
    let empty = Account::empty(Status::Suspended);
    let mut buffer = vec![];
    for account in [&empty, &full(), &empty, &full()] {
        let len = encode_account_over(account, &mut buffer);
        assert_eq!(buffer[..len], encode(account));
    }
}

#[test]
fn every_truncation_and_a_longer_image_are_refused() {
    let image = encode(&full());
    let mut account = Account::empty(Status::Active);
    for len in 1..image.len() {
        let decoded = decode_account(&image[..len], &mut account);
        assert_eq!(decoded, Err(ImageError::Damaged), "{len}");
    }
    let longer = [image.as_slice(), &[0]].concat();
    assert_eq!(decode_account(&longer, &mut account), Err(ImageError::Damaged));
    assert_eq!(decode_account(&[], &mut account), Err(ImageError::Version(0)));
    assert_eq!(decode_account(&[2], &mut account), Err(ImageError::Version(2)));
}

#[test]
fn any_flipped_bit_is_read_without_a_panic() {
    let image = encode(&full());
    let mut account = Account::empty(Status::Active);
    for byte in 0..image.len() {
        for bit in 0..8 {
            let mut damaged = image.clone();
            damaged[byte] ^= 1 << bit;
            // Memory has no checksum, a flip may give another account: it must not panic.
            if decode_account(&damaged, &mut account).is_ok() {
                assert_ne!(encode(&account), [0; 0]);
            }
        }
    }
}

#[test]
fn numbers_of_every_width_come_back() {
    let mut account = Account::empty(Status::Active);
    let mut copy = account.clone();
    for shift in 0..64 {
        for near in [-1, 0, 1] {
            for sign in [1, -1] {
                let number = (1_i64 << shift).wrapping_add(near).wrapping_mul(sign);
                account.changed_at = Time(number);
                decode_account(&encode(&account), &mut copy).expect("whole");
                assert_eq!(copy.changed_at, account.changed_at);
            }
        }
    }
}
