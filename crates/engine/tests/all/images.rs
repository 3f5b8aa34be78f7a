//! Tests of accounts that are moved between shards as images, and of images that are refused.

use scurry_codec::{
    FrameWriter, Framed, Seal, UntrustedImageError, decode_account, encode_account, read_frame,
};
use scurry_engine::{
    Config, Expiry, LoadError, LogId, NeededParts, Outcome, ReadError, Shard, checksum,
};
use scurry_ledger::{
    Account, Answer, BucketAttributes, Code, Command, Create, ItemRequest, LimitSubject,
    LimitTerms, Name, NewBucket, Session, SessionOptions, SessionPage, SessionRequest, ShownParts,
    Status, Time,
};

const START: Time = Time(1_700_000_000_000);
const LOG: LogId = LogId { id: 7, core: 0 };

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

/// A shard with an account of 100 octets, 10 of which a session holds for a second.
fn source() -> Shard {
    source_of(Config::default())
}

fn source_of(config: Config) -> Shard {
    let mut shard = Shard::new(config);
    let attributes = BucketAttributes::default();
    let bucket = NewBucket { bucket: name("main"), unit: name("octets"), amount: 100, attributes };
    let buckets = [bucket];
    let create = Create::active(&buckets);
    run(&mut shard, START, &Command::Create(create));
    run(&mut shard, START, &reserve(&[item()]));
    shard
}

fn item() -> ItemRequest {
    ItemRequest { key: 1.into(), unit: name("octets"), used: None, requested: Some(10), min: None }
}

fn reserve(items: &[ItemRequest]) -> Command<'_> {
    Command::Reserve(SessionRequest {
        session: b"s",
        request: 0,
        items,
        options: SessionOptions { tcc_ms: Some(1_000), ..SessionOptions::default() },
        ..SessionRequest::default()
    })
}

fn run(shard: &mut Shard, now: Time, command: &Command<'_>) -> Outcome {
    shard.execute(now, shard.key(b"alice"), command)
}

fn image(shard: &Shard) -> Vec<u8> {
    shard.image(START, shard.key(b"alice")).expect("an account").to_vec()
}

fn load(shard: &mut Shard, image: &[u8], replace: bool) -> Result<(), LoadError> {
    shard.load_image(START, shard.key(b"alice"), image, replace)
}

#[test]
fn a_loaded_account_has_its_holds_its_answers_and_its_deadlines() {
    let from = source();
    let image = image(&from);
    let mut to = Shard::new(Config::default());
    load(&mut to, &image, false).expect("it is taken");
    assert_eq!(to.totals(), from.totals());
    assert_eq!(to.image(START, to.key(b"alice")), Ok(image.as_slice().into()));
    // The session's request again gets its stored answer.
    let Outcome::Answer { answer: Answer::Session { code, items, .. }, replayed } =
        run(&mut to, START, &reserve(&[item()]))
    else {
        panic!("an answer");
    };
    assert_eq!((code, items[0].granted, replayed), (Code::Ok, 10, true));
    // No command arrives: the hold is released by the timer of the new shard.
    while to.tick(START.plus_ms(1_000)) > 0 {}
    assert_eq!((to.totals().units[0].held, to.totals().units[0].available), (0, 100));
}

#[test]
fn an_account_that_exists_is_replaced_only_when_told_so() {
    let image = image(&source());
    let mut to = source();
    while to.tick(START.plus_ms(1_000)) > 0 {}
    let before = to.totals().clone();
    assert_eq!(load(&mut to, &image, false), Err(LoadError::Exists));
    assert_eq!(to.totals(), &before);
    load(&mut to, &image, true).expect("it is replaced");
    assert_eq!((to.totals().accounts, to.totals().units[0].held), (1, 10));
    while to.tick(START.plus_ms(1_000)) > 0 {}
    assert_eq!(to.totals(), &before);
}

