//! Messages on an open connection.

use crate::peer_support::{Host, answer_to, message};
use crate::support::{avp, origin, text, update, with_len};
use scurry_diameter::attribute::{DISCONNECT_CAUSE, ORIGIN_HOST, SESSION_ID};
use scurry_diameter::peer::{
    CloseReason, DisconnectCause, Event, PeerError, RequestRefusal, Token,
};
use scurry_diameter::{Attribute, Message, ServerAction, ServerRequest};

const ORIGIN: &str = "Origin-Host=ocs.example Origin-Realm=example Origin-State-Id=5";

/// Sends a Re-Auth-Request, and returns its bytes.
fn send(host: &mut Host, token: u64) -> Result<Vec<u8>, RequestRefusal> {
    let request = ServerRequest {
        session_id: "s;1",
        destination_host: "pgw.example",
        destination_realm: "example",
        action: ServerAction::ReAuth { rating_group: None, identifier: None },
    };
    host.peer.request(host.now_ms, Token(token), &mut host.out, |out, ids| {
        request.write(out, ids, &origin());
    })?;
    Ok(host.take().remove(0))
}

#[test]
fn requests_of_the_application_go_to_the_host() {
    let mut host = Host::open();
    for bytes in [update(1), message(0xc0, 275, 4, &[])] {
        host.give(&bytes);
        let header = Message::read(&bytes).expect("a message").header;
        assert_eq!(host.told(), [Event::Request(header)]);
    }
    assert!(host.out.is_empty());
    host.peer.answer_sent(272);
    let counts = host.peer.counts();
    assert_eq!((counts.requests_in[3], counts.requests_in[6], counts.answers_out[3]), (1, 1, 1));
}

#[test]
fn other_requests_are_answered_here() {
    let watchdog = avp(Attribute::base(278), &[0, 0, 0, 1]);
    let unknown = Attribute { code: 9_999, vendor: 0, mandatory: true };
    let session = avp(SESSION_ID, b"s;1");
    for (bytes, expected) in [
        (message(0x80, 280, 0, &[]), "280 Result-Code=2001"),
        (message(0x80, 280, 0, std::slice::from_ref(&watchdog)), "280 Result-Code=2001"),
        (message(0x80, 280, 0, &[vec![0, 0, 1, 22, 0x40, 0, 0, 7]]), "280 Result-Code=5014"),
        (
            message(0xc0, 271, 3, std::slice::from_ref(&session)),
            "271PE Session-Id=s;1 Result-Code=3007",
        ),
        (
            message(0x80, 999, 0, std::slice::from_ref(&session)),
            "999E Session-Id=s;1 Result-Code=3001",
        ),
        (message(0xe0, 272, 4, &[]), "272PE Result-Code=3008"),
    ] {
        let mut host = Host::open();
        host.give(&bytes);
        let sent = host.sent();
        assert!(sent.starts_with(&format!("{expected} {ORIGIN}")), "{sent}");
        assert!(host.told().is_empty() && host.peer.is_open());
        let is_refused = !expected.contains("2001");
        let refused = host.peer.counts().errors_of(PeerError::Refused);
        assert_eq!(refused, u64::from(is_refused), "{expected}");
    }
    let mut host = Host::open();
    host.give(&message(0x80, 280, 0, &[avp(unknown, &[])]));
    let answer = host.take().remove(0);
    assert_eq!(answer[28..32], 5001_u32.to_be_bytes());
}

#[test]
fn a_peer_disconnects() {
    for (avps, cause, words) in [
        (vec![avp(DISCONNECT_CAUSE, &[0, 0, 0, 0])], DisconnectCause::Rebooting, "it restarts"),
        (vec![avp(DISCONNECT_CAUSE, &[0, 0, 0, 1])], DisconnectCause::Busy, "it is busy"),
        (
            vec![avp(DISCONNECT_CAUSE, &[0, 0, 0, 2])],
            DisconnectCause::DoNotWantToTalkToYou,
            "it has no use for the connection",
        ),
        (vec![avp(DISCONNECT_CAUSE, &[0, 0, 0, 7])], DisconnectCause::Other(Some(7)), "cause 7"),
        (vec![], DisconnectCause::Other(None), "it gives no cause"),
    ] {
        let mut host = Host::open();
        send(&mut host, 4).expect("it is sent");
        host.give(&message(0x80, 282, 0, &avps));
        assert_eq!(host.sent(), format!("282 Result-Code=2001 {ORIGIN}"));
        let reason = CloseReason::DisconnectedByPeer(cause);
        let lost = Event::Unanswered { token: Token(4) };
        assert_eq!(host.told(), [lost, Event::Close(reason)]);
        assert_eq!(reason.to_string(), format!("the peer disconnects: {words}"));
    }
    let mut host = Host::open();
    host.give(&message(0x80, 282, 0, &[avp(DISCONNECT_CAUSE, &[0])]));
    assert!(host.sent().contains("Result-Code=5014") && host.peer.is_open());
}

