//! The checksums of all artifacts in one file, in the form that `sha256sum -c` reads.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

pub(crate) const FILE: &str = "SHA256SUMS";

/// Returns the SHA-256 of a file, in hexadecimal digits.
pub(crate) fn sha256(path: &Path) -> Result<String> {
    let output = Command::new("sha256sum").arg("--").arg(path).output().context("sha256sum")?;
    ensure!(output.status.success(), "sha256sum of {}", path.display());
    let text = String::from_utf8(output.stdout)?;
    Ok(text.split_whitespace().next().context("sha256sum said nothing")?.to_owned())
}

/// Writes the file with all checksums of a page.
pub(crate) fn write(page: &Path) -> Result<()> {
    let mut text = String::new();
    for name in names(page)? {
        text += &format!("{}  {name}\n", sha256(&page.join(&name))?);
    }
    std::fs::write(page.join(FILE), text).context(FILE)
}

/// Lists the files of a page with their sizes.
pub(crate) fn listing(page: &Path) -> Result<Vec<String>> {
    let line = |name: String| Ok(format!("{:>12} {name}", page.join(&name).metadata()?.len()));
    names(page)?.into_iter().map(line).collect()
}

/// Returns the names of all files but that of the checksums, sorted.
pub(crate) fn names(page: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(page)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != FILE {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