/// Parts of the existing account must not affect the check of the image that replaces it.
#[test]
fn a_wrong_image_is_refused_in_the_place_of_an_account_in_parts_too() {
    let mut to = source_of(Config { apart_len: 0, ..Config::default() });
    let counted = LimitSubject::Units { unit: name("octets"), item: None };
    let terms = LimitTerms::Set { counted, amount: 50, window: scurry_ledger::WindowTerms::UNSAID };
    run(&mut to, START, &Command::Limit { txn: b"t", limit: name("most"), terms });
    let right = image(&to);
    let mut account = Account::empty(Status::Active);
    decode_account(&right, &mut account).expect("an account");
    account.limits[0].held += 1;
    let mut wrong = Vec::new();
    encode_account(&account, &mut wrong);
    let Err(LoadError::Image(UntrustedImageError::Violation(violation))) =
        load(&mut to, &wrong, true)
    else {
        panic!("it is taken");
    };
    assert_eq!(violation.invariant, 20);
    assert_eq!(image(&to), right);
    load(&mut to, &right, true).expect("it is replaced");
}

#[test]
fn what_is_no_account_is_refused_and_changes_nothing() {
    let image = image(&source());
    let mut to = Shard::new(Config::default());
    to.keep_journal(LOG, 1);
    for len in 0..image.len() {
        assert!(matches!(load(&mut to, &image[..len], false), Err(LoadError::Image(_))), "{len}");
    }
    // Available units, one more than were credited.
    let at = image.windows(2).position(|two| two == [90, 0]).expect("what is available");
    let mut minted = image.clone();
    minted[at] += 1;
    let Err(LoadError::Image(UntrustedImageError::Violation(violation))) =
        load(&mut to, &minted, false)
    else {
        panic!("it is taken");
    };
    assert_eq!(violation.invariant, 1);
    to.set(START, to.key(b"alice"), b"plain", Expiry::Never).expect("it is set");
    assert_eq!(load(&mut to, &image, true), Err(LoadError::WrongType));
    assert_eq!(to.image(START, to.key(b"alice")), Err(ReadError::WrongType));
    assert_eq!(to.image(START, to.key(b"bob")), Err(ReadError::UnknownAccount));
    assert_eq!((to.totals().accounts, to.sequence()), (0, 1), "only the plain value is kept");
    let mut full = Shard::new(Config { memory_max: Some(1), ..Config::default() });
    assert_eq!(load(&mut full, &image, false), Err(LoadError::OutOfMemory));
}

#[test]
fn a_loaded_account_comes_back_from_the_log() {
    let image = image(&source());
    // A shard in which the session of the image has ended.
    let later = || {
        let mut shard = source();
        while shard.tick(START.plus_ms(1_000)) > 0 {}
        shard
    };
    let mut to = later();
    to.keep_journal(LOG, 1);
    load(&mut to, &image, true).expect("it is taken");
    run(&mut to, START.plus_ms(1), &Command::Release { session: b"s", txn: None, cancel: false });
    let mut log = Vec::new();
    let journal: &mut FrameWriter = to.journal().expect("a journal");
    journal.seal(0, START);
    journal.take_sealed(&mut log);
    let Framed::Frame(frame) = read_frame(Seal::new(checksum, LOG.id), &log) else {
        panic!("a frame");
    };
    let mut again = later();
    let mut records = frame.records();
    while let Some(record) = records.next() {
        again.replay(&record.expect("a record")).expect("it is applied");
    }
    assert_eq!(again.totals(), to.totals());
    assert_eq!(self::image(&again), self::image(&to));
}

/// Builds an account far above the length from which it is kept in parts: ids of 20 bytes.
fn busy(shard: &mut Shard, debits: u32, sessions: u32) {
    for number in 0..debits {
        let txn = format!("transaction-{number:08}");
        let debit = Command::Debit { txn: txn.as_bytes(), unit: name("octets"), amount: 1 };
        let now = START.plus_ms(i64::from(number) / 64);
        assert!(matches!(run(shard, now, &debit), Outcome::Answer { replayed: false, .. }));
    }
    for number in 0..sessions {
        let session = format!("session-{number:012}");
        let items = [item()];
        let Command::Reserve(request) = reserve(&items) else { unreachable!("it is one") };
        let request = SessionRequest {
            session: session.as_bytes(),
            options: SessionOptions {
                tcc_ms: Some(3_600_000 + i64::from(number)),
                ..request.options
            },
            ..request
        };
        let opened = run(shard, START, &Command::Reserve(request));
        assert!(matches!(opened, Outcome::Answer { .. }), "{opened:?}");
    }
}

