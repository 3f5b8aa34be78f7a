//! Accounts that go from one shard to another as bytes: what they are, and what is refused.

use scurry_codec::{ForeignError, FrameWriter, Framed, Seal, read_frame};
use scurry_engine::{Config, Expiry, LoadError, LogId, Outcome, ReadError, Shard, checksum};
use scurry_ledger::{
    Answer, BucketAttributes, Code, Command, Create, ItemRequest, Name, NewBucket, SessionRequest,
    Status, Time,
};

const START: Time = Time(1_700_000_000_000);
const LOG: LogId = LogId { id: 7, core: 0 };

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

/// A shard with an account of 100 octets, 10 of which a session holds for a second.
fn source() -> Shard {
    let mut shard = Shard::new(Config::default());
    let attributes = BucketAttributes::default();
    let bucket = NewBucket { bucket: name("main"), unit: name("octets"), amount: 100, attributes };
    let create = Create { status: Status::Active, identities: &[], buckets: &[bucket] };
    run(&mut shard, START, &Command::Create(create));
    run(&mut shard, START, &reserve(&[item()]));
    shard
}

fn item() -> ItemRequest {
    ItemRequest { key: 1, unit: name("octets"), used: None, requested: Some(10), min: None }
}

fn reserve(items: &[ItemRequest]) -> Command<'_> {
    Command::Reserve(SessionRequest {
        session: b"s",
        request: 0,
        if_version: None,
        validity_ms: None,
        tcc_ms: Some(1_000),
        overrun: None,
        close_on_denial: false,
        blob: None,
        items,
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
    // The session's request again: its stored answer.
    let Outcome::Answer { answer: Answer::Session { code, items, .. }, replayed } =
        run(&mut to, START, &reserve(&[item()]))
    else {
        panic!("an answer");
    };
    assert_eq!((code, items[0].granted, replayed), (Code::Ok, 10, true));
    // Nobody calls, and the hold goes back where it is now.
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

#[test]
fn what_is_no_account_is_refused_and_changes_nothing() {
    let image = image(&source());
    let mut to = Shard::new(Config::default());
    to.keep_journal(LOG, 1);
    for len in 0..image.len() {
        assert!(matches!(load(&mut to, &image[..len], false), Err(LoadError::Image(_))), "{len}");
    }
    // The units that are available, one more than came in.
    let at = image.windows(2).position(|two| two == [90, 0]).expect("what is available");
    let mut minted = image.clone();
    minted[at] += 1;
    let Err(LoadError::Image(ForeignError::Violation(violation))) = load(&mut to, &minted, false)
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
    // Where the session of the image has ended.
    let later = || {
        let mut shard = source();
        while shard.tick(START.plus_ms(1_000)) > 0 {}
        shard
    };
    let mut to = later();
    to.keep_journal(LOG, 1);
    load(&mut to, &image, true).expect("it is taken");
    run(&mut to, START.plus_ms(1), &Command::Release { session: b"s" });
    let mut log = Vec::new();
    let journal: &mut FrameWriter = to.journal().expect("a journal");
    journal.seal(0, START);
    journal.take(&mut log);
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