#[test]
fn this_side_disconnects() {
    let mut host = Host::open();
    let drain = |host: &mut Host| {
        let cause = DisconnectCause::Rebooting;
        host.peer.drain(host.now_ms, cause, &mut host.out, &mut host.events);
    };
    drain(&mut host);
    let request = host.take().remove(0);
    assert_eq!(text(&request), format!("282R {ORIGIN} Disconnect-Cause=0"));
    assert!(!host.peer.is_open());
    drain(&mut host);
    assert!(host.out.is_empty() && host.events.is_empty());
    host.give(&update(1));
    assert!(host.sent().starts_with("272PE Session-Id=smf.example;1;2;app_gy Result-Code=3004"));
    host.give(&message(0x80, 280, 0, &[]));
    assert!(host.sent().starts_with("280 Result-Code=2001"));
    assert_eq!(send(&mut host, 1), Err(RequestRefusal::NotOpen));
    let mut other = answer_to(&request, 2001);
    other[15] ^= 1;
    host.give(&other);
    assert_eq!(host.peer.counts().errors_of(PeerError::UnaskedAnswer), 1);
    host.give(&answer_to(&request, 2001));
    assert_eq!(host.ended(), CloseReason::Disconnected);
    let mut host = Host::accept(crate::peer_support::settings());
    drain(&mut host);
    assert_eq!(host.ended(), CloseReason::Disconnected);
    // Both sides at once.
    let mut host = Host::open();
    drain(&mut host);
    host.take();
    host.give(&message(0x80, 282, 0, &[]));
    assert!(host.sent().starts_with("282 Result-Code=2001"));
    let cause = DisconnectCause::Other(None);
    assert_eq!(host.ended(), CloseReason::DisconnectedByPeer(cause));
}

#[test]
fn answers_come_to_their_requests_in_any_order() {
    let mut host = Host::open();
    let requests: Vec<Vec<u8>> =
        (0..3).map(|token| send(&mut host, token).expect("it is sent")).collect();
    assert_eq!(send(&mut host, 3), Err(RequestRefusal::Full));
    assert!(host.out.is_empty());
    assert_eq!(host.peer.counts().errors_of(PeerError::TableFull), 1);
    // Identifiers follow each other.
    let ids: Vec<u8> = requests.iter().flat_map(|request| [request[15], request[19]]).collect();
    assert_eq!(ids, [0, 7, 1, 8, 2, 9]);
    for token in [1_u8, 2, 0] {
        let answer = answer_to(&requests[usize::from(token)], 2001);
        host.give(&answer);
        let header = Message::read(&answer).expect("a message").header;
        assert_eq!(host.told(), [Event::Answer { token: Token(token.into()), header }]);
        host.give(&answer);
        assert!(host.told().is_empty());
    }
    let counts = host.peer.counts();
    assert_eq!((counts.errors_of(PeerError::UnaskedAnswer), counts.answers_in[4]), (3, 6));
    assert_eq!((counts.requests_out[4], host.peer.waiting()), (3, 0));
    assert!(host.out.is_empty());
    // An answer with another command than its request.
    let mut other = answer_to(&send(&mut host, 9).expect("it is sent"), 2001);
    other[7] = 0x12;
    host.give(&other);
    assert_eq!((host.told(), host.peer.waiting()), (vec![], 1));
}

#[test]
fn requests_without_an_answer_expire_or_end_with_the_connection() {
    let mut host = Host::open();
    send(&mut host, 1).expect("it is sent");
    host.pass(4_000);
    send(&mut host, 2).expect("it is sent");
    assert_eq!(host.peer.next_deadline_ms(), Some(11_000));
    host.pass(5_999);
    assert!(host.told().is_empty());
    host.pass(1);
    assert_eq!(host.told(), [Event::Unanswered { token: Token(1) }]);
    assert_eq!(host.peer.next_deadline_ms(), Some(15_000));
    host.peer.closed(&mut host.events);
    assert_eq!(host.told(), [Event::Unanswered { token: Token(2) }]);
    assert_eq!(host.peer.counts().errors_of(PeerError::Unanswered), 2);
    host.pass(100_000);
    host.give(&update(1));
    assert!(host.told().is_empty() && host.out.is_empty());
}

#[test]
fn every_prefix_of_the_small_messages_is_answered() {
    let members = [avp(ORIGIN_HOST, b"pgw.example"), avp(DISCONNECT_CAUSE, &[0, 0, 0, 0])];
    for command in [280, 282] {
        let bytes = message(0x80, command, 0, &members);
        for len in (20..=bytes.len()).step_by(4) {
            let mut host = Host::open();
            host.give(&with_len(bytes[..len].to_vec()));
            let answer = host.take().remove(0);
            let expected = if [20, 40, 52].contains(&len) { 2001_u32 } else { 5014 };
            assert_eq!(answer[28..32], expected.to_be_bytes(), "{command} {len}");
            assert_eq!(host.peer.is_open(), command == 280 || expected != 2001);
        }
    }
}
