//! The files to recover from, made by the engine as a server makes them, and what they hold.

use std::path::Path;

use anyhow::{Result, anyhow, bail, ensure};
use scurry_codec::encode_account;
use scurry_disk::Directory;
use scurry_engine::{
    Commits, Durability, LogId, LogWriter, Outcome, Piece, SEGMENT_LEN_MAX, Shard, Snapshot,
    SnapshotWriter, sync_behind,
};
use scurry_ledger::{Time, Totals};

use crate::ladder::{EPOCH, Population, SessionLoop, Store};
use crate::names::account_text;
use crate::scenario::Charging;

/// The log.
pub(super) const LOG: LogId = LogId { id: 0x5C02_2217_0001, core: 0 };
/// Sessions that take turns.
const SESSIONS: u32 = 3_200;
/// Changes of a batch, and so of a frame: about what a server commits together.
const BATCH: u64 = 512;
/// Changes between two syncs behind the writer: at most a server's in a second.
const SYNCED: u64 = 500_000;
/// Operations in a millisecond.
const PER_MS: u64 = 1_000;
const SEED: u64 = 1;
/// Accounts that are compared at most.
const COMPARED_MAX: u32 = 1_000_000;

/// Accounts, records and bytes that went in.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) accounts: u32,
    pub(super) records: u64,
    pub(super) next: u64,
    pub(super) log_bytes: u64,
    pub(super) snapshot_bytes: u64,
    pub(super) totals: Totals,
    pub(super) fingerprint: u64,
}

/// A snapshot of accounts, and a log of so many Changes behind it.
pub(super) fn write_log(
    path: &Path,
    charging: &Charging,
    accounts: u32,
    records: u64,
) -> Result<Written> {
    let mut store = Store::with_accounts(charging, accounts)?;
    store.shard().keep_journal(LOG, 1);
    let snapshot_bytes = snapshot(store.shard(), path)?;
    let mut log = Log::begin(path)?;
    let mut sessions =
        SessionLoop::new(charging, Population { accounts, sessions: SESSIONS, seed: SEED })?;
    let (mut operations, mut now) = (0, EPOCH);
    while store.shard().sequence() < records {
        let request = sessions.next();
        operations += 1;
        now = EPOCH.plus_ms(i64::try_from(operations / PER_MS)?);
        let Some(command) = request.command() else { continue };
        let outcome = store.execute(now, &request.account, &command);
        let right = matches!(outcome, Outcome::Answer { replayed: false, .. });
        ensure!(right, "refused: {outcome:?}; use more --accounts");
        if store.shard().sequence() % BATCH == 0 {
            log.write(store.shard(), now)?;
        }
        if store.shard().sequence() >= log.commits.synced() + SYNCED {
            log.sync(path)?;
        }
    }
    log.write(store.shard(), now)?;
    let log_bytes = log.commits.given().0;
    written(store, accounts, log_bytes, snapshot_bytes)
}

/// A snapshot of accounts that nothing was done with yet, and no log.
pub(super) fn write_snapshot(path: &Path, charging: &Charging, accounts: u32) -> Result<Written> {
    let mut store = Store::with_accounts(charging, accounts)?;
    store.shard().keep_journal(LOG, 1);
    let snapshot_bytes = snapshot(store.shard(), path)?;
    written(store, accounts, 0, snapshot_bytes)
}

fn written(
    mut store: Store,
    accounts: u32,
    log_bytes: u64,
    snapshot_bytes: u64,
) -> Result<Written> {
    let shard = store.shard();
    Ok(Written {
        accounts,
        records: shard.sequence(),
        next: shard.sequence() + 1,
        log_bytes,
        snapshot_bytes,
        totals: shard.totals().clone(),
        fingerprint: fingerprint(shard, accounts)?,
    })
}

/// The log's side of a server.
struct Log {
    commits: Commits,
    writer: LogWriter<Directory>,
}

impl Log {
    fn begin(path: &Path) -> Result<Log> {
        let writer = LogWriter::new(Directory::open(path)?, LOG, SEGMENT_LEN_MAX);
        Ok(Log { commits: Commits::new(Durability::Write, 0), writer })
    }

    fn write(&mut self, shard: &mut Shard, now: Time) -> Result<()> {
        while let Some(mut batch) = self.commits.batch(shard, now) {
            let outcome = batch.run(&mut self.writer);
            self.commits.done(batch, outcome)?;
            ensure!(!self.commits.is_full(), "the disk is full: give --directory another place");
        }
        Ok(())
    }

    /// Sync of the written frames, which later frames confirm.
    fn sync(&mut self, path: &Path) -> Result<()> {
        sync_behind(&mut Directory::open(path)?, self.commits.synced())?;
        self.commits.note_synced(self.commits.written());
        Ok(())
    }
}

/// Writes a snapshot, and gives its length.
fn snapshot(shard: &mut Shard, path: &Path) -> Result<u64> {
    let mut snapshot = Snapshot::begin(shard, LOG, EPOCH);
    let mut writer = SnapshotWriter::new(Directory::open(path)?, snapshot.begun())?;
    while let Some(piece) = snapshot.piece(shard, Vec::new(), EPOCH) {
        match piece {
            Piece::Bytes(bytes) | Piece::Last { bytes, .. } => writer.write(&bytes)?,
            Piece::Void => bail!("the shard was cleared"),
        }
    }
    writer.sync()?;
    let len = writer.len();
    writer.publish()?;
    Ok(len)
}

/// A number of what accounts are: a hash (FNV-1a, by words) of their images, of all of them up
/// to [`COMPARED_MAX`], else of one in so many.
pub(super) fn fingerprint(shard: &mut Shard, accounts: u32) -> Result<u64> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut image = Vec::new();
    for number in (0..accounts).step_by(accounts.div_ceil(COMPARED_MAX) as usize) {
        let id = account_text(number);
        // Before anything is due: what is held is seen.
        let account = shard.account(EPOCH, shard.key(&id));
        let account = account.map_err(|error| anyhow!("{}: {error:?}", id.escape_ascii()))?;
        image.clear();
        encode_account(account, &mut image);
        for word in image.chunks(8) {
            let mut padded = [0; 8];
            padded[..word.len()].copy_from_slice(word);
            hash = (hash ^ u64::from_le_bytes(padded)).wrapping_mul(0x100_0000_01b3);
        }
    }
    Ok(hash)
}
