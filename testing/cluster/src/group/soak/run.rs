//! The load of a piece, with all that runs beside it, and one fault after another.

use super::load::Load;
use super::results::{FaultWindows, HOUR, Piece};
use super::samples::Sample;
use super::window::{OUTSIDE, Signals};
use super::{SoakSettings, backups, doors, watch};
use crate::group::fault::{Fault, FaultContext};
use crate::group::member::Member;
use crate::group::{Group, NODES};
use crate::wait::WatchedProcesses;
use anyhow::{Context, Result, anyhow};
use scurry_crash::Binary;
use scurry_crash::clock::ns;
use scurry_model::Random;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Interval of looking whether anything is due.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Lateness of requests from which on the load has not caught up, ns.
const BEHIND_NS: i64 = 20_000_000;
/// Time for which a window waits for the load to catch up, ns.
const CATCH_UP_NS_MAX: i64 = 120_000_000_000;
/// Interval of looking at the disks, s.
const SAMPLE_EVERY_S: u64 = 60;
const HOUR_S: u64 = 3_600;

/// Loads the group for the time of the settings, or until it is interrupted.
pub(super) fn run(
    binary: &Binary,
    settings: &SoakSettings,
    group: &mut Group,
    load: &mut Load<'_>,
    rate: u32,
    faults: &[Fault],
) -> Result<Piece> {
    let signals = Signals::default();
    let nodes: Vec<_> = group.nodes.iter().map(|node| node.main().place()).collect();
    let doors: Vec<_> = group.nodes.iter().map(|node| node.door().place()).collect();
    let stores: Vec<_> = group.nodes.iter().map(Member::store).collect();
    let backup = settings.directory.join("backup");
    let kinds = faults.iter().map(|fault| FaultWindows::new(*fault)).collect();
    let mut piece = Piece {
        seed: settings.seed,
        accounts: load.acknowledged.accounts(),
        rate,
        windows: kinds,
        ..Piece::default()
    };
    let start_ns = ns();
    let end_ns = start_ns + i64::try_from(settings.time.as_nanos())?;
    let classes = faults.len() + 1;
    let latencies = thread::scope(|scope| {
        let load = scope.spawn(|| fails(&signals, || load.run(rate, classes, &signals)));
        let watch = scope.spawn(|| fails(&signals, || watch::follow(&nodes, &signals)));
        let doors = scope.spawn(|| fails(&signals, || doors::visit(&doors, &signals)));
        let backups = scope.spawn(|| {
            let every = settings.backup_every;
            fails(&signals, || backups::make(binary, &stores, &backup, every, &signals))
        });
        let outcome = fails(&signals, || {
            let piece = &mut piece;
            Course { settings, group, signals: &signals, piece, start_ns, end_ns }.run(faults)
        });
        signals.stop();
        piece.load_ms = u64::try_from((ns() - start_ns) / 1_000_000)?;
        let ended = |_| anyhow!("a part of the piece has panicked");
        let ends = (
            load.join().map_err(ended).flatten(),
            watch.join().map_err(ended).flatten(),
            doors.join().map_err(ended).flatten(),
            backups.join().map_err(ended).flatten(),
        );
        // What the parts beside the load find is the cause of its end.
        outcome?;
        (piece.events, piece.doors, piece.backups) = (ends.1?, ends.2?, ends.3?);
        ends.0
    })?;
    for (class, latencies) in latencies.iter().enumerate() {
        match class {
            OUTSIDE => piece.outside = latencies.kept(),
            class => piece.windows[class - 1].latencies = latencies.kept(),
        }
    }
    let counts = load.counts;
    (piece.acknowledged, piece.again) = (counts.acknowledged, counts.again);
    (piece.repeated, piece.expired) = (counts.repeated, counts.expired);
    Ok(piece)
}

/// Finds the highest rate, answers in a second: of a closed load, while events are read and doors are asked as they are
/// later.
pub(super) fn measure(group: &Group, load: &mut Load<'_>, time: Duration) -> Result<u32> {
    let signals = Signals::default();
    let nodes: Vec<_> = group.nodes.iter().map(|node| node.main().place()).collect();
    let doors: Vec<_> = group.nodes.iter().map(|node| node.door().place()).collect();
    thread::scope(|scope| {
        let watch = scope.spawn(|| watch::follow(&nodes, &signals));
        let doors = scope.spawn(|| doors::visit(&doors, &signals));
        let most = load.measure(time);
        signals.stop();
        let ended = |_| anyhow!("a part of the measurement has panicked");
        watch.join().map_err(ended).flatten()?;
        doors.join().map_err(ended).flatten()?;
        most
    })
}

