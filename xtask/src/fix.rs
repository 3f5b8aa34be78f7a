//! What changes files: formatting, clippy's own repairs, generated pages.

use crate::fuzz;
use crate::host::Host;
use crate::lab;
use crate::tidy::reference;
use anyhow::{Context, Result};

/// Repairs what can be repaired without thinking.
pub(crate) fn run(host: &Host) -> Result<()> {
    let clippy = ["clippy", "--all-targets", "--fix", "--allow-dirty", "--allow-staged"];
    host.cargo(&[&clippy[..], &["--workspace"]].concat())?;
    host.cargo(&[&clippy[..], &["--manifest-path", lab::MANIFEST]].concat())?;
    host.cargo(&["fmt", "--all"])?;
    for manifest in [fuzz::MANIFEST, lab::MANIFEST] {
        host.cargo(&["fmt", "--manifest-path", manifest])?;
    }
    let page = reference::generate(host)?;
    let path = host.root.join(reference::PAGE);
    if std::fs::read_to_string(&path).ok().as_deref() != Some(page.as_str()) {
        std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", reference::PAGE);
    }
    Ok(())
}
