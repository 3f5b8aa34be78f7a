//! Erasing a customer, as docs/retention.md says: no file of the store has the account any more.

use super::{Directory, wait_for_snapshots};
use crate::support::{Server, tool};
use nix::sys::signal::Signal;

/// The account's id, DATA of its session, and an identity: none of these texts may stay.
const TEXTS: [&str; 3] = ["customer-4711", "their-own-data", "49123000111"];

/// The life of the customer.
const STEPS: &str = "SCUR.CREATE customer-4711 IDENTITY msisdn 49123000111 BUCKET main cent 8\r
SCUR.RESERVE customer-4711 s-1 1 DATA their-own-data ITEM calls cent REQUESTED 5\r
SCUR.RELEASE customer-4711 s-1\r
SCUR.ADJUST customer-4711 paid-out main -8\r
SCUR.STATUS customer-4711 closed\r
SCUR.DELETE customer-4711 FORCE\r
ECHO end\r
";

/// Returns the names of the files that have one of the texts, a line each.
fn files_with_texts(directory: &str) -> String {
    let texts = TEXTS.map(|text| ["-e", text]);
    let words = [&["-r", "-l", "-a", "-F"][..], texts.as_flattened(), &[directory]].concat();
    String::from_utf8(tool("grep", &words).stdout).expect("text")
}

#[test]
fn no_file_has_a_deleted_customer_after_the_steps_of_the_page() {
    for (mode, keep) in [("write", "0"), ("fsync", "0"), ("fsync", "1h")] {
        let directory = Directory::make();
        let arguments = ["--dir", directory.path(), "--keep-log", keep, "--durability", mode];
        let server = Server::start(&arguments);
        let mut client = server.connect();
        client.send(STEPS);
        let said = client.until("$3\r\nend\r\n");
        assert!(!said.contains("\r\n-") && !said.starts_with('-'), "{said}");
        let held = files_with_texts(directory.path());
        assert!(!held.is_empty(), "{mode}: the log has the customer until here");
        for count in 1..=2 {
            client.ask(&format!("SET other {count}"), "+OK\r\n");
            client.ask("SCUR.SNAPSHOT", "+OK\r\n");
            wait_for_snapshots(&server, count);
        }
        client.ask("SET other last", "+OK\r\n");
        server.signal(Signal::SIGTERM);
        server.wait();
        // The start removes spare segments.
        let server = Server::start(&arguments);
        let left = files_with_texts(directory.path());
        assert_eq!(left.is_empty(), keep == "0", "{mode}, --keep-log {keep}: {left}");
        server.signal(Signal::SIGTERM);
        server.wait();
    }
}
