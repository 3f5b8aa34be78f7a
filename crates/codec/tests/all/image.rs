//! The account image: pinned bytes, round trips, and damage that is refused.

use scurry_codec::{ImageError, decode_account, encode_account, encode_account_over};
use scurry_ledger::{
    Account, Bucket, BucketAttributes, CarriedDebt, Command, Create, Cycle, DebtRule, Decision,
    FormerIdentity, ITEM_KEY_LEN_MAX, Id, Identity, Item, ItemKey, ItemRequest, LimitSubject,
    LimitTerms, Limits, Name, NewBucket, Period, PeriodClock, Session, SessionRequest, Standing,
    Status, Time, UnitAmount, Window, WindowTerms, Zone, decide_in_place,
};

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn run(account: &mut Option<Account>, now: i64, command: Command<'_>) {
    let decision = decide_in_place(account, &command, Time(now), &Limits::default());
    assert!(matches!(decision, Decision::Commit(..)), "{decision:?}");
}

fn request<'a>(session: &'a [u8], request: u32, items: &'a [ItemRequest]) -> SessionRequest<'a> {
    SessionRequest { session, request, items, ..SessionRequest::default() }
}

/// Returns an account with something in every part of the image.
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
            mark: (priority == 1).then_some(Some(7)),
            ..Default::default()
        },
    };
    let mut buckets = [bucket("main", 10, 40), bucket("bonus", 5, 30), bucket("gift", 1, 20)];
    let (period, clock) = (Some(Period::Month), PeriodClock::with_offset(-480));
    let refill = Some(500);
    let attributes = BucketAttributes { period, clock, refill, ..buckets[1].attributes };
    buckets[1].attributes = attributes;
    let identities = [(name("msisdn"), &b"15550100"[..])];
    let create = Create { identities: &identities, ..Create::active(&buckets) };
    run(&mut account, 1_700_000_000_000, Command::Create(create));
    let item = ItemRequest {
        key: 7.into(),
        unit: name("octets"),
        used: None,
        requested: Some(85),
        min: None,
    };
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
        clock: PeriodClock::NONE,
    };
    run(&mut account, 1_700_000_005_000, count);
    let unpaid = ItemRequest {
        key: 8.into(),
        unit: name("minutes"),
        used: Some(9),
        requested: None,
        min: None,
    };
    run(&mut account, 1_700_000_006_000, Command::Update(request(b"s-1", 2, &[unpaid])));
    let limit = |account: &mut _, now, txn: &[u8], id, counted, amount, offset: Option<i64>| {
        let period = offset.map(|_| Period::Month);
        let clock = PeriodClock { offset_minutes: offset, ..PeriodClock::NONE };
        let terms =
            LimitTerms::Set { counted, amount, window: WindowTerms::Period { period, clock } };
        run(account, now, Command::Limit { txn, limit: name(id), terms });
    };
    let all = LimitSubject::Units { unit: name("octets"), item: None };
    limit(&mut account, 1_700_000_007_000, b"t3", "all", all, 80, None);
    let one = LimitSubject::Units { unit: name("octets"), item: Some(7.into()) };
    limit(&mut account, 1_700_000_008_000, b"t4", "one", one, 50, Some(60));
    limit(&mut account, 1_700_000_009_000, b"t5", "open", LimitSubject::Sessions, 3, None);
    let debit = Command::Debit { txn: b"t6", unit: name("octets"), amount: 5 };
    run(&mut account, 1_700_000_010_000, debit);
    let mut account = account.expect("an account");
    // As if the allowance had been refilled, the second time while the session held.
    let bonus = &mut account.buckets[1];
    (bonus.period, bonus.period_since) = (2, 9);
    account.carried.push(CarriedDebt { bucket: bonus.no, period: 1, since: 7, amount: 300 });
    let slices = &mut account.sessions[0].items[0].slices;
    slices.iter_mut().filter(|slice| slice.bucket == bonus.no).for_each(|slice| slice.period = 1);
    let value = Id::new(b"41790000000").expect("an id");
    let identity = Identity { kind: name("msisdn"), value };
    let given_up_at = Time(1_700_000_010_000);
    let forget_at = given_up_at.plus_ms(3_600_000);
    account.former_identities.push(FormerIdentity { identity, given_up_at, forget_at });
    account
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
    // A second image read into the same buffers leaves nothing of the first.
    let empty = Account::empty(Status::Suspended);
    decode_account(&encode(&empty), &mut copy).expect("whole");
    assert_eq!(copy, empty);
}

