//! SCUR.STATEMENT with the real binary: the events of one account, complete and in order, however small the replies
//! are, and the errors for events that the log does not have.

use crate::events::{self, Event, all, balances, list, requests, sums, text};
use crate::store::{Directory, kill, wait_for_snapshots};
use crate::support::{Client, Server};
use std::collections::BTreeMap;

/// One reply.
#[derive(Debug)]
struct Statement {
    next: String,
    complete: String,
    kept_from: String,
    looked: String,
    reached: String,
    entries: Vec<Event>,
}

fn statement(client: &mut Client, arguments: &str) -> Statement {
    client.send(format!("SCUR.STATEMENT {arguments}\r\n"));
    read(client, arguments)
}

fn read(client: &mut Client, arguments: &str) -> Statement {
    assert_eq!(list(client), 14);
    let mut entry = |name: &str| {
        assert_eq!(text(client), name);
        text(client)
    };
    let account = entry("account");
    assert_eq!(Some(account.as_str()), arguments.split(' ').next());
    let (next, complete, kept_from) = (entry("next"), entry("complete"), entry("kept_from"));
    let (looked, reached) = (entry("looked"), entry("reached"));
    assert!(looked == "0" || reached != "nil", "{looked} {reached}");
    assert_eq!(text(client), "entries");
    Statement { next, complete, kept_from, looked, reached, entries: events::events(client) }
}

/// Returns the whole statement, the number of replies, and whether each of them was complete.
fn whole(client: &mut Client, arguments: &str) -> (Vec<Event>, usize, bool) {
    let (mut entries, mut cursor, mut replies, mut complete) = (Vec::new(), String::new(), 0, true);
    loop {
        let part = statement(client, &format!("{arguments}{cursor}"));
        entries.extend(part.entries);
        complete &= part.complete == "1";
        replies += 1;
        if part.next == "nil" {
            return (entries, replies, complete);
        }
        cursor = format!(" CURSOR {}", part.next);
    }
}

const ACCOUNTS: [&str; 4] = ["alice", "bob", "carol", "dave"];

fn create(client: &mut Client, account: &str) {
    client.ask(
        &format!("SCUR.CREATE {account} BUCKET main cent 1000 BUCKET data octet 90000"),
        "*2\r\n+OK\r\n:1\r\n",
    );
}

fn top_up(client: &mut Client, account: &str, txn: &str) {
    client.send(format!("SCUR.TOPUP {account} {txn} main 1\r\n"));
    assert_eq!([(); 5].map(|()| client.line())[1], "+OK");
}

/// Asserts that the sums of the entries are the balances, by bucket.
fn assert_adds_up(client: &mut Client, account: &str, entries: &[Event]) {
    let own: BTreeMap<String, (i64, i64)> =
        sums(entries).into_iter().map(|((_, bucket), sum)| (bucket, sum)).collect();
    assert_eq!(own, balances(client, account), "{account}");
}

