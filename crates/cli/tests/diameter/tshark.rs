//! What the door sends, read by tshark: it has nothing to say about any message.

use crate::client::{Ask, Client, text, used, wants};
use crate::store::Process;
use nix::sys::signal::Signal;
use scurry_diameter::attribute::{FLAG_MANDATORY, SERVICE_CONTEXT_ID};
use scurry_diameter::ccr::RequestType::{Event, Initial, Termination, Update};
use scurry_diameter::ccr::{RequestedAction, Service, Units};
use std::path::Path;
use std::process::Command;

/// Writes messages of one connection as a capture: IPv4 and TCP around each.
fn write_capture(path: &Path, messages: &[Vec<u8>]) {
    // Native byte order, version 2.4, no zone, packets of any length, raw IP.
    let mut out = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0004_0000, 101] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    let mut sequence = 1_u32;
    for message in messages {
        let len = u32::try_from(40 + message.len()).expect("short");
        for word in [0, 0, len, len] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        let total = u16::try_from(len).expect("short").to_be_bytes();
        out.extend_from_slice(&[0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, 6, 0, 0]);
        out.extend_from_slice(&[127, 0, 0, 1, 127, 0, 0, 2]);
        out.extend_from_slice(&3_868_u16.to_be_bytes());
        out.extend_from_slice(&50_000_u16.to_be_bytes());
        out.extend_from_slice(&sequence.to_be_bytes());
        out.extend_from_slice(&[0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
        out.extend_from_slice(message);
        sequence += len - 40;
    }
    std::fs::write(path, out).expect("a capture");
}

/// Returns what tshark writes with these words.
fn tshark(capture: &Path, words: &[&str]) -> String {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture).args(["-d", "tcp.port==3868,diameter"]).args(words);
    let output = command.output().expect("tshark is missing: run scripts/install-tools.sh tests");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn tshark_has_nothing_to_say_about_what_the_door_sends() {
    let settings = std::fs::read_to_string(format!(
        "{}/../../docs/examples/services-data.toml",
        env!("CARGO_MANIFEST_DIR")
    ));
    let store = Process::with_settings(&settings.expect("an example"));
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000 BUCKET pass video-octet 9");
    let door = Process::door_before(&store, "");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let all = [wants(10, 900), wants(20, 90), wants(90, 1), wants(95, 1), wants(11, 50)];
    client.services(Ask::data("s;1", Initial, 0), &all);
    client.services(Ask::data("s;1", Update, 1), &[Service { used: &used(900), ..wants(10, 1) }]);
    client.services(Ask::data("s;1", Update, 9), &[wants(10, 10_000_000), wants(20, 1)]);
    client.services(Ask::data("s;1", Termination, 10), &[]);
    client.services(Ask::data("s;2", Update, 1), &[wants(1, 1)]);
    let stranger = Ask { imsi: "999", ..Ask::data("s;3", Initial, 0) };
    client.services(stranger, &[wants(1, 1)]);
    let wanted = Service { requested: Some(Units::default()), ..Service::default() };
    client.ask(Ask::data("s;4", Initial, 0), |request| request.outside(&wanted));
    for (number, action) in [
        (0, RequestedAction::DirectDebiting),
        (1, RequestedAction::CheckBalance),
        (2, RequestedAction::PriceEnquiry),
    ] {
        client.ask(Ask::data("e;1", Event, number), |request| {
            request.action(action);
            request.service(&wants(11, 1));
        });
    }
    // An unknown AVP with the M flag, a value that cannot be, and the watchdog.
    client.ask(Ask::data("s;5", Initial, 0), |request| {
        let bytes = [0, 0, 0xff, 0xff, FLAG_MANDATORY, 0, 0, 8];
        request.writer().copy(&bytes);
    });
    client.ask(Ask::data("s;5", Initial, 0), |request| {
        request.writer().bytes(SERVICE_CONTEXT_ID, b"twice");
    });
    client.watchdog();
    let mut other = Client::connect(door.diameter, "pgw.example");
    door.signal(Signal::SIGTERM);
    let last = other.receive().expect("a request");
    assert!(text(&last).starts_with("282R "), "{}", text(&last));
    let messages: Vec<Vec<u8>> = client.received.iter().chain(&other.received).cloned().collect();
    assert!(messages.len() >= 16, "{}", messages.len());
    let capture = store.files.path().join("capture.pcap");
    write_capture(&capture, &messages);
    let codes = tshark(&capture, &["-T", "fields", "-e", "diameter.cmd.code"]);
    assert_eq!(codes.split_whitespace().count(), messages.len(), "all are read:\n{codes}");
    let said = tshark(
        &capture,
        &["-Y", "_ws.expert", "-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message"],
    );
    // Failed-AVP repeats the AVP that no dictionary has.
    let expected = "12\tUnknown AVP 65535 (vendor=Reserved), if you know what this is you can add it to \
        dictionary.xml,Data is empty\n";
    assert_eq!(said, expected);
}
