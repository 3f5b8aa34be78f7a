//! SCUR.WATCH with the real binary: every change arrives once and in order, across crashes and threads; a reader that
//! is too late gets the range that it missed; a waiting reader is woken.

use crate::store::{Directory, kill, wait_for_snapshots};
use crate::support::{Client, Server, python, tool};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// One reply of SCUR.WATCH.
#[derive(Debug)]
struct Seen {
    next: String,
    oldest: String,
    end: String,
    events: Vec<Event>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    fields: BTreeMap<String, String>,
}

impl Event {
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> i64 {
        self.field(name).parse().unwrap_or_else(|_| panic!("{name} of {self:?}"))
    }

    /// Returns sequence and index.
    fn place(&self) -> (u64, u64) {
        let (_, place) = self.id.split_once(':').expect("a thread");
        let (sequence, index) = place.split_once('-').unwrap_or((place, "0"));
        (sequence.parse().expect("a number"), index.parse().expect("a number"))
    }
}

pub(crate) fn text(client: &mut Client) -> String {
    let line = client.line();
    match line.split_at(1) {
        ("$", "-1") => "nil".to_owned(),
        ("$", len) => {
            let bytes = client.bytes(len.parse::<usize>().expect("a length") + 2);
            String::from_utf8_lossy(&bytes[..bytes.len() - 2]).into_owned()
        }
        (":", number) => number.to_owned(),
        _ => panic!("neither text nor number: {line}"),
    }
}

