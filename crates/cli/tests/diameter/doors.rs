//! The door's settings, and its table of services.

use crate::client::{Ask, Client, used, wants};
use crate::store::Process;
use nix::sys::signal::Signal;
use scurry_diameter::ccr::RequestType::{Event, Initial, Termination, Update};
use scurry_diameter::ccr::{
    RequestedAction, Service, SubscriptionId, SubscriptionKind, Units, UsedUnits,
};
use std::time::{Duration, Instant};

#[test]
fn wrong_settings_are_told_with_the_file() {
    for (settings, words) in [
        ("[diameter]\norigin_host = 'a b'", "is no name of a host or realm"),
        ("[diameter]\norigin = 'a'", "did you mean `origin_host`"),
        ("[[diameter.peers]]\nhost = 'a'\nname = 'b'", "unknown"),
        ("[limits]\nblob_len_max = 255", "blob_len_max must be 256 at least"),
        (
            "[limits]\nvalidity_ms_default = 1000\ntcc_ms_max = 599999",
            "below the longest validity of a service, 600000 ms",
        ),
        (
            "[limits]\nvalidity_ms_default = 1000\ntcc_ms_max = 600000\n[[services]]\nmeasure = 'time'\nvalidity_s = 601",
            "below the longest validity of a service, 601000 ms",
        ),
    ] {
        let words_of_store = ["serve", "--durability", "none", "--listen", "127.0.0.1:0"];
        let Err(said) = Process::try_start(&words_of_store, settings) else { panic!("it started") };
        assert!(said.contains(words) && said.contains("scurry.toml"), "{said}");
    }
}

/// Returns the settings of an example.
pub(crate) fn example(name: &str) -> String {
    let path = format!("{}/../../docs/examples/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("an example")
}

#[test]
fn the_example_of_data_charges_as_its_comments_say() {
    let store = Process::with_settings(&example("services-data.toml"));
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 100000000 BUCKET pass video-octet 50000000");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let empty = |group| Service { requested: Some(Units::default()), ..wants(group, 0) };
    let answer = client.services(
        Ask::data("s;1", Initial, 0),
        &[empty(10), empty(20), empty(90), empty(95), wants(11, 1_000)],
    );
    assert_eq!(
        answer,
        "2001 MSCC={ GSU={ CC-Total-Octets=52428800 } RG=10 Validity-Time=3600 Result-Code=2001 \
         Volume-Quota-Threshold=10485760 Quota-Holding-Time=300 } \
         MSCC={ GSU={ CC-Total-Octets=50000000 } RG=20 Validity-Time=600 Result-Code=2001 \
         FUI={ Final-Unit-Action=2 \
         Restriction-Filter-Rule=permit out ip from 192.0.2.0/24 to any \
         Restriction-Filter-Rule=permit in ip from any to 192.0.2.0/24 Filter-Id=own-pages } } \
         MSCC={ RG=90 Result-Code=4011 } MSCC={ RG=95 Result-Code=4011 } \
         MSCC={ GSU={ CC-Total-Octets=1000 } RG=11 Validity-Time=600 Result-Code=2001 \
         Volume-Quota-Threshold=200 }"
    );
    // What is recorded and free changes no balance.
    let reported = used(7_000);
    let spent =
        |group| Service { used: &reported, rating_group: Some(group), ..Service::default() };
    client.services(Ask::data("s;1", Termination, 1), &[spent(90), spent(95), spent(10)]);
    assert_eq!(store.balance("imsi-001010000000001"), (99_993_000, 0));
    // Without credit the session stays open, and the user is sent to the page.
    store.ask("SCUR.DEBIT imsi-001010000000001 t octet 99900000");
    let answer = client.services(Ask::data("s;2", Initial, 0), &[wants(10, 5_000_000)]);
    assert_eq!(
        answer,
        "2001 MSCC={ RG=10 Result-Code=4012 FUI={ Final-Unit-Action=1 \
         Redirect-Server={ Redirect-Address-Type=2 \
         Redirect-Server-Address=http://topup.example.com/ } } }"
    );
    store.ask("SCUR.TOPUP imsi-001010000000001 t2 main 50000000");
    let answer = client.services(Ask::data("s;2", Update, 1), &[wants(10, 5_000_000)]);
    assert!(answer.contains("CC-Total-Octets=5000000"), "{answer}");
    let stranger = Ask { imsi: "999", ..Ask::data("s;3", Initial, 0) };
    assert!(client.services(stranger, &[wants(10, 1)]).starts_with("5003 "));
}

#[test]
fn the_example_of_voice_charges_by_the_second() {
    let store = Process::with_settings(&example("services-voice.toml"));
    store.ask("SCUR.CREATE imsi-001010000000001 IDENTITY sip sip:a@b BUCKET main second 100");
    let mut client = Client::connect(store.diameter, "cscf.example");
    let context = "ext.001.01.8.32260@3gpp.org";
    let seconds = |time_s| Units { time_s: Some(time_s), ..Units::default() };
    let ask = |kind, number| Ask { context, ..Ask::data("call;1", kind, number) };
    let call = Service { requested: Some(seconds(30)), identifiers: &[1000], ..wants(100, 0) };
    let uri = SubscriptionId { kind: SubscriptionKind::SipUri, data: "sip:a@b" };
    let mut charge = |ask, call: &Service<'_>| {
        client.ask(ask, |request| {
            request.subscription(&uri);
            request.service(call);
        })
    };
    let first = charge(ask(Initial, 0), &call);
    assert!(first.contains("CC-Time=30"), "{first}");
    let spent = [UsedUnits { units: seconds(12), ..UsedUnits::default() }];
    let end = Service { used: &spent, requested: None, ..call };
    charge(ask(Termination, 1), &end);
    assert_eq!(store.balance("imsi-001010000000001"), (88, 0));
}

