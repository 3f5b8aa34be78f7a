//! The Lua library and Tarantool's procedures against the ledger itself: the same commands at the same times must get
//! the same replies, however many sessions, tombstones and refills the account has. Where the library stores them must
//! not be visible to a client.

mod crowd;
mod ledger;
mod peer;

use crowd::Crowd;
use ledger::Ledger;
use peer::{Library, Peer};
use scurry_lab::resp::Value;
use scurry_ledger::Limits;

const ACCOUNT: &str = "acc";
const EPOCH_MS: i64 = 1_700_000_000_000;

/// Reports whether the library's reply is the ledger's in the parts that the library supports: the code of an error,
/// the entries of a map, and the first elements of a row.
fn agrees(library: &Value, ledger: &Value) -> bool {
    let (Value::Array(some), Value::Array(all)) = (library, ledger) else {
        return match (library, ledger) {
            (Value::Error(one), Value::Error(other)) => {
                one.split(' ').take(2).eq(other.split(' ').take(2))
            }
            _ => library.to_string() == ledger.to_string(),
        };
    };
    match some.first() {
        Some(Value::Bulk(key))
            if [&b"status"[..], b"session", b"ok", b"id"].contains(&&key[..]) =>
        {
            some.chunks_exact(2).all(|pair| agrees(&pair[1], ledger.entry(pair[0].text().unwrap())))
        }
        // A list of rows, in any order.
        None | Some(Value::Array(_)) => {
            let (mut some, mut all) = (some.clone(), all.clone());
            let first = |row: &Value| row.elements().first().map(Value::to_string);
            some.sort_by_key(first);
            all.sort_by_key(first);
            some.len() == all.len() && some.iter().zip(&all).all(|(one, other)| agrees(one, other))
        }
        Some(_) => {
            some.len() <= all.len() && some.iter().zip(all).all(|(one, other)| agrees(one, other))
        }
    }
}

/// Events of a comparison: how often the account crossed a threshold in each direction, reservations that were denied,
/// and refusals of a full account.
#[derive(Debug, Default)]
struct Course {
    is_busy: (bool, bool),
    sessions: [u32; 2],
    refills: [u32; 2],
    denied: u32,
    full: u32,
}

impl Course {
    fn look(&mut self, now: (bool, bool), command: &str, reply: &Value) {
        let (sessions, refills) = std::mem::replace(&mut self.is_busy, now);
        self.sessions[usize::from(sessions)] += u32::from(sessions != now.0);
        self.refills[usize::from(refills)] += u32::from(refills != now.1);
        let code = reply.elements().first().unwrap_or(reply).text().unwrap_or_default();
        self.denied += u32::from(command == "RESERVE" && code == "CREDIT_LIMIT_REACHED");
        self.full += u32::from(code.starts_with("BUSY "));
    }
}

/// Sends the sessions of this seed to both, and compares every reply and the account after it.
fn compare(seed: u64, peer: Peer, listed: &str, limits: &Limits) -> Course {
    let (mut library, mut ledger) = (Library::start(peer, listed, limits), Ledger::bounded(limits));
    let (mut crowd, mut course) = (Crowd::seeded(seed), Course::default());
    let mut now = EPOCH_MS;
    // Reaching the bounds needs requests that are granted, and denials need an account that runs out of credit.
    let credit = if *limits == Limits::default() { "5000" } else { "1000000" };
    let create =
        "BUCKET short octets 5000 PRIORITY -1 BUCKET main octets AMOUNT BUCKET calls events 5000";
    let create: Vec<&str> = create
        .split_whitespace()
        .map(|word| if word == "AMOUNT" { credit } else { word })
        .collect();
    let step = |library: &mut Library, ledger: &mut Ledger, now, command, rest: &[&str]| {
        library.set_time(now);
        ledger.now = now;
        let (found, expected) = (library.charge(command, rest), ledger.charge(command, rest));
        assert!(
            agrees(&found, &expected),
            "seed {seed}, {peer:?} {listed}, at {}: {command} {rest:?}: {found}, not {expected}",
            now - EPOCH_MS
        );
        found
    };
    step(&mut library, &mut ledger, now, "CREATE", &create);
    for round in 0..2_000 {
        if round % 100 == 0 {
            crowd.grows = round % 200 == 0;
        }
        now += crowd.pause();
        let request = crowd.next();
        let rest: Vec<&str> = request.rest.iter().map(String::as_str).collect();
        let reply = step(&mut library, &mut ledger, now, request.command, &rest);
        step(&mut library, &mut ledger, now, "AUDIT", &[]);
        if round % 4 == 0 {
            step(&mut library, &mut ledger, now, "GET", &[]);
            if request.command != "TOPUP" {
                step(&mut library, &mut ledger, now, "SESSION", &rest[..1]);
            }
        }
        course.look(library.is_busy(), request.command, &reply);
    }
    course
}

#[test]
fn an_account_that_becomes_busy_and_calm_again_answers_as_the_ledger_does() {
    for seed in 0..3 {
        let course = compare(seed, Peer::Redis, Peer::Redis.listed(), &Limits::default());
        let crossings = [course.sessions, course.refills].concat();
        assert!(crossings.iter().all(|count| *count >= 2), "seed {seed}: {course:?}");
        assert!(course.denied >= 10, "seed {seed}: {course:?}");
    }
}

#[test]
fn an_account_is_full_when_the_ledgers_is() {
    let listed = [Peer::Redis.listed(), "= 0, 0, 0", "= 250, 60000, 60000"];
    for (seed, listed) in (3..).zip(listed.into_iter().cycle().take(6)) {
        let course = compare(seed, Peer::Redis, listed, &bounded());
        let is_ever_busy = course.sessions[0] > 0 && course.refills[0] > 0;
        assert_eq!(is_ever_busy, !listed.contains("250"), "seed {seed}: {course:?}");
        assert!(course.full >= 10, "seed {seed}: {course:?}");
    }
}

#[test]
fn tarantools_procedures_answer_as_the_ledger_does() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|directory| directory.join("tarantool").is_file()) {
        eprintln!("skipped: tarantool is not installed: run `make lab-peers`");
        return;
    }
    let (listed, all) = (Peer::Tarantool.listed(), "= 60000, 60000");
    for (seed, listed, limits) in [
        (0, listed, Limits::default()),
        (1, listed, bounded()),
        (2, "= 0, 0", bounded()),
        (3, all, bounded()),
    ] {
        let course = compare(seed, Peer::Tarantool, listed, &limits);
        let is_crossed = course.sessions.iter().all(|count| *count >= 2);
        assert_eq!(is_crossed, listed != all, "seed {seed}: {course:?}");
        assert_eq!(course.full >= 10, limits != Limits::default(), "seed {seed}: {course:?}");
    }
}

/// Returns bounds that the sessions reach.
fn bounded() -> Limits {
    let (sessions_max, session_ids_max, transactions_max) = (20, 60, 40);
    Limits { sessions_max, session_ids_max, transactions_max, ..Limits::default() }
}
