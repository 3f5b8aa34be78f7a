//! What the door logs: peers and addresses, never subscribers, and no flood.

use crate::client::{Ask, Client, wants};
use crate::store::Process;
use scurry_diameter::ccr::RequestType::{Event, Initial};
use std::time::{Duration, Instant};

/// Starts a server with this level of its log.
fn with_log(level: &str, settings: &str) -> Process {
    let words = ["serve", "--durability", "none", "--listen", "127.0.0.1:0", "--log", level];
    Process::try_start(&words, settings).expect("it starts")
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a bound by the time that the test has taken")]
fn refused_peers_have_a_line_a_second() {
    const COUNT: u64 = 200;
    let store = with_log("info", "[diameter]\nunknown_peers = 'refuse'\n");
    let refuse = |host: &str| {
        let (_, answer) = Client::try_connect(store.diameter, host);
        assert!(answer.contains("Result-Code=3010 "), "{answer}");
    };
    let begun = Instant::now();
    (0..COUNT).for_each(|number| refuse(&format!("pgw{number}.example")));
    let words = "a Diameter peer is refused: it is not among the peers of the settings";
    let first = store.logged(words);
    assert!(first.contains("host=pgw0.example") && first.contains("untold=0"), "{first}");
    let untold_of = |line: &str| line.split_once("untold=")?.1.trim().parse::<u64>().ok();
    // A later line says how many had none.
    loop {
        refuse("late.example");
        let log = store.log();
        let lines: Vec<u64> =
            log.lines().filter(|line| line.contains(words)).filter_map(untold_of).collect();
        if lines.iter().map(|untold| untold + 1).sum::<u64>() >= COUNT {
            let seconds = begun.elapsed().as_secs();
            assert!(lines.len() as u64 <= seconds + 2, "{} in {seconds} s: {log}", lines.len());
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{log}");
    }
}

#[test]
fn no_subscriber_and_no_session_is_in_the_log_and_long_names_are_shortened() {
    let long = format!("{}.example", "h".repeat(100));
    for (level, is_whole) in [("info", false), ("debug", true)] {
        let store = with_log(level, "");
        store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
        let mut client = Client::connect(store.diameter, &long);
        for (session, kind, imsi) in [
            ("session-of-one", Initial, "001010000000001"),
            ("session-of-none", Initial, "999990000000009"),
            ("session-of-one", Event, "001010000000001"),
        ] {
            let ask = Ask { imsi, ..Ask::data(session, kind, 0) };
            client.services(ask, &[wants(1, 10)]);
        }
        drop(client);
        store.logged("a Diameter peer is disconnected");
        let log = store.log();
        for secret in ["00101", "99999", "session-of"] {
            assert!(!log.contains(secret), "{secret}: {log}");
        }
        assert_eq!(log.contains(&long), is_whole, "{log}");
        let short = format!("host={}... (108 bytes)", "h".repeat(64));
        assert_eq!(log.contains(&short), !is_whole, "{log}");
    }
}
