//! `scurry restore`: makes a data directory from a backup, at its end or at an earlier point.

use crate::backup::tell;
use crate::option_values::LostGroupName;
use crate::store::{
    CoreSource, Cut, DataDirectory, Progress, Rebuilt, RestorePoint, Target, copy_core, core_name,
    count_text, rebuild_core,
};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use scurry_disk::{GroupFile, Manifest};
use scurry_server::LostGroup;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::str::FromStr;

const EXAMPLES: &str = "Examples:
  scurry restore /backup/scurry-monday --to /var/lib/scurry
  scurry restore /backup/scurry-monday --to /var/lib/scurry --sequence 4711
  scurry restore /backup/scurry-monday --to /var/lib/scurry --core 0:4711 --core 1:815

The sequence of a moment is found with:
  scurry inspect /backup/scurry-monday --records | less";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// The backup, or any data directory
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,

    /// The new data directory: not there yet, or empty
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// Restore to the moment when the record of this sequence was the last: for data of one
    /// thread [default: the end of the log]
    #[arg(long, value_name = "N", conflicts_with = "core")]
    sequence: Option<u64>,

    /// The same for core K, once for each core that is not restored to its end. A transfer between accounts of two
    /// cores may then be half in the store: money is lost or made
    #[arg(long, value_name = "K:N")]
    core: Vec<CorePoint>,

    /// Of a node of a group: also restore the end of its log that it does not know to be committed: the last
    /// remaining node of a group may have the only copy. It may contain refused requests
    #[arg(long, conflicts_with_all = ["sequence", "core"])]
    uncommitted: bool,
}

/// A point in the log of a core.
#[derive(Clone, Copy, Debug)]
struct CorePoint {
    core: u16,
    sequence: u64,
}

impl FromStr for CorePoint {
    type Err = String;

    fn from_str(text: &str) -> Result<CorePoint, String> {
        let point = text.split_once(':').and_then(|(core, sequence)| {
            Some(CorePoint { core: core.parse().ok()?, sequence: sequence.parse().ok()? })
        });
        point.ok_or_else(|| format!("{text:?} is no point: write core and sequence as 0:4711"))
    }
}

/// Bound of the step by which the generation of event positions grows, so that the numbers stay short.
const STEP_MAX: u32 = 1 << 20;

/// Returns the manifest of a restored store. Positions of earlier events are not valid in it, and a reader that
/// presents one gets an error or a range of missed events. The step is random, since one backup may be restored more
/// than once.
fn restored(manifest: Manifest) -> Manifest {
    let random = RandomState::new().hash_one(manifest.store);
    let step = u32::try_from(random % u64::from(STEP_MAX)).unwrap_or(0) + 1;
    Manifest { restored: manifest.restored.saturating_add(step), ..manifest }
}

/// Returns the group that a node's directory belongs to, with the addresses of the other nodes. None without such nodes.
fn lost_group(source: &DataDirectory, manifest: &Manifest) -> Result<Option<LostGroupName>> {
    let Some(GroupFile { node, members, .. }) = source.group()? else { return Ok(None) };
    let others = members.iter().filter(|member| member.id != node);
    let nodes: Vec<_> = others.map(|member| member.peer).collect();
    let lost = LostGroupName(LostGroup { store: manifest.log(0).id, nodes });
    Ok(Some(lost).filter(|lost| !lost.0.nodes.is_empty()))
}

impl Restore {
    pub(crate) fn run(self) -> Result<()> {
        let source = DataDirectory::open(&self.backup)?;
        let manifest = source.manifest()?;
        let points = self.points(manifest.threads)?;
        source.ensure_begun()?;
        let is_grouped = source.is_of_group()?;
        ensure!(
            is_grouped || !self.uncommitted,
            "--uncommitted is for what a node of a group has, and {} is a store of one machine: leave it out",
            self.backup.display()
        );
        let target = Target::open(&self.to, &self.backup, restored(manifest))?;
        let unfinished =
            || format!("nothing was restored: remove {} before another try", self.to.display());
        let mut bar = Progress::new();
        let mut sequences = Vec::new();
        let is_cut = points.is_empty() && !self.uncommitted;
        let cut =
            is_cut.then(|| Cut::find(&source)).transpose().with_context(unfinished)?.flatten();
        for (core, (_, path)) in (0..).zip(source.cores()) {
            let least = source.least(core).with_context(unfinished)?;
            let end = cut.as_ref().map(|cut| cut.end(core));
            let name = core_name(manifest.generation, core);
            let is_committed = is_grouped && !self.uncommitted && !points.contains_key(&core);
            let point = match points.get(&core) {
                Some(&sequence) => RestorePoint::Sequence(sequence),
                None if is_grouped && self.uncommitted => RestorePoint::End,
                None if is_grouped => end.map_or(RestorePoint::Committed, RestorePoint::Sequence),
                None => {
                    // The whole core is restored, so its files are copied instead of rebuilt.
                    let place = (manifest.generation, core);
                    let source = CoreSource { path: &path, least, end };
                    let copied =
                        copy_core(source, &target, place, &mut bar).with_context(unfinished)?;
                    tell(&name, &copied);
                    sequences.push(copied.last);
                    continue;
                }
            };
            let (source, of) = ((&*path, least), (&manifest, core));
            let rebuilt =
                rebuild_core(source, &target, of, point, &mut bar).with_context(unfinished)?;
            let Rebuilt { keys, point: at, committed, last } = rebuilt;
            sequences.push(at);
            println!("{name}: back at sequence {at} of {last}, {}", count_text(keys, "key"));
            if is_committed && committed < last {
                println!(
                    "{name}: it is not known of what is behind {committed} that it is committed: left out, unless \
                     you say --uncommitted"
                );
            }
        }
        target.finish(&sequences).with_context(unfinished)?;
        cut.iter().for_each(Cut::tell_if_lowered);
        println!("restored to {}, checked", self.to.display());
        if is_grouped {
            println!(
                "it is a store of one machine: `scurry serve --replicate` begins another group with it, which the \
                 other nodes join with empty directories"
            );
        }
        if let Some(lost) = lost_group(&source, &manifest)? {
            println!(
                "if the group that it was copied from is lost, start each node of the other group with the option \
                 below: nodes of the lost one that come back then end for good\n    --succeeds {lost}"
            );
        }
        Ok(())
    }

    /// Returns the sequence of each core that is not restored to its end.
    fn points(&self, threads: u16) -> Result<BTreeMap<u16, u64>> {
        if let Some(sequence) = self.sequence {
            ensure!(
                threads == 1,
                "this is the data of {threads} threads, and each has a log of its own: give \
                 --core 0:N --core 1:N ... instead of --sequence"
            );
            return Ok(BTreeMap::from([(0, sequence)]));
        }
        let mut points = BTreeMap::new();
        for &CorePoint { core, sequence } in &self.core {
            if core >= threads {
                bail!("there is no core {core}: this is the data of cores 0 to {}", threads - 1);
            }
            if points.insert(core, sequence).is_some() {
                bail!("core {core} is given two points: give one");
            }
        }
        Ok(points)
    }
}