pub(crate) fn list(client: &mut Client) -> usize {
    let line = client.line();
    line.strip_prefix('*').and_then(|len| len.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

fn seen(client: &mut Client) -> Seen {
    assert_eq!(list(client), 10);
    let mut entry = |name: &str| {
        assert_eq!(text(client), name);
        text(client)
    };
    assert_eq!(entry("store").len(), 16);
    let (next, oldest, end) = (entry("next"), entry("oldest"), entry("end"));
    assert_eq!(text(client), "events");
    Seen { next, oldest, end, events: events(client) }
}

/// Reads an array of events.
pub(crate) fn events(client: &mut Client) -> Vec<Event> {
    (0..list(client))
        .map(|_| {
            assert_eq!(list(client), 2);
            let id = text(client);
            let fields = (0..list(client) / 2).map(|_| (text(client), text(client))).collect();
            Event { id, fields }
        })
        .collect()
}

fn watch(client: &mut Client, arguments: &str) -> Seen {
    client.send(format!("SCUR.WATCH {arguments}\r\n"));
    seen(client)
}

/// Returns all events from a position to the end, and the end position.
pub(crate) fn all(client: &mut Client, from: &str, options: &str) -> (Vec<Event>, String) {
    let (mut events, mut from) = (Vec::new(), from.to_owned());
    loop {
        let seen = watch(client, &format!("{from} {options}"));
        events.extend(seen.events);
        from = seen.next;
        if from == seen.end {
            return (events, from);
        }
    }
}

/// Returns the available and held units by account and bucket, summed from events.
pub(crate) fn sums(events: &[Event]) -> BTreeMap<(String, String), (i64, i64)> {
    let mut sums = BTreeMap::new();
    for event in events {
        if event.fields.contains_key("change") {
            let key = (event.field("account").to_owned(), event.field("bucket").to_owned());
            let sum: &mut (i64, i64) = sums.entry(key).or_default();
            sum.0 += event.number("change");
            sum.1 += event.number("held_change");
            let after = (event.number("available"), event.number("held"));
            assert!(after.1 >= 0, "{event:?}");
        }
    }
    sums
}

/// Returns the balances of an account.
pub(crate) fn balances(client: &mut Client, account: &str) -> BTreeMap<String, (i64, i64)> {
    client.send(format!("SCUR.AUDIT {account}\r\n"));
    assert_eq!(list(client), 8);
    let _ = [(); 5].map(|()| text(client));
    let mut balances = BTreeMap::new();
    for _ in 0..list(client) {
        let fields: Vec<String> = (0..list(client)).map(|_| text(client)).collect();
        let number = |at: usize| fields[at].parse().expect("a number");
        balances.insert(fields[0].clone(), (number(2), number(3)));
    }
    assert_eq!(text(client), "uncollected");
    for _ in 0..list(client) {
        assert_eq!(list(client), 2);
        let _ = [(); 2].map(|()| text(client));
    }
    balances
}

/// Returns requests that move an account's units in every way that a client can.
pub(crate) fn requests(account: &str, round: usize) -> String {
    let a = account;
    let r = round;
    [
        format!("SCUR.TOPUP {a} t{r} main 500"),
        format!("SCUR.RESERVE {a} s{r} 0 ITEM 1 cent REQUESTED 90 ITEM 2 octet REQUESTED 70"),
        format!("SCUR.UPDATE {a} s{r} 1 ITEM 1 cent USED 100 REQUESTED 40 ITEM 2 octet USED 20"),
        format!("SCUR.DEBIT {a} d{r} cent 30"),
        format!("SCUR.REFUND {a} f{r} d{r} 10"),
        format!("SCUR.ADJUST {a} v{r} main -7"),
        format!("SCUR.COUNTER {a} c{r} calls 1"),
        format!("SCUR.TERMINATE {a} s{r} 2 ITEM 1 cent USED 15"),
        format!("SET plain-{a} {r}"),
        format!("SCUR.RESERVE {a} x{r} 0 TCC 1ms ITEM 1 cent REQUESTED 5"),
    ]
    .map(|line| line + "\r\n")
    .concat()
}

const ACCOUNTS: [&str; 3] = ["alice", "bob", "carol"];

fn create_all(client: &mut Client) {
    for account in ACCOUNTS {
        client.ask(
            &format!("SCUR.CREATE {account} BUCKET main cent 1000 BUCKET data octet 90000"),
            "*2\r\n+OK\r\n:1\r\n",
        );
    }
}

fn compare(client: &mut Client, events: &[Event]) {
    let sums = sums(events);
    for account in ACCOUNTS {
        for (bucket, balance) in balances(client, account) {
            let key = (account.to_owned(), bucket);
            assert_eq!(sums.get(&key), Some(&balance), "{key:?}");
        }
    }
}

fn assert_in_order(events: &[Event]) {
    for pair in events.windows(2) {
        assert!(pair[0].place() < pair[1].place(), "{:?} and {:?}", pair[0], pair[1]);
    }
}

#[test]
fn nothing_is_skipped_or_repeated_when_the_server_is_killed_while_clients_write() {
    let directory = Directory::make();
    let (mut events, mut from) = (Vec::new(), "0".to_owned());
    for round in 0..6 {
        let server = directory.serve(if round % 2 == 0 { "fsync" } else { "write" }, "1");
        let mut reader = server.connect();
        if round == 0 {
            create_all(&mut server.connect());
        }
        // Reads the events that an earlier run has left.
        let (more, next) = all(&mut reader, &from, "COUNT 7");
        events.extend(more);
        let mut writer = server.connect();
        for at in 0..40 {
            let account = ACCOUNTS[at % ACCOUNTS.len()];
            writer.send(requests(account, 100 * round + at));
        }
        // When the server dies, part of the events has been read.
        from = next;
        while events.len() < 150 * (round + 1) {
            let seen = watch(&mut reader, &format!("{from} COUNT 13 BLOCK 10000"));
            events.extend(seen.events);
            from = seen.next;
        }
        kill(server);
    }
    let server = directory.serve("fsync", "1");
    let mut client = server.connect();
    // Sessions that only the timer ends have ended when no more events arrive.
    loop {
        let (more, next) = all(&mut client, &from, "");
        events.extend(more);
        from = next;
        client.send("SCUR.TOTALS\r\n");
        assert_eq!(list(&mut client), 6);
        let counts = [(); 4].map(|()| text(&mut client));
        assert_eq!(text(&mut client), "units");
        for _ in 0..list(&mut client) {
            for _ in 0..list(&mut client) {
                text(&mut client);
            }
        }
        let opened = events.iter().filter(|event| event.field("event") == "session-opened");
        let ended =
            |event: &&Event| ["session-closed", "session-expired"].contains(&event.field("event"));
        let open = opened.count() - events.iter().filter(ended).count();
        if counts[3] == open.to_string() && watch(&mut client, &from).events.is_empty() {
            break;
        }
    }
    assert_in_order(&events);
    compare(&mut client, &events);
    let (again, end) = all(&mut client, "0", "COUNT 1000");
    assert_eq!((again == events, end), (true, from), "what was read in pieces is all there is");
    let words = ["credited", "debited", "refunded", "voided", "reserved", "settled", "released"];
    for word in words.into_iter().chain(["session-expired", "counter"]) {
        assert!(events.iter().any(|event| event.field("event") == word), "{word}");
    }
}

#[test]
fn who_is_late_is_told_what_was_missed_unless_more_is_kept() {
    for (keep, is_kept) in [("0", false), ("1gb", true), ("30d", true)] {
        let directory = Directory::make();
        let arguments = ["--dir", directory.path(), "--keep-log", keep, "--durability", "write"];
        let server = Server::start(&arguments);
        let mut client = server.connect();
        create_all(&mut client);
        let early = watch(&mut client, "0 COUNT 2").next;
        assert_eq!(early, "1.0:1-2");
        for count in 1..=2 {
            // Two snapshots of the same moment would be one.
            client.ask(&format!("SET plain-0 {count}"), "+OK\r\n");
            client.ask("SCUR.SNAPSHOT", "+OK\r\n");
            wait_for_snapshots(&server, count);
        }
        client.ask("SCUR.TOPUP alice t main 5", "*4\r\n+OK\r\n:0\r\n:2\r\n:1005\r\n");
        let seen = watch(&mut client, &early);
        if is_kept {
            assert_eq!((seen.oldest.as_str(), seen.events[0].id.as_str()), ("1.0:1", "1.0:1-2"));
            // The server looks how much is kept after each snapshot.
            let is_told = (0..100_000).any(|_| {
                client.send("INFO persistence\r\n");
                let said = client.bulk();
                let value = said.lines().find_map(|line| line.strip_prefix("log_kept_bytes:"));
                value.expect("a line").parse::<u64>().expect("a number") > 0
            });
            assert!(is_told, "it is not told what is kept");
            continue;
        }
        assert!(seen.oldest != "1.0:1", "{seen:?}");
        let missed = &seen.events[0];
        assert_eq!(missed.id, format!("{early}..{}", seen.oldest));
        assert!(seen.events[1..].iter().all(|event| event.id != missed.id), "{seen:?}");
        let said = ["event", "from", "to"].map(|name| missed.field(name));
        assert_eq!(said, ["missed", early.as_str(), seen.oldest.as_str()]);
        assert_eq!(seen.events[1].field("available"), "1005");
        assert_eq!(seen.events.len(), 2);
        // A reader that begins at the oldest position has missed nothing.
        assert_eq!(watch(&mut client, "0").events, seen.events[1..]);
        assert_eq!(watch(&mut client, &seen.next).events, []);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it measures how long a reply took")]
fn who_waits_is_woken_by_what_comes_by_the_time_and_by_the_end() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "1");
    let (mut reader, mut writer) = (server.connect(), server.connect());
    let position = watch(&mut reader, "$").next;
    assert_eq!(position, "1.0:1");
    let began = Instant::now();
    let seen = watch(&mut reader, &format!("{position} BLOCK 150"));
    assert!(began.elapsed() >= Duration::from_millis(150), "{:?}", began.elapsed());
    assert_eq!((seen.events.len(), seen.next), (0, position.clone()));
    reader.send(format!("SCUR.WATCH {position} BLOCK 60000 ACCOUNT bob\r\nPING\r\n"));
    create_all(&mut writer);
    let seen = self::seen(&mut reader);
    assert_eq!(seen.events[0].field("event"), "created");
    assert!(seen.events.iter().all(|event| event.field("account") == "bob"), "{seen:?}");
    reader.expect("+PONG\r\n");
    // A reader that has disconnected no longer waits, and no other client is affected.
    let mut gone = server.connect();
    gone.send("SCUR.WATCH $ BLOCK 60000\r\n");
    drop(gone);
    reader.send("SCUR.WATCH $ BLOCK 60000\r\n");
    writer.ask("PING", "+PONG\r\n");
    let began = Instant::now();
    server.signal(Signal::SIGTERM);
    assert_eq!(self::seen(&mut reader).events, []);
    assert!(server.wait().0.success());
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

/// A session with use of two items, one of them beyond the balance, and use after its end.
#[test]
fn a_record_of_a_session_is_made_of_events_alone() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "1");
    let mut client = server.connect();
    client.ask("SCUR.CREATE alice BUCKET main cent 100", "*2\r\n+OK\r\n:1\r\n");
    let answer = |version, items: &str| format!("*4\r\n+OK\r\n:0\r\n:{version}\r\n{items}");
    let item = |key: &str, granted, uncollected| {
        format!("*5\r\n{key}\r\n+OK\r\n:{granted}\r\n:0\r\n:{uncollected}\r\n")
    };
    let (one, model) = (":1", "$5\r\ngpt-5");
    for (request, answer) in [
        (
            "RESERVE alice s 0 OVERRUN clamp ITEM 1 cent REQUESTED 20 ITEM gpt-5 cent REQUESTED 30",
            answer(1, &format!("*2\r\n{}{}", item(one, 20, 0), item(model, 30, 0))),
        ),
        (
            "UPDATE alice s 1 ITEM gpt-5 cent USED 35 REQUESTED 10",
            answer(2, &format!("*1\r\n{}", item(model, 10, 0))),
        ),
        (
            "TERMINATE alice s 2 ITEM 1 cent USED 7 ITEM gpt-5 cent USED 70",
            answer(0, &format!("*2\r\n{}{}", item(one, 0, 0), item(model, 0, 12))),
        ),
    ] {
        client.ask(&format!("SCUR.{request}"), &answer);
    }
    client.ask("SCUR.TOPUP alice t1 main 10", "*4\r\n+OK\r\n:0\r\n:5\r\n:10\r\n");
    let late = "SCUR.UPDATE alice s 3 LATEUSE ITEM gpt-5 cent USED 4";
    client.ask(late, &answer(0, &format!("*1\r\n{}", item(model, 0, 0))));
    let (events, _) = all(&mut client, "0", "ACCOUNT alice");
    let of = |name: &str, value: &str| {
        let events: Vec<&Event> =
            events.iter().filter(|event| event.field(name) == value).collect();
        events
    };
    let keys: Vec<&str> =
        of("event", "item-added").iter().map(|event| event.field("item")).collect();
    assert_eq!(keys, ["1", "gpt-5"]);
    let mut used: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for event in of("session", "s") {
        let key =
            event.fields.get("item_no").map(|place| keys[place.parse::<usize>().expect("it")]);
        let way = event.field("event");
        if let ("settled" | "debited" | "overdrawn" | "uncollected", Some(key)) = (way, key) {
            *used.entry((key, event.field("request"))).or_default() += event.number("amount");
        }
    }
    let expected = [(("1", "2"), 7), (("gpt-5", "1"), 35), (("gpt-5", "2"), 70)];
    assert_eq!(used.into_iter().collect::<Vec<_>>(), expected);
    let late = of("event", "late-use");
    let said = ["session", "request", "item", "unit", "used", "uncollected"];
    assert_eq!(said.map(|name| late[0].field(name)), ["s", "3", "gpt-5", "cent", "4", "0"]);
    let told = of("transaction", "t1");
    assert_eq!((told.len(), told[0].field("event")), (1, "credited"));
    let ended = of("event", "session-closed");
    assert_eq!((ended[0].field("session"), ended[0].field("request")), ("s", "2"));
}

/// Crossings of marks by debits, a credit, a grant, a deadline, another mark and a refill.
#[test]
fn marks_and_refills_have_events_of_their_own() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "1");
    let mut client = server.connect();
    let create = "SCUR.CREATE alice IDENTITY msisdn 491 BUCKET main cent 1000 MARK 200";
    client.ask(create, "*2\r\n+OK\r\n:1\r\n");
    let amount = |version, amount| format!("*4\r\n+OK\r\n:0\r\n:{version}\r\n:{amount}\r\n");
    client.ask("SCUR.DEBIT alice d1 cent 801", &amount(2, 801));
    client.ask("SCUR.DEBIT alice d2 cent 50", &amount(3, 50));
    client.ask("SCUR.TOPUP alice t1 main 100", &amount(4, 249));
    let granted = "*4\r\n+OK\r\n:0\r\n:1\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:100\r\n:0\r\n:0\r\n";
    client.ask("SCUR.RESERVE alice s 0 TCC 100ms ITEM 1 cent REQUESTED 100", granted);
    let mut from = "0".to_owned();
    loop {
        let seen = watch(&mut client, &format!("{from} BLOCK 1000 EVENT session-expired"));
        if !seen.events.is_empty() {
            break;
        }
        from = seen.next;
    }
    client.ask("SCUR.BUCKET alice b1 main MARK 300", &amount(7, 249));
    // Two zones 28 hours apart: a later day has begun in the second one, so it is refilled at once.
    client.ask("SCUR.BUCKET alice b2 main PERIOD day OFFSET -840 AMOUNT 500", &amount(8, 249));
    client.ask("SCUR.BUCKET alice b3 main PERIOD day OFFSET 840", &amount(9, 500));
    let (told, _) = all(&mut client, "0", "EVENT below-mark EVENT above-mark EVENT refilled");
    let names = "event bucket unit bucket_no available mark version transaction session item identity.msisdn";
    let shown = |event: &Event| {
        let fields = names.split(' ').map(|name| event.field(name));
        fields.filter(|field| !field.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let said: Vec<String> = told.iter().map(shown).collect();
    let expected = [
        "below-mark main cent 0 199 200 2 d1 491",
        "above-mark main cent 0 249 200 4 t1 491",
        "below-mark main cent 0 149 200 5 s 1 491",
        "above-mark main cent 0 249 200 6 s 1 491",
        "below-mark main cent 0 249 300 7 b1 491",
        "refilled main cent 0 500 9",
        "above-mark main cent 0 500 300 9 491",
    ];
    assert_eq!(said, expected);
    let (credits, _) = all(&mut client, "0", "EVENT credited");
    let credits: Vec<i64> = credits.iter().map(|event| event.number("amount")).collect();
    assert_eq!(credits, [1000, 100], "a refill is no top-up");
    let (changed, _) = all(&mut client, "0", "EVENT bucket-added EVENT bucket-changed");
    let marks: Vec<&str> = changed.iter().map(|event| event.field("mark")).collect();
    assert_eq!(marks, ["200", "300"]);
    let (events, _) = all(&mut client, "0", "");
    let sums = sums(&events).into_values().collect::<Vec<_>>();
    assert_eq!(sums, balances(&mut client, "alice").into_values().collect::<Vec<_>>());
}

#[test]
fn thresholds_counts_and_accounts_choose() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "1");
    let mut client = server.connect();
    create_all(&mut client);
    for (amount, left) in [(800, 200), (1, 199), (100, 99)] {
        let line = format!("SCUR.DEBIT bob d{amount} cent {amount}");
        let version = [800, 1, 100].iter().position(|&one| one == amount).expect("it is one") + 2;
        client.ask(&line, &format!("*4\r\n+OK\r\n:0\r\n:{version}\r\n:{amount}\r\n"));
        let seen = watch(&mut client, "0 ACCOUNT bob COUNT 1000");
        let last = seen.events.last().expect("a debit");
        assert_eq!(last.field("available"), left.to_string(), "{last:?}");
    }
    let seen = watch(&mut client, "0 LOW cent 200 LOW cent 100 LOW octet 5");
    let crossings = seen.events.iter().filter(|event| event.fields.contains_key("threshold"));
    let said: Vec<String> = crossings
        .map(|event| {
            let said = ["event", "account", "bucket", "unit", "available", "threshold"];
            said.map(|name| event.field(name)).join(" ")
        })
        .collect();
    assert_eq!(said, ["low bob main cent 199 200", "low bob main cent 99 100"]);
    // Names choose events of the log; crossings come all the same.
    let seen = watch(&mut client, "0 EVENT debited EVENT created COUNT 1000");
    let all = watch(&mut client, "0 COUNT 1000");
    let mut wanted = all.events;
    wanted.retain(|event| ["debited", "created"].contains(&event.field("event")));
    assert!(wanted.len() > 4 && seen.next == all.next, "{wanted:?}");
    assert_eq!(seen.events, wanted);
    let seen = watch(&mut client, "0 EVENT counter LOW cent 200");
    assert_eq!(seen.events.len(), 1, "{seen:?}");
    let seen = watch(&mut client, "0 COUNT 4");
    assert_eq!((seen.events.len(), seen.next.as_str()), (4, "1.0:1-4"));
    for (arguments, error) in [
        ("x", "INVALID 10 position must be 0, $ or the next of an earlier reply"),
        ("17", "INVALID 10 position must be 0, $ or the next of an earlier reply"),
        ("0 COUNT 1001", "INVALID 10 count must be 1 to 1000"),
        ("0 BLOCK 60001", "INVALID 10 block must be 1 to 60000"),
        ("0 EVENT", "INVALID 10 event is missing"),
        (
            "0 EVENT debit",
            "ERR no event of the log is called debit; those are: credited refilled voided refunded refunded-expired \
             debited overdrawn expired reserved settled released released-expired created deleted status identity \
             bucket-added bucket-changed bucket-removed counter limit-set limit-removed limit bucket-items \
             below-mark above-mark session-opened session-closed session-released session-expired session-returned item-added \
             uncollected late-use denied cleared loaded",
        ),
        (
            "0 THREAD 1",
            "ERR there is no thread 1: the threads are 0 to 0, and where they have changed each begins at 0",
        ),
        (
            "1.0:900",
            "ERR the position 1.0:900 is ahead of the events, which end at 1.0:7: the store was restored, or lost its end; begin at 0 and compare the balances",
        ),
    ] {
        client.ask(&format!("SCUR.WATCH {arguments}"), &format!("-{error}\r\n"));
    }
    let server = Server::start(&[]);
    let error = "-ERR events are read from the log, and this server keeps none: start it with \
                 --durability write or fsync\r\n";
    server.connect().ask("SCUR.WATCH 0", error);
}

