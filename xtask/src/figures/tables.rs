//! The tables that documents quote, each from results alone. Below each stands where it comes from: the
//! machine, the commit, the versions and the files.

mod comparisons;
mod format;
mod front;
mod growth;
mod operations;
mod own;
mod rows;
mod source;

use super::results::Results;
use anyhow::{Result, bail};
pub(crate) use comparisons::FILE as COMPARISONS;
pub(crate) use source::provenance;

/// A table by its name, with the line of its sources.
pub(crate) fn render(
    name: &str,
    files: &[&str],
    base: &str,
    results: &Results<'_>,
) -> Result<String> {
    // A page may have room for what the next run measures.
    let (files, missing): (Vec<&str>, Vec<&str>) =
        files.iter().copied().partition(|file| results.text(file).is_ok());
    let missing = match missing.as_slice() {
        [] => String::new(),
        some => format!("Not measured yet by `make figures`: {}.\n", some.join(", ")),
    };
    if files.is_empty() && !missing.is_empty() {
        return Ok(missing);
    }
    let files = files.as_slice();
    let table = match name {
        "front" => return front::render(results),
        "losses" => return comparisons::losses(results, base),
        "beside" => return comparisons::beside(results, base),
        "rows" => rows::render(&results.rows(files)?),
        "ratios" => rows::ratios(&results.rows(files)?),
        "log" => rows::log(&results.rows(files)?),
        "replicas" => rows::replicas(&results.rows(files)?),
        "entities" => operations::entities(&results.rows(files)?),
        "failover" => operations::failover(&results.rows(files)?),
        "doors" => operations::doors(results, files)?,
        // Counts that a test prints as tables.
        "counts" => files.iter().map(|file| results.text(file)).collect::<Result<String>>()?,
        "costs" => own::costs(results, files)?,
        "ladder" => own::ladder(results, files)?,
        "ledger" => own::ledger(results, files)?,
        "memory" => own::memory(results, files)?,
        "fill" => own::fill(results, files)?,
        "growth" => growth::growth(&results.rows(files)?),
        "threads" => growth::threads(results, files)?,
        "commit" => own::commit(results, files)?,
        "busy-account" => own::busy_account(results, files)?,
        "revival" => own::revival(results, files)?,
        "snapshots" => own::snapshots(results, files)?,
        "slow-disk" => own::slow_disk(results, files)?,
        "recovery" => own::recovery(results, files)?,
        "expiry" => own::expiry(results, files)?,
        "neighbours" => own::neighbours(results, files)?,
        other => bail!("there is no table `{other}`"),
    };
    let missing = if missing.is_empty() { missing } else { format!("\n{missing}") };
    Ok(format!("{}\n\n{}\n{missing}", table.trim_end(), source::line(results, files, base)?))
}
