//! The accounts of a backup as its logs left them, all as of one position of each log.

use crate::key_progress::KeyProgress;
use crate::store::{Cut, DataDirectory, Progress, StatePoint, core_at};
use anyhow::Result;
use scurry_ledger::{Account, Time};
use scurry_ship::StoreId;
use std::path::Path;

/// Accounts from which progress is shown.
const SHOWN_FROM: u64 = 1_000_000;

/// What a state is of.
#[derive(Clone, Debug)]
pub(crate) struct StateOf {
    /// The store, 16 hexadecimal digits.
    pub(crate) store: String,
    /// Time of the last commit.
    pub(crate) at: Time,
}

/// Calls `see` with each account of a backup, in no order. Needs as much memory as a server for one thread.
pub(crate) fn each_account(
    backup: &Path,
    see: &mut dyn FnMut(&[u8], &Account) -> Result<()>,
) -> Result<StateOf> {
    let source = DataDirectory::open(backup)?;
    let manifest = source.manifest()?;
    source.ensure_begun()?;
    let mut bar = Progress::new();
    let cut = Cut::find(&source)?;
    let mut at = Time(0);
    for (core, (_, path)) in (0..).zip(source.cores()) {
        let point = cut.as_ref().map_or(StatePoint::End, |cut| StatePoint::Sequence(cut.end(core)));
        let state = core_at((&path, source.least(core)?), (&manifest, core), point, &mut bar)?;
        let count = state.accounts();
        let mut progress = (count >= SHOWN_FROM).then(|| KeyProgress::new("accounts", count));
        state.each_account(&mut |id, account| {
            progress.iter_mut().for_each(|progress| progress.add(1));
            see(id, account)
        })?;
        progress.iter().for_each(KeyProgress::end);
        at = at.max(state.at);
    }
    cut.iter().for_each(Cut::tell_if_lowered);
    Ok(StateOf { store: StoreId(manifest.store).to_string(), at })
}
