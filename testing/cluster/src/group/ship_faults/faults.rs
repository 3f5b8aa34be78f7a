//! Faults of what ships and of what it ships from and to.

use super::load::Control;
use super::process::Process;
use super::report::ShipReport;
use super::scene::{BROKER_PLACE, KINDS, REDIS, Scene};
use crate::namespaces::Namespace;
use anyhow::{Context, Result, ensure};
use scurry_crash::clock;
use scurry_model::Random;

/// Words of an error of a disk that is full.
const FULL: &str = "No space left on device";

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShipFault {
    /// SIGKILL to the shipper with this number.
    KillShipper(usize),
    KillBroker,
    KillLeader,
    PauseLeader,
    CutStore,
    CutBroker,
    FullDisk,
}

/// Faults that need no network of a process's own.
pub(super) const LOCAL: [ShipFault; 6] = [
    ShipFault::KillShipper(0),
    ShipFault::KillShipper(1),
    ShipFault::KillShipper(2),
    ShipFault::KillBroker,
    ShipFault::KillLeader,
    ShipFault::PauseLeader,
];
/// Faults that need networks and mounts of the test's own.
pub(super) const APART: [ShipFault; 3] =
    [ShipFault::CutStore, ShipFault::CutBroker, ShipFault::FullDisk];

impl ShipFault {
    pub(super) fn name(self) -> String {
        match self {
            ShipFault::KillShipper(number) => format!("kill-shipper-{}", KINDS[number]),
            ShipFault::KillBroker => "kill-broker".to_owned(),
            ShipFault::KillLeader => "kill-leader".to_owned(),
            ShipFault::PauseLeader => "pause-leader".to_owned(),
            ShipFault::CutStore => "cut-shipper-store".to_owned(),
            ShipFault::CutBroker => "cut-shipper-broker".to_owned(),
            ShipFault::FullDisk => "full-disk".to_owned(),
        }
    }
}

impl Scene {
    /// Has a fault happen once, and waits until all deliver again.
    pub(super) fn round(
        &mut self,
        fault: ShipFault,
        number: u64,
        (random, control): (&mut Random, &Control),
        report: &mut ShipReport,
    ) -> Result<()> {
        let begin_ns = clock::ns();
        self.inject(fault, number, (random, control))?;
        self.check()?;
        self.group.until_whole()?;
        self.until_shipped(control)?;
        self.pass_ms(random.between(0, 500), control)?;
        self.check()?;
        report.note(fault.name(), (clock::ns() - begin_ns) / 1_000_000);
        Ok(())
    }

    fn inject(
        &mut self,
        fault: ShipFault,
        number: u64,
        (random, control): (&mut Random, &Control),
    ) -> Result<()> {
        match fault {
            ShipFault::KillShipper(which) => {
                self.shippers[which].kill()?;
                self.pass_ms(random.between(0, 1_000), control)?;
                self.shippers[which].start()
            }
            ShipFault::KillBroker => {
                self.broker.kill()?;
                self.pass_ms(random.between(0, 1_500), control)?;
                self.broker.start()
            }
            ShipFault::KillLeader => {
                let (leader, others) = self.group.parts()?;
                self.group.nodes[leader].kill()?;
                self.group.until_leader(&others)?;
                self.pass_ms(random.between(0, 700), control)?;
                self.group.start_again(leader)
            }
            ShipFault::PauseLeader => {
                let (leader, others) = self.group.parts()?;
                self.group.nodes[leader].pause()?;
                self.group.until_leader(&others)?;
                self.pass_ms(random.between(500, 3_000), control)?;
                self.group.nodes[leader].resume()
            }
            ShipFault::CutStore => {
                let (which, places) = (usize::try_from(number % 3)?, self.store_places()?);
                self.cut(which, &places, number, (random, control))
            }
            ShipFault::CutBroker => self.cut(REDIS, &[BROKER_PLACE], number, (random, control)),
            ShipFault::FullDisk => self.fill(random, control),
        }
    }

    /// Drops all packets between a shipper and these networks for a while, or resets its connections again and again.
    fn cut(
        &mut self,
        which: usize,
        places: &[usize],
        number: u64,
        (random, control): (&mut Random, &Control),
    ) -> Result<()> {
        if number.is_multiple_of(2) {
            self.network(which)?.part_from(places)?;
            let passed = self.pass_ms(random.between(300, 4_000), control);
            self.network(which)?.join_again(places)?;
            return passed;
        }
        for _ in 0..random.between(2, 5) {
            for &place in places {
                self.network(which)?.reset(place)?;
            }
            self.pass_ms(random.between(50, 500), control)?;
        }
        Ok(())
    }

    fn network(&self, which: usize) -> Result<&Namespace> {
        self.shippers[which].network.as_ref().context("the shipper has no network of its own")
    }

    /// Leaves no room where files and usage records are, until both shippers say so, and for a while after that.
    fn fill(&mut self, random: &mut Random, control: &Control) -> Result<()> {
        let said = |shippers: &[Process]| -> Vec<usize> {
            shippers[..REDIS].iter().map(|it| it.said().matches(FULL).count()).collect()
        };
        let before = said(&self.shippers);
        self.disk.as_ref().context("no disk of its own")?.fill()?;
        let shippers = &self.shippers;
        let told = self.group.until("both shippers say that the disk is full", |_| {
            let now = said(shippers);
            let all = now.iter().zip(&before).all(|(now, before)| now > before);
            ensure!(all, "said before: {before:?}, now: {now:?}");
            Ok(())
        });
        let passed = told.and_then(|()| self.pass_ms(random.between(0, 1_500), control));
        self.disk.as_ref().context("no disk of its own")?.free()?;
        passed
    }
}
