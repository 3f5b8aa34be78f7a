//! Endpoints against peers that behave like valkey-server and libvalkey.

use scurry_model::Random;
use scurry_rdma_fabric::{
    Cause, ENTRIES, EndProgram, Fabric, Limits, Sizes, Stream, Valkey, WINDOW_LEN, settings,
};
use scurry_rdma_proto::{Role, Settings};

/// Limits of a Valkey peer: an unbounded send queue, because it does not watch its depth, and its
/// receive entries.
const VALKEY: Limits = Limits {
    send_depth: 1 << 20,
    receives: ENTRIES,
    inline_max: 220,
    retries: None,
    pinned_max: 64 << 20,
};

/// An endpoint that talks to a Valkey peer in the other role.
struct Talk {
    fabric: Fabric,
    ours: EndProgram,
    theirs: Valkey,
}

impl Talk {
    fn new(ours: Role, settings: Settings, window_len: usize, streams: [Stream; 2]) -> Talk {
        let fabric = Fabric::default();
        let (theirs, retries) = match ours {
            Role::Server => (Role::Client, None),
            // valkey-server accepts connections with a retry count of 0.
            Role::Client => (Role::Server, Some(0)),
        };
        let own = Limits {
            send_depth: settings.send_depth.max(16),
            receives: settings.receives,
            retries,
            ..Limits::default()
        };
        let ends = fabric.connect([own, VALKEY]);
        let [up, down] = streams;
        let side = EndProgram::new(&fabric, ends[0], ours, settings, [up.clone(), down.clone()]);
        let theirs = Valkey::new(&fabric, ends[1], theirs, window_len, [down, up]);
        Talk { fabric, ours: side, theirs }
    }

    /// Runs turns of our side until nothing changes while the peer does nothing.
    fn go(&mut self, random: &mut Random) {
        loop {
            let mut changed = false;
            while self.fabric.carry(self.ours.end) || self.fabric.complete(self.ours.end) {
                changed = true;
            }
            while self.ours.listen(&self.fabric, 0) {
                changed = true;
            }
            let pace = EndProgram::pace(random);
            changed |= self.ours.is_alive() && self.ours.turn(pace);
            // A random turn may do nothing, so only a turn that could do everything proves that
            // nothing is left.
            if !changed && pace.read > 0 && pace.formed > 0 && pace.publish {
                return;
            }
        }
    }

    fn finish(&mut self, random: &mut Random) {
        let mut still = 0;
        while still < 3 {
            self.go(random);
            still = if self.theirs.turn() { 0 } else { still + 1 };
        }
    }
}

fn streams(random: &mut Random, window_len: usize) -> [Stream; 2] {
    [0, 1].map(|_| {
        let sizes = random.pick(&[Sizes::Small, Sizes::Mixed, Sizes::Large(window_len)]);
        Stream::new(random.next_u64(), sizes, random.below(400_000))
    })
}

#[test]
fn unmodified_peers_are_understood_and_understand() {
    for seed in 0..200 {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let role = random.pick(&[Role::Server, Role::Client]);
        let own = settings(&mut random);
        // A client must limit its messages in flight, or the peer must have enough receive entries.
        let own = Settings { probes: true, in_flight_max: own.in_flight_max.min(500), ..own };
        let streams = streams(&mut random, 65_536);
        let mut talk = Talk::new(role, own, 65_536, streams);
        talk.finish(&mut random);
        assert_eq!(talk.fabric.cause(talk.ours.end), None);
        assert!(talk.ours.fault.is_none(), "{:?}", talk.ours.fault);
        assert!(talk.ours.is_done() && talk.theirs.is_done(), "it stands still: {own:?}");
    }
}

#[test]
fn the_defaults_understand_the_defaults() {
    for role in [Role::Server, Role::Client] {
        let mut random = Random::new(7);
        let streams = [1, 2].map(|seed| Stream::new(seed, Sizes::Mixed, 5_000_000));
        let mut talk = Talk::new(role, Settings::default(), WINDOW_LEN, streams);
        talk.finish(&mut random);
        assert!(talk.ours.is_done() && talk.theirs.is_done(), "{:?}", talk.ours.fault);
        let counts = *talk.ours.endpoint.as_ref().expect("no fault").counts();
        // Input is copied once, output not at all.
        assert!(counts.announcements > 15 && counts.copied_out_bytes == 0, "{counts:?}");
        assert_eq!(counts.copied_in_bytes, counts.bytes_in, "{counts:?}");
    }
}

/// Sends 5,000 messages to a server that rarely polls its queue. Returns why the connection broke,
/// if it did.
fn ahead_of_a_slow_server(probes: bool) -> Option<Cause> {
    let own = Settings { probes, ..Settings::default() };
    let up = Stream::new(1, Sizes::Small, 5_000 * 160);
    let mut talk = Talk::new(Role::Client, own, WINDOW_LEN, [up, Stream::new(2, Sizes::Small, 0)]);
    let one = scurry_rdma_fabric::TurnLimits { read: 1, formed: 1, publish: true };
    talk.theirs.turn();
    for _ in 0..60 {
        for _ in 0..2_000 {
            while talk.fabric.carry(talk.ours.end) || talk.fabric.complete(talk.ours.end) {}
            while talk.ours.listen(&talk.fabric, 0) {}
            if talk.ours.is_alive() {
                talk.ours.turn(one);
            }
        }
        talk.theirs.turn();
    }
    let cause = talk.fabric.cause(talk.ours.end);
    assert!(cause.is_some() || talk.theirs.is_done(), "it stands still");
    cause
}

#[test]
fn probes_keep_a_slow_server_from_running_out_of_entries() {
    assert_eq!(ahead_of_a_slow_server(true), None);
    // Without probes a client can lose the connection: this is the reason for them.
    assert_eq!(ahead_of_a_slow_server(false), Some(Cause::NotReady));
}
