//! A simulated run: some connections on one fabric, with random settings, until all data is
//! delivered, or until an injected fault prevents it. One u64 seed determines the whole run.

use crate::fabric::Fabric;
use crate::net::Limits;
use crate::side::{EndProgram, TurnLimits};
use crate::stream::{Sizes, Stream};
use scurry_model::Random;
use scurry_rdma_proto::{Counts, Role, SendBuffering, Settings};

/// Random steps before all sides take turns until the end.
const STEPS: usize = 3_000;
/// Maximum number of rounds of turns, after which the run counts as endless.
const ROUNDS_MAX: usize = 200_000;

/// Totals of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Connections that delivered all data.
    pub whole: u64,
    /// Connections that were broken, or became silent.
    pub faulty: u64,
    /// Ends that closed the connection to a silent peer.
    pub silent: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Bytes copied for input, and for output.
    pub copied: [u64; 2],
    /// Times that a full window had to wait to be read, and times that bytes had to wait for a
    /// window.
    pub stalls: [u64; 2],
    /// Writes, and writes with an immediate.
    pub writes: [u64; 2],
    /// Vectors that outgrew their registration.
    pub reregistrations: u64,
    /// Windows announced.
    pub announcements: u64,
}

impl Report {
    /// Adds another report.
    pub fn add(&mut self, other: &Report) {
        self.whole += other.whole;
        self.faulty += other.faulty;
        self.silent += other.silent;
        self.bytes += other.bytes;
        self.reregistrations += other.reregistrations;
        self.announcements += other.announcements;
        for i in 0..2 {
            self.copied[i] += other.copied[i];
            self.stalls[i] += other.stalls[i];
            self.writes[i] += other.writes[i];
        }
    }

    fn count(&mut self, counts: &Counts) {
        self.bytes += counts.bytes_in;
        self.copied[0] += counts.copied_in_bytes;
        self.copied[1] += counts.copied_out_bytes;
        self.stalls[0] += counts.stalls_in;
        self.stalls[1] += counts.stalls_out;
        self.writes[0] += counts.writes;
        self.writes[1] += counts.immediates;
        self.reregistrations += counts.reregistrations;
        self.announcements += counts.announcements;
    }
}

/// Faults injected into a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InjectedFaults {
    None,
    Broken,
    Silent,
}

/// Returns random settings. Each technique is switched on or off, and the limits are often small.
#[must_use]
pub fn settings(random: &mut Random) -> Settings {
    let handling = [SendBuffering::InPlace, SendBuffering::Copied];
    Settings {
        output: random.pick(&handling),
        inline_max: random.pick(&[0, 36, 220, 1_000]),
        signal_every: random.pick(&[1, 2, 7, 16, 1_000]),
        batch_doorbells: !random.one_in(3),
        windows: 1 + random.below(4),
        window_len: 65_536 + random.pick(&[0, 0, 1, 4_097, 50_000]),
        staging_len: random.pick(&[64, 1_000, 16_384, 65_536, 200_000]),
        stagings: 1 + random.below(4),
        send_depth: random.pick(&[16, 17, 24, 64, 128]),
        receives: random.pick(&[1, 2, 8, 64, 256]),
        in_flight_max: random.pick(&[1, 2, 5, 64, 512]),
        probes: random.one_in(2),
        ..Settings::default()
    }
}

/// One connection and the fault injected into it.
struct Pair {
    sides: [EndProgram; 2],
    trouble: InjectedFaults,
    /// The step at which the fault is injected.
    at: usize,
}

impl Pair {
    fn new(fabric: &Fabric, random: &mut Random) -> Pair {
        let own = [settings(random), settings(random)];
        let limits = own.map(|settings| Limits {
            send_depth: settings.send_depth.max(16),
            receives: settings.receives,
            inline_max: random.pick(&[0, 64, 220]),
            // Retry for ever, so that sending more messages than the peer has entries breaks
            // nothing.
            retries: None,
            ..Limits::default()
        });
        let ends = fabric.connect(limits);
        let streams: [Stream; 2] = [0, 1].map(|side: usize| {
            let window_len = own[1 - side].window_len;
            let sizes = match random.below(6) {
                0 | 1 => Sizes::Small,
                2 | 3 => Sizes::Mixed,
                4 => Sizes::Large(window_len),
                _ => Sizes::Equal(random.pick(&[4, 64, 4_096, window_len / 2, window_len])),
            };
            let most = if sizes == Sizes::Equal(4) { 100_000 } else { 500_000 };
            Stream::new(random.next_u64(), sizes, random.below(most))
        });
        let [up, down] = streams;
        let sides = [
            EndProgram::new(fabric, ends[0], Role::Server, own[0], [down.clone(), up.clone()]),
            EndProgram::new(fabric, ends[1], Role::Client, own[1], [up, down]),
        ];
        let trouble = match random.below(8) {
            0 => InjectedFaults::Broken,
            1 => InjectedFaults::Silent,
            _ => InjectedFaults::None,
        };
        Pair { sides, trouble, at: random.below(STEPS) }
    }