#[test]
fn version_3_is_pinned() {
    let hex: String = encode(&full()).iter().map(|byte| format!("{byte:02x}")).collect();
    expect_test::expect_file!["../golden/account-image-v1.hex"].assert_eq(&hex);
}

#[test]
fn a_key_that_is_no_number_costs_its_bytes_and_the_others_cost_nothing() {
    let key = |text: &str| ItemKey::new(text.as_bytes()).expect("a key");
    let (plain, mut copy) = (full(), Account::empty(Status::Active));
    let len = encode(&plain).len();
    let longest = "x".repeat(ITEM_KEY_LEN_MAX);
    for (text, more) in
        [("0", 0), ("4294967295", 0), ("07", 3), ("-", 2), ("10.4711", 8), (&longest, 33)]
    {
        let mut account = plain.clone();
        account.sessions[0].items[0].key = key(text);
        let image = encode(&account);
        assert_eq!(image.len(), len + more, "{text}");
        decode_account(&image, &mut copy).expect("whole");
        assert_eq!(copy, account, "{text}");
        // Wide numbers and use beyond the hold can be in the same item.
        account.sessions[0].items[0].granted = i64::MAX;
        account.sessions[0].items[0].direct = 1;
        decode_account(&encode(&account), &mut copy).expect("whole");
        assert_eq!(copy, account, "{text}");
    }
    let mut account = plain;
    account.sessions[0].items[0].key = key("gpt-x");
    let image = encode(&account);
    let at = image.windows(5).position(|bytes| bytes == b"gpt-x").expect("it is there");
    // A number has one form, and so has a key that is not a number.
    for wrong in [b"12345", b"gpt x"] {
        let mut image = image.clone();
        image[at..at + 5].copy_from_slice(wrong);
        assert_eq!(decode_account(&image, &mut copy), Err(ImageError::Damaged));
    }
}

#[test]
fn gaps_of_a_window_come_back() {
    let mut account = Some(full());
    let mut now = 1_700_000_011_000;
    for number in [4, 8, 9, 10, 11, 12, 13, 14, 15, 16] {
        now += 1;
        run(&mut account, now, Command::Update(request(b"s-1", number, &[])));
    }
    let account = account.expect("an account");
    // Numbers 3 and 5 to 7 were never answered.
    let gaps = [18, 0x80, 3, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0];
    assert!(account.sessions[0].answers.as_bytes().starts_with(&gaps));
    let mut read = Account::empty(Status::Closed);
    decode_account(&encode(&account), &mut read).expect("whole");
    assert_eq!(read, account);
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
    for version in [0, 1, 2, 4] {
        assert_eq!(decode_account(&[version], &mut account), Err(ImageError::Version(version)));
    }
}

#[test]
fn remembered_records_are_refused_that_are_none_or_out_of_order() {
    let (mut account, image) = (full(), encode(&full()));
    // The length, the length of the id, and the forget time of the first, which is then after that of the second.
    let wrongs = [(0, 0), (8, 0), (7, 0x7f)];
    let tombstones = (account.tombstones.as_bytes().to_vec(), &wrongs[..2]);
    let transactions = (account.transactions.as_bytes().to_vec(), &wrongs[..]);
    for (records, wrongs) in [tombstones, transactions] {
        let at = image.windows(records.len()).position(|part| part == records);
        for &(place, byte) in wrongs {
            let mut wrong = image.clone();
            wrong[at.expect("they lie there as they are") + place] = byte;
            let decoded = decode_account(&wrong, &mut account);
            assert_eq!(decoded, Err(ImageError::Damaged), "{byte} at {place}");
        }
    }
}