#[test]
fn a_statement_adds_up_to_the_balances_on_every_thread_and_after_a_crash() {
    for threads in ["1", "3"] {
        let directory = Directory::make();
        let server = directory.serve("fsync", threads);
        let mut client = server.connect();
        ACCOUNTS.iter().for_each(|account| create(&mut client, account));
        let mut cursors = Vec::new();
        for account in ACCOUNTS {
            let first = statement(&mut client, &format!("{account} COUNT 2"));
            assert_eq!((first.entries.len(), first.complete.as_str()), (2, "1"), "{first:?}");
            cursors.push(first.next);
        }
        for account in ACCOUNTS {
            for round in 0..12 {
                // Changes sent earlier in the same pipeline are shown.
                let mut pipelined = requests(account, round);
                pipelined += &format!("SCUR.TOPUP {account} last-{round} main 1\r\n");
                pipelined += &format!("SCUR.STATEMENT {account} COUNT 1000\r\nPING\r\n");
                client.send(pipelined);
                let said = client.until("+PONG\r\n");
                assert!(said.contains(&format!("last-{round}\r\n")), "{said}");
            }
        }
        // Waits until the timer has ended its sessions.
        for account in ACCOUNTS {
            while client_sessions(&mut client, account) {}
        }
        let mut known = Vec::new();
        for (account, cursor) in ACCOUNTS.iter().zip(&cursors) {
            let (entries, _, complete) = whole(&mut client, account);
            assert!(complete && entries.len() > 12 * 15, "{}", entries.len());
            assert!(entries.iter().all(|entry| entry.field("account") == *account));
            assert_adds_up(&mut client, account, &entries);
            // The statement equals the account's events, and is the same in small pieces.
            let options = format!("ACCOUNT {account} COUNT 1000");
            assert_eq!(all(&mut client, "0", &options).0, entries);
            let (pieces, replies, _) = whole(&mut client, &format!("{account} COUNT 7"));
            assert!(replies > 20 && pieces == entries, "{replies} replies");
            // And backwards.
            let reversed: Vec<Event> = entries.iter().rev().cloned().collect();
            for count in ["7", "1000"] {
                let options = format!("{account} REV COUNT {count}");
                let (pieces, _, complete) = whole(&mut client, &options);
                assert!(complete && pieces == reversed, "{pieces:?}");
            }
            let newest = statement(&mut client, &format!("{account} REV COUNT 3"));
            assert_eq!(newest.entries, reversed[..3]);
            let looked: u64 = newest.looked.parse().expect("a number");
            assert!(looked > 0 && newest.reached.len() > 12, "{newest:?}");
            let rest = statement(&mut client, &format!("{account} COUNT 1000 CURSOR {cursor}"));
            assert_eq!(rest.entries, entries[2..], "the cursor goes on where it was");
            known.push(entries);
        }
        kill(server);
        let server = directory.serve("fsync", threads);
        let mut client = server.connect();
        for ((account, cursor), known) in ACCOUNTS.iter().zip(&cursors).zip(&known) {
            assert_eq!(&whole(&mut client, account).0[..known.len()], known, "after a crash");
            let rest = statement(&mut client, &format!("{account} COUNT 1000 CURSOR {cursor}"));
            assert_eq!(rest.entries[..known.len() - 2], known[2..]);
        }
    }
}

/// Reports whether the account has open sessions.
fn client_sessions(client: &mut Client, account: &str) -> bool {
    client.send(format!("SCUR.GET {account}\r\nPING\r\n"));
    let said = client.until("+PONG\r\n");
    let (_, sessions) = said.split_once("\r\nsessions\r\n").expect("a field");
    !sessions.starts_with("*0\r\n")
}

#[test]
fn a_period_and_a_unit_choose() {
    let directory = Directory::make();
    let server = directory.serve("write", "1");
    let mut client = server.connect();
    create(&mut client, "alice");
    create(&mut client, "bob");
    for round in 0..30 {
        client.send(requests("alice", round) + "PING\r\n");
        client.until("+PONG\r\n");
    }
    while client_sessions(&mut client, "alice") {}
    let (entries, _, _) = whole(&mut client, "alice");
    let times: Vec<i64> = entries.iter().map(|entry| number(entry, "time")).collect();
    assert!(times.is_sorted(), "the time of an account does not go back: {times:?}");
    let (first, last) = (times[0], times[times.len() - 1]);
    for cut in [first, first + 1, times[times.len() / 3], times[times.len() / 2], last, last + 1] {
        // The two parts together are the whole, without overlap.
        let (mut parts, _, complete) = whole(&mut client, &format!("alice TO {cut} COUNT 50"));
        assert!(parts.iter().all(|entry| number(entry, "time") < cut));
        let (rest, _, _) = whole(&mut client, &format!("alice FROM {cut}"));
        assert!(complete && rest.iter().all(|entry| number(entry, "time") >= cut));
        parts.extend(rest);
        assert_eq!(parts, entries, "cut at {cut}");
    }
    assert_eq!(whole(&mut client, &format!("alice FROM {first} TO {}", last + 1)).0, entries);
    let (cents, _, _) = whole(&mut client, "alice UNIT cent");
    let is_other = |entry: &&Event| !["", "cent"].contains(&entry.field("unit"));
    assert!(!cents.iter().any(|entry| is_other(&entry)));
    let count = entries.iter().filter(is_other).count();
    assert!(count > 30 && cents.len() + count == entries.len(), "{count}");
    assert_eq!(whole(&mut client, "nobody").0, []);
}