fn rich(debits: u32, sessions: u32) -> Shard {
    let mut shard = Shard::new(Config::default());
    let attributes = BucketAttributes::default();
    let amount = 1_000_000_000;
    let bucket = NewBucket { bucket: name("main"), unit: name("octets"), amount, attributes };
    let buckets = [bucket];
    let create = Create::active(&buckets);
    run(&mut shard, START, &Command::Create(create));
    busy(&mut shard, debits, sessions);
    shard
}

#[test]
fn a_busy_account_is_whole_outside_of_memory() {
    let mut from = rich(3_000, 300);
    let now = START.plus_ms(1_000);
    let account = from.account(now, from.key(b"alice")).expect("an account").clone();
    assert_eq!((account.transactions.len(), account.sessions.len()), (3_000, 300));
    let bytes = image(&from);
    let mut to = Shard::new(Config::default());
    load(&mut to, &bytes, false).expect("it is taken");
    assert_eq!(to.account(now, to.key(b"alice")), Ok(&account));
    // Loaded again over itself, it is still one account.
    load(&mut to, &bytes, true).expect("it is taken");
    assert_eq!(to.account(now, to.key(b"alice")), Ok(&account));
    let (sums, expected) = (to.totals().clone(), from.totals().clone());
    assert_eq!((sums.accounts, sums.sessions), (expected.accounts, expected.sessions));
    for shard in [&mut from, &mut to] {
        let again =
            Command::Debit { txn: b"transaction-00000000", unit: name("octets"), amount: 1 };
        assert!(matches!(run(shard, now, &again), Outcome::Answer { replayed: true, .. }));
    }
}

#[test]
fn a_remembered_id_of_a_busy_account_takes_64_bytes_at_most() {
    let few = rich(20_000, 0).stats().memory_bytes;
    let many = rich(120_000, 0).stats().memory_bytes;
    let each = (many - few) / 100_000;
    assert!((1..=64).contains(&each), "{each} bytes");
}

#[test]
fn a_busy_account_that_is_forgotten_and_deleted_leaves_nothing() {
    let mut shard = rich(2_000, 50);
    let before = Shard::new(Config::default()).stats().memory.accounts;
    assert!(shard.stats().memory.accounts > 2_000 * 40);
    while let Some(due) = shard.next_due() {
        shard.tick(due.plus_ms(16));
    }
    let later = START.plus_ms(8 * 3_600_000);
    let account = shard.account(later, shard.key(b"alice")).expect("an account");
    let left = (account.transactions.len(), account.sessions.len(), account.tombstones.len());
    assert_eq!(left, (0, 0, 0));
    assert_eq!(shard.totals().sessions, 0);
    let small = shard.stats().memory.accounts;
    // Blocks of the shrunken account are kept for reuse.
    assert!(small < 40_000, "{small} bytes are left, {before} without an account");
    let mut shard = rich(2_000, 50);
    shard.clear();
    assert!(shard.stats().memory.accounts <= before);
}

#[test]
fn a_busy_account_that_is_as_long_as_it_may_be_says_so_and_is_not_stuck() {
    let config = || Config { account_len_max: 20_000, ..Config::default() };
    let mut shard = Shard::new(config());
    load(&mut shard, &image(&rich(100, 20)), false).expect("it is taken");
    let debit = |number: u32| format!("more-{number:08}");
    let mut taken = 0;
    let mut refusal = |shard: &mut Shard, now: Time| loop {
        let txn = debit(taken);
        let command = Command::Debit { txn: txn.as_bytes(), unit: name("octets"), amount: 1 };
        match run(shard, now, &command) {
            Outcome::Reject(rejection) => break (rejection, txn),
            _ => taken += 1,
        }
        assert!(taken < 1_000, "it has no bound");
    };
    let (refused, _) = refusal(&mut shard, START.plus_ms(1_000));
    assert_eq!(refused.code, Code::Busy);
    let bound = refused.bound.expect("it is named");
    assert_eq!((bound.name, bound.max), ("account_len_max", 20_000));
    // Duplicates are answered, and sessions can end.
    let again = debit(0);
    let again = Command::Debit { txn: again.as_bytes(), unit: name("octets"), amount: 1 };
    let later = START.plus_ms(1_001);
    assert!(matches!(run(&mut shard, later, &again), Outcome::Answer { replayed: true, .. }));
    let release = Command::Release { session: b"session-000000000003", txn: None, cancel: false };
    assert!(matches!(run(&mut shard, later, &release), Outcome::Answer { replayed: false, .. }));
    // That freed some bytes; waiting as long as the refusal says frees more.
    let (refused, next) = refusal(&mut shard, later);
    let wait_ms = refused.bound.and_then(|bound| bound.wait_ms).expect("something goes by itself");
    let next = Command::Debit { txn: next.as_bytes(), unit: name("octets"), amount: 1 };
    let then = later.plus_ms(wait_ms);
    while shard.tick(then) > 0 {}
    assert!(matches!(run(&mut shard, then, &next), Outcome::Answer { replayed: false, .. }));
}

