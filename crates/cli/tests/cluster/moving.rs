//! Copies of a whole store between `scurry serve` processes, through a file.

use crate::said::scurry;
use crate::support::{Server, ask, store, words};
use scurry_cluster_client::Store;
use tempfile::TempDir;

/// Creates accounts with money, sessions, counters and remembered answers, entities, and plain keys.
pub(crate) fn fill(store: &mut Store, accounts: usize) {
    for number in 0..accounts {
        let create = format!("SCUR.CREATE a{number} BUCKET main cent 1000 BUCKET data octets 5000");
        assert_eq!(ask(store, &create), "[OK 1]");
        ask(store, &format!("SCUR.TOPUP a{number} t1 main 50"));
        ask(store, &format!("SCUR.DEBIT a{number} d1 cent 30"));
        let reserve = format!("SCUR.RESERVE a{number} s1 0 TCC 600000 ITEM 1 octets REQUESTED 100");
        assert_eq!(ask(store, &reserve), "[OK 0 1 [[1 OK 100 0 0]]]");
        assert_eq!(ask(store, &format!("SET plain{number} value{number} PX 600000")), "OK");
        ask(store, &format!("ENTITY.PUT e{number} blue VERSION {} EX 600", number + 7));
    }
    close(store, "gone");
    assert_eq!(ask(store, "SET forever 1"), "OK");
    assert_eq!(ask(store, "ENTITY.DEL deleted VERSION 50"), "[1 50]");
}

/// Opens and closes a session. A closed session is remembered for 240 s, and a slow test may take as long: so it closes
/// a session of its own before it copies.
pub(crate) fn close(store: &mut Store, session: &str) {
    ask(store, &format!("SCUR.RESERVE a0 {session} 0 ITEM 1 octets REQUESTED 10"));
    let end = ask(store, &terminate(session));
    assert!(end.starts_with("[OK 0 "), "{end}");
}

fn terminate(session: &str) -> String {
    format!("SCUR.TERMINATE a0 {session} 1 ITEM 1 octets USED 10")
}

/// Checks that the accounts exist and that duplicates get their stored answers.
pub(crate) fn verify(store: &mut Store, accounts: usize) {
    verify_with(store, accounts, "gone");
}

/// Makes the same checks with the session that was closed last.
pub(crate) fn verify_with(store: &mut Store, accounts: usize, closed: &str) {
    for number in [0, accounts / 2, accounts - 1] {
        let reserve = format!("SCUR.RESERVE a{number} s1 0 TCC 600000 ITEM 1 octets REQUESTED 100");
        assert_eq!(ask(store, &reserve), "[OK 1 1 [[1 OK 100 0 0]]]", "the stored answer");
        let debit = ask(store, &format!("SCUR.DEBIT a{number} d1 cent 30"));
        assert!(debit.starts_with("[OK 1 "), "the stored answer: {debit}");
        assert_eq!(ask(store, &format!("GET plain{number}")), format!("value{number}"));
        let left: i64 = ask(store, &format!("PTTL plain{number}")).parse().expect("ms");
        assert!((1..=600_000).contains(&left), "{left}");
        let entity = ask(store, &format!("ENTITY.GET e{number} WITHVERSION"));
        assert!(entity.starts_with(&format!("[{} blue 1", number + 7)), "{entity}");
    }
    let terminated = ask(store, &terminate(closed));
    assert!(terminated.starts_with("[OK 1 "), "a closed session is remembered: {terminated}");
    assert_eq!((ask(store, "GET forever"), ask(store, "TTL forever")), ("1".into(), "-1".into()));
    let late = ask(store, "ENTITY.PUT deleted blue VERSION 49");
    assert_eq!(late, "[0 50]", "a deletion is remembered");
}

/// Writes keys that expire soon.
pub(crate) fn add_short_lived(store: &mut Store) {
    for number in 0..20 {
        let put = ask(store, &format!("ENTITY.PUT short{number} green VERSION 5 PX 1500"));
        assert_eq!(put, "[1 5]");
        assert_eq!(ask(store, &format!("SET brief{number} 1 PX 1500")), "OK");
    }
}

/// Waits until the keys with a short expiry have expired on the store that they were written to.
pub(crate) fn wait_for_short_lived(store: &mut Store) {
    let keys = (0..20).flat_map(|n| [format!("EXISTS short{n}"), format!("EXISTS brief{n}")]);
    for line in keys {
        while ask(store, &line) != "0" {
            std::thread::yield_now();
        }
    }
}

#[test]
fn what_has_expired_since_it_was_exported_stops_no_import() {
    let (from, to) = (Server::start("2"), Server::start("2"));
    let mut source = store(&from.address());
    fill(&mut source, 3);
    add_short_lived(&mut source);
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("all.scurexp");
    let file = file.to_str().expect("text");
    let said = scurry(&["export", "--from", &from.address(), "--out", file]).well();
    assert!(said.contains("copied 3 accounts, 24 plain values, entities: 23"), "{said}");
    wait_for_short_lived(&mut source);
    for more in [&[][..], &["--replace"]] {
        let import = ["import", "--to", &to.address(), "--in", file];
        scurry(&[&import[..], more].concat()).well();
        verify(&mut store(&to.address()), 3);
    }
    let mut target = store(&to.address());
    assert_eq!(
        (ask(&mut target, "EXISTS short1"), ask(&mut target, "DBSIZE")),
        ("0".into(), "10".into())
    );
}

#[test]
fn an_account_that_is_too_long_for_the_target_is_refused_with_the_cure() {
    let (from, to) = (Server::start("1"), Server::start_with("1", &["--max-argument", "1mb"]));
    let mut source = store(&from.address());
    ask(&mut source, "SCUR.CREATE tenant BUCKET main cent 1000000");
    let debits =
        (0..24_000).map(|number| words(&format!("SCUR.DEBIT tenant id-{number:020} cent 1")));
    source.ask_many(debits.collect()).expect("they are debited");
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("all.scurexp");
    let file = file.to_str().expect("text");
    scurry(&["export", "--from", &from.address(), "--out", file]).well();
    let import = scurry(&["import", "--to", &to.address(), "--in", file]);
    import.refused(&["longer than an argument may be", "--max-argument", "--replace"]);
}

#[test]
fn a_file_carries_everything_from_three_threads_to_one_and_a_crash_keeps_it() {
    let (from, to) = (Server::start("3"), Server::start("1"));
    fill(&mut store(&from.address()), 40);
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("all.scurexp");
    let file = file.to_str().expect("text");
    let said = scurry(&["export", "--from", &from.address(), "--out", file]).well();
    assert!(said.contains("copied 40 accounts, 41 plain values, entities: 40"), "{said}");
    let said = scurry(&["import", "--to", &to.address(), "--in", file]).well();
    assert!(said.contains("the totals agree"), "{said}");
    let to = to.killed_and_started("1");
    verify(&mut store(&to.address()), 40);
    // Imports again over the existing keys: nothing changes.
    scurry(&["import", "--to", &to.address(), "--in", file, "--replace"]).well();
    verify(&mut store(&to.address()), 40);
}
