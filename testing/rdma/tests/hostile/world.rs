//! A connection with a hostile peer, and other connections that must not be affected by it.

use scurry_rdma_fabric::{EndProgram, Fabric, Limits, Raw, SimQueue, Sizes, Stream, TurnLimits};
use scurry_rdma_proto::fabric::{Event, Target};
use scurry_rdma_proto::{Endpoint, Fault, Role, Settings, WINDOW_LEN_MIN};

/// An endpoint and a hostile peer; and two programs that talk to each other over another connection.
pub(crate) struct World {
    pub(crate) fabric: Fabric,
    pub(crate) end: usize,
    pub(crate) victim: Option<Endpoint<SimQueue>>,
    pub(crate) attacker: Raw,
    /// Where the attacker may write next in the victim's window.
    pub(crate) window: Target,
    others: [EndProgram; 2],
    now_ms: i64,
}

impl World {
    pub(crate) fn new(role: Role) -> World {
        World::with(role, Settings { window_len: WINDOW_LEN_MIN, ..Settings::default() })
    }

    pub(crate) fn with(role: Role, settings: Settings) -> World {
        let fabric = Fabric::default();
        let limits = Limits { send_depth: 10_000, ..Limits::default() };
        let [end, raw] = fabric.connect([Limits::default(), limits]);
        let queue = SimQueue::new(&fabric, end);
        let mut victim = Endpoint::new(queue, role, settings, 0).expect("there is memory");
        victim.open(0).expect("nothing is wrong yet");
        let mut attacker = Raw::new(&fabric, raw, 256);
        while fabric.carry(end) {}
        let memory = attacker.announced().expect("the first window");
        let window = Target { address: memory.address, key: memory.key };
        let ends = fabric.connect([Limits::default(), Limits::default()]);
        let [up, down] = [1, 2].map(|seed| Stream::new(seed, Sizes::Mixed, 300_000));
        let others = [
            EndProgram::new(&fabric, ends[0], Role::Server, settings, [down.clone(), up.clone()]),
            EndProgram::new(&fabric, ends[1], Role::Client, settings, [up, down]),
        ];
        World { fabric, end, victim: Some(victim), attacker, window, others, now_ms: 0 }
    }

    /// Passes all events to the victim. Returns the fault that ends it.
    pub(crate) fn listen(&mut self) -> Option<Fault> {
        self.fabric.carry(self.end);
        let victim = self.victim.as_mut()?;
        while let Some(told) = self.fabric.next_event(self.end) {
            if let Err(fault) = victim.event(told.event(), self.now_ms) {
                return Some(fault);
            }
        }
        None
    }

    /// Checks that the victim ends with this fault, which is one line, that it does nothing more, and
    /// that the others continue.
    pub(crate) fn ends(mut self, is: impl Fn(&Fault) -> bool) {
        let fault = self.listen().expect("a fault");
        assert!(is(&fault), "{fault:?}");
        let line = fault.to_string();
        assert!(line.len() < 120 && !line.contains('\n'), "{line}");
        let victim = self.victim.as_mut().expect("it is there");
        assert!(matches!(victim.event(Event::Immediate(1), 0), Err(Fault::Gone)));
        assert!(matches!(victim.publish(), Err(Fault::Gone)));
        assert!(!victim.is_writable() && victim.next_due_ms().is_none());
        drop(self.victim.take());
        self.assert_others_finish();
    }

    /// Checks that the others send and receive everything, and that nothing stays registered.
    pub(crate) fn assert_others_finish(mut self) {
        let all = TurnLimits { read: usize::MAX, formed: 10, publish: true };
        let mut rounds = 0;
        while !self.others.iter().all(EndProgram::is_done) {
            rounds += 1;
            assert!(rounds < 10_000, "the others come to no end");
            for side in &mut self.others {
                while self.fabric.carry(side.end) || self.fabric.complete(side.end) {}
                while side.listen(&self.fabric, 0) {}
                side.turn(all);
            }
        }
        assert!(self.others.iter().all(|side| side.fault.is_none()));
        let World { fabric, victim, attacker, others, .. } = self;
        drop((victim, attacker, others));
        assert_eq!(fabric.registered(), (0, 0));
    }

    pub(crate) fn write(&mut self, len: usize, told: u32) {
        let to = self.window;
        self.attacker.write(&vec![b'x'; len], to, Some(told));
        self.window.address += len as u64;
    }
}
