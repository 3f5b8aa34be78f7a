//! Peers that break the rules: their connection ends with a fault of one line, other connections
//! continue, and no memory stays registered.

mod world;

use scurry_model::Random;
use scurry_rdma_fabric::{Cause, Limits, Raw, SimEvent, SimQueue};
use scurry_rdma_proto::fabric::{Target, Window};
use scurry_rdma_proto::{
    Endpoint, Fault, Feature, Message, Progress, Role, Settings, WINDOW_LEN_MIN,
};
use world::World;

#[test]
fn an_immediate_beyond_the_window() {
    let mut world = World::new(Role::Server);
    world.write(100, 65_536 + 1);
    world.ends(|fault| matches!(fault, Fault::Overrun { told: 65_537, room: 65_536 }));
    let mut world = World::new(Role::Server);
    world.write(60_000, 60_000);
    assert!(world.listen().is_none());
    world.write(1, 5_537);
    world.ends(|fault| matches!(fault, Fault::Overrun { told: 5_537, room: 5_536 }));
}

#[test]
fn an_immediate_when_no_window_is_there() {
    let settings = Settings { windows: 1, window_len: WINDOW_LEN_MIN, ..Settings::default() };
    let mut world = World::with(Role::Server, settings);
    world.write(65_536, 65_536);
    assert!(world.listen().is_none());
    world.window.address -= 65_536;
    world.write(1, 1);
    world.ends(|fault| matches!(fault, Fault::Overrun { told: 1, room: 0 }));
}

#[test]
fn windows_of_lengths_that_are_not_allowed() {
    for length in [0, 65_535, 16 * 1024 * 1024 + 1, u32::MAX] {
        let mut world = World::new(Role::Server);
        world.attacker.announce(0x1000, length, 1);
        world.ends(|fault| matches!(fault, Fault::WindowLength(told) if *told == length));
    }
}

#[test]
fn a_window_of_another_length() {
    let mut world = World::new(Role::Client);
    world.attacker.announce(0x1000, 65_536, 1);
    world.attacker.announce(0x1000, 65_537, 1);
    world.ends(|fault| matches!(fault, Fault::WindowChanged { before: 65_536, now: 65_537 }));
}

#[test]
fn a_window_beyond_the_last_address() {
    let mut world = World::new(Role::Server);
    world.attacker.announce(u64::MAX - 65_535, 65_536, 1);
    world.ends(|fault| matches!(fault, Fault::WindowAddress(_)));
}

#[test]
fn windows_without_end() {
    let mut world = World::new(Role::Server);
    (0..6).for_each(|_| world.attacker.announce(0x1000, 65_536, 1));
    world.ends(|fault| matches!(fault, Fault::Windows(4)));
}

#[test]
fn floods_of_messages_without_data() {
    let feature = Feature::default();
    let floods = [
        Message::Keepalive,
        Message::SetClientFeature(feature),
        Message::GetServerFeature(feature),
    ];
    for message in floods {
        let mut world = World::new(Role::Server);
        for _ in 0..256 {
            world.attacker.send(&message);
            assert!(world.listen().is_none(), "a burst is allowed");
            while world.fabric.complete(world.end) {}
        }
        world.attacker.send(&message);
        world.ends(|fault| matches!(fault, Fault::Flood));
    }
}

#[test]
fn a_flood_of_immediates_of_nothing() {
    let mut world = World::new(Role::Server);
    for _ in 0..256 {
        world.write(0, 0);
        assert!(world.listen().is_none(), "a burst is allowed");
    }
    world.write(0, 0);
    world.ends(|fault| matches!(fault, Fault::Flood));
}

#[test]
fn questions_whose_answers_are_not_taken() {
    // The fabric executes none of the victim's requests: its answers fill the queue, and then wait.
    let mut world = World::new(Role::Server);
    for _ in 0..250 {
        world.attacker.send(&Message::GetServerFeature(Feature::default()));
    }
    world.ends(|fault| matches!(fault, Fault::Flood));
}

#[test]
fn unknown_kinds_and_lengths() {
    for opcode in [4_u16, 5, 0xffff] {
        let mut world = World::new(Role::Server);
        let mut bytes = [0; 32];
        bytes[..2].copy_from_slice(&opcode.to_be_bytes());
        world.attacker.send_bytes(&bytes);
        world.ends(|fault| matches!(fault, Fault::Opcode(told) if *told == opcode));
    }
    for len in [0, 1, 31, 33, 4_096] {
        let mut world = World::new(Role::Client);
        world.attacker.send_bytes(&vec![0; len]);
        world.ends(|fault| matches!(fault, Fault::ControlLength(told) if *told == len));
    }
}

#[test]
fn features_that_a_client_did_not_ask_for() {
    for (opcode, message) in [
        Message::GetServerFeature(Feature::default()),
        Message::SetClientFeature(Feature::default()),
    ]
    .into_iter()
    .enumerate()
    {
        let mut world = World::new(Role::Client);
        world.attacker.send(&message);
        world.ends(|fault| matches!(fault, Fault::Unasked(told) if usize::from(*told) == opcode));
    }
}