/// The pages of one state have every hold once, whatever their length, also for an account that is kept in parts: only
/// the page is loaded.
#[test]
fn pages_of_a_busy_account_have_each_open_session_once() {
    let mut shard = rich(0, 300);
    // One of the sessions is due, and not yet expired.
    let now = START.plus_ms(3_600_000);
    let whole = shard.account(now, shard.key(b"alice")).expect("an account").clone();
    assert_eq!(whole.sessions.len(), 299);
    let mut expected: Vec<Session> = whole.sessions.clone();
    expected.sort_by(|a, b| a.id.as_bytes().cmp(b.id.as_bytes()));
    for count in [1, 7, 298, 299, 300] {
        let (mut after, mut pages, mut shown) = (Vec::new(), 0, Vec::new());
        loop {
            let page = SessionPage { after: &after, count };
            let parts = ShownParts::Page(page);
            let needed = NeededParts::shown(&parts);
            let key = shard.key(b"alice");
            let account = shard.account_in_part(now, key, &needed).expect("an account");
            assert_eq!((&account.buckets, account.version), (&whole.buckets, whole.version));
            assert!(account.sessions.len() <= count + 1, "{} are loaded", account.sessions.len());
            let (sessions, has_more) = page.of(account);
            shown.extend(sessions.into_iter().cloned());
            pages += 1;
            if !has_more {
                break;
            }
            after = shown.last().expect("a session").id.as_bytes().to_vec();
        }
        assert_eq!((pages, &shown), (299_usize.div_ceil(count), &expected), "{count} a page");
        let slices = shown.iter().flat_map(|open| &open.items).flat_map(|item| &item.slices);
        assert_eq!(slices.map(|slice| slice.amount).sum::<i64>(), whole.buckets[0].held);
    }
}

#[test]
fn a_transaction_of_a_busy_account_is_read_without_the_others() {
    let mut shard = rich(3_000, 0);
    let parts = ShownParts::Transaction(b"transaction-00000007");
    let (key, needed) = (shard.key(b"alice"), NeededParts::shown(&parts));
    let account = shard.account_in_part(START, key, &needed).expect("an account");
    assert_eq!(account.transactions.len(), 1);
    let found = account.transactions.find(b"transaction-00000007").expect("it is remembered");
    assert_eq!((found.amount, found.version), (1, 9));
}

/// Of an account in parts the transaction that IFTXN names is loaded for the command.
#[test]
fn a_busy_account_is_deleted_once_by_a_transaction_that_it_remembers() {
    let mut shard = rich(3_000, 0);
    let amount = -(1_000_000_000 - 3_000);
    for command in [
        Command::Adjust { txn: b"empty", bucket: name("main"), amount },
        Command::Status { txn: Some(b"close"), status: Status::Closed, identities: &[] },
    ] {
        let done = run(&mut shard, START, &command);
        assert!(matches!(done, Outcome::Answer { replayed: false, .. }), "{done:?}");
    }
    let delete = |txn| Command::Delete { force: true, if_txn: Some(txn) };
    let refused = run(&mut shard, START, &delete(b"another"));
    assert!(matches!(refused, Outcome::Reject(why) if why.code == Code::UnknownTransaction));
    for replayed in [false, true] {
        let deleted = run(&mut shard, START, &delete(b"close"));
        assert!(matches!(deleted, Outcome::Answer { replayed: is, .. } if is == replayed));
    }
    assert_eq!(shard.totals().accounts, 0);
}
