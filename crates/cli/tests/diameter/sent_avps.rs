//! testing/diameter/avps.txt says what the door sends in each message. Here it sends all of them, and what is in them is
//! compared with the statement: no other AVP, none that never comes, and those that are marked in each message.

use crate::bytes::{bytes, group, message, number, optional, text as name};
use crate::client::{Ask, Client, octets, text, used, wants};
use crate::store::Process;
use nix::sys::signal::Signal;
use scurry_diameter::attribute::FLAG_MANDATORY;
use scurry_diameter::ccr::RequestType::{Event, Initial, Termination, Update};
use scurry_diameter::ccr::{Money, RequestType, RequestedAction, Service, Units, UsedUnits};
use scurry_diameter::dictionary::{AvpType, find};
use scurry_diameter::{Avps, Message, MessageIds, Origin, ServerAction, ServerRequest, command};
use std::collections::{BTreeMap, BTreeSet};

/// A row for each measure, and for each final action.
const SETTINGS: &str = "
[[services]]
measure = 'volume'
threshold = '20%'
quota_holding_s = 300
final = 'redirect'
redirect = 'http://example.net/'
[[services]]
rating_group = 2
measure = 'time'
threshold = 1
quota_consumption_s = 10
final = 'restrict'
filters = ['permit in ip from any to any']
filter_ids = ['pages']
[[services]]
rating_group = 3
measure = 'units'
threshold = 1
[[services]]
rating_group = 4
measure = 'money'
unit = 'cent'
currency = 978
[[services]]
rating_group = 5
measure = 'money'
unit = 'token'
decimals = 0
";

/// Names of the AVPs of each message or group: in how many of them each is.
#[derive(Default)]
struct Seen {
    places: BTreeMap<String, (usize, BTreeMap<&'static str, usize>)>,
}

impl Seen {
    fn add(&mut self, bytes: &[u8]) {
        let message = Message::read(bytes).expect("a message");
        let flags = message.header.flags;
        let ending = if flags.is_request() { 'R' } else { 'A' };
        let name = match message.header.command {
            command::CAPABILITIES_EXCHANGE => "CE",
            command::DEVICE_WATCHDOG => "DW",
            command::DISCONNECT_PEER => "DP",
            command::RE_AUTH => "RA",
            command::ABORT_SESSION => "AS",
            command::CREDIT_CONTROL => "CC",
            other => panic!("command {other}"),
        };
        let kind = if message.header.command == command::CREDIT_CONTROL {
            let kind = message.avps().flatten().find(|avp| avp.code == 416).expect("a type");
            ["-I", "-U", "-T", "-E"][kind.u32().expect("a type") as usize - 1]
        } else {
            ""
        };
        let group = format!("{name}{ending}");
        self.add_members(&format!("{group}{kind}"), &group, message.avps());
    }

    fn add_members(&mut self, place: &str, message: &str, avps: Avps<'_>) {
        let mut names = BTreeSet::new();
        for avp in avps {
            let avp = avp.expect("an AVP");
            let known = find(avp.vendor, avp.code).expect("a known AVP");
            names.insert(known.name);
            // What is in Failed-AVP and Proxy-Info is the client's.
            let is_own = !matches!(known.name, "Failed-AVP" | "Proxy-Info");
            if known.kind == AvpType::Grouped && is_own {
                let within = Avps::within(&avp).expect("a group");
                self.add_members(&format!("{message}/{}", known.name), message, within);
            }
        }
        let (count, of) = self.places.entry(place.to_owned()).or_default();
        *count += 1;
        for name in names {
            *of.entry(name).or_default() += 1;
        }
    }

    /// Returns the rows of the statement that this is.
    fn rows(&self) -> BTreeMap<String, BTreeSet<String>> {
        let row = |(place, (count, names)): (&String, &(usize, BTreeMap<&str, usize>))| {
            let mark = |(name, of): (&&str, &usize)| {
                format!("{name}{}", if of == count { "+" } else { "" })
            };
            (place.clone(), names.iter().map(mark).collect())
        };
        self.places.iter().map(row).collect()
    }
}

/// Returns the rows of the statement about what is sent.
fn stated() -> BTreeMap<String, BTreeSet<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/diameter/avps.txt");
    let text = std::fs::read_to_string(path).expect("the statement");
    let row = |line: &str| {
        let (place, names) = line.split_once(" | sent | ")?;
        Some((place.to_owned(), names.split(' ').map(str::to_owned).collect()))
    };
    text.lines().filter_map(row).collect()
}

