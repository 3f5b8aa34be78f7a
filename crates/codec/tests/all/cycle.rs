//! Cycles that are not of the first version: they come back from a Change and from an image, and a zone that this build
//! does not know is refused in words. (Those of the first version are pinned in `change` and `image`.)

use crate::support::{AT, name};
use scurry_codec::{
    ChangeError, ImageError, Malformed, decode_account, decode_change, encode_account,
    encode_change,
};
use scurry_ledger::{
    Account, Allowance, BucketNo, Change, Counter, Cycle, DebtRule, Limit, LimitSubject, NamedZone,
    Op, Period, Status, Time, Window, Zone,
};

fn cycles() -> Vec<Cycle> {
    let berlin = Zone::Named(NamedZone::new(b"Europe/Berlin").expect("a zone"));
    let day = Cycle::fixed(Period::Day, 0);
    vec![
        Cycle { zone: berlin, ..day },
        Cycle { begin: 23, ..Cycle::fixed(Period::Day, -840) },
        Cycle { begin: 31, zone: berlin, ..Cycle::fixed(Period::Month, 0) },
        Cycle { begin: 7, ..Cycle::fixed(Period::Week, 0) },
        Cycle::fixed(Period::Minute, 345),
        Cycle::fixed(Period::Quarter, 0),
        Cycle::fixed(Period::Year, 60),
        Cycle::fixed(Period::Minutes(1), 0),
        Cycle::fixed(Period::Hours(5), 0),
        Cycle::fixed(Period::Days(9_999), 840),
        // Plain ones, beside the others.
        day,
        Cycle::fixed(Period::Month, -480),
    ]
}

fn limit(cycle: Cycle) -> Limit {
    let counted = LimitSubject::Units { unit: name("octets"), item: Some(7.into()) };
    let (id, period_start) = (name("a-day"), AT);
    Limit {
        id,
        counted,
        amount: 100,
        window: Window::Period(cycle),
        period_start,
        since: 3,
        used: 81,
        drained: 0,
        overrun: 0,
        held: 5,
        told: 80,
        parts: 0,
    }
}

fn allowance(cycle: Cycle) -> Allowance {
    Allowance {
        bucket: BucketNo(300),
        cycle,
        amount: 5_000_000_000,
        period_start: AT,
        rollover: 0,
        debt: DebtRule::Net,
        owed: 0,
    }
}

fn counter(cycle: Cycle) -> Counter {
    Counter { id: name("calls"), unit: name("events"), cycle, period_start: AT, value: -3 }
}

fn change(cycle: Cycle) -> Change {
    let Counter { id, unit, period_start, value, .. } = counter(cycle);
    let ops = vec![
        Op::SetAllowance(allowance(cycle)),
        Op::SetCounter { id, unit, cycle, period_start, value },
        Op::SetLimit(Box::new(limit(cycle))),
    ];
    Change { at: AT, ops }
}

fn account(cycle: Cycle) -> Account {
    let mut account = Account::empty(Status::Active);
    account.changed_at = AT;
    account.allowances.push(allowance(cycle));
    account.counters.push(counter(cycle));
    account.limits.push(limit(cycle));
    account
}

fn decode(bytes: &[u8]) -> Result<Change, ChangeError> {
    let mut change = Change { at: Time(0), ops: vec![] };
    decode_change(bytes, &mut change).map(|()| change)
}

fn image(account: &Account) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_account(account, &mut bytes);
    bytes
}

fn read(bytes: &[u8]) -> Result<Account, ImageError> {
    let mut account = Account::empty(Status::Closed);
    decode_account(bytes, &mut account).map(|()| account)
}

/// Replaces each occurrence of a text by another one of the same length.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len().saturating_sub(from.len()) + 1 {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

#[test]
fn every_cycle_comes_back_and_has_one_form() {
    for cycle in cycles() {
        let (change, account) = (change(cycle), account(cycle));
        let mut bytes = Vec::new();
        encode_change(&change, &mut bytes);
        assert_eq!(decode(&bytes), Ok(change), "{cycle:?}");
        assert_eq!(read(&image(&account)).as_ref(), Ok(&account), "{cycle:?}");
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{cycle:?}: {len}");
        }
    }
}

#[test]
fn a_zone_that_is_not_known_is_refused_in_words() {
    let cycle = cycles()[0];
    let mut bytes = Vec::new();
    encode_change(&change(cycle), &mut bytes);
    let other = replaced(&bytes, b"Europe/Berlin", b"Europe/Nowher");
    assert_eq!(decode(&other), Err(ChangeError::Malformed(Malformed::Zone)));
    let told = decode(&other).expect_err("refused").to_string();
    assert!(told.contains("time zone") && told.contains("newer"), "{told}");
    let other = replaced(&image(&account(cycle)), b"Europe/Berlin", b"Europe/Nowher");
    assert_eq!(read(&other), Err(ImageError::Zone));
    let told = ImageError::Zone.to_string();
    assert!(told.contains("time zone") && told.contains(scurry_ledger::TZDATA_VERSION), "{told}");
}
