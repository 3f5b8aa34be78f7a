//! The exchange of capabilities: RFC 6733, 5.3.

use crate::peer_support::{Host, START, answer_to, capabilities, cer, message, settings, shared};
use crate::support::{avp, update, with_avp, with_len};
use scurry_diameter::attribute::{
    ACCT_APPLICATION_ID, AUTH_APPLICATION_ID, FIRMWARE_REVISION, HOST_IP_ADDRESS,
    INBAND_SECURITY_ID, ORIGIN_HOST, ORIGIN_REALM, ORIGIN_STATE_ID, PRODUCT_NAME, VENDOR_ID,
    VENDOR_SPECIFIC_APPLICATION_ID,
};
use scurry_diameter::peer::{Admission, CloseReason, Event, Peer, PeerError, PeerSettings};
use scurry_diameter::{Attribute, FrameFault, ResultCode};
use std::collections::BTreeMap;

const OWN: &str = "Origin-Host=ocs.example Origin-Realm=example Origin-State-Id=5 \
     Host-IP-Address=127.0.0.1 Vendor-Id=0 Product-Name=Scurry Supported-Vendor-Id=10415 \
     Auth-Application-Id=4";

/// Returns capabilities without one AVP, and with others.
fn changed(without: &[Attribute], with: &[Vec<u8>]) -> Vec<u8> {
    let is_kept =
        |avp: &Vec<u8>| !without.iter().any(|attribute| avp[..4] == attribute.code.to_be_bytes());
    let mut avps: Vec<Vec<u8>> = capabilities().into_iter().filter(is_kept).collect();
    avps.extend_from_slice(with);
    message(0x80, 257, 0, &avps)
}

/// Gives these capabilities to a new peer, which refuses them; returns the Result-Code, and the answer.
fn refused(bytes: &[u8], admission: Admission) -> (u32, String) {
    let mut host = Host { admission, ..Host::accept(settings()) };
    host.give(bytes);
    let CloseReason::Refused(result) = host.ended() else { panic!("it is not refused") };
    assert_eq!(host.peer.counts().errors_of(PeerError::Refused), 1);
    let sent = host.sent();
    assert!(sent.contains(&format!(" Result-Code={} {OWN} Error-Message=", result.0)), "{sent}");
    assert_eq!(sent.starts_with("257E"), result.is_protocol_error());
    (result.0, sent)
}

