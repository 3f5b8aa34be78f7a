//! The grammar of SCUR commands, as docs/commands.md describes it.

use scurry_ledger::{
    BucketAttributes, Command, Create, ItemKey, ItemRequest, LimitSubject, LimitTerms, Name,
    NewBucket, Overrun, Period, PeriodClock, SessionOptions, SessionPage, SessionRequest, Status,
    Time, WindowTerms,
};
use scurry_resp::table::{self, CommandId};
use scurry_resp::{Parsed, Parser, Read, RequestLimits, Scratch, Write, parse_read, parse_write};
use std::collections::BTreeSet;

#[derive(Debug, PartialEq, Eq)]
enum Request<'a> {
    Read(Read<'a>),
    Write(Write<'a>),
}

/// Parses a line as the server would, and passes the result to the assertion.
fn parse(line: &str, assert: impl FnOnce(Result<Request<'_>, String>)) {
    let input = format!("{line}\r\n");
    let mut parser = Parser::default();
    let parsed = parser.parse(input.as_bytes(), &RequestLimits::default(), true);
    assert!(matches!(parsed, Parsed::Request(_)), "{line}: {parsed:?}");
    let args = parser.args(input.as_bytes(), 0);
    let spec = table::find(args.at(0)).expect("a known command");
    assert!(spec.accepts(args.len()), "{line}: the arity is wrong");
    let mut scratch = Scratch::default();
    let request = match spec.id {
        CommandId::ScurRead(id) => parse_read(id, args).map(Request::Read),
        CommandId::ScurWrite(id) => parse_write(id, args, &mut scratch).map(Request::Write),
        other => panic!("{line}: the grammar has no {other:?}"),
    };
    assert(request.map_err(|fault| fault.to_string()));
}

fn writes(line: &str, expected: &Command<'_>) {
    parse(line, |parsed| match parsed {
        Ok(Request::Write(Write { account, command })) => {
            assert_eq!(account, b"a", "{line}");
            assert_eq!(&command, expected, "{line}");
        }
        other => panic!("{line}: {other:?}"),
    });
}

fn fails(line: &str, expected: &str) {
    parse(line, |parsed| match parsed {
        Err(text) => assert_eq!(text, format!("INVALID 10 {expected}"), "{line}"),
        Ok(request) => panic!("{line}: {request:?}"),
    });
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

const NO_ATTRIBUTES: BucketAttributes = BucketAttributes {
    priority: None,
    valid_from: None,
    valid_to: None,
    floor: None,
    mark: None,
    period: None,
    clock: PeriodClock::NONE,
    refill: None,
    rollover: None,
    debt: None,
};

#[test]
fn every_example_of_the_table_parses() {
    // A chain has a parser of its own; its example runs against a server (crates/cli/tests/server/cli_commands.rs).
    let elsewhere =
        |spec: &&table::Spec| matches!(spec.id, CommandId::Store(_) | CommandId::ScurChain(_));
    for spec in table::SCUR.iter().filter(|spec| !elsewhere(spec)) {
        parse(spec.example, |parsed| assert!(parsed.is_ok(), "{}: {parsed:?}", spec.example));
    }
}

#[test]
fn accounts() {
    writes(
        "scur.create a bucket m c 5 floor -1 item 100 priority -2 item x BUCKET n d 0 to 9 from 3 status suspended identity tel 12",
        &Command::Create(Create {
            txn: None,
            status: Status::Suspended,
            identities: &[(name("tel"), b"12")],
            buckets: &[
                NewBucket {
                    bucket: name("m"),
                    unit: name("c"),
                    amount: 5,
                    attributes: BucketAttributes {
                        priority: Some(-2),
                        floor: Some(-1),
                        ..NO_ATTRIBUTES
                    },
                },
                NewBucket {
                    bucket: name("n"),
                    unit: name("d"),
                    amount: 0,
                    attributes: BucketAttributes {
                        valid_from: Some(Time(3)),
                        valid_to: Some(Some(Time(9))),
                        ..NO_ATTRIBUTES
                    },
                },
            ],
            keys: &[(0, 100.into()), (0, ItemKey::new(b"x").expect("a key"))],
        }),
    );
    writes("SCUR.CREATE a", &Command::Create(Create::active(&[])));
    writes(
        r#"SCUR.STATUS a CLOSED IDENTITY tel """#,
        &Command::Status { txn: None, status: Status::Closed, identities: &[(name("tel"), b"")] },
    );
    writes(
        "SCUR.STATUS a active txn s-1",
        &Command::Status { txn: Some(b"s-1"), status: Status::Active, identities: &[] },
    );
    writes("SCUR.DELETE a", &Command::Delete { force: false, if_txn: None });
    writes("SCUR.DELETE a force", &Command::Delete { force: true, if_txn: None });
    let both = Command::Delete { force: true, if_txn: Some(b"c-1") };
    writes("SCUR.DELETE a iftxn c-1 force", &both);
    writes("SCUR.DELETE a FORCE IFTXN c-1", &both);
}

#[test]
fn balances() {
    writes(
        "SCUR.TOPUP a t m 7 TO none ITEM 9 UNIT c",
        &Command::TopUp {
            txn: b"t",
            bucket: name("m"),
            amount: 7,
            unit: Some(name("c")),
            attributes: BucketAttributes { valid_to: Some(None), ..NO_ATTRIBUTES },
            keys: &[9.into()],
        },
    );
    writes(
        "SCUR.ADJUST a t m -9223372036854775808",
        &Command::Adjust { txn: b"t", bucket: name("m"), amount: i64::MIN },
    );
    writes(
        "SCUR.BUCKET a t m REMOVE",
        &Command::Bucket {
            txn: b"t",
            bucket: name("m"),
            attributes: NO_ATTRIBUTES,
            keys: None,
            remove: true,
        },
    );
    writes(
        "SCUR.BUCKET a t m period Day AMOUNT 7 offset -60",
        &Command::Bucket {
            txn: b"t",
            bucket: name("m"),
            attributes: BucketAttributes {
                period: Some(Period::Day),
                clock: PeriodClock::with_offset(-60),
                refill: Some(7),
                ..NO_ATTRIBUTES
            },
            keys: None,
            remove: false,
        },
    );
    let marked = |mark| Command::Bucket {
        txn: b"t",
        bucket: name("m"),
        attributes: BucketAttributes { mark: Some(mark), ..NO_ATTRIBUTES },
        keys: None,
        remove: false,
    };
    writes("SCUR.BUCKET a t m mark -3", &marked(Some(-3)));
    writes("SCUR.BUCKET a t m MARK None", &marked(None));
    let for_items = |keys| Command::Bucket {
        txn: b"t",
        bucket: name("m"),
        attributes: NO_ATTRIBUTES,
        keys: Some(keys),
        remove: false,
    };
    let two = [1.into(), 2.into()];
    writes("SCUR.BUCKET a t m item 1 ITEM 2", &for_items(&two));
    writes("SCUR.BUCKET a t m ANYITEM", &for_items(&[]));
    writes("SCUR.DEBIT a t c 3", &Command::Debit { txn: b"t", unit: name("c"), amount: 3 });
    let refund = |debit, amount, carry| Command::Refund { txn: b"t", debit, amount, carry };
    writes("SCUR.REFUND a t d", &refund(b"d", None, false));
    writes("SCUR.REFUND a t d 4", &refund(b"d", Some(4), false));
    writes("SCUR.REFUND a t d 4 carry", &refund(b"d", Some(4), true));
    writes("SCUR.REFUND a t d CARRY 4", &refund(b"d", Some(4), true));
    writes("SCUR.REFUND a t CARRY CARRY", &refund(b"CARRY", None, true));
    writes("SCUR.REFUND a t CARRY", &refund(b"CARRY", None, false));
    writes(
        "SCUR.COUNTER a t n 1 PERIOD Week",
        &Command::Counter {
            txn: b"t",
            counter: name("n"),
            amount: 1,
            unit: None,
            period: Some(Period::Week),
            clock: PeriodClock::NONE,
        },
    );
}

#[test]
fn limits() {
    let (txn, limit) = (&b"t"[..], name("l"));
    let writes_set = |words: &str, counted, amount, period, offset_minutes| {
        let clock = PeriodClock { offset_minutes, ..PeriodClock::NONE };
        let terms =
            LimitTerms::Set { counted, amount, window: WindowTerms::Period { period, clock } };
        writes(&format!("SCUR.LIMIT a t l {words}"), &Command::Limit { txn, limit, terms });
    };
    let (unit, item) = (name("cent"), ItemKey::new(b"gpt-x"));
    let month = Some(Period::Month);
    writes_set("UNIT cent AMOUNT 5", LimitSubject::Units { unit, item: None }, 5, None, None);
    writes_set(
        "AMOUNT -5 offset -90 period MONTH item gpt-x unit cent",
        LimitSubject::Units { unit, item },
        -5,
        month,
        Some(-90),
    );
    writes_set("sessions amount 0", LimitSubject::Sessions, 0, None, None);
    // `decide` refuses this combination; the grammar allows it.
    writes_set("SESSIONS PERIOD month AMOUNT 0", LimitSubject::Sessions, 0, month, None);
    writes("SCUR.LIMIT a t l remove", &Command::Limit { txn, limit, terms: LimitTerms::Remove });
}

#[test]
fn sessions() {
    let item = |key: u32, used, requested, min| ItemRequest {
        key: key.into(),
        unit: name("c"),
        used,
        requested,
        min,
    };
    let plain =
        SessionRequest { session: b"s", request: 0, items: &[], ..SessionRequest::default() };
    writes(
        "SCUR.RESERVE a s 4294967295 ITEM 1 c MIN 2 REQUESTED 9 tcc 30ms ITEM 4294967295 c requested 1 DATA ITEM overrun CLAMP closeondenial VALIDITY 20ms",
        &Command::Reserve(SessionRequest {
            request: u32::MAX,
            blob: Some(b"ITEM"),
            items: &[item(1, None, Some(9), Some(2)), item(u32::MAX, None, Some(1), None)],
            options: SessionOptions {
                validity_ms: Some(20),
                tcc_ms: Some(30),
                overrun: Some(Overrun::Clamp),
                close_on_denial: true,
                ..plain.options
            },
            ..plain
        }),
    );
    writes(
        "SCUR.UPDATE a s 1 IFVERSION 3 ITEM 1 c USED 5 REQUESTED 6",
        &Command::Update(SessionRequest {
            request: 1,
            items: &[item(1, Some(5), Some(6), None)],
            options: SessionOptions { if_version: Some(3), ..plain.options },
            ..plain
        }),
    );
    writes(
        "SCUR.TERMINATE a s 2 ITEM 1 c USED 5",
        &Command::Terminate(SessionRequest {
            request: 2,
            items: &[item(1, Some(5), None, None)],
            ..plain
        }),
    );
    writes("SCUR.RELEASE a s", &Command::Release { session: b"s", txn: None, cancel: false });
}

#[test]
fn durations() {
    let tcc = |word: &str, expected: i64| {
        let request = SessionRequest { session: b"s", request: 0, ..SessionRequest::default() };
        let request = SessionRequest {
            options: SessionOptions { tcc_ms: Some(expected), ..request.options },
            ..request
        };
        writes(&format!("SCUR.RESERVE a s 0 TCC {word}"), &Command::Reserve(request));
        let request = SessionRequest {
            options: SessionOptions {
                validity_ms: Some(expected),
                tcc_ms: None,
                ..request.options
            },
            ..request
        };
        writes(&format!("SCUR.RESERVE a s 0 VALIDITY {word}"), &Command::Reserve(request));
    };
    for (word, ms) in [
        ("1ms", 1),
        ("999MS", 999),
        ("1000", 1_000),
        ("9223372036854775807", i64::MAX),
        ("60s", 60_000),
        ("1S", 1_000),
        ("20m", 1_200_000),
        ("2h", 7_200_000),
        // `decide` refuses these values; the grammar allows them.
        ("0", 0),
        ("-5", -5),
        ("0s", 0),
        ("-5s", -5_000),
    ] {
        tcc(word, ms);
    }
}

#[test]
fn reads() {
    let reads = |line: &str, expected: Read<'static>| {
        parse(line, |parsed| assert_eq!(parsed, Ok(Request::Read(expected)), "{line}"));
    };
    reads("SCUR.GET a", Read::Account(b"a"));
    reads("SCUR.AUDIT a", Read::Audit(b"a"));
    let page = SessionPage { after: b"", count: 100 };
    reads("SCUR.HOLDS a", Read::Holds { account: b"a", page });
    let page = SessionPage { after: b"s", count: 7 };
    reads("SCUR.HOLDS a after s count 7", Read::Holds { account: b"a", page });
    reads("SCUR.TRANSACTION a t", Read::Transaction { account: b"a", txn: b"t" });
    reads("SCUR.SESSION a s", Read::Session { account: b"a", session: b"s" });
    reads(
        "SCUR.CHECK a c 1",
        Read::Check { account: b"a", unit: name("c"), item: None, amount: 1 },
    );
    let item = Some(1.into());
    reads(
        "SCUR.CHECK a c 1 item 1",
        Read::Check { account: b"a", unit: name("c"), item, amount: 1 },
    );
}

const DURATION: &str =
    "tcc is not an integer or out of range: it is a time with its unit (ms, s, m, h), as 60s";

#[test]
fn faults_name_what_is_wrong() {
    let unit = "unit must be 1 to 16 printable ASCII characters without space";
    for (line, expected) in [
        (
            "SCUR.DEBIT a t c 1.5",
            "amount is not an integer or out of range: it counts minor units, without a fraction",
        ),
        (
            "SCUR.DEBIT a t c 9223372036854775808",
            "amount is not an integer or out of range: it counts minor units, without a fraction",
        ),
        (
            "SCUR.DEBIT a t c +1",
            "amount is not an integer or out of range: it counts minor units, without a fraction",
        ),
        ("SCUR.DEBIT a t 12345678901234567 1", unit),
        (r#"SCUR.DEBIT a t "" 1"#, unit),
        (r#"SCUR.DEBIT a t "a b" 1"#, unit),
        (r#"SCUR.DEBIT a t "\x80" 1"#, unit),
        (r#"SCUR.GET """#, "account must be 1 to 128 printable ASCII characters without space"),
        (
            r#"SCUR.RELEASE a "s\n""#,
            "session must be 1 to 255 printable ASCII characters without space",
        ),
        ("SCUR.CHECK a c 0", "amount must be at least 1"),
        ("SCUR.REFUND a t d 1 2", "unexpected argument '2'"),
        ("SCUR.DELETE a NOW", "unexpected argument 'NOW'"),
        (
            "SCUR.CREATE a PRIORITY 1",
            "unexpected argument 'PRIORITY': STATUS, IDENTITY or BUCKET comes first",
        ),
        ("SCUR.CREATE a STATUS closed", "status must be active or suspended"),
        (
            "SCUR.RESERVE a s 0 TCC 60",
            "tcc 60 is 60 milliseconds: write 60s for seconds, or 60ms where that is meant",
        ),
        (
            "SCUR.UPDATE a s 0 VALIDITY 999",
            "validity 999 is 999 milliseconds: write 999s for seconds, or 999ms where that is meant",
        ),
        ("SCUR.RESERVE a s 0 TCC 10d", DURATION),
        ("SCUR.RESERVE a s 0 TCC ms", DURATION),
        ("SCUR.RESERVE a s 0 TCC 1.5s", DURATION),
        ("SCUR.RESERVE a s 0 TCC 05s", DURATION),
        ("SCUR.RESERVE a s 0 TCC +5s", DURATION),
        ("SCUR.RESERVE a s 0 TCC 5s5", DURATION),
        ("SCUR.RESERVE a s 0 TCC 9223372036854775807s", DURATION),
        (
            "SCUR.CREATE a BUCKET b c 1 TO none",
            "to is not an integer or out of range: it is in milliseconds",
        ),
        ("SCUR.CREATE a BUCKET b c", "amount is missing"),
        ("SCUR.CREATE a BUCKET b c 1 FLOOR 1 FLOOR 1", "floor is given twice"),
        ("SCUR.CREATE a BUCKET b c 1 MARK 1 MARK 1", "mark is given twice"),
        (
            "SCUR.CREATE a BUCKET b c 1 MARK none",
            "mark is not an integer or out of range: it counts minor units, without a fraction",
        ),
        (
            r#"SCUR.CREATE a IDENTITY k """#,
            "identity value must be 1 to 255 printable ASCII characters without space",
        ),
        ("SCUR.STATUS a open", "status must be active, suspended or closed"),
        ("SCUR.TOPUP a t b 1 PRIORITY 2147483648", "priority is not an integer or out of range"),
        ("SCUR.TOPUP a t b 1 UNIT", "unit is missing"),
        (
            "SCUR.COUNTER a t n 1 PERIOD decade",
            "period must be none, minute, hour, day, week, month, quarter, year, or a number of m, h or d",
        ),
        (
            "SCUR.RESERVE a s -1 ITEM 1 c REQUESTED 1",
            "request is not an integer or out of range: it is the request's number, behind the session",
        ),
        (
            "SCUR.RESERVE a s 4294967296 ITEM 1 c REQUESTED 1",
            "request is not an integer or out of range: it is the request's number, behind the session",
        ),
        (
            "SCUR.RESERVE a s 0 ITEM 123456789012345678901234567890123 c REQUESTED 1",
            "key must be 1 to 32 printable ASCII characters without space",
        ),
        (
            "SCUR.RESERVE a s 0 ITEM 1 c USED 1",
            "unexpected argument 'USED': it is for SCUR.UPDATE and SCUR.TERMINATE",
        ),
        (
            "SCUR.RESERVE a s 0 REQUESTED 1",
            "unexpected argument 'REQUESTED': it belongs behind an ITEM",
        ),
        (
            "SCUR.RESERVE a s 0 ITEM 1 c 5",
            "unexpected argument '5': a number has its word before it, as REQUESTED or USED",
        ),
        ("SCUR.RESERVE a s 0 ITEM 1 c REQUESTS 5", "unexpected argument 'REQUESTS'"),
        ("SCUR.UPDATE a s 0 keepopen", "unexpected argument 'keepopen': it is for SCUR.RESERVE"),
        (
            "SCUR.RESERVE a s 0 OVERRUN free ITEM 1 c REQUESTED 1",
            "overrun must be overdraw, clamp or held",
        ),
        (
            "SCUR.RESERVE a s 0 IFVERSION 1 ITEM 1 c REQUESTED 1",
            "unexpected argument 'IFVERSION': it is for SCUR.UPDATE and SCUR.TERMINATE",
        ),
        ("SCUR.UPDATE a s 0 IFVERSION -1", "ifversion is not an integer or out of range"),
        ("SCUR.UPDATE a s 0 USED 1", "unexpected argument 'USED': it belongs behind an ITEM"),
        ("SCUR.UPDATE a s 0 CLOSEONDENIAL CLOSEONDENIAL", "closeondenial is given twice"),
        (
            "SCUR.TERMINATE a s 0 ITEM 1 c REQUESTED 1",
            "unexpected argument 'REQUESTED': it is for SCUR.RESERVE and SCUR.UPDATE",
        ),
        (
            "SCUR.TERMINATE a s 0 DATA x",
            "unexpected argument 'DATA': it is for SCUR.RESERVE and SCUR.UPDATE",
        ),
        (
            r#"SCUR.DELETE a "an-argument-that-is-longer-than-32-bytes""#,
            "unexpected argument 'an-argument-that-is-longer-than-'...",
        ),
        (r#"SCUR.DELETE a "\x00\r\n'""#, r"unexpected argument '\x00\r\n\''"),
    ] {
        fails(line, expected);
    }
}

#[test]
fn lists_are_bounded() {
    let line = "SCUR.UPDATE a s 0".to_owned() + &" ITEM 1 c".repeat(65);
    fails(&line, "at most 64 items are possible");
    let line = "SCUR.CREATE a".to_owned() + &" BUCKET b c 1".repeat(65);
    fails(&line, "at most 64 buckets are possible");
    let line = "SCUR.CREATE a".to_owned() + &" IDENTITY k v".repeat(65);
    fails(&line, "at most 64 identities are possible");
}

/// The parser takes an option exactly where the table has it, and tells of any other where it belongs.
#[test]
fn a_session_request_takes_the_options_of_its_grammar() {
    let kinds = ["SCUR.RESERVE", "SCUR.UPDATE", "SCUR.TERMINATE"];
    let options = |name: &str| {
        let grammar = table::find(name.as_bytes()).expect("a command").grammar;
        let before_items = grammar.split("[ITEM").next().unwrap_or_default();
        let words = before_items.split(|c: char| !c.is_ascii_uppercase());
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let all: BTreeSet<String> = kinds.iter().flat_map(|name| options(name)).collect();
    assert!(all.len() > 7, "{all:?}");
    for name in kinds {
        for word in &all {
            let takers: Vec<&str> =
                kinds.into_iter().filter(|kind| options(kind).contains(word)).collect();
            let line = format!("{name} a s 1 {word}");
            if takers.contains(&name) {
                // Taken: a value may be missing.
                parse(&line, |parsed| {
                    let fault = parsed.err().unwrap_or_default();
                    assert!(!fault.contains("unexpected"), "{line}: {fault}");
                });
            } else {
                let place = takers.join(" and ");
                fails(&line, &format!("unexpected argument '{word}': it is for {place}"));
            }
        }
    }
}
