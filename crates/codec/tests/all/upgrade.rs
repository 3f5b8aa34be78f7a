//! An account that release 0.1 wrote: what it remembers is still recognised, although its digests are
//! of another hash.

use scurry_codec::decode_account;
use scurry_ledger::{
    Account, Command, Decision, ItemRequest, Limits, Name, Period, SessionRequest, Status, Time,
    decide,
};

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

/// The account of `full` in tests/image.rs, as release 0.1 wrote it.
fn account() -> Account {
    let hex = include_str!("../golden/account-image-v2.hex").trim();
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    let image: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    let mut account = Account::empty(Status::Closed);
    decode_account(&image, &mut account).expect("whole");
    account
}

#[test]
fn what_release_0_1_remembers_is_replayed_and_another_body_is_refused() {
    let account = account();
    let request = |session, request, items| SessionRequest {
        session,
        request,
        items,
        ..SessionRequest::default()
    };
    let item = ItemRequest {
        key: 7.into(),
        unit: name("octets"),
        used: None,
        requested: Some(85),
        min: None,
    };
    let used = ItemRequest { used: Some(3), requested: Some(60), ..item };
    let denied = ItemRequest { unit: name("events"), ..item };
    let other = ItemRequest { requested: Some(86), ..item };
    let counter = |amount| Command::Counter {
        txn: b"t2",
        counter: name("calls"),
        amount,
        unit: None,
        period: Some(Period::Week),
    };
    let debit = |amount| Command::Debit { txn: b"t1", unit: name("octets"), amount };
    let blob = Some(&b"blob\0\xff"[..]);
    let (first, wrong) = ([item], [other]);
    let (second, third) = ([used], [denied]);
    let reserve = |items| Command::Reserve(SessionRequest { blob, ..request(b"s-1", 0, items) });
    let same = [
        reserve(&first),
        Command::Update(request(b"s-1", 1, &second)),
        Command::Reserve(request(b"s-2", 0, &third)),
        debit(4),
        counter(-3),
    ];
    let different = [
        reserve(&wrong),
        Command::Update(request(b"s-1", 1, &wrong)),
        Command::Reserve(request(b"s-2", 0, &wrong)),
        debit(5),
        counter(-4),
    ];
    let at = Time(1_700_000_007_000);
    for command in same {
        let decision = decide(Some(&account), &command, at, &Limits::default());
        assert!(matches!(decision, Decision::Replay(_)), "{command:?}: {decision:?}");
    }
    for command in different {
        let decision = decide(Some(&account), &command, at, &Limits::default());
        let Decision::Reject(refused) = decision else { panic!("{command:?}: {decision:?}") };
        assert_eq!(refused.code.name(), "REQUEST_MISMATCH", "{command:?}");
    }
}