#[test]
fn each_thread_has_events_of_its_own_and_another_division_begins_anew() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "2");
    let mut client = server.connect();
    create_all(&mut client);
    for account in ACCOUNTS {
        client.ask(&format!("SCUR.DEBIT {account} d cent 30"), "*4\r\n+OK\r\n:0\r\n:2\r\n:30\r\n");
    }
    let error = "-ERR each thread has events of its own: add THREAD 0 to 1\r\n";
    client.ask("SCUR.WATCH 0", error);
    let (mut events, mut ends) = (Vec::new(), Vec::new());
    for thread in 0..2 {
        // On a connection of each thread, read the events of this thread and of the other.
        for mut client in [server.connect(), server.connect()] {
            let (own, end) = all(&mut client, "0", &format!("COUNT 3 THREAD {thread}"));
            assert!(
                !own.is_empty()
                    && own.iter().all(|event| event.id.starts_with(&format!("1.{thread}:")))
            );
            let waits = format!("{end} BLOCK 30");
            assert_eq!(watch(&mut client, &waits).next, end, "the position names the thread");
            if ends.len() == thread {
                events.extend(own);
                ends.push(end);
            }
        }
    }
    compare(&mut client, &events);
    let of_alice = watch(&mut client, "0 ACCOUNT alice").events;
    assert_eq!(of_alice.len(), 6, "{of_alice:?}");
    let elsewhere: Vec<String> = (0..2)
        .map(|thread| {
            let mut client = server.connect();
            client.send(format!("SCUR.WATCH 0 ACCOUNT alice THREAD {thread}\r\n"));
            client.line()
        })
        .filter(|reply| reply.starts_with("-ERR "))
        .collect();
    let [error] = &elsewhere[..] else { panic!("one thread has the account: {elsewhere:?}") };
    assert!(error.contains("has the events of account alice, and thread"), "{error}");
    client.ask(
        &format!("SCUR.WATCH {} THREAD 0", ends[1]),
        "-ERR the position is one of thread 1, and thread 0 is asked for: begin at 0 where the \
         threads have changed\r\n",
    );
    kill(server);
    let server = directory.serve("fsync", "1");
    let mut client = server.connect();
    let seen = watch(&mut client, &ends[0]);
    let said = ["event", "from", "to"].map(|name| seen.events[0].field(name));
    assert_eq!(said, ["missed", ends[0].as_str(), "2.0:1"]);
    assert_eq!(seen.events[0].id, format!("{}..2.0:1", ends[0]));
    assert_eq!((seen.events.len(), seen.next.as_str()), (1, "2.0:1"));
    client.ask("SCUR.DEBIT alice e cent 30", "*4\r\n+OK\r\n:0\r\n:3\r\n:30\r\n");
    assert_eq!(watch(&mut client, &seen.next).events[0].field("event"), "debited");
}