fn number(entry: &Event, name: &str) -> i64 {
    entry.field(name).parse().unwrap_or_else(|_| panic!("{name} of {entry:?}"))
}

#[test]
fn an_account_that_ended_and_began_anew_has_both_lives() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "2");
    let mut client = server.connect();
    for life in 0..2 {
        client.ask("SCUR.CREATE alice BUCKET main cent 5", "*2\r\n+OK\r\n:1\r\n");
        let txn = format!("v{life}");
        client.ask(&format!("SCUR.ADJUST alice {txn} main -5"), "*4\r\n+OK\r\n:0\r\n:2\r\n:0\r\n");
        client.ask("SCUR.STATUS alice closed", "*2\r\n+OK\r\n:3\r\n");
        client.send("SCUR.DELETE alice FORCE\r\n");
        assert_eq!([(); 3].map(|()| client.line())[1], "+OK");
    }
    client.ask("SCUR.CREATE alice BUCKET main cent 8", "*2\r\n+OK\r\n:1\r\n");
    let (entries, _, complete) = whole(&mut client, "alice");
    let words: Vec<&str> = entries.iter().map(|entry| entry.field("event")).collect();
    let life = ["created", "bucket-added", "credited", "voided", "status", "deleted"];
    assert_eq!(words, [&life[..], &life, &life[..3]].concat());
    assert!(complete);
    assert_adds_up(&mut client, "alice", &entries);
}

#[test]
fn a_reply_goes_through_a_part_of_the_log_and_what_is_not_kept_is_told() {
    let directory = Directory::make();
    let arguments = ["--dir", directory.path(), "--keep-log", "0", "--durability", "write"];
    let server = Server::start(&arguments);
    let mut client = server.connect();
    create(&mut client, "alice");
    let early = statement(&mut client, "alice COUNT 1");
    // A new segment begins, with 60 MB that do not concern alice.
    for part in 0..120 {
        client.send(format!("SET plain-{part} {}\r\n", "x".repeat(60 << 10)).repeat(16));
        client.expect(&"+OK\r\n".repeat(16));
        if part == 70 {
            top_up(&mut client, "alice", "middle");
        }
    }
    top_up(&mut client, "alice", "last");
    let (entries, replies, complete) = whole(&mut client, "alice");
    assert!(complete && replies >= 110 / 16, "{replies} replies");
    assert_eq!(entries.len(), 7, "{entries:?}");
    let late = number(&entries[6], "time");
    let (end, replies, _) = whole(&mut client, &format!("alice FROM {late}"));
    assert!(replies <= 5, "{replies} replies: the first segment is passed over");
    assert_eq!(end, entries[6..]);
    for count in 1..=2 {
        // Two snapshots of the same moment would be one.
        client.ask(&format!("SET plain-0 {count}"), "+OK\r\n");
        client.ask("SCUR.SNAPSHOT", "+OK\r\n");
        wait_for_snapshots(&server, count);
    }
    let told = statement(&mut client, "alice");
    assert_eq!(told.complete, "0", "{told:?}");
    let kept_from: i64 = told.kept_from.parse().expect("a time");
    assert!(number(&entries[0], "time") < kept_from, "{told:?}");
    let cursor = format!("alice CURSOR {}", early.next);
    assert_eq!(statement(&mut client, &cursor).complete, "0");
    top_up(&mut client, "alice", "behind");
    for (from, expected) in [(kept_from, "0"), (kept_from + 1, "1")] {
        let told = statement(&mut client, &format!("alice FROM {from}"));
        assert_eq!(told.complete, expected, "{told:?}");
    }
    let (rest, _, complete) = whole(&mut client, "alice");
    assert_eq!(rest.last().map(|entry| entry.field("transaction")), Some("behind"));
    assert!(!complete);
}

