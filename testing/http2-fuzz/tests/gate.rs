//! The table of rules, a run of a few seconds, and that a fault of the server is seen in each.

use scurry_crash::Binary;
use scurry_http2_fuzz::{
    Expected, GRANT, Report, Rule, Sample, Server, Settings, check, rules, run,
};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

fn server() -> (Server, tempfile::TempDir) {
    let home = tempfile::tempdir().expect("a directory");
    let binary = Binary::find().expect("a scurry binary");
    (Server::start(&binary, home.path()).expect("it starts"), home)
}

fn settings(seconds: u64) -> Settings {
    Settings {
        seed: 7,
        time: Duration::from_secs(seconds),
        workers: 2,
        most: Sample::MOST,
        grant: GRANT,
        only: None,
    }
}

#[test]
fn each_rule_of_the_table_is_kept() {
    let (server, _home) = server();
    let broken: Vec<String> = rules()
        .filter_map(|rule| check(&server, rule, PATIENCE).err())
        .map(|error| format!("{error:#}"))
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The same table with other expectations: each has to fail. A case of any error may be either.
#[test]
fn what_is_not_expected_is_seen() {
    let (server, _home) = server();
    let mut wrong = 0;
    for rule in rules().filter(|rule| rule.expected != Expected::AnyError) {
        let mut other: Rule = *rule;
        other.expected = match rule.expected {
            Expected::Ignored => Expected::StreamError,
            Expected::StreamError => Expected::ConnectionError,
            _ => Expected::Ignored,
        };
        // What does not come is not waited for long.
        assert!(check(&server, &other, Duration::from_millis(50)).is_err(), "{other:?}");
        wrong += 1;
    }
    assert!(wrong > 80, "{wrong}");
}

#[test]
fn hostile_clients_disturb_no_others() {
    let (mut server, _home) = server();
    let report = run(&mut server, &settings(8), &mut |_, _| {});
    let report = report.unwrap_or_else(|error| panic!("{error:?}"));
    println!("{report}");
    // A run without any of these would find nothing.
    assert!(report.connections() > 20 && report.answers() > 20, "{report}");
    assert!(report.good_answers > 20 && report.goaways().len() > 1, "{report}");
}

fn failure(settings: &Settings, looked: &mut dyn FnMut(&mut Server, &Report)) -> String {
    let (mut server, _home) = server();
    let error = run(&mut server, settings, looked).expect_err("it has to fail");
    format!("{error:#}")
}

#[test]
fn a_wrong_answer_to_a_good_client_is_seen() {
    let other = Settings { workers: 0, grant: GRANT + 1, ..settings(60) };
    let said = failure(&other, &mut |_, _| {});
    assert!(
        said.contains("a good client of HTTP/") && said.contains("grants 1000 and not 1001"),
        "{said}"
    );
}

#[test]
fn a_server_that_ends_is_seen() {
    let said = failure(&settings(60), &mut |server, report| {
        if report.good_answers > 0 {
            server.kill().expect("it runs");
        }
    });
    assert!(!said.is_empty(), "{said}");
}

#[test]
fn each_bound_is_watched() {
    for (most, words) in [
        (Sample { memory: 1 << 20, ..Sample::MOST }, "bytes of memory are in use"),
        (Sample { connections: 2, ..Sample::MOST }, "connections are open"),
        (Sample { threads: 1, ..Sample::MOST }, "threads run"),
    ] {
        let said = failure(&Settings { most, ..settings(60) }, &mut |_, _| {});
        assert!(said.contains(words), "{said}");
    }
}
