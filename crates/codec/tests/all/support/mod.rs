//! Values and helpers that the tests of the formats share.

use scurry_codec::{Checksum, Seal};
use scurry_ledger::{
    Allowance, BucketKeys, BucketNo, BucketTerms, Cause, Change, Code, Cycle, DebitPart,
    DebitedItem, DebtRule, Denial, Final, Id, Identity, ItemAnswer, ItemAnswers, ItemAt, ItemKey,
    LateAnswer, Limit, LimitAt, LimitSubject, Name, Op, Overrun, PackedAnswer, Period, Posting,
    RequestKind, RequestName, SessionAt, SessionTerms, Span, Standing, Status, StoredAnswer, Time,
    Tombstone, TombstoneKind, Transaction, UnitAmount, Window,
};

pub(crate) const CHECKSUM: Checksum = crc32c::crc32c_append;
pub(crate) const LOG_ID: u64 = 0x0123_4567_89ab_cdef;
pub(crate) const AT: Time = Time(1_700_000_000_000);

pub(crate) fn seal() -> Seal {
    Seal::new(CHECKSUM, LOG_ID)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

pub(crate) fn id(text: &str) -> Id {
    Id::new(text.as_bytes()).expect("an id")
}

/// Returns every copy of `bytes` with one bit flipped, with the index of that bit.
pub(crate) fn flipped(bytes: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..bytes.len() * 8).map(move |bit| {
        let mut copy = bytes.to_vec();
        copy[bit / 8] ^= 1 << (bit % 8);
        (bit, copy)
    })
}

fn update(number: u32) -> RequestName {
    RequestName { number, kind: RequestKind::Update }
}

fn set_limit(counted: LimitSubject, cycle: Cycle, told: u8) -> Op {
    Op::SetLimit(Box::new(limit(counted, Window::Period(cycle), cycle.start(AT), told)))
}

/// Returns a limit with a window, which has no parts.
pub(crate) fn limit(counted: LimitSubject, window: Window, period_start: Time, told: u8) -> Limit {
    Limit {
        id: name("a-day"),
        counted,
        amount: 1_000,
        window,
        period_start,
        since: 300,
        used: 850,
        drained: 0,
        overrun: 1,
        held: 151,
        told,
        parts: 0,
    }
}

/// Returns limits with windows that have no periods.
pub(crate) fn windows() -> [Limit; 3] {
    let all = LimitSubject::Units { unit: name("tokens"), item: None };
    let span = |ms| Span::new(ms).expect("a span");
    let rate = |ms, burst| Window::Rate { span: span(ms), burst };
    [
        limit(all, Window::Rolling(span(18_000_000)), AT.plus_ms(-600_000), 80),
        limit(all, rate(60_000, None), AT, 0),
        Limit { drained: 999, ..limit(all, rate(1_000, Some(i64::MAX)), AT.plus_ms(-5), 0) },
    ]
}