/// Runs a part of the piece, whose failure ends the others.
fn fails<T>(signals: &Signals, part: impl FnOnce() -> Result<T>) -> Result<T> {
    let outcome = part();
    if let Err(error) = &outcome
        && !signals.has_failed()
    {
        eprintln!("failed: {error:#}");
        signals.fail();
    }
    outcome
}

impl FaultWindows {
    fn new(fault: Fault) -> FaultWindows {
        FaultWindows { fault, count: 0, spent_ms: 0, latencies: Default::default() }
    }
}

/// The course of a piece: faults and samples, each at its time.
struct Course<'a> {
    settings: &'a SoakSettings,
    group: &'a mut Group,
    signals: &'a Signals,
    piece: &'a mut Piece,
    start_ns: i64,
    end_ns: i64,
}

impl Course<'_> {
    fn run(mut self, faults: &[Fault]) -> Result<()> {
        let (settings, mut random) = (self.settings, Random::new(self.settings.seed));
        let every_ns = i64::try_from(settings.every.as_nanos())?;
        let (mut fault_ns, mut sample_s, mut hour_s) = (self.start_ns + every_ns, 0, HOUR_S);
        let mut turns = (0..faults.len()).cycle();
        self.sample("start")?;
        while ns() < self.end_ns && !self.is_over() {
            // A window at the end would be cut short.
            if ns() >= fault_ns && ns() + every_ns / 2 < self.end_ns {
                let turn = turns.next().context("there are no faults")?;
                self.inflict(turn, faults[turn], &mut random)?;
                fault_ns = ns().max(fault_ns + every_ns);
            }
            if self.at_s() >= hour_s {
                hour_s += HOUR_S;
                self.sample(HOUR)?;
            } else if self.at_s() >= sample_s {
                sample_s = self.at_s() + SAMPLE_EVERY_S;
                self.look_at_disks()?;
            }
            self.group.check()?;
            self.group.pass(LOOK_EVERY)?;
        }
        // What has failed is told rather than that no sample can be taken.
        if self.signals.has_failed() { Ok(()) } else { self.sample("end") }
    }

    fn is_over(&self) -> bool {
        self.settings.interrupted.load(Ordering::Relaxed) || self.signals.has_failed()
    }

    fn at_s(&self) -> u64 {
        u64::try_from((ns() - self.start_ns) / 1_000_000_000).unwrap_or(0)
    }

    /// Causes a fault, and waits until the group is whole again and the load has caught up.
    fn inflict(&mut self, turn: usize, fault: Fault, random: &mut Random) -> Result<()> {
        let start_ns = ns();
        self.signals.open(turn);
        eprintln!("{} s: {}", self.at_s(), fault.name());
        let beside = crate::route::Signals::of_clients_behind(0);
        let mut remarks = Vec::new();
        let mut scene = FaultContext {
            group: self.group,
            random,
            signals: &beside,
            remarks: &mut remarks,
            spared: None,
        };
        fault.inflict(&mut scene).with_context(|| fault.name())?;
        self.group.until_whole().with_context(|| format!("after {}", fault.name()))?;
        let whole_ns = ns();
        while self.signals.behind_ns.load(Ordering::Relaxed) > BEHIND_NS
            && !self.is_over()
            && ns() < self.end_ns
        {
            if ns() - whole_ns > CATCH_UP_NS_MAX {
                remarks.push("the load did not catch up for two minutes".to_owned());
                break;
            }
            self.group.pass(LOOK_EVERY)?;
        }
        let end_ns = ns();
        self.signals.close(end_ns);
        let windows = &mut self.piece.windows[turn];
        windows.count += 1;
        windows.spent_ms += u64::try_from((end_ns - start_ns) / 1_000_000)?;
        for remark in remarks {
            let remark = format!("{}: {remark}", fault.name());
            if !self.piece.remarks.contains(&remark) {
                self.piece.remarks.push(remark);
            }
        }
        Ok(())
    }

    /// Takes a sample of each node.
    fn sample(&mut self, moment: &str) -> Result<()> {
        self.look_at_disks()?;
        let at_s = self.at_s();
        for node in 0..NODES {
            let moment = (at_s, moment.to_owned());
            self.piece.samples.push(Sample::take((node, &self.group.nodes[node]), moment)?);
        }
        Ok(())
    }

    /// Notes the most space on disk that a node takes.
    fn look_at_disks(&mut self) -> Result<()> {
        for node in &self.group.nodes {
            let (log, snapshots) = Sample::on_disk(node);
            let most = &mut self.piece.disk_max;
            *most = (most.0.max(log), most.1.max(snapshots));
        }
        Ok(())
    }
}
