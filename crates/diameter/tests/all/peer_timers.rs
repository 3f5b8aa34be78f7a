//! Deadlines and the watchdog, as a host sees them.

use crate::peer_support::{Host, START, answer_to, settings};
use crate::support::update;
use scurry_diameter::Origin;
use scurry_diameter::peer::{
    CloseReason, DisconnectCause, Event, Peer, PeerError, PeerSettings, RequestRefusal, Start,
    Token, WatchdogState,
};

#[test]
fn capabilities_have_a_deadline() {
    for mut host in [Host::accept(settings()), Host::connect(settings())] {
        assert_eq!(host.peer.next_deadline_ms(), Some(11_000));
        host.pass(9_999);
        assert!(host.told().is_empty());
        host.pass(1);
        assert_eq!(host.ended(), CloseReason::CapabilitiesTimeout);
    }
}

#[test]
fn a_request_to_disconnect_has_a_deadline() {
    let mut host = Host::open();
    host.peer.drain(1_000, DisconnectCause::Busy, &mut host.out, &mut host.events);
    assert_eq!(host.peer.next_deadline_ms(), Some(6_000));
    host.pass(4_999);
    assert!(host.told().is_empty());
    host.pass(1);
    assert_eq!(host.ended(), CloseReason::DisconnectTimeout);
}

#[test]
fn a_quiet_peer_is_asked_suspected_and_given_up() {
    let mut host = Host::open();
    assert_eq!(host.peer.next_deadline_ms(), Some(31_000));
    host.pass(29_999);
    assert!(host.out.is_empty());
    host.pass(1);
    let expected = "280R Origin-Host=ocs.example Origin-Realm=example Origin-State-Id=5";
    assert_eq!(host.sent(), expected);
    assert!(host.told().is_empty());
    host.pass(30_000);
    assert_eq!(host.told(), [Event::Watchdog(WatchdogState::Suspect)]);
    let token = Token(1);
    let refusal = host.peer.request(host.now_ms, token, &mut host.out, |_, _| panic!("no"));
    assert_eq!(refusal, Err(RequestRefusal::Suspect));
    assert_eq!(host.peer.counts().errors_of(PeerError::Suspected), 1);
    host.pass(30_000);
    assert_eq!(host.ended(), CloseReason::WatchdogTimeout);
    assert!(host.out.is_empty());
}

#[test]
fn an_answer_or_any_message_saves_a_suspected_peer() {
    for is_answer in [true, false] {
        let mut host = Host::open();
        host.pass(30_000);
        let request = host.take().remove(0);
        host.pass(30_000);
        assert_eq!(host.told(), [Event::Watchdog(WatchdogState::Suspect)]);
        host.pass(10_000);
        host.give(&if is_answer { answer_to(&request, 2001) } else { update(1) });
        assert_eq!(host.told()[0], Event::Watchdog(WatchdogState::Okay));
        assert_eq!(host.peer.next_deadline_ms(), Some(host.now_ms + 30_000));
        host.pass(30_000);
        // A watchdog that is still unanswered is not sent again: RFC 3539, 3.4.1.
        let told = host.told();
        assert_eq!((told.is_empty(), host.take().len()), (is_answer, usize::from(is_answer)));
        assert_eq!(host.peer.counts().errors_of(PeerError::UnaskedAnswer), 0);
    }
}

#[test]
fn an_answer_to_another_watchdog_is_a_message_like_any_other() {
    let mut host = Host::open();
    host.pass(30_000);
    let request = host.take().remove(0);
    let mut other_ids = answer_to(&request, 2001);
    other_ids[15] ^= 1;
    let mut other_command = answer_to(&request, 2001);
    other_command[7] = 0x12;
    for (count, bytes) in [(1, other_ids), (2, other_command)] {
        host.give(&bytes);
        assert_eq!(host.peer.counts().errors_of(PeerError::UnaskedAnswer), count);
    }
    host.pass(30_000);
    assert_eq!(host.told(), [Event::Watchdog(WatchdogState::Suspect)]);
    host.give(&answer_to(&request, 2001));
    assert_eq!(host.told(), [Event::Watchdog(WatchdogState::Okay)]);
    assert_eq!(host.peer.counts().errors_of(PeerError::UnaskedAnswer), 2);
    // It is answered once.
    host.give(&answer_to(&request, 2001));
    assert_eq!(host.peer.counts().errors_of(PeerError::UnaskedAnswer), 3);
}

#[test]
fn requests_keep_the_watchdog_quiet() {
    let mut host = Host::open();
    for _ in 0..10 {
        host.pass(29_000);
        host.give(&update(1));
    }
    assert!(host.out.is_empty());
    assert_eq!(host.told().len(), 10);
}

#[test]
fn settings_are_moved_into_their_ranges() {
    let origin = Origin::new("ocs.example", "example", None);
    let wrong = PeerSettings {
        watchdog_ms: 1,
        requests_max: 0,
        addresses: Vec::new(),
        first_message_len_max: usize::MAX,
        message_len_max: usize::MAX,
        ..PeerSettings::new(origin)
    };
    let right = wrong.into_shared();
    assert_eq!((right.watchdog_ms, right.requests_max, right.addresses.len()), (6_000, 1, 1));
    assert_eq!((right.first_message_len_max, right.message_len_max), (0x00ff_fffc, 0x00ff_fffc));
    let peer = Peer::accept(right, &Start { jitter_ms: -5_000, ..START });
    assert_eq!(peer.next_deadline_ms(), Some(11_000));
}
