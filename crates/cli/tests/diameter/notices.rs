//! Requests of the door to its clients: RAR after a top-up, ASR when an account is suspended or closed.

use crate::client::{Ask, Client, text, used, wants};
use crate::page::Page;
use crate::store::Process;
use scurry_diameter::ccr::RequestType::{Initial, Termination, Update};
use scurry_diameter::ccr::Service;
use scurry_diameter::{Message, MessageWriter, Origin, command};
use std::process::{Child, Command, Stdio};

const KEPT: &str = "
    [[services]]
    context = '32251@'
    measure = 'volume'
    denied_at_start = 'keep'
";
const ACCOUNT: &str = "imsi-001010000000001";
/// What the door says when it follows events.
const FOLLOWS: &str = "clients are asked again after a top-up";

/// Starts a store with a log, and a door that follows its events.
fn store() -> Process {
    let store = Process::with_log(&format!("http_listen = '127.0.0.1:0'\n{KEPT}"));
    store.logged(FOLLOWS);
    store
}

/// Receives a request of the door, checks its command, and answers it. Returns the request as text.
fn receive(client: &mut Client, code: u32, result: u32) -> String {
    let bytes = client.receive().expect("a request");
    let message = Message::read(&bytes).expect("a message");
    assert!(message.header.flags.is_request() && message.header.command == code, "{message}");
    let header = message.header.answer(false);
    let asked = message.to_string();
    let session = asked.split_once("Session-Id=").expect("a session").1;
    let session = session.split(' ').next().expect("an id");
    let mut out = Vec::new();
    let mut answer = MessageWriter::begin(&mut out, header);
    answer.bytes(scurry_diameter::attribute::SESSION_ID, session.as_bytes());
    answer.u32(scurry_diameter::attribute::RESULT_CODE, result);
    Origin::new("pgw.example", "example", None).write(&mut answer);
    answer.finish();
    client.send(&out);
    asked
}

#[test]
fn a_top_up_makes_a_session_ask_again_for_what_it_lacks() {
    let store = store();
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 1000"));
    let mut client = Client::connect(store.diameter, "pgw.example");
    let first = client.services(Ask::data("s;1", Initial, 0), &[wants(10, 800), wants(20, 800)]);
    assert!(first.contains("CC-Total-Octets=200 } RG=20"), "{first}");
    // A session that has what it asked for is not asked.
    let mut other = Client::connect(store.diameter, "pgw2.example");
    let second = other.services(Ask::data("other;1", Initial, 0), &[wants(10, 50)]);
    assert!(second.contains("RG=10 Result-Code=4012"), "{second}");
    store.ask(&format!("SCUR.TOPUP {ACCOUNT} t1 main 5000"));
    let asked = receive(&mut client, command::RE_AUTH, 2001);
    for word in [
        "Session-Id=s;1 ",
        "Destination-Host=pgw.example",
        "Destination-Realm=example",
        "Auth-Application-Id=4",
        "Re-Auth-Request-Type=0",
        "Rating-Group=20",
    ] {
        assert!(asked.contains(word), "{word}: {asked}");
    }
    let asked = receive(&mut other, command::RE_AUTH, 2001);
    assert!(asked.contains("Session-Id=other;1 ") && asked.contains("Rating-Group=10"), "{asked}");
    let spent = Service { used: &used(150), ..wants(20, 800) };
    let again = client.services(Ask::data("s;1", Update, 1), &[spent]);
    assert!(again.contains("CC-Total-Octets=800 } RG=20"), "{again}");
    let again = other.services(Ask::data("other;1", Update, 1), &[wants(10, 50)]);
    assert!(again.contains("CC-Total-Octets=50 } RG=10"), "{again}");
    // Both have all they asked for: another top-up asks none of them, so the next message is the answer to this.
    store.ask(&format!("SCUR.TOPUP {ACCOUNT} t2 main 5000"));
    store.ask(&format!("SCUR.STATUS {ACCOUNT} suspended"));
    let asked = receive(&mut client, command::ABORT_SESSION, 2001);
    assert!(asked.contains("Session-Id=s;1 ") && !asked.contains("Rating-Group"), "{asked}");
    let end = Service { used: &used(10), requested: None, ..wants(20, 0) };
    let ended = client.services(Ask::data("s;1", Termination, 2), &[end]);
    assert!(ended.starts_with("2001"), "{ended}");
    receive(&mut other, command::ABORT_SESSION, 2001);
    other.services(Ask::data("other;1", Termination, 2), &[]);
    assert_eq!(store.balance(ACCOUNT), (11_000 - 160, 0));
    let counted =
        |page: &Page, outcome| page.sum("scurry_diameter_notices_total", &[("outcome", outcome)]);
    let page = store.metrics_when("all are delivered", |page| counted(page, "delivered") == 4.0);
    for (outcome, count) in [("sent", 4.0), ("superseded", 0.0), ("given_up", 0.0), ("missed", 0.0)]
    {
        assert_eq!(counted(&page, outcome), count, "{outcome}");
    }
}