/// Restores to a new directory.
fn restore(from: &Directory, to: &Directory, more: &[&str]) {
    let words = [&["restore", from.path(), "--to", to.path()], more].concat();
    let output = tool(env!("CARGO_BIN_EXE_scurry"), &words);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_position_from_before_a_restore_is_told_as_such() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "1");
    let mut client = server.connect();
    client.ask("SCUR.CREATE alice BUCKET m cent 100", "*2\r\n+OK\r\n:1\r\n");
    client.ask("SCUR.DEBIT alice a cent 1", "*4\r\n+OK\r\n:0\r\n:2\r\n:1\r\n");
    let (_, before) = all(&mut client, "0", "");
    kill(server);
    // Restores to a point, to the end, and a restored store once more.
    let [point, end, again] = [Directory::make(), Directory::make(), Directory::make()];
    restore(&directory, &point, &["--sequence", "1"]);
    restore(&directory, &end, &[]);
    restore(&point, &again, &[]);
    let mut stale = vec![before];
    for restored in [&point, &end, &again] {
        let server = restored.serve("fsync", "1");
        let mut client = server.connect();
        // The log grows beyond the position that was read.
        for txn in 0..4 {
            client.send(format!("SCUR.DEBIT alice t{txn} cent 2\r\n"));
            assert_eq!([0; 5].map(|_| client.line())[1], "+OK");
        }
        for position in &stale {
            client.send(format!("SCUR.WATCH {position}\r\nPING\r\n"));
            let said = client.until("+PONG\r\n");
            let is_told = said.contains("missed") || said.contains("is ahead of the events");
            assert!(is_told, "{position}: {said}");
        }
        let (events, next) = all(&mut client, "0", "");
        assert!(events.iter().any(|event| event.field("event") == "debited"), "{events:?}");
        // Its own positions stay valid, also after a restart.
        kill(server);
        let server = restored.serve("fsync", "1");
        let seen = watch(&mut server.connect(), &next);
        assert_eq!((seen.events.len(), &seen.next), (0, &next));
        kill(server);
        stale.push(next);
    }
}