#[test]
fn any_flipped_bit_is_read_without_a_panic() {
    let image = encode(&full());
    let mut account = Account::empty(Status::Active);
    for byte in 0..image.len() {
        for bit in 0..8 {
            let mut damaged = image.clone();
            damaged[byte] ^= 1 << bit;
            // Memory has no checksum, so a flipped bit may give another account; it must not panic.
            if decode_account(&damaged, &mut account).is_ok() {
                assert_ne!(encode(&account), [0; 0]);
            }
        }
    }
}

#[test]
fn limits_of_any_item_key_come_back() {
    let (mut account, mut copy) = (full(), Account::empty(Status::Active));
    for key in ["-", "07", "10.4711", "the-longest-key-has-32-bytes-all", "0", "4294967295"] {
        let item = ItemKey::new(key.as_bytes());
        account.limits[1].counted = LimitSubject::Units { unit: name("octets"), item };
        let image = encode(&account);
        decode_account(&image, &mut copy).expect("whole");
        assert_eq!(copy, account, "{key}");
    }
}

/// Returns numbers around every power of two, of both signs.
fn numbers() -> impl Iterator<Item = i64> {
    (0..64).flat_map(|shift| {
        [-1, 0, 1].into_iter().flat_map(move |near| {
            [1, -1].map(|sign| (1_i64 << shift).wrapping_add(near).wrapping_mul(sign))
        })
    })
}

/// A function that sets one field of an account to a number, cut to the field's width.
type Put = fn(&mut Account, i64);

const FIELDS: [Put; 49] = [
    |account, number| account.version = number.cast_unsigned(),
    |account, number| account.changed_at = Time(number),
    |account, number| account.next_bucket = number.cast_unsigned() as u16,
    |account, number| account.buckets[0].no.0 = number.cast_unsigned() as u16,
    |account, number| account.buckets[0].priority = number as i32,
    |account, number| account.buckets[0].created = Time(number),
    |account, number| account.buckets[0].valid_from = Time(number),
    |account, number| account.buckets[0].valid_to = Some(Time(number)),
    |account, number| account.buckets[0].floor = number,
    |account, number| account.buckets[0].mark = Some(number),
    |account, number| account.buckets[0].available = number,
    |account, number| account.buckets[0].held = number,
    |account, number| account.buckets[0].credited = number,
    |account, number| account.buckets[0].refunded = number,
    |account, number| account.buckets[0].consumed = number,
    |account, number| account.buckets[0].expired = number,
    |account, number| account.buckets[0].voided = number,
    |account, number| account.buckets[0].overdrawn = number,
    |account, number| account.counters[0].value = number,
    |account, number| account.counters[0].period_start = Time(number),
    |account, number| account.uncollected[0].amount = number,
    |account, number| account.allowances[0].bucket.0 = number.cast_unsigned() as u16,
    |account, number| account.allowances[0].cycle.zone = Zone::Fixed(number as i16),
    |account, number| account.allowances[0].amount = number,
    |account, number| account.allowances[0].period_start = Time(number),
    |account, number| account.limits[1].amount = number,
    |account, number| account.limits[1].used = number,
    |account, number| account.limits[1].held = number,
    |account, number| account.limits[1].overrun = number,
    |account, number| account.limits[1].period_start = Time(number),
    |account, number| account.limits[1].since = number.cast_unsigned(),
    |account, number| {
        let cycle = account.limits[1].window.cycle().expect("periods");
        let zone = Zone::Fixed(number as i16);
        account.limits[1].window = Window::Period(Cycle { zone, ..cycle });
    },
    |account, number| account.sessions[0].version = number.cast_unsigned(),
    |account, number| account.sessions[0].validity_ms = number,
    |account, number| account.sessions[0].tcc_ms = number,
    |account, number| account.sessions[0].deadline = Time(number),
    |account, number| account.sessions[0].opened = Time(number),
    |account, number| {
        account.sessions[0].blob = vec![7; number.cast_unsigned() as usize & 0x1_ffff]
    },
    |account, number| account.sessions[0].items[0].key = (number.cast_unsigned() as u32).into(),
    |account, number| account.sessions[0].items[0].granted = number,
    |account, number| account.sessions[0].items[0].used = number,
    |account, number| account.sessions[0].items[0].from_hold = number,
    |account, number| account.sessions[0].items[0].direct = number,
    |account, number| account.sessions[0].items[0].released = number,
    |account, number| account.sessions[0].items[0].uncollected = number,
    |account, number| account.sessions[0].items[0].last_grant = Some(number.cast_unsigned() as u32),
    |account, number| {
        let standing = Standing::from_number(u8::try_from(number & 3).expect("two bits"));
        account.sessions[0].items[0].standing = standing.expect("two bits");
    },
    |account, number| account.sessions[0].items[0].slices[1].amount = number,
    |account, number| {
        account.sessions[0].items[0].slices[1].bucket.0 = number.cast_unsigned() as u16
    },
];