/// Returns a Change with each op, with short and long fields, in the order of the ops' numbers.
pub(crate) fn every_op() -> Change {
    let posting = |bucket, amount| Posting { bucket: BucketNo(bucket), amount };
    let at = |session, item| ItemAt { session: SessionAt(session), item };
    let item = |code, granted, uncollected, cause| ItemAnswer {
        code,
        granted,
        last: if code == Code::Ok { Final::No } else { Final::Last },
        uncollected,
        cause,
    };
    let items = ItemAnswers::from(vec![
        item(Code::Ok, 1_000, 0, Cause::None),
        item(Code::CreditLimitReached, 0, 7, Cause::Untold),
    ]);
    let answer = StoredAnswer {
        request: update(3),
        digest: 0x1122_3344_5566_7788,
        code: Code::Ok,
        version: 4,
        items: items.clone(),
    };
    let answered = TombstoneKind::Answered {
        request: update(9),
        digest: u64::MAX,
        code: Code::ServiceDenied,
        items,
    };
    let by_limit = Cause::Limit { id: name("a-day"), allowed_at: None };
    let causes = [Cause::Balance, Cause::NoBucket, by_limit, Cause::Items, Cause::Status];
    let mut denied = causes.map(|cause| item(Code::CreditLimitReached, 0, 7, cause));
    denied[1].last = Final::Held;
    let denied = TombstoneKind::Answered {
        request: update(9),
        digest: 1,
        code: Code::CreditLimitReached,
        items: denied.into_iter().chain([item(Code::ServiceDenied, 0, 0, Cause::Status)]).collect(),
    };
    let deny = |cause| {
        Op::Remember(Box::new(Transaction {
            id: id("txn-2"),
            forget_at: AT,
            digest: 1,
            code: Code::CreditLimitReached,
            version: 1,
            amount: 0,
            cause,
            parts: Vec::new(),
            items: Vec::new(),
        }))
    };
    let bury = |text, kind| {
        Op::StoreTombstone(Box::new(Tombstone::new(id(text), AT.plus_ms(240_000), kind, None)))
    };
    let bury_with_last = |kind| {
        let tombstone = Tombstone::new(id("s"), AT.plus_ms(240_000), kind, Some(update(300)));
        Op::StoreTombstone(Box::new(tombstone))
    };
    let long = BucketTerms {
        priority: -3,
        valid_from: Time(i64::MIN),
        valid_to: Some(AT.plus_ms(86_400_000)),
        floor: -500,
        mark: Some(-300),
    };
    let short =
        BucketTerms { priority: 100, valid_from: Time(0), valid_to: None, floor: 0, mark: None };
    let of_item = |key| LimitSubject::Units { unit: name("octets"), item: Some(key) };
    let a_day = Cycle::fixed(Period::Day, -90);
    let mut ops = vec![
        Op::Create(Status::Suspended),
        Op::Delete,
        Op::SetStatus(Status::Closed),
        Op::SetIdentity { kind: name("msisdn"), value: id("15550100") },
        Op::SetIdentity { kind: name("imsi"), value: Id::EMPTY },
        Op::AddBucket { id: name("main"), unit: name("octets"), terms: long },
        Op::SetBucket { bucket: BucketNo(200), terms: short },
        Op::RemoveBucket { bucket: BucketNo(u16::MAX), named: None },
        Op::Credit(posting(0, 1)),
        Op::Void(posting(1, 127)),
        Op::Refund(posting(2, 128)),
        Op::RefundExpired(posting(3, i64::MAX)),
        Op::Debit(posting(4, 5)),
        Op::Overdraw(posting(5, 6)),
        Op::Expire(posting(6, 7)),
        Op::SetCounter {
            id: name("calls"),
            unit: name("events"),
            cycle: Cycle::fixed(Period::Month, 0),
            period_start: Time(1_698_796_800_000),
            value: -3,
        },
        Op::OpenSession {
            id: id("session-1"),
            terms: SessionTerms { overrun: Overrun::Clamp, transfer: false },
        },
        Op::AddItem {
            session: SessionAt(300),
            key: u32::MAX.into(),
            unit: name("exactly-16-bytes"),
        },
        Op::Hold(at(0, 1), posting(0, 1_000)),
        Op::Grant { at: at(1, 0), amount: 1_000, request: u32::MAX },
        Op::FallShort(at(1, 0), Standing::FinalHeld),
        Op::Settle(at(2, 3), posting(4, 5)),
        Op::Release(at(3, 4), posting(5, 6)),
        Op::ReleaseExpired(at(4, 5), posting(6, 7)),
        Op::Use { at: at(5, 255), used: 700, direct: 0, uncollected: -1 },
        Op::Supervise {
            session: SessionAt(6),
            validity_ms: 600_000,
            tcc_ms: 1_200_000,
            deadline: AT.plus_ms(1_200_000),
        },
        Op::SetBlob(SessionAt(7), b"blob\0\xff".repeat(30)),
        Op::StoreAnswer {
            session: SessionAt(8),
            answer: PackedAnswer::new(&answer),
            answers_max: 8,
        },
        Op::CloseSession(SessionAt(9)),
        bury("expired", TombstoneKind::Expired),
        bury("released", TombstoneKind::Released),
        bury("answered", answered.clone()),
        Op::Remember(Box::new(Transaction {
            id: id("txn-1"),
            forget_at: AT.plus_ms(3_600_000),
            digest: 0x8877_6655_4433_2211,
            code: Code::Ok,
            version: u64::MAX,
            amount: -4,
            cause: Cause::None,
            parts: vec![
                DebitPart { item: 0, bucket: BucketNo(0), amount: 3, refunded: 0 },
                DebitPart { item: 0, bucket: BucketNo(1), amount: 1, refunded: 1 },
            ],
            items: Vec::new(),
        })),
        Op::NoteRefund { debit: id("txn-0"), item: 0, posting: posting(7, 8) },
        Op::Forget,
        Op::RemoveBucket { bucket: BucketNo(9), named: Some((name("main"), name("octets"))) },
        Op::NameSession(id("session-1")),
        Op::SetAllowance(Allowance {
            bucket: BucketNo(300),
            cycle: Cycle::fixed(Period::Week, -840),
            amount: 5_000_000_000,
            period_start: Time(1_699_833_600_000),
            rollover: 0,
            debt: DebtRule::Net,
            owed: 0,
        }),
        Op::EndAllowance(BucketNo(10)),
        Op::SetBucketKeys(Box::new(BucketKeys {
            bucket: BucketNo(11),
            keys: vec![7.into(), ItemKey::new(b"gpt-5").expect("a key")],
        })),
        Op::BeginPeriod { bucket: BucketNo(11), period_start: AT, carried: 0 },
        Op::NoteRefund { debit: id("txn-0"), item: 15, posting: posting(7, 8) },
        Op::Remember(Box::new(Transaction {
            id: id("txn-2"),
            forget_at: AT.plus_ms(3_600_000),
            digest: 0x8877_6655_4433_2211,
            code: Code::Ok,
            version: 9,
            amount: 9,
            cause: Cause::None,
            parts: vec![
                DebitPart { item: 0, bucket: BucketNo(0), amount: 3, refunded: 0 },
                DebitPart { item: 1, bucket: BucketNo(0), amount: 4, refunded: 1 },
                DebitPart { item: 1, bucket: BucketNo(700), amount: 2, refunded: 0 },
            ],
            items: vec![
                DebitedItem { key: ItemKey::Number(7), unit: name("octets") },
                DebitedItem { key: ItemKey::new(b"gpt-x").expect("a key"), unit: name("tokens") },
            ],
        })),
        set_limit(LimitSubject::Sessions, Cycle::NONE, 0),
        set_limit(LimitSubject::Units { unit: name("octets"), item: None }, Cycle::NONE, 80),
        set_limit(of_item(ItemKey::Number(u32::MAX)), a_day, 100),
        set_limit(of_item(ItemKey::new(b"gpt-x").expect("a key")), a_day, 0),
        Op::RemoveLimit(name("a-day")),
        Op::BeginLimitPeriod { limit: LimitAt(3), start: AT.plus_ms(-3_600_000) },
        Op::CountUse { limit: LimitAt(15), used: 300, overrun: 0 },
        Op::UncountUse { limit: LimitAt(0), part: 0, amount: i64::MAX },
        Op::ReachThreshold { limit: name("a-day"), percent: 80, used: 81, amount: 100 },
        Op::CrossMark { bucket: BucketNo(7), mark: 300, is_below: true },
        Op::CrossMark { bucket: BucketNo(u16::MAX), mark: -1, is_below: false },
        bury("denied", denied),
        deny(Cause::Balance),
        deny(by_limit),
        Op::AddItem {
            session: SessionAt(3),
            key: ItemKey::new(b"10.4711").expect("a key"),
            unit: name("octets"),
        },
        bury_with_last(TombstoneKind::Expired),
        bury_with_last(TombstoneKind::Released),
        bury_with_last(answered),
        Op::LateUse {
            key: ItemKey::new(b"gpt-5").expect("a key"),
            unit: name("tokens"),
            used: 1,
            uncollected: 1,
        },
        Op::LateUse { key: ItemKey::Number(7), unit: name("octets"), used: 900, uncollected: 0 },
        Op::NoteLate(Box::new(LateAnswer {
            session: id("session-1"),
            answer: PackedAnswer::new(&answer),
            forget_at: AT.plus_ms(3_600_000),
            answers_max: 8,
        })),
        Op::BeginPeriod { bucket: BucketNo(11), period_start: AT, carried: 300 },
        Op::SetAllowance(Allowance {
            bucket: BucketNo(300),
            cycle: Cycle::fixed(Period::Week, -840),
            amount: 5_000_000_000,
            period_start: AT,
            rollover: 70_000,
            debt: DebtRule::Carry,
            owed: 9,
        }),
        Op::UncountUse { limit: LimitAt(3), part: 30, amount: 1 },
        bury(
            "returned",
            TombstoneKind::Returned {
                digest: 0x1122_3344_5566_7788,
                refusal: Code::UnknownAccount,
            },
        ),
        Op::Transit(UnitAmount { unit: name("cent"), amount: -300 }),
        Op::ForgetReceipt(id("transfer:5:alice:t1")),
    ];
    let allowed_at = Some(AT.plus_ms(1_500));
    ops.extend([
        deny(Cause::Limit { id: name("a-minute"), allowed_at }),
        deny(Cause::Bucket(name("main"))),
    ]);
    ops.extend(windows().map(|limit| Op::SetLimit(Box::new(limit))));
    let (kind, value) = (name("msisdn"), id("15550100"));
    let forget_at = AT.plus_ms(3_600_000);
    ops.push(Op::KeepIdentity { kind, value: value.clone(), forget_at });
    ops.push(Op::ForgetIdentity { kind, value: value.clone() });
    let (at, unit) = (ItemAt { session: SessionAt(1), item: 2 }, name("octets"));
    ops.push(Op::NameItem { at, key: 300.into(), unit });
    let named = ItemKey::new(b"gpt").expect("a key");
    ops.push(Op::NameItem { at, key: named, unit });
    ops.push(Op::NameKey(named));
    ops.push(Op::NameKey(7.into()));
    ops.push(Op::NameBlob(SessionAt(1), vec![0, 255]));
    ops.push(Op::NameIdentities([Identity { kind, value }].into()));
    let denial = Denial {
        item: Some(named),
        unit,
        requested: 5_000,
        code: Code::CreditLimitReached,
        cause: Cause::Limit { id: name("a-minute"), allowed_at },
        left_out: 3,
    };
    ops.push(Op::Deny(Box::new(denial)));
    let (item, unit, requested) = (None, Name::EMPTY, 0);
    let (code, cause, left_out) = (Code::ServiceDenied, Cause::Status, 0);
    ops.push(Op::Deny(Box::new(Denial { item, unit, requested, code, cause, left_out })));
    Change { at: AT, ops }
}