#[test]
fn what_cannot_be_answered_is_refused_with_the_cure() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "2");
    let mut client = server.connect();
    ACCOUNTS.iter().for_each(|account| create(&mut client, account));
    let cursor =
        |client: &mut Client, account: &str| statement(client, &format!("{account} COUNT 1")).next;
    let cursors = ACCOUNTS.map(|account| cursor(&mut client, account));
    let thread = |cursor: &str| cursor.split(['.', ':']).nth(1).expect("a thread").to_owned();
    let other = (1..ACCOUNTS.len()).find(|&at| thread(&cursors[at]) != thread(&cursors[0]));
    let other = &cursors[other.expect("two threads have accounts")];
    for (arguments, error) in [
        ("alice FROM x", "from is not an integer or out of range: it is in milliseconds"),
        ("alice FROM 7 TO 7", "to must be after from"),
        ("alice COUNT 0", "count must be 1 to 1000"),
        ("alice COUNT 1001", "count must be 1 to 1000"),
        ("alice CURSOR 0", "cursor must be the next of an earlier reply"),
        (
            "alice UNIT a-unit-of-17-char",
            "unit must be 1 to 16 printable ASCII characters without space",
        ),
        ("alice UNIT a UNIT b", "unit is given twice"),
        ("alice BLOCK 5", "unexpected argument 'BLOCK'"),
    ] {
        client.ask(&format!("SCUR.STATEMENT {arguments}"), &format!("-INVALID 10 {error}\r\n"));
    }
    let foreign = |client: &mut Client, cursor: &str| {
        client.send(format!("SCUR.STATEMENT alice CURSOR {cursor}\r\n"));
        let said = client.line();
        let head = format!("-INVALID 10 cursor {cursor} is none of the account's log");
        assert!(said.starts_with(&head) && said.ends_with("begin without a cursor"), "{said}");
    };
    let ahead = format!("1.{}:900", thread(&cursors[0]));
    let of_later_generation = format!("7.{}:1", thread(&cursors[0]));
    for cursor in [other, &ahead, &of_later_generation] {
        foreign(&mut client, cursor);
    }
    client.ask("MULTI", "+OK\r\n");
    let refused = "-ERR Command not allowed inside a transaction\r\n";
    client.ask("SCUR.STATEMENT alice", refused);
    client.send("EXEC\r\n");
    assert!(client.line().starts_with("-EXECABORT"));
    drop(client);
    kill(server);
    // With another number of threads, positions belong to another generation.
    let server = directory.serve("fsync", "1");
    let mut client = server.connect();
    foreign(&mut client, &cursors[0]);
    let told = statement(&mut client, "alice");
    assert_eq!((told.complete.as_str(), told.next.as_str()), ("0", "nil"), "{told:?}");
    let server = Server::start(&[]);
    let error = "-ERR events are read from the log, and this server keeps none: start it with \
                 --durability write or fsync\r\n";
    server.connect().ask("SCUR.STATEMENT alice", error);
}

/// Like any command with a key: cluster-aware clients ask the thread of the account.
#[test]
fn a_thread_of_its_own_port_states_its_own_accounts() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "2");
    let mut client = server.connect();
    ACCOUNTS.iter().for_each(|account| create(&mut client, account));
    client.send("CLUSTER SLOTS\r\n");
    let mut ports = Vec::new();
    for _ in 0..list(&mut client) {
        list(&mut client);
        let _ = [(); 2].map(|()| text(&mut client));
        list(&mut client);
        let _ip = text(&mut client);
        ports.push(text(&mut client).parse().expect("a port"));
        text(&mut client);
        list(&mut client);
    }
    for account in ACCOUNTS {
        let (mut here, mut elsewhere) = (0, 0);
        for &port in &ports {
            let mut client = server.connect_to(port);
            client.send(format!("SCUR.STATEMENT {account}\r\nPING\r\n"));
            let said = client.until("+PONG\r\n");
            here += usize::from(said.contains("bucket-added"));
            elsewhere += usize::from(said.starts_with("-MOVED "));
        }
        assert_eq!((here, elsewhere), (1, 1), "{account}");
    }
    client.send("COMMAND GETKEYS SCUR.STATEMENT alice FROM 5\r\n");
    client.expect("*1\r\n$5\r\nalice\r\n");
}