#[test]
fn the_example_of_messages_debits_and_refunds() {
    let store = Process::with_settings(&example("services-sms.toml"));
    store.ask("SCUR.CREATE imsi-001010000000001 IDENTITY smsc 001010000000001 BUCKET sms sms 20");
    let mut client = Client::connect(store.diameter, "smsc.example");
    let ask = |number| Ask { context: "32274@3gpp.org", ..Ask::data("m;1", Event, number) };
    // The client knows the subscriber by an identifier of its own.
    let private = SubscriptionId { kind: SubscriptionKind::Private, data: "001010000000001" };
    let message = Service { requested: None, ..wants(1, 0) };
    let answer = client.ask(ask(0), |request| {
        request.subscription(&private);
        request.action(RequestedAction::DirectDebiting);
        request.service(&message);
    });
    assert!(answer.starts_with("2001 MSCC={ GSU={ CC-Service-Specific-Units=1 } RG=1"), "{answer}");
    assert_eq!(store.balance("imsi-001010000000001"), (19, 0));
    let answer = client.ask(ask(1), |request| {
        request.subscription(&private);
        request.action(RequestedAction::RefundAccount);
        request.service(&message);
    });
    assert!(answer.starts_with("2001 "), "{answer}");
    assert_eq!(store.balance("imsi-001010000000001"), (20, 0));
}

#[test]
fn a_hangup_takes_the_table_of_services_again() {
    let row = |grant| format!("[[services]]\nmeasure = 'volume'\ngrant = {grant}\n");
    let store = Process::with_settings(&row(10));
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let mut number = 0;
    let mut granted = |client: &mut Client| {
        number += 1;
        let session = format!("s;{number}");
        let empty = Service { requested: Some(Units::default()), ..wants(1, 0) };
        client.services(Ask::data(&session, Initial, 0), &[empty])
    };
    assert!(granted(&mut client).contains("CC-Total-Octets=10 "));
    let path = store.files.path().join("scurry.toml");
    for (settings, words) in [(row(0), "are not taken"), (row(7), "are taken")] {
        std::fs::write(&path, settings).expect("a file");
        store.signal(Signal::SIGHUP);
        let is_told = |_| {
            std::thread::sleep(Duration::from_millis(20)); // tidy: allow (the door has to get there)
            store.log().contains(words)
        };
        assert!((0..3_000).any(is_told), "{}", store.log());
    }
    assert!(granted(&mut client).contains("CC-Total-Octets=7 "));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a hold stays is what is tested")]
fn a_session_without_requests_ends_after_twice_its_validity() {
    let settings = "[[services]]\nmeasure = 'volume'\nvalidity_s = 1\n";
    let store = Process::with_settings(settings);
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let begun = Instant::now();
    client.services(Ask::data("s;1", Initial, 0), &[wants(1, 400)]);
    let is_returned = |_| {
        std::thread::sleep(Duration::from_millis(20)); // tidy: allow (the time has to pass)
        store.balance("imsi-001010000000001") == (1_000, 0)
    };
    assert!((0..6_000).any(is_returned));
    // The two clocks may differ a little.
    assert!(begun.elapsed() >= Duration::from_millis(1_900));
}

#[test]
fn a_service_is_explained() {
    let path = format!("{}/../../docs/examples/services-data.toml", env!("CARGO_MANIFEST_DIR"));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["diameter", "--config", &path, "--explain", "32251@3gpp.org", "90"]);
    let output = command.output().expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("free: nothing is reserved"), "{said}");
}
