//! `cargo xtask fix`, the command that changes files: formatting, clippy's own fixes, generated pages.

use crate::host::Host;
use crate::lab;
use crate::tidy::reference;
use anyhow::{Context, Result};

/// Applies all automatic fixes.
pub(crate) fn run(host: &Host) -> Result<()> {
    let clippy = ["clippy", "--all-targets", "--fix", "--allow-dirty", "--allow-staged"];
    host.cargo(&[&clippy[..], &["--workspace"]].concat())?;
    host.cargo(&[&clippy[..], &["--manifest-path", lab::MANIFEST]].concat())?;
    host.cargo(&["fmt", "--all"])?;
    host.cargo(&["fmt", "--manifest-path", lab::MANIFEST])?;
    for page in &reference::PAGES {
        let text = page.generate(host)?;
        let path = host.root.join(page.path);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
            std::fs::write(&path, text)
                .with_context(|| format!("cannot write {}", path.display()))?;
            println!("wrote {}", page.path);
        }
    }
    write_client(host)
}

/// Generates the part of the Python client that comes from the command table. Without Python it is skipped, and a test
/// fails if the result is outdated.
fn write_client(host: &Host) -> Result<()> {
    let script = host.root.join("clients/python/generate.py");
    match std::process::Command::new("python3").arg(&script).status() {
        Ok(status) => anyhow::ensure!(status.success(), "{} fails", script.display()),
        Err(error) => println!("{} was not run: {error}", script.display()),
    }
    Ok(())
}
