//! Figures in documents: a table must equal its results, and no figure may be hand-written.

use super::Finding;
use super::tree::Tree;
use crate::figures::{DIRECTORY, Results, documents, faults};

/// Finds generated tables that differ from their results, and figures outside of any.
pub(crate) fn figures(tree: &Tree) -> Vec<Finding> {
    let read = |name: &str| tree.text(&format!("{DIRECTORY}/{name}")).map(str::to_owned);
    let results = Results::new(&read);
    let of = |page: &'static str| {
        let text = tree.text(page)?;
        let found = faults(page, text, &results);
        Some(
            found.into_iter().map(|(line, what)| Finding::at(page, line, what)).collect::<Vec<_>>(),
        )
    };
    documents().filter_map(of).flatten().collect()
}
