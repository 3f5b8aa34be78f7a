//! A target and the row that its runs will fill.

use std::path::PathBuf;

use super::RunCommand;
use crate::routes::Ports;
use crate::row::{Load, Row};
use crate::slow_disk;
use crate::target::{Target, Variant};

/// Target and the row that its runs will fill.
pub(super) struct RunEntry {
    pub(super) variant: Variant,
    pub(super) ports: Ports,
    /// Program to start; None when the target cannot be measured.
    pub(super) program: Option<PathBuf>,
    pub(super) row: Row,
}

impl RunCommand<'_> {
    /// Returns one entry for the target; for scurry one for each choice of its ports.
    pub(super) fn entries(&self, variant: Variant) -> Vec<RunEntry> {
        let target = variant.target;
        let ports: &[Ports] =
            if target == Target::Scurry { &self.arguments.ports } else { &[Ports::Main] };
        let entry = |ports: &Ports| {
            let scurry = self.arguments.common.scurry_bin.as_deref();
            let there = self.arguments.address_of(target);
            let located = variant.fits(self.scenario).and_then(|()| match there {
                // A system with an address is not started here.
                Some(_) => target.locate_there(self.scenario.kind),
                None => variant.locate(self.scenario.kind, scurry),
            });
            let located = located.and_then(|program| {
                if variant.durability.keeps() {
                    self.place.check()?
                }
                Ok(program)
            });
            let located = located.and_then(|program| {
                if let Some(rdma) = &self.rdma {
                    rdma.arguments(target, 0)?;
                }
                if self.scenario.slow_disk.is_some() {
                    slow_disk::check()?;
                }
                Ok(program)
            });
            let mut row = self.blank(variant, *ports);
            match &located {
                Ok(program) => row.notes.extend(variant.caveat(program)),
                Err(missing) => {
                    row.not_measured = Some(missing.to_string());
                    row.audit = format!("not measured here: {missing}");
                }
            }
            RunEntry { variant, ports: *ports, program: located.ok(), row }
        };
        ports.iter().map(entry).collect()
    }

    fn blank(&self, variant: Variant, ports: Ports) -> Row {
        let target = variant.target;
        let scenario = self.scenario;
        let kv = scenario.kv.as_ref();
        let cores = self.placement(target);
        let is_scurry = target.is_scurry();
        let is_addressed = self.arguments.address_of(target).is_some();
        // Where a node is killed, clients find the next one by the slot map.
        let door = if scenario.failover.is_some() { Ports::Cores } else { ports };
        // The main port needs no suffix.
        let name = match ports {
            Ports::Main => variant.name(),
            Ports::Cores => format!("{} {}", variant.name(), ports.name()),
        };
        Row {
            scenario: scenario.name.clone(),
            step: scenario.step.clone(),
            target: name,
            // Unknown until the server reports it.
            durability: "unknown".to_owned(),
            filesystem: (variant.durability.keeps() && !is_addressed)
                .then(|| self.place.filesystem.clone()),
            load: Load {
                sessions: scenario.sessions,
                connections: scenario.connections,
                depth: scenario.depth,
                rate: scenario.clock_rate(),
                accounts: scenario.records(),
                seconds: scenario.seconds,
                warmup_seconds: scenario.warmup_seconds,
                seed: scenario.seed,
                batch: kv.and_then(|kv| kv.batch),
                ops_per_session: scenario.charging.as_ref().map(|c| c.operations().len()),
                threads: self.scurry.threads.filter(|_| is_scurry),
                door: is_scurry.then(|| door.name().to_owned()),
                target_cores: cores
                    .filter(|_| !is_addressed)
                    .map(|cores| cores.target.clone())
                    .unwrap_or_default(),
                loader_core: cores.map(|cores| cores.loader),
            },
            replicas: self.replicas(variant),
            acknowledged_copies: self.acknowledged_copies(variant),
            host: self.host.clone(),
            stand: match &self.rdma {
                Some(rdma) => format!("RDMA by {}", rdma.address),
                None => "loopback".to_owned(),
            },
            ..Row::default()
        }
    }
}
