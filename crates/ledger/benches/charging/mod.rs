//! State and commands that the benchmarks of the ledger share: an account with two buckets and one open session, and
//! its next UPDATE.

use scurry_ledger::{
    Account, BucketAttributes, Command, Create, Decision, ItemRequest, Limits, Name, NewBucket,
    SessionRequest, Time, decide_in_place,
};

/// Time at which every command runs.
pub(crate) const NOW: Time = Time(1_700_000_000_000);

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

/// Returns the items of the UPDATEs.
pub(crate) fn items() -> [ItemRequest; 1] {
    let unit = name("octets");
    [ItemRequest { key: 1.into(), unit, used: Some(900), requested: Some(1_000), min: None }]
}

/// Returns the UPDATE with a request number.
pub(crate) fn update(request: u32, items: &[ItemRequest]) -> Command<'_> {
    Command::Update(SessionRequest {
        session: b"s000000000000001",
        request,
        items,
        ..SessionRequest::default()
    })
}

/// Returns an account with two buckets and one open session whose window is full.
pub(crate) fn account(limits: &Limits) -> Account {
    let bucket = |id, priority| NewBucket {
        bucket: name(id),
        unit: name("octets"),
        amount: 1_000_000_000_000_000,
        attributes: BucketAttributes { priority: Some(priority), ..Default::default() },
    };
    let buckets = [bucket("main", 10), bucket("bonus", 5)];
    let mut account = None;
    let create = Create::active(&buckets);
    run(&mut account, &Command::Create(create), limits);
    let first = [ItemRequest { used: None, ..items()[0] }];
    let Command::Update(request) = update(0, &first) else { unreachable!("it is an UPDATE") };
    run(&mut account, &Command::Reserve(request), limits);
    for request in 1..8 {
        run(&mut account, &update(request, &items()), limits);
    }
    account.expect("it was created")
}

fn run(account: &mut Option<Account>, command: &Command<'_>, limits: &Limits) {
    let decision = decide_in_place(account, command, NOW, limits);
    assert!(matches!(decision, Decision::Commit(..)), "{decision:?}");
}