#[test]
fn numbers_of_every_width_come_back_in_every_field() {
    let (full, mut copy) = (full(), Account::empty(Status::Active));
    for (field, put) in FIELDS.iter().enumerate() {
        for number in numbers() {
            let mut account = full.clone();
            put(&mut account, number);
            decode_account(&encode(&account), &mut copy).expect("whole");
            assert_eq!(copy, account, "field {field}, number {number}");
        }
    }
}

#[test]
fn lists_of_every_length_come_back() {
    let (full, mut copy) = (full(), Account::empty(Status::Active));
    let lengthen: [fn(&mut Account, usize); 6] = [
        |account, len| account.limits.resize(len, account.limits[1]),
        |account, len| account.buckets.resize(len, account.buckets[0]),
        |account, len| account.allowances.resize(len, account.allowances[0]),
        |account, len| account.sessions.resize(len, account.sessions[0].clone()),
        |account, len| {
            let items = &mut account.sessions[0].items;
            items.resize(len, items[0].clone());
        },
        |account, len| {
            let slices = &mut account.sessions[0].items[0].slices;
            slices.resize(len, slices[0]);
        },
    ];
    for (list, lengthen) in lengthen.iter().enumerate() {
        for len in [0, 1, 2, 3, 254, 255, 256, 257] {
            let mut account = full.clone();
            lengthen(&mut account, len);
            decode_account(&encode(&account), &mut copy).expect("whole");
            assert_eq!(copy, account, "list {list}, length {len}");
        }
    }
}

#[test]
fn numbers_of_periods_come_back_in_every_width() {
    let numbers: [(u32, u64, i64); 4] = [
        (1, 1, 1),
        (u16::MAX.into(), u32::MAX.into(), 2),
        (1 << 16, 1 << 32, i64::from(u32::MAX)),
        (u32::MAX, u64::MAX, i64::MAX),
    ];
    for (period, since, amount) in numbers {
        let mut account = full();
        let bonus = &mut account.buckets[1];
        (bonus.period, bonus.period_since) = (period, since);
        account.carried.push(CarriedDebt { bucket: bonus.no, period, since, amount });
        for slice in &mut account.sessions[0].items[0].slices {
            slice.period = period;
        }
        let mut copy = Account::empty(Status::Active);
        decode_account(&encode(&account), &mut copy).expect("whole");
        assert_eq!(copy, account, "{period}");
    }
    // Without a refill they cost no byte. With one: two small numbers, a number for each of three slices; and a debt.
    let mut account = full();
    account.former_identities.clear();
    let refilled = encode(&account).len();
    account.carried.clear();
    let without_a_debt = encode(&account).len();
    let bonus = &mut account.buckets[1];
    (bonus.period, bonus.period_since) = (0, 0);
    account.sessions[0].items[0].slices.iter_mut().for_each(|slice| slice.period = 0);
    let without_a_refill = encode(&account).len();
    assert_eq!((refilled - without_a_debt, without_a_debt - without_a_refill), (11, 5 + 6));
}