fn units(rating_group: u32, units: Units) -> Service<'static> {
    Service { rating_group: Some(rating_group), requested: Some(units), ..Service::default() }
}

/// Returns services of all measures, each with a Service-Identifier.
fn services(amount: u32) -> [Service<'static>; 5] {
    let amount_of = u64::from(amount);
    let money = Money { digits: i64::from(amount), exponent: -2, currency: None };
    let all = [
        units(1, octets(amount_of)),
        units(2, Units { time_s: Some(amount), ..Units::default() }),
        units(3, Units { service_specific: Some(amount_of), ..Units::default() }),
        units(4, Units { money: Some(money), ..Units::default() }),
        units(5, Units { money: Some(Money { exponent: 0, ..money }), ..Units::default() }),
    ];
    all.map(|service| Service { identifiers: &[7], ..service })
}

/// Returns a Proxy-Info.
fn proxy_info() -> Vec<u8> {
    group(284, &[name(280, "proxy.net"), bytes(33, b"abcd")])
}

/// Subscribers: one with much, three with little.
const RICH: &str = "001010000000001";
const POOR: &str = "001010000000002";
const ALONE: &str = "001010000000003";
const LAST: &str = "001010000000004";

/// Charges in all ways: within and outside of services, granted, final, denied and refused.
fn charge(client: &mut Client, session: &str, kind: RequestType, number: u32) {
    let ask = |suffix: &str| format!("{session};{suffix}");
    let (granted, last) = (ask("granted"), ask("last"));
    let outside = ["10", "1000000"].map(|amount| ask(&format!("outside;{amount}")));
    let ask = |session, imsi, number| Ask { imsi, ..Ask::data(session, kind, number) };
    client.ask(ask(&granted, RICH, number), |request| {
        services(10).iter().for_each(|service| request.service(service));
        request.writer().copy(&proxy_info());
    });
    client.services(ask(&last, POOR, number), &services(1_000_000));
    let all = [1, 2, 3, 4].map(|group| Service { identifiers: &[7], ..wants(group, 1) });
    client.services(ask("s;denied", POOR, number), &all);
    for (session, (amount, imsi)) in outside.iter().zip([(10, ALONE), (1_000_000, LAST)]) {
        let wanted = Service { requested: Some(octets(amount)), ..Service::default() };
        client.ask(ask(session, imsi, number), |request| request.outside(&wanted));
        client.services(ask("s;plain", RICH, number), &[wanted]);
    }
    let unknown = [0, 0, 0xff, 0xff, FLAG_MANDATORY, 0, 0, 8];
    client.ask(ask(&outside[0], ALONE, 90), |request| request.writer().copy(&unknown));
}

fn charge_events(client: &mut Client) {
    let one = |amount| Service { identifiers: &[7], ..wants(1, amount) };
    for (number, action, service) in [
        (0, RequestedAction::DirectDebiting, one(5)),
        (1, RequestedAction::DirectDebiting, one(1_000_000)),
        (2, RequestedAction::CheckBalance, one(5)),
        (3, RequestedAction::PriceEnquiry, one(5)),
    ] {
        client.ask(Ask::data("e;1", Event, number), |request| {
            request.action(action);
            request.service(&service);
            request.writer().copy(&proxy_info());
        });
    }
    for service in services(1) {
        let session = format!("e;{}", service.rating_group.unwrap_or_default());
        client.ask(Ask::data(&session, Event, 7), |request| {
            request.action(RequestedAction::DirectDebiting);
            request.service(&service);
        });
    }
    let wanted = Service { requested: Some(octets(5)), ..Service::default() };
    client.ask(Ask::data("e;5", Event, 0), |request| {
        request.action(RequestedAction::DirectDebiting);
        request.outside(&wanted);
    });
}

/// Returns a request of the server, which nothing makes yet.
fn own_request(action: ServerAction) -> Vec<u8> {
    let request = ServerRequest {
        session_id: "s;1",
        destination_host: "pgw.example",
        destination_realm: "example",
        action,
    };
    let mut out = Vec::new();
    let origin = Origin::new("scurry.localdomain", "localdomain", None);
    request.write(&mut out, MessageIds { hop_by_hop: 1, end_to_end: 1 }, &origin);
    out
}

