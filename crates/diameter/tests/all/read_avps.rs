//! testing/diameter/avps.txt says what is read of a request. Here it is found out: an AVP is read if a value that its type
//! does not allow is refused; what is not read is passed over.

use crate::peer_support::{Host, capabilities, message, settings};
use crate::support::{HEAD, avp, refused, request_of, with_avp, with_request, without};
use scurry_diameter::attribute::{
    MULTIPLE_SERVICES_CREDIT_CONTROL, REQUESTED_SERVICE_UNIT, SUBSCRIPTION_ID, USED_SERVICE_UNIT,
};
use scurry_diameter::dictionary::{AvpInfo, AvpType, all, find};
use scurry_diameter::{Attribute, ClientAnswer, Message, dictionary};
use std::collections::BTreeSet;

/// What the statement says of the AVPs that are read of a message, or of a group within it.
struct Statement {
    /// Names of those whose data are looked at.
    read: BTreeSet<String>,
    /// Names of those without which a request is refused.
    needed: BTreeSet<String>,
}

fn statement(place: &str) -> Statement {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/diameter/avps.txt");
    let text = std::fs::read_to_string(path).expect("the statement");
    let head = format!("{place} | read | ");
    let row = text.lines().find_map(|line| line.strip_prefix(&head)).expect(place);
    let (mut read, mut needed) = (BTreeSet::new(), BTreeSet::new());
    for word in row.split(' ') {
        let name = word.trim_end_matches(['+', '*', '~']);
        assert!(all().any(|(_, avp)| avp.name == name), "{name} is no AVP");
        if !word.ends_with('~') {
            read.insert(name.to_owned());
        }
        if word.ends_with('+') {
            needed.insert(name.to_owned());
        }
    }
    Statement { read, needed }
}

fn attribute(vendor: u32, info: &AvpInfo) -> Attribute {
    let mandatory = info.mandatory == dictionary::Mandatory::Must;
    Attribute { code: info.code, vendor, mandatory }
}

/// Returns the AVP with data that its type does not allow; of bytes, all of which are allowed, it returns two AVPs.
fn wrong(vendor: u32, info: &AvpInfo) -> Vec<u8> {
    let attribute = attribute(vendor, info);
    match info.kind {
        AvpType::OctetString => {
            let mut one = avp(attribute, b"four");
            one.extend(one.clone());
            one
        }
        AvpType::Utf8String => avp(attribute, &[0xff]),
        AvpType::Identity => avp(attribute, &[]),
        // An AVP within it that is longer than all.
        AvpType::Grouped => avp(attribute, &[0, 0, 1, 7, 0, 0xff, 0xff, 0xff]),
        AvpType::Address => avp(attribute, &[0]),
        _ => avp(attribute, &[0; 3]),
    }
}

/// Returns the names of the AVPs that are refused with wrong data.
fn found(is_refused: impl Fn(&[u8]) -> bool) -> BTreeSet<String> {
    let read = all().filter(|(vendor, info)| is_refused(&wrong(*vendor, info)));
    read.map(|(_, info)| info.name.to_owned()).collect()
}

fn check_request(place: &str, within: impl Fn(&[u8]) -> Vec<u8>) {
    let request = request_of(&HEAD, |_| {});
    let is_refused =
        |bytes: &[u8]| with_request(&with_avp(&request, &within(bytes)), |read| read.is_err());
    assert_eq!(found(is_refused), statement(place).read, "{place}");
}

#[test]
fn the_avps_of_a_request_are_those_of_the_statement() {
    check_request("CCR", <[u8]>::to_vec);
    let service = |bytes: &[u8]| avp(MULTIPLE_SERVICES_CREDIT_CONTROL, bytes);
    check_request("CCR/Multiple-Services-Credit-Control", service);
    let units = |bytes: &[u8]| service(&avp(REQUESTED_SERVICE_UNIT, bytes));
    check_request("CCR/Requested-Service-Unit", units);
    let used = |bytes: &[u8]| service(&avp(USED_SERVICE_UNIT, bytes));
    check_request("CCR/Used-Service-Unit", used);
    check_request("CCR/Subscription-Id", |bytes| {
        // Both members are there, so that only what is wrong is refused.
        let kind = avp(Attribute::base(450), &[0; 4]);
        let data = avp(Attribute::base(444), b"4917");
        avp(SUBSCRIPTION_ID, &[&kind[..], &data, bytes].concat())
    });
}

#[test]
fn a_request_needs_the_avps_that_the_statement_marks() {
    let request = request_of(&HEAD, |_| {});
    let needed = all().filter(|(vendor, info)| {
        let less = without(&request, attribute(*vendor, info));
        let is_missing = less.len() < request.len() && refused(&less).0 == 5005;
        assert!(is_missing || less.len() == request.len(), "{}", info.name);
        is_missing
    });
    let mut needed: BTreeSet<String> = needed.map(|(_, info)| info.name.to_owned()).collect();
    // The door wants a subscriber: `a_request_without_a_subscriber_is_refused`.
    needed.insert("Subscription-Id".to_owned());
    assert_eq!(needed, statement("CCR").needed);
}

#[test]
fn the_avps_of_capabilities_are_those_of_the_statement() {
    let is_open = |avps: &[Vec<u8>]| {
        let mut host = Host::accept(settings());
        host.give(&message(0x80, 257, 0, avps));
        host.peer.is_open()
    };
    let is_refused = |bytes: &[u8]| !is_open(&[capabilities(), vec![bytes.to_vec()]].concat());
    let stated = statement("CER");
    assert_eq!(found(is_refused), stated.read);
    let mut needed = BTreeSet::new();
    for at in 0..capabilities().len() {
        let mut less = capabilities();
        let removed = less.remove(at);
        let code = u32::from_be_bytes(removed[..4].try_into().expect("4 bytes"));
        let name = find(0, code).expect("a known AVP").name;
        // An application may be named otherwise, and without one the peer gets 5010.
        if !is_open(&less) && name != "Auth-Application-Id" {
            needed.insert(name.to_owned());
        }
    }
    assert_eq!(needed, stated.needed);
}

#[test]
fn the_avps_of_a_request_to_disconnect_are_those_of_the_statement() {
    let is_refused = |bytes: &[u8]| {
        let mut host = Host::open();
        host.give(&message(0x80, 282, 0, &[bytes.to_vec()]));
        !host.sent().contains(" Result-Code=2001 ")
    };
    assert_eq!(found(is_refused), statement("DPR").read);
}

#[test]
fn the_avps_of_answers_of_clients_are_those_of_the_statement() {
    for (command, place) in [(258, "RAA"), (274, "ASA")] {
        let is_refused = |bytes: &[u8]| {
            let answer = message(0x40, command, 4, &[bytes.to_vec()]);
            ClientAnswer::read(&Message::read(&answer).expect("a message")).is_err()
        };
        assert_eq!(found(is_refused), statement(place).read, "{place}");
    }
}