#[test]
fn former_identities_come_back_and_cost_nothing_where_there_are_none() {
    let mut account = full();
    let former = account.former_identities[0].clone();
    let with_one = encode(&account).len();
    for kind in ["imsi", "nai"] {
        let kept = former.clone();
        let identity = Identity { kind: name(kind), ..kept.identity.clone() };
        account.former_identities.push(FormerIdentity { identity, ..kept });
    }
    account.in_transit.push(UnitAmount { unit: name("octets"), amount: 5 });
    let mut copy = Account::empty(Status::Active);
    decode_account(&encode(&account), &mut copy).expect("whole");
    assert_eq!(copy, account);
    account.former_identities.clear();
    account.in_transit.clear();
    decode_account(&encode(&account), &mut copy).expect("whole");
    assert_eq!(copy, account);
    // Two names with their lengths, and two times; the count is in a number that the account has anyway, in 6 bytes more.
    assert_eq!(with_one - encode(&account).len(), 7 + 12 + 17 + 6);
}

#[test]
fn terms_of_an_allowance_come_back_and_cost_nothing_where_there_are_none() {
    let plain = encode(&full()).len();
    for (rollover, debt, owed) in [
        (1, DebtRule::Net, 0),
        (0, DebtRule::Carry, i64::MAX),
        (i64::MAX, DebtRule::Carry, 0),
        (0, DebtRule::Forgive, 0),
    ] {
        let mut account = full();
        let allowance = &mut account.allowances[0];
        (allowance.rollover, allowance.debt, allowance.owed) = (rollover, debt, owed);
        let image = encode(&account);
        let mut copy = Account::empty(Status::Active);
        decode_account(&image, &mut copy).expect("whole");
        assert_eq!(copy, account);
        assert!(image.len() > plain);
    }
}

#[test]
fn bits_without_a_meaning_are_refused() {
    // Offsets of the flags in the image of an empty account, then with a bucket, a session: after the version,
    // or after a name or an id of one letter.
    let mut account = Account::empty(Status::Active);
    let image = encode(&account);
    refuse_bits(&image, 1, 0xf0);
    account.buckets.push(Bucket { id: name("b"), unit: name("u"), ..Bucket::empty() });
    refuse_bits(&encode(&account), 16 + 4, 0xe0);
    account.buckets.clear();
    let mut session = Session::empty();
    session.id = Id::new(b"s").expect("an id");
    session.items.push(Item { unit: name("u"), ..Item::empty() });
    account.sessions.push(session);
    refuse_bits(&encode(&account), 16 + 2, 0xe0);
    session_flags_of_no_terms(&encode(&account));
    account.sessions.clear();
    account.limits.extend(full().limits.last().copied());
    account.limits[0].id = name("l");
    let image = encode(&account);
    // After a group of zeros, and one with the count.
    let at = 16 + 1 + 3 + 2;
    refuse_bits(&image, at, 0x90);
    assert_eq!(account.limits[0].counted, LimitSubject::Sessions);
    for wrong in [5, 6, 7, 0x60] {
        let mut image = image.clone();
        image[at] = wrong;
        let decoded = decode_account(&image, &mut account);
        assert_eq!(decoded, Err(ImageError::Damaged), "{wrong:#x}");
    }
}

/// Checks that the policy after the last is refused.
fn session_flags_of_no_terms(image: &[u8]) {
    let mut wrong = image.to_vec();
    wrong[16 + 2] |= 0b1100;
    let mut account = Account::empty(Status::Active);
    assert_eq!(decode_account(&wrong, &mut account), Err(ImageError::Damaged));
}

/// Checks that the image is refused with any one of these bits set in the byte at `at`, which has none of them.
fn refuse_bits(image: &[u8], at: usize, bits: u8) {
    let mut account = Account::empty(Status::Active);
    decode_account(image, &mut account).expect("whole");
    for bit in (0..8).map(|bit| 1 << bit).filter(|bit| bits & bit != 0) {
        let mut wrong = image.to_vec();
        assert_eq!(wrong[at] & bit, 0);
        wrong[at] |= bit;
        assert_eq!(decode_account(&wrong, &mut account), Err(ImageError::Damaged), "{bit:#x}");
    }
}