#[test]
fn a_bucket_that_is_removed_has_its_name() {
    let directory = Directory::make();
    let server = directory.serve("write", "1");
    let mut client = server.connect();
    client.ask("SCUR.CREATE alice BUCKET gift cent 0", "*2\r\n+OK\r\n:1\r\n");
    client.ask("SCUR.BUCKET alice t gift REMOVE", "*4\r\n+OK\r\n:0\r\n:2\r\n:0\r\n");
    let (events, _) = all(&mut client, "0", "");
    let last = events.last().expect("it was removed");
    let said = ["event", "bucket", "unit", "bucket_no"].map(|name| last.field(name));
    assert_eq!(said, ["bucket-removed", "gift", "cent", "0"]);
}

/// Stand-in for `database` in the reader of docs/events.md: it stores the events and ends after enough of them.
const DATABASE: &str = r#"
import contextlib

class Database:
    def __init__(self):
        self.at, self.told = None, []

    def position(self):
        return self.at

    @contextlib.contextmanager
    def transaction(self):
        yield
        if len(self.told) >= 3:
            for fields in self.told:
                print(fields["event"], fields["account"], fields.get("amount", ""))
            print(self.at == position)
            raise SystemExit

    def account_for(self, id, fields):
        self.told.append(fields)

    def set_position(self, position):
        self.at = position

database = Database()
"#;

#[test]
fn the_reader_of_the_page_reads() {
    let page = include_str!("../../../../docs/events.md");
    let (_, rest) = page.split_once("```python\n").expect("a reader");
    let (reader, _) = rest.split_once("```").expect("its end");
    let directory = Directory::make();
    let server = directory.serve("write", "1");
    let here = format!("port={}", server.port);
    let reader = reader.replace("port=6389", &here);
    assert!(reader.contains(&here), "it is asked at its port");
    let mut client = server.connect();
    client.ask("SCUR.CREATE alice BUCKET main cent 100", "*2\r\n+OK\r\n:1\r\n");
    let output = tool(&python(), &["-c", &format!("{DATABASE}{reader}")]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{complaint}");
    let expected = "created alice \nbucket-added alice \ncredited alice 100\nTrue\n";
    assert_eq!(said, expected, "{complaint}");
}