#[test]
fn writes_by_the_key_of_another_connection() {
    let mut world = World::new(Role::Server);
    let victim = world.window;
    let [stranger, mine] = world.fabric.connect([Limits::default(), Limits::default()]);
    let queue = SimQueue::new(&world.fabric, stranger);
    let stranger_side = Endpoint::new(queue, Role::Server, Settings::default(), 0).expect("memory");
    let mut thief = Raw::new(&world.fabric, mine, 8);
    thief.write(&[b'x'; 100], victim, Some(100));
    assert_eq!(world.fabric.cause(mine), Some(Cause::Access));
    assert_eq!(thief.next_event(), Some(SimEvent::Broken));
    assert_eq!(world.fabric.cause(world.end), None);
    drop((thief, stranger_side));
    // The window is unchanged, and its own peer can go on.
    world.write(4, 4);
    assert!(world.listen().is_none());
    let endpoint = world.victim.as_mut().expect("it is there");
    endpoint.progress();
    assert_eq!(endpoint.input(), b"xxxx");
    world.assert_others_finish();
}

#[test]
fn writes_beyond_the_window() {
    let mut world = World::new(Role::Server);
    world.window.address += 65_530;
    world.write(7, 7);
    assert_eq!(world.fabric.cause(world.end), Some(Cause::Access));
    assert!(world.listen().is_none());
    let endpoint = world.victim.as_mut().expect("it is there");
    assert_eq!(endpoint.progress(), Progress::End);
    assert!(matches!(endpoint.publish(), Err(Fault::Gone)));
    world.victim = None;
    world.assert_others_finish();
}

#[test]
fn a_peer_that_dies_silently() {
    let mut world = World::new(Role::Server);
    world.fabric.silence(world.attacker.end);
    let victim = world.victim.as_mut().expect("it is there");
    // The first keepalive, which the dead peer does not acknowledge, is due after 3 s.
    let mut now_ms = 0;
    let fault = loop {
        now_ms = victim.next_due_ms().expect("a server has something to do").max(now_ms + 1);
        if let Err(fault) = victim.tick(now_ms) {
            break fault;
        }
        assert!(now_ms < 60_000, "it waits for ever");
    };
    assert!(matches!(fault, Fault::Silent(15_000..)), "{fault:?}");
    assert!((15_000..=33_000).contains(&now_ms), "{now_ms}");
    world.victim = None;
    world.assert_others_finish();
}

#[test]
fn anything_at_all() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let role = random.pick(&[Role::Server, Role::Client]);
        let mut world = World::new(role);
        for _ in 0..200 {
            match random.below(6) {
                0 => {
                    let mut bytes = [0; 32];
                    bytes.fill_with(|| random.next_u64().to_le_bytes()[0]);
                    bytes[..2].copy_from_slice(&[0, random.pick(&[0, 1, 2, 3, 3, 4])]);
                    world.attacker.send_bytes(&bytes);
                }
                1 => world.attacker.announce(0x1000, random.pick(&[65_536, 65_536, 70_000]), 1),
                2 => world.write(random.below(2), u32::try_from(random.below(9_000)).expect("u32")),
                3 => world.attacker.send(&Message::Keepalive),
                _ => {
                    let Some(victim) = &mut world.victim else { break };
                    victim.progress();
                    let len = random.below(victim.input().len() + 1);
                    victim.consume(len);
                    victim.parts().1.extend_from_slice(&vec![0; random.below(5_000)]);
                    victim.commit();
                    if victim.publish().is_err() {
                        break;
                    }
                }
            }
            if world.listen().is_some() {
                break;
            }
        }
        world.victim = None;
        world.assert_others_finish();
    }
}

/// A window that does not exist is a wrong address for the device: the victim's connection breaks,
/// and nothing else happens.
#[test]
fn a_window_that_is_none() {
    let mut world = World::new(Role::Server);
    world.attacker.announce(0x1000, 65_536, 77);
    assert!(world.listen().is_none());
    let victim = world.victim.as_mut().expect("it is there");
    victim.parts().1.extend_from_slice(b"+OK\r\n");
    victim.commit();
    assert!(victim.publish().expect("nothing is known yet"));
    world.fabric.carry(world.end);
    assert_eq!(world.fabric.cause(world.end), Some(Cause::Access));
    assert!(world.listen().is_none());
    world.victim = None;
    world.assert_others_finish();
}

/// The attacker's own keys and windows give no access either.
#[test]
fn the_victims_window_is_its_own() {
    let mut world = World::new(Role::Server);
    let own = world.attacker.window(65_536);
    let to = Target { address: own.address(), key: own.key() };
    world.attacker.write(b"x", to, Some(1));
    assert_eq!(world.fabric.cause(world.end), Some(Cause::Access));
    drop(own);
    world.victim = None;
    world.assert_others_finish();
}

/// A peer overwrites bytes that it has announced, after they were read and perhaps checked.
#[test]
fn what_was_shown_stays_as_it_was() {
    let mut world = World::new(Role::Server);
    let to = Target { address: world.window.address, key: world.window.key };
    world.attacker.write(b"GET mine", to, Some(8));
    assert!(world.listen().is_none());
    assert_eq!(shown(&mut world), b"GET mine");
    world.attacker.write(b"GET they", to, None);
    // A further announced byte makes the overwritten bytes visible, as on a device.
    let behind = Target { address: to.address + 8, ..to };
    world.attacker.write(b"!", behind, Some(1));
    assert!(world.listen().is_none());
    assert_eq!(shown(&mut world), b"GET mine!");
}

fn shown(world: &mut World) -> &[u8] {
    let victim = world.victim.as_mut().expect("it is there");
    while let Progress::More(_) = victim.progress() {}
    victim.input()
}