/// Also of ids that are forgotten, and of a denial, which moves nothing.
#[test]
fn a_transaction_and_a_session_are_found_in_the_log() {
    let directory = Directory::make();
    let beside = tempfile::tempdir().expect("a directory");
    let bounds = beside.path().join("bounds.toml");
    std::fs::write(&bounds, "[limits]\ntransaction_ms = 0\ntombstone_ms = 0\n").expect("a file");
    let bounds = bounds.to_str().expect("UTF-8");
    let arguments = ["--dir", directory.path(), "--durability", "fsync", "--config", bounds];
    let server = Server::start(&arguments);
    let mut client = server.connect();
    client.ask("SCUR.CREATE alice BUCKET main cent 50", "*2\r\n+OK\r\n:1\r\n");
    // Ids are forgotten by commits at once, so versions depend on when timers run.
    client.send("SCUR.DEBIT alice d1 cent 20\r\n");
    let [_, code, _, version, amount] = [(); 5].map(|()| client.line());
    assert_eq!((&code[..], &amount[..]), ("+OK", ":20"));
    client.send("SCUR.DEBIT alice d2 cent 40\r\n");
    assert_eq!([(); 6].map(|()| client.line())[1], "+CREDIT_LIMIT_REACHED");
    client.send("SCUR.RESERVE alice s1 0 ITEM 1 cent REQUESTED 5\r\n");
    client.expect("*4\r\n+OK\r\n:0\r\n:1\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:5\r\n:0\r\n:0\r\n");
    client.ask("SCUR.TERMINATE alice s1 1", "*4\r\n+OK\r\n:0\r\n:0\r\n*0\r\n");
    client.send("SCUR.TRANSACTION alice d1\r\n");
    assert!(client.line().starts_with("-UNKNOWN_TRANSACTION 42 "));
    for back in ["", " REV"] {
        let (mut paid, ..) = whole(&mut client, &format!("alice TRANSACTION d1{back}"));
        if !back.is_empty() {
            paid.reverse();
        }
        let words: Vec<&str> = paid.iter().map(|entry| entry.field("event")).collect();
        assert_eq!(words, ["debited", "answered"]);
        assert_eq!((number(&paid[0], "amount"), number(&paid[1], "amount")), (20, 20));
        let answer = (paid[1].field("code"), format!(":{}", number(&paid[1], "version")));
        assert_eq!(answer, ("OK", version.clone()));
        let (denied, ..) = whole(&mut client, &format!("alice TRANSACTION d2{back}"));
        let [first, second] = &denied[..] else { panic!("{denied:?}") };
        let told = |entry: &Event| {
            ["event", "transaction", "code", "cause"].map(|name| entry.field(name).to_owned())
        };
        let mut told = [told(first), told(second)];
        told.sort_unstable();
        let entry = |event| [event, "d2", "CREDIT_LIMIT_REACHED", "balance"];
        assert_eq!(told, [entry("answered"), entry("denied")]);
    }
    let (session, ..) = whole(&mut client, "alice SESSION s1");
    let words: Vec<&str> = session.iter().map(|entry| entry.field("event")).collect();
    let expected = ["session-opened", "item-added", "reserved", "released", "session-closed"];
    assert_eq!(words, expected);
    assert_eq!(whole(&mut client, "alice TRANSACTION none").0, []);
    assert_eq!(whole(&mut client, "alice SESSION d1").0, []);
    assert_eq!(whole(&mut client, "alice TRANSACTION d1 SESSION s1").0, []);
    // Without a filter an answer is no entry.
    let (all, ..) = whole(&mut client, "alice");
    assert!(all.iter().all(|entry| entry.field("event") != "answered"));
}
