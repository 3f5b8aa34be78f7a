//! Tables of a backup or a data directory, all as of one position of each log. It reads files and asks no server.

use super::writer::{TablesOf, TablesWriter};
use crate::key_progress::KeyProgress;
use crate::store::{Cut, DataDirectory, Progress, StatePoint, core_at};
use anyhow::{Result, bail};
use scurry_ledger::Time;
use scurry_service::Position;
use scurry_ship::{Positions, StoreId};
use scurry_tables::Format;
use std::path::Path;

/// Writes the tables of a backup to a directory.
pub(crate) fn export_backup(backup: &Path, to: &Path, format: Format) -> Result<()> {
    let source = DataDirectory::open(backup)?;
    let manifest = source.manifest()?;
    source.ensure_begun()?;
    ensure_elsewhere(to, backup)?;
    let mut writer = TablesWriter::open(to, format)?;
    let mut bar = Progress::new();
    let cut = Cut::find(&source)?;
    let mut positions = Positions::none(StoreId(manifest.store));
    let mut at = Time(0);
    for (core, (_, path)) in (0..).zip(source.cores()) {
        let point = cut.as_ref().map_or(StatePoint::End, |cut| StatePoint::Sequence(cut.end(core)));
        let state = core_at((&path, source.least(core)?), (&manifest, core), point, &mut bar)?;
        let mut progress = KeyProgress::new("accounts", state.accounts());
        state.each_account(&mut |id, account| {
            progress.add(1);
            Ok(writer.push(id, account, state.at)?)
        })?;
        progress.end();
        at = at.max(state.at);
        positions.set(Position {
            generation: manifest.generation_of_events(),
            thread: core,
            sequence: state.last + 1,
            index: 0,
        });
    }
    cut.iter().for_each(Cut::tell_if_lowered);
    let places: Vec<String> = positions.iter().map(|place| place.to_string()).collect();
    let places = places.join(" ");
    let of = TablesOf {
        source: "backup",
        store: Some(positions.store().to_string()),
        positions: Some((places.clone(), places.clone())),
        time: at,
    };
    let rows = writer.finish(&of)?;
    println!("{rows}");
    println!(
        "written to {}, as of the positions {places} of store {}",
        to.display(),
        positions.store()
    );
    Ok(())
}

/// Refuses a directory within a data directory: a server would take it for its own.
fn ensure_elsewhere(to: &Path, source: &Path) -> Result<()> {
    let above = to.parent().filter(|above| !above.as_os_str().is_empty());
    let above = above.unwrap_or(Path::new("."));
    if let (Ok(above), Ok(source)) = (above.canonicalize(), source.canonicalize())
        && above.starts_with(&source)
    {
        bail!(
            "{} is within {}: a server would take it for its own; give another place",
            to.display(),
            source.display()
        );
    }
    Ok(())
}