    /// Lets both sides do everything possible once. Returns true when anything changed.
    fn come_to_rest(&mut self, fabric: &Fabric, now_ms: i64) -> bool {
        let all = TurnLimits { read: usize::MAX, formed: 50, publish: true };
        let mut changed = false;
        for side in &mut self.sides {
            while fabric.carry(side.end) {
                changed = true;
            }
            while fabric.complete(side.end) {
                changed = true;
            }
        }
        for side in &mut self.sides {
            while side.listen(fabric, now_ms) {
                changed = true;
            }
            if side.is_alive() {
                changed |= side.turn(all);
            }
        }
        changed
    }
}

/// Runs a seed.
///
/// # Panics
/// When a check fails.
#[must_use]
pub fn run(seed: u64) -> Report {
    let (fabric, mut random) = (Fabric::default(), Random::new(seed));
    let mut pairs: Vec<Pair> =
        (0..1 + random.below(3)).map(|_| Pair::new(&fabric, &mut random)).collect();
    let mut now_ms = 0;
    for step in 0..STEPS {
        for pair in &pairs {
            match pair.trouble {
                InjectedFaults::Broken if pair.at == step => fabric.break_off(pair.sides[0].end),
                InjectedFaults::Silent if pair.at == step => {
                    fabric.silence(pair.sides[step % 2].end)
                }
                _ => {}
            }
        }
        let count = pairs.len();
        let side = &mut pairs[random.below(count)].sides[random.below(2)];
        match random.below(8) {
            0..=2 => drop(fabric.carry(random.below(fabric.ends()))),
            3 => drop(fabric.complete(random.below(fabric.ends()))),
            4 | 5 => drop(side.listen(&fabric, now_ms)),
            6 if side.is_alive() => drop(side.turn(EndProgram::pace(&mut random))),
            6 => {}
            _ => {
                now_ms += random.between(0, 40);
                side.tick(now_ms);
            }
        }
    }
    let mut report = Report::default();
    for pair in &mut pairs {
        finish(pair, &fabric, now_ms, &mut report);
    }
    drop(pairs);
    assert_eq!(fabric.registered(), (0, 0), "nothing stays registered");
    report
}

/// Runs a connection to its end, and adds its results to the report.
fn finish(pair: &mut Pair, fabric: &Fabric, now_ms: i64, report: &mut Report) {
    let mut rounds = 0;
    while pair.come_to_rest(fabric, now_ms) {
        rounds += 1;
        assert!(rounds < ROUNDS_MAX, "it comes to no end");
    }
    match pair.trouble {
        InjectedFaults::None => {
            close(pair, fabric, now_ms, report);
            report.whole += 1;
        }
        InjectedFaults::Broken => {
            for side in &pair.sides {
                assert!(!side.is_alive(), "the connection is broken, and a side goes on");
            }
            report.faulty += 1;
        }
        InjectedFaults::Silent => {
            report.silent += give_up(pair, now_ms);
            report.faulty += 1;
        }
    }
}

/// Checks that all data was delivered, and ends both sides.
fn close(pair: &mut Pair, fabric: &Fabric, now_ms: i64, report: &mut Report) {
    for side in &mut pair.sides {
        assert!(side.fault.is_none(), "{:?}", side.fault);
        let endpoint = side.endpoint.as_ref().expect("no fault");
        let (settings, counts) = (endpoint.settings(), endpoint.counts());
        assert!(side.is_done(), "it stands still: {settings:?} {counts:?}");
        side.endpoint.as_mut().expect("no fault").finish();
    }
    while pair.come_to_rest(fabric, now_ms) {}
    for side in &mut pair.sides {
        let endpoint = side.endpoint.as_ref().expect("no fault");
        let (counts, settings) = (endpoint.counts(), endpoint.settings());
        assert!(endpoint.is_finished(), "an end is not told: {settings:?} {counts:?}");
        assert!(counts.queue_high <= settings.send_depth as u64, "{counts:?}");
        // Control messages may be in flight in addition to data.
        assert!(counts.in_flight_high <= settings.in_flight_max as u64 + 16, "{counts:?}");
        assert_eq!(counts.bytes_out, side.requests_out.passed());
        report.count(counts);
    }
}

/// Checks that the other side gives up a silent peer if it waits for something. Returns how many
/// sides gave up.
fn give_up(pair: &mut Pair, now_ms: i64) -> u64 {
    let mut given_up = 0;
    for side in &mut pair.sides {
        let mut now_ms = now_ms;
        for _ in 0..10 {
            let due = side.endpoint.as_ref().and_then(|endpoint| endpoint.next_due_ms());
            let Some(due) = due else { break };
            now_ms = due.max(now_ms);
            side.tick(now_ms);
        }
        if let Some(fault) = &side.fault {
            assert!(fault.to_string().contains("nothing was heard"), "{fault}");
            given_up += 1;
        } else {
            let endpoint = side.endpoint.as_ref().expect("no fault");
            let due = endpoint.next_due_ms();
            assert!(
                due.is_none_or(|due| due > now_ms),
                "it is always due: {:?}",
                endpoint.counts()
            );
        }
    }
    given_up
}