#[test]
fn several_services_are_asked_for_at_once_and_a_long_session_by_its_own_id() {
    let store = store();
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 100 BUCKET talk second 10"));
    let mut client = Client::connect(store.diameter, "pgw.example");
    let long = format!("pgw.example;1;{}", "x".repeat(200));
    let answer = client.services(Ask::data(&long, Initial, 0), &[wants(1, 500), wants(2, 500)]);
    assert!(answer.contains("RG=2 Result-Code=4012"), "{answer}");
    // Seconds are nothing that it lacks.
    store.ask(&format!("SCUR.TOPUP {ACCOUNT} t0 talk 500"));
    store.ask(&format!("SCUR.TOPUP {ACCOUNT} t1 main 500"));
    let asked = receive(&mut client, command::RE_AUTH, 2002);
    assert!(asked.contains(&long) && !asked.contains("Rating-Group"), "{asked}");
}

#[test]
fn two_doors_before_a_store_ask_for_the_same_thing_and_charge_once() {
    let store = store();
    let doors = [Process::door_before(&store, KEPT), Process::door_before(&store, KEPT)];
    for door in &doors {
        door.logged(FOLLOWS);
    }
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 100"));
    let mut clients = doors.each_ref().map(|door| Client::connect(door.diameter, "pgw.example"));
    let [one, other] = &mut clients;
    let first = one.services(Ask::data("s;1", Initial, 0), &[wants(1, 500)]);
    assert!(first.contains("CC-Total-Octets=100"), "{first}");
    store.ask(&format!("SCUR.TOPUP {ACCOUNT} t1 main 500"));
    // Either door may be first. The client asks by the other one.
    let (way, bytes) = loop {
        if let Some(bytes) = one.receive_soon() {
            break (other, bytes);
        }
        if let Some(bytes) = other.receive_soon() {
            break (one, bytes);
        }
    };
    assert!(text(&bytes).contains("Rating-Group=1"), "{}", text(&bytes));
    let spent = Service { used: &used(100), ..wants(1, 500) };
    let bytes = way.request(Ask::data("s;1", Update, 1), |request| request.service(&spent));
    way.send(&bytes);
    // The other door's request may come first: it is harmless.
    let answer = loop {
        let bytes = way.receive().expect("a message");
        if !Message::read(&bytes).expect("a message").header.flags.is_request() {
            break text(&bytes);
        }
    };
    assert!(answer.contains("CC-Total-Octets=500"), "{answer}");
    assert_eq!(store.balance(ACCOUNT), (0, 500));
}

#[test]
fn a_door_that_cannot_read_events_says_so() {
    let store = Process::with_settings("");
    store.logged("no RAR, ASR");
    let door = Process::door_before(&store, "");
    door.logged("this server keeps none");
}

#[test]
fn a_command_has_a_client_asked_and_tells_its_answer() {
    let store = Process::with_settings("");
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 1000"));
    let mut client = Client::connect(store.diameter, "pgw.example");
    let session = "pgw.example;1;2";
    client.services(Ask::data(session, Initial, 0), &[wants(7, 10)]);
    let address = format!("127.0.0.1:{}", store.diameter);
    let begin = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["diameter", "rar", &address]).args(words).args(["--timeout", "120"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    };
    let said = |child: Child| {
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
        (output.status.success(), said)
    };
    let asking = begin(&[session, "--rating-group", "7", "--client-realm", "example"]);
    let asked = receive(&mut client, command::RE_AUTH, 2002);
    assert!(asked.contains("Rating-Group=7") && asked.contains("Session-Id=pgw.example;1;2 "));
    let (is_ok, text) = said(asking);
    assert!(is_ok && text.contains("RAR      ok") && text.contains("2002"), "{text}");
    let aborting = begin(&[session, "--abort"]);
    receive(&mut client, command::ABORT_SESSION, 5002);
    let (is_ok, text) = said(aborting);
    assert!(!is_ok && text.contains("ASR      failed") && text.contains("5002"), "{text}");
    let (is_ok, text) = said(begin(&["absent.example;1"]));
    assert!(!is_ok && text.contains("3002") && text.contains("not connected"), "{text}");
}