#[test]
fn capabilities_are_answered_and_tell_who_the_peer_is() {
    let mut host = Host::accept(PeerSettings { firmware_revision: Some(9), ..settings() });
    assert_eq!((host.peer.message_len_max(), host.peer.is_open()), (8_192, false));
    host.give(&changed(
        &[],
        &[
            avp(HOST_IP_ADDRESS, &[0, 8, b'1']),
            avp(ORIGIN_STATE_ID, &[0, 0, 0, 3]),
            avp(FIRMWARE_REVISION, &[0, 0, 0, 2]),
            avp(ORIGIN_HOST, b"second.example"),
        ],
    ));
    assert_eq!(host.sent(), format!("257 Result-Code=2001 {OWN} Firmware-Revision=9"));
    let events = host.told();
    let [Event::Up(identity)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(Some(&**identity), host.peer.identity());
    assert_eq!(host.asked.as_slice(), [(**identity).clone()]);
    assert_eq!((identity.host.as_str(), identity.realm.as_str()), ("pgw.example", "example"));
    assert_eq!((identity.product_name.as_str(), identity.vendor_id), ("PGW", 10_415));
    assert_eq!((identity.state_id, identity.firmware_revision), (Some(3), Some(2)));
    assert_eq!((identity.addresses.len(), identity.is_relay), (1, false));
    assert_eq!((host.peer.message_len_max(), host.peer.is_open()), (65_536, true));
    assert_eq!((host.peer.counts().requests_in[0], host.peer.counts().answers_out[0]), (1, 1));
}

#[test]
fn an_answer_has_the_bytes_of_the_standard() {
    let mut host = Host::accept(settings());
    host.give(&cer());
    #[rustfmt::skip]
    let golden = [
        1, 0, 0, 152, 0, 0, 1, 1, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44, 0xaa, 0xbb, 0xcc, 0xdd,
        0, 0, 1, 12, 0x40, 0, 0, 12, 0, 0, 7, 0xd1,
        0, 0, 1, 8, 0x40, 0, 0, 19, b'o', b'c', b's', b'.', b'e', b'x', b'a', b'm', b'p', b'l', b'e', 0,
        0, 0, 1, 40, 0x40, 0, 0, 15, b'e', b'x', b'a', b'm', b'p', b'l', b'e', 0,
        0, 0, 1, 22, 0x40, 0, 0, 12, 0, 0, 0, 5,
        0, 0, 1, 1, 0x40, 0, 0, 14, 0, 1, 127, 0, 0, 1, 0, 0,
        0, 0, 1, 10, 0x40, 0, 0, 12, 0, 0, 0, 0,
        0, 0, 1, 13, 0, 0, 0, 14, b'S', b'c', b'u', b'r', b'r', b'y', 0, 0,
        0, 0, 1, 9, 0x40, 0, 0, 12, 0, 0, 0x28, 0xaf,
        0, 0, 1, 2, 0x40, 0, 0, 12, 0, 0, 0, 4,
    ];
    assert_eq!(host.out, with_len(golden.to_vec()));
}

#[test]
fn applications_may_be_named_in_several_ways() {
    let four = avp(AUTH_APPLICATION_ID, &[0, 0, 0, 4]);
    let relay = [0xff; 4];
    let group = |vendor: u32, application: &[u8]| {
        let members = [avp(VENDOR_ID, &vendor.to_be_bytes()), application.to_vec()].concat();
        avp(VENDOR_SPECIFIC_APPLICATION_ID, &members)
    };
    let mirrored = |vendor: u32| {
        format!(" Vendor-Specific-Application-Id={{ Vendor-Id={vendor} Auth-Application-Id=4 }}")
    };
    for (avps, is_relay, more) in [
        (vec![avp(AUTH_APPLICATION_ID, &[0, 0, 0, 1]), four.clone()], false, String::new()),
        (vec![avp(AUTH_APPLICATION_ID, &relay)], true, String::new()),
        (vec![avp(ACCT_APPLICATION_ID, &relay)], true, String::new()),
        (vec![group(10_415, &avp(ACCT_APPLICATION_ID, &relay))], true, String::new()),
        (vec![group(10_415, &four)], false, mirrored(10_415)),
        (
            vec![group(10_415, &four), group(10_415, &four), group(0, &four)],
            false,
            mirrored(10_415) + &mirrored(0),
        ),
    ] {
        let mut host = Host::accept(settings());
        host.give(&changed(&[AUTH_APPLICATION_ID], &avps));
        assert_eq!(host.sent(), format!("257 Result-Code=2001 {OWN}{more}"));
        assert_eq!(host.peer.identity().map(|identity| identity.is_relay), Some(is_relay));
    }
}

#[test]
fn peers_are_refused_with_the_codes_of_the_standard() {
    let security = |ids: &[u8]| {
        ids.iter().map(|id| avp(INBAND_SECURITY_ID, &[0, 0, 0, *id])).collect::<Vec<_>>()
    };
    for attribute in [ORIGIN_HOST, ORIGIN_REALM, HOST_IP_ADDRESS, VENDOR_ID, PRODUCT_NAME] {
        let (code, sent) = refused(&changed(&[attribute], &[]), Admission::Admit);
        assert_eq!(code, 5005);
        assert!(sent.contains(" Failed-AVP={ "), "{sent}");
    }
    let unknown = Attribute { code: 9_999, vendor: 0, mandatory: true };
    let group = |data: &[u8]| vec![avp(VENDOR_SPECIFIC_APPLICATION_ID, data)];
    for (without, with, code) in [
        (vec![AUTH_APPLICATION_ID], vec![], 5010),
        (vec![AUTH_APPLICATION_ID], vec![avp(ACCT_APPLICATION_ID, &[0, 0, 0, 4])], 5010),
        (vec![], security(&[1]), 5017),
        (vec![], vec![avp(AUTH_APPLICATION_ID, &[0; 3])], 5014),
        (vec![], vec![avp(HOST_IP_ADDRESS, &[0, 1, 10])], 5014),
        (vec![], group(&[0, 0, 1, 2, 0x40, 0, 0, 99]), 5014),
    ] {
        assert_eq!(refused(&changed(&without, &with), Admission::Admit).0, code);
    }
    let mut host = Host::accept(settings());
    host.give(&changed(&[], &[avp(unknown, &[])]));
    assert_eq!(host.ended(), CloseReason::Refused(ResultCode::AVP_UNSUPPORTED));
    let mut with_error = cer();
    with_error[4] = 0xa0;
    assert_eq!(refused(&with_error, Admission::Admit).0, 3008);
    for (admission, code) in [
        (Admission::UnknownPeer, 3010),
        (Admission::ElectionLost, 4003),
        (Admission::Refuse(ResultCode::TOO_BUSY), 3004),
    ] {
        assert_eq!(refused(&cer(), admission).0, code);
    }
    let mut host = Host::accept(settings());
    host.give(&changed(&[], &security(&[1, 0])));
    assert!(host.peer.is_open());
}

#[test]
fn two_connections_of_one_host_are_the_hosts_decision() {
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let mut outcomes = Vec::new();
    for (number, is_replaced) in [(1, false), (2, false), (3, true)] {
        let mut peer = Peer::accept(shared(), &START);
        let (mut out, mut events) = (Vec::new(), Vec::new());
        let mut admit = |identity: &scurry_diameter::peer::PeerIdentity| {
            if open.contains_key(&identity.host) && !is_replaced {
                return Admission::ElectionLost;
            }
            open.insert(identity.host.clone(), number);
            Admission::Admit
        };
        peer.on_message(&cer(), START.now_ms, &mut admit, &mut out, &mut events);
        outcomes.push((peer.is_open(), crate::support::text(&out).contains("=4003")));
    }
    assert_eq!(outcomes, [(true, false), (false, true), (true, false)]);
    assert_eq!(open.into_values().collect::<Vec<_>>(), [3]);
}

#[test]
fn anything_before_capabilities_ends_the_connection_without_an_answer() {
    for (bytes, command) in [
        (update(1), 272),
        (message(0x80, 280, 0, &[]), 280),
        (message(0, 257, 0, &capabilities()), 257),
    ] {
        let mut host = Host::accept(settings());
        host.give(&bytes);
        assert_eq!(host.ended(), CloseReason::BeforeCapabilities(command));
        assert!(host.out.is_empty() && host.asked.is_empty());
        host.give(&cer());
        assert!(host.out.is_empty() && host.told().is_empty());
        assert_eq!(host.peer.counts().errors_of(PeerError::WrongState), 2);
    }
}

#[test]
fn bytes_that_are_no_message_end_the_connection() {
    let mut host = Host::accept(settings());
    host.give(&[1, 0, 0]);
    assert_eq!(host.ended(), CloseReason::Frame(FrameFault::Cut(3)));
    assert!(host.out.is_empty());
    let mut host = Host::accept(settings());
    let fault = FrameFault::Uneven(22);
    host.peer.on_frame_fault(&cer()[..20], fault, &mut host.out, &mut host.events);
    assert_eq!((host.ended(), host.out.len()), (CloseReason::Frame(fault), 0));
    let mut host = Host::open();
    let mut bytes = update(1);
    bytes[0] = 2;
    host.give(&bytes);
    assert_eq!(host.ended(), CloseReason::Frame(FrameFault::Version(2)));
    let expected = "272P Result-Code=5011 Origin-Host=ocs.example Origin-Realm=example \
         Origin-State-Id=5 Auth-Application-Id=4 \
         Error-Message=the message has a wrong version or length";
    assert_eq!(host.sent(), expected);
    let fault = FrameFault::Long { len: 99_996, max: 65_536 };
    let mut host = Host::open();
    host.peer.on_frame_fault(&bytes[..20], fault, &mut host.out, &mut host.events);
    assert!(host.sent().contains("Result-Code=5015"));
    assert_eq!(host.ended(), CloseReason::Frame(fault));
}

#[test]
fn capabilities_sent_twice_are_answered_and_the_host_stays() {
    let mut host = Host::open();
    host.give(&changed(&[ORIGIN_HOST], &[avp(ORIGIN_HOST, b"PGW.Example")]));
    assert_eq!(host.sent(), format!("257 Result-Code=2001 {OWN}"));
    assert!(host.told().is_empty() && host.peer.is_open() && host.asked.len() == 1);
    let mut host = Host::open();
    host.give(&changed(&[ORIGIN_HOST], &[avp(ORIGIN_HOST, b"other.example")]));
    assert!(host.sent().contains("Result-Code=5012"));
    assert_eq!(host.ended(), CloseReason::IdentityChanged);
    let mut host = Host::open();
    host.give(&changed(&[AUTH_APPLICATION_ID], &[]));
    assert!(host.sent().contains("Result-Code=5010"));
    assert_eq!(host.ended(), CloseReason::Refused(ResultCode::NO_COMMON_APPLICATION));
}

#[test]
fn every_prefix_of_capabilities_is_refused() {
    let bytes = cer();
    for len in (20..bytes.len()).step_by(4) {
        let mut host = Host::accept(settings());
        host.give(&with_len(bytes[..len].to_vec()));
        let CloseReason::Refused(result) = host.ended() else { panic!("{len}") };
        assert!([5005, 5010, 5014].contains(&result.0), "{len}: {}", result.0);
        assert_eq!(host.take().len(), 1);
    }
}

#[test]
fn an_initiator_sends_its_capabilities_first() {
    let mut host = Host::connect(settings());
    let request = host.take().remove(0);
    assert_eq!(crate::support::text(&request), format!("257R {OWN}"));
    // Hop-by-hop and end-to-end identifiers as they were begun.
    assert_eq!(request[12..20], [0x50, 0, 0, 0, 0, 0x10, 0, 7]);
    let answer = |result: u32| {
        let mut bytes = answer_to(&request, result);
        for avp in &capabilities()[2..] {
            bytes = with_avp(&bytes, avp);
        }
        bytes
    };
    host.give(&answer(2001));
    assert!(
        matches!(host.told().as_slice(), [Event::Up(identity)] if identity.host == "pgw.example")
    );
    assert!(host.peer.is_open() && host.out.is_empty());
    let end = |bytes: &[u8], admission| {
        let mut host = Host { admission, ..Host::connect(settings()) };
        host.take();
        host.give(bytes);
        assert!(host.out.is_empty());
        host.ended()
    };
    let admit = Admission::Admit;
    let refused = CloseReason::RefusedByPeer(Some(ResultCode(3010)));
    assert_eq!(end(&answer(3010), admit), refused);
    let unknown = CloseReason::Refused(ResultCode::UNKNOWN_PEER);
    assert_eq!(end(&answer(2001), Admission::UnknownPeer), unknown);
    let none = CloseReason::Refused(ResultCode::NO_COMMON_APPLICATION);
    assert_eq!(end(&answer_to(&request, 2001), admit), none);
    let mut watchdog = answer(2001);
    watchdog[6..8].copy_from_slice(&[1, 24]);
    assert_eq!(end(&watchdog, admit), CloseReason::BeforeCapabilities(280));
    let mut own = answer(2001);
    own[4] = 0x80;
    assert_eq!(end(&own, admit), CloseReason::BeforeCapabilities(257));
    let mut other = answer(2001);
    other[12] = 0;
    assert_eq!(end(&other, admit), CloseReason::BeforeCapabilities(257));
    assert_eq!(end(&cer(), admit), CloseReason::BeforeCapabilities(257));
    assert_eq!(end(&update(1), admit), CloseReason::BeforeCapabilities(272));
    let unreadable = with_avp(&answer(2001), &avp(VENDOR_ID, &[0; 3]));
    assert_eq!(end(&unreadable, admit), CloseReason::UnreadableCapabilities);
}

#[test]
fn what_is_kept_of_a_peer_has_bounds() {
    let addresses: Vec<Vec<u8>> =
        (0..20).map(|last| avp(HOST_IP_ADDRESS, &[0, 1, 10, 0, 0, last])).collect();
    let applications: Vec<Vec<u8>> = (0..20_u32)
        .map(|vendor| {
            let mut members = avp(VENDOR_ID, &vendor.to_be_bytes());
            members.extend(avp(AUTH_APPLICATION_ID, &[0, 0, 0, 4]));
            avp(VENDOR_SPECIFIC_APPLICATION_ID, &members)
        })
        .collect();
    let mut host = Host::accept(settings());
    host.give(&changed(&[], &[addresses, applications].concat()));
    assert_eq!(host.peer.identity().map(|identity| identity.addresses.len()), Some(8));
    assert_eq!(host.sent().matches("Vendor-Specific-Application-Id").count(), 4);
}

#[test]
fn a_frame_fault_while_this_side_disconnects_is_answered() {
    let mut host = Host::open();
    let cause = scurry_diameter::peer::DisconnectCause::Busy;
    host.peer.drain(host.now_ms, cause, &mut host.out, &mut host.events);
    assert_eq!((host.take().len(), host.peer.message_len_max()), (1, 65_536));
    let fault = FrameFault::Uneven(22);
    host.peer.on_frame_fault(&update(1)[..20], fault, &mut host.out, &mut host.events);
    assert!(host.sent().starts_with("272P Result-Code=5015"));
    assert_eq!(host.ended(), CloseReason::Frame(fault));
    // Answers get no answer, and a fault after the end is only counted.
    let mut host = Host::open();
    let answer = answer_to(&update(1), 2001);
    host.peer.on_frame_fault(&answer, fault, &mut host.out, &mut host.events);
    assert!(host.out.is_empty() && host.ended() == CloseReason::Frame(fault));
    host.peer.on_frame_fault(&answer, fault, &mut host.out, &mut host.events);
    assert!(host.told().is_empty());
    assert_eq!(host.peer.counts().errors_of(PeerError::Frame), 2);
}