#[test]
fn the_avps_that_are_sent_are_those_of_the_statement() {
    let store = Process::with_settings(SETTINGS);
    for (imsi, amount) in [(RICH, 5_000), (POOR, 50), (ALONE, 50), (LAST, 50)] {
        let buckets = ["octet", "second", "unit", "cent", "token"];
        let buckets = buckets.map(|unit| format!("BUCKET {unit} {unit} {amount}")).join(" ");
        store.ask(&format!("SCUR.CREATE imsi-{imsi} {buckets}"));
    }
    let mut seen = Seen::default();
    let mut client = Client::connect(store.diameter, "pgw.example");
    charge_events(&mut client);
    charge(&mut client, "s", Initial, 0);
    charge(&mut client, "s", Update, 10);
    let spent = [UsedUnits { units: octets(1), ..UsedUnits::default() }];
    let end = Service { used: &spent, identifiers: &[7], ..Service::default() };
    let ends = [Service { rating_group: Some(1), ..end }];
    client.ask(Ask::data("s;granted", Termination, 20), |request| {
        request.service(&ends[0]);
        request.writer().copy(&proxy_info());
    });
    client.ask(Ask { imsi: ALONE, ..Ask::data("s;outside;10", Termination, 20) }, |request| {
        request.outside(&Service { used: &used(1), ..Service::default() });
    });
    let unknown = [0, 0, 0xff, 0xff, FLAG_MANDATORY, 0, 0, 8];
    client.ask(Ask::data("s;last", Termination, 90), |request| request.writer().copy(&unknown));
    client.watchdog();
    // The second connection is refused; a quiet one is watched; one that ends disconnects.
    let (refused, answer) = Client::try_connect(store.diameter, "pgw.example");
    assert!(answer.contains("Result-Code=4003"), "{answer}");
    let cer = [
        name(264, "relay.example"),
        name(296, "example"),
        bytes(257, &[0, 1, 127, 0, 0, 1]),
        number(266, 0),
        optional(269, b"relay"),
        group(260, &[number(266, 10_415), number(258, 4)]),
    ];
    let mut relay = Client::open(store.diameter, "relay.example");
    relay.send(&message(0x80, command::CAPABILITIES_EXCHANGE, [0, 1, 1], &cer.concat()));
    relay.receive().expect("an answer");
    let dpr = [&cer[..2], &[number(273, 0)]].concat().concat();
    relay.send(&message(0x80, command::DISCONNECT_PEER, [0, 2, 2], &dpr));
    relay.receive().expect("an answer");
    let mut nameless = Client::open(store.diameter, "relay.example");
    nameless.send(&message(0x80, command::CAPABILITIES_EXCHANGE, [0, 1, 1], &cer[..4].concat()));
    nameless.receive().expect("an answer");
    let door = Process::door_before(&store, "");
    let mut ended = Client::connect(door.diameter, "pgw.example");
    door.signal(Signal::SIGTERM);
    let last = ended.receive().expect("a request");
    assert!(text(&last).starts_with("282R "), "{}", text(&last));
    let door = Process::door_before(&store, "[diameter]\nwatchdog_s = 6\n");
    let mut quiet = Client::connect(door.diameter, "pgw.example");
    let watchdog = quiet.receive().expect("a request");
    assert!(text(&watchdog).starts_with("280R "), "{}", text(&watchdog));
    for client in [client, refused, relay, nameless, ended, quiet] {
        client.received.iter().for_each(|message| seen.add(message));
    }
    seen.add(&own_request(ServerAction::Abort));
    for (rating_group, identifier) in [(None, None), (Some(1), Some(7))] {
        seen.add(&own_request(ServerAction::ReAuth { rating_group, identifier }));
    }
    let (seen, stated) = (seen.rows(), stated());
    let shown = |rows: &BTreeMap<String, BTreeSet<String>>| -> String {
        let row = |(place, names): (&String, &BTreeSet<String>)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{place} | sent | {}\n", names.join(" "))
        };
        rows.iter().map(row).collect()
    };
    assert_eq!(shown(&seen), shown(&stated));
}

#[test]
fn a_request_without_a_subscriber_is_refused() {
    let store = Process::with_settings("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let request = [
        name(263, "s;1"),
        name(264, "pgw.example"),
        name(296, "example"),
        name(283, "localdomain"),
        number(258, 4),
        name(461, "32251@3gpp.org"),
        number(416, 1),
        number(415, 0),
    ];
    client.send(&message(0xc0, command::CREDIT_CONTROL, [4, 1, 1], &request.concat()));
    let answer = text(&client.receive().expect("an answer"));
    let wanted = ["Result-Code=5005", "Failed-AVP={ Subscription-Id="];
    assert!(wanted.iter().all(|words| answer.contains(words)), "{answer}");
}
