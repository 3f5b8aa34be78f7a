//! A soak: hours of load at a steady rate on a group that has everything on, with a fault every few minutes, in pieces.
//! A piece ends with audits of all accounts, and leaves directories from which the next one goes on. docs/torture.md
//! says what is measured.

pub(super) mod acknowledged;
pub(super) mod audit;
mod backups;
mod connection;
mod doors;
mod end;
mod kept;
mod latency;
mod load;
mod request;
mod results;
mod run;
mod samples;
mod sessions;
mod watch;
mod window;

pub use results::{Piece, SoakResults};

use super::disk::Disk;
use super::fault::Fault;
use super::member::NodeSetup;
use super::{Group, NODES};
use acknowledged::Acknowledged;
use anyhow::{Context, Result, ensure};
use kept::Kept;
use load::Load;
use scurry_crash::Binary;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bounds of accounts. Ids are remembered for ten minutes, much longer than a request is repeated, and not for an hour:
/// so memory is steady soon, and what it grows by afterwards is a drift.
const SETTINGS: &str = "[limits]\ntombstone_ms = 600000\ntransaction_ms = 600000\n";
/// Timeout of a wait, s: a node with ten million accounts reads them while the others have all the load.
const PATIENCE_S: i64 = 900;
/// Time of the closed run that finds the highest rate.
const MEASURE: Duration = Duration::from_secs(30);
/// Share of the highest rate at which a soak runs, percent.
const SHARE: u32 = 70;

/// Faults, in turn.
const FAULTS: [Fault; 7] = [
    Fault::KillLeader,
    Fault::CutFollower,
    Fault::SlowFollower,
    Fault::KillFollower,
    Fault::CutLeader,
    Fault::FrozenLeader,
    Fault::Transfer,
];
/// Faults where nodes have no networks and devices of their own.
const LOCAL_FAULTS: [Fault; 5] = [
    Fault::KillLeader,
    Fault::PauseFollower,
    Fault::KillFollower,
    Fault::PauseLeader,
    Fault::Transfer,
];

/// Settings of a piece.
#[derive(Clone, Debug)]
pub struct SoakSettings {
    /// Time under load.
    pub time: Duration,
    /// Accounts of a group that begins.
    pub accounts: u32,
    /// Requests a second. None: 70 % of what a closed run shows, which later pieces keep.
    pub rate: Option<u32>,
    /// Time from one fault to the next.
    pub every: Duration,
    /// Time from one backup to the next.
    pub backup_every: Duration,
    /// Growth of a thread's log after which it writes a snapshot.
    pub snapshot_log: String,
    /// Directory of the group, which stays.
    pub directory: PathBuf,
    /// Seed of the load and of the faults.
    pub seed: u64,
    /// Reason why nodes cannot have their own networks here. None if they can.
    pub no_network: Option<String>,
    /// Set to end the load early. The piece is ended as always, and counts.
    pub interrupted: Arc<AtomicBool>,
}

impl SoakSettings {
    /// Fails if the directory has a group from which no piece with these settings can go on.
    pub fn ensure_usable(&self) -> Result<()> {
        let Some(kept) = Kept::read(&self.directory)? else { return Ok(()) };
        let shown = self.directory.display();
        ensure!(
            kept.is_clean,
            "the last piece in {shown} did not end: look at it, then remove it or name another directory"
        );
        ensure!(
            kept.accounts == self.accounts,
            "the group in {shown} has {} accounts: say so, or name another directory",
            kept.accounts
        );
        Ok(())
    }
}

/// Runs a piece: starts the group or goes on with it, loads it under faults, audits it and stops it. Fails if anything is
/// wrong. None if it is interrupted before the first load began: the group is then of no use.
pub fn soak(binary: &Binary, settings: &SoakSettings) -> Result<Option<Piece>> {
    let mut remarks = Vec::new();
    let (mut kept, mut group, acknowledged) = begin(binary, settings, &mut remarks)?;
    // From here on the directory is that of a piece that has not ended.
    Kept { is_clean: false, ..kept.clone() }.write(&settings.directory)?;
    group.patience_s = PATIENCE_S;
    group.until_whole().context("the group does not start")?;
    let nodes = group.nodes.iter().map(|node| node.main().place()).collect();
    let is_new = kept.pieces == 0;
    kept.pieces += 1;
    let seed = settings.seed.wrapping_add(kept.pieces);
    let mut load = Load::new(nodes, acknowledged, kept.serial, seed, &settings.interrupted)?;
    if is_new {
        load.fill()?;
        group.until_whole()?;
    }
    kept.rate = match (settings.rate, kept.rate) {
        (Some(rate), _) | (None, Some(rate)) => Some(rate),
        (None, None) => {
            let most = run::measure(&group, &mut load, MEASURE)?;
            eprintln!("a closed run beside a reader of events has {most} answers a second");
            group.until_whole()?;
            Some(most * SHARE / 100)
        }
    };
    let rate = kept.rate.context("a rate")?;
    if is_new && settings.interrupted.load(Ordering::Relaxed) {
        return Ok(None);
    }
    eprintln!(
        "piece {}: {} accounts, {rate} requests a second for {} s",
        kept.pieces,
        load.acknowledged.accounts(),
        settings.time.as_secs()
    );
    let faults: &[Fault] = if kept.has_devices { &FAULTS } else { &LOCAL_FAULTS };
    let mut piece = run::run(binary, settings, &mut group, &mut load, rate, faults)?;
    remarks.append(&mut piece.remarks);
    piece.remarks = remarks;
    eprintln!("the load is over: {} requests were acknowledged", piece.acknowledged);
    kept.serial = load.serial();
    piece.audits = end::end(binary, group, &load.acknowledged)?;
    load.acknowledged.write(&Kept::acknowledged(&settings.directory))?;
    kept.is_clean = true;
    kept.write(&settings.directory)?;
    Ok(Some(piece))
}

/// Starts a group in an empty directory, or the one that is there. Returns it with what is kept of it, and what it has
/// acknowledged.
fn begin(
    binary: &Binary,
    settings: &SoakSettings,
    remarks: &mut Vec<String>,
) -> Result<(Kept, Group, Acknowledged)> {
    let directory = &settings.directory;
    let setup = |disk| NodeSetup {
        disk,
        clock: None,
        settings: SETTINGS,
        snapshot_log: settings.snapshot_log.clone(),
        keep_log: None,
        tls: false,
    };
    // Waits of the group are not interrupted: a fault is undone, and a piece ended, to the end.
    let never = Arc::new(AtomicBool::new(false));
    if let Some(kept) = Kept::read(directory)? {
        let disk = if kept.has_devices { Disk::Kept } else { Disk::Plain };
        let group = Group::open(directory, binary, &setup(disk), kept.first_port, &never)?;
        return Ok((kept, group, Acknowledged::read(&Kept::acknowledged(directory))?));
    }
    std::fs::create_dir_all(directory)?;
    let why = match &settings.no_network {
        Some(why) => Some(why.clone()),
        None => Disk::Device.possible(directory).err().map(|why| format!("{why:#}")),
    };
    let has_devices = why.is_none();
    if let Some(why) = why {
        remarks.push(format!("no cuts and no slow disks: {why}"));
    }
    let disk = if has_devices { Disk::Kept } else { Disk::Plain };
    let group = Group::start(directory, binary, &setup(disk), 0, &never)?;
    ensure!(group.nodes.len() == NODES, "a group has {NODES} nodes");
    let kept = Kept::new(settings.accounts, has_devices, group.nodes[0].main().port);
    Ok((kept, group, Acknowledged::new(settings.accounts)))
}
