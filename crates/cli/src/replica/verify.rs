//! `scurry replica verify`: compares the contents of nodes at a sequence that all of them know to be committed.

use super::group::Group;
use crate::store::{
    Contents, DataDirectory, Progress, contents, core_name, count_text, sound_core,
};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use scurry_disk::Manifest;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  scurry replica verify --dir group
  scurry replica verify /backup/node-1 /backup/node-2 /backup/node-3";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Verify {
    /// Data directories of nodes, or backups of them; nodes may be running [default: those of --dir]
    #[arg(value_name = "NODE")]
    nodes: Vec<PathBuf>,

    /// Directory of a group on this machine
    #[arg(long, value_name = "PATH", default_value = "scurry-group")]
    dir: PathBuf,
}

/// Data directory of one node, opened.
struct ComparedNode {
    path: PathBuf,
    directory: DataDirectory,
    manifest: Manifest,
}

impl ComparedNode {
    fn open(path: PathBuf) -> Result<ComparedNode> {
        let directory = DataDirectory::open(&path)?;
        let manifest = directory.manifest()?;
        directory.ensure_begun()?;
        ensure!(
            directory.is_of_group()?,
            "{} is a store of one machine: name directories of nodes, or backups of them",
            path.display()
        );
        Ok(ComparedNode { path, directory, manifest })
    }

    fn core(&self, core: u16) -> Result<PathBuf> {
        let cores = self.directory.cores();
        let found = cores.into_iter().nth(usize::from(core));
        found.map(|(_, path)| path).with_context(|| format!("there is no core {core}"))
    }
}

impl Verify {
    pub(super) fn run(self) -> Result<()> {
        let nodes = match self.nodes.is_empty() {
            true => nodes_of(&self.dir)?,
            false => self.nodes,
        };
        let mut real = BTreeSet::new();
        for node in &nodes {
            let path = fs::canonicalize(node)
                .with_context(|| format!("{} is not there", node.display()))?;
            ensure!(real.insert(path), "{} is named twice: name each node once", node.display());
        }
        ensure!(nodes.len() > 1, "one node is the same as itself: name two or more");
        let places =
            nodes.into_iter().map(ComparedNode::open).collect::<Result<Vec<ComparedNode>>>()?;
        let first = &places[0];
        for other in &places[1..] {
            ensure!(
                other.manifest.store == first.manifest.store,
                "{} and {} are nodes of two groups",
                first.path.display(),
                other.path.display()
            );
        }
        let mut different = 0;
        for core in 0..first.manifest.threads {
            different += u32::from(!are_same(&places, core)?);
        }
        match different {
            0 => Ok(()),
            _ => bail!(
                "the nodes do not have the same. Keep copies of all of them, and have the ones that are wrong join again \
                 with an empty directory (docs/runbooks.md)"
            ),
        }
    }
}

fn nodes_of(dir: &Path) -> Result<Vec<PathBuf>> {
    let group = Group::existing(dir)?;
    Ok(group.nodes.iter().map(|node| node.store(dir)).collect())
}

/// Compares one core of all nodes at the last sequence that all of them know to be committed.
fn are_same(places: &[ComparedNode], core: u16) -> Result<bool> {
    let mut bar = Progress::new();
    let (mut low, mut high) = (0, u64::MAX);
    let mut open = Vec::new();
    for place in places {
        let path = place.core(core)?;
        let found = sound_core((&path, place.directory.least(core)?), &mut bar)?;
        // Logs begin and end at different sequences: `low` to `high` is the range that all nodes can be rebuilt to.
        (low, high) = (low.max(found.1.earliest()), high.min(found.1.committed()));
        open.push(found);
    }
    ensure!(
        low <= high,
        "core {core}: the snapshots of one node begin at sequence {low}, and another node knows no more than {high} to be \
         committed: look again when it has caught up"
    );
    let mut all = Vec::new();
    for (place, mut surveyed) in places.iter().zip(open) {
        let found = contents(&mut surveyed, (&place.manifest, core), high, &mut bar);
        all.push(found.with_context(|| place.path.display().to_string())?);
    }
    let name = |place: &ComparedNode| core_name(place.manifest.generation, core);
    if all.iter().all(|found| *found == all[0]) {
        let Contents { keys, digest } = all[0];
        let nodes = count_text(places.len() as u64, "node");
        let keys = count_text(keys, "key");
        println!(
            "{}: {nodes} have the same at sequence {high}: {keys}, {digest:016x}",
            name(&places[0])
        );
        return Ok(true);
    }
    println!("{}: DIFFERENT at sequence {high}", name(&places[0]));
    for (place, Contents { keys, digest }) in places.iter().zip(&all) {
        println!("  {}: {}, {digest:016x}", place.path.display(), count_text(*keys, "key"));
    }
    Ok(false)
}
