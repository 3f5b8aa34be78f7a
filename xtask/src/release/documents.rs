//! The parts of the page that are not programs: the documents as a site, and the Helm chart. They have no bill of
//! materials, because the only foreign parts are mdBook's few scripts and fonts.

use super::{Release, tarball};
use crate::site;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// Chart in the repository. In a chart archive every path begins with this directory name.
const CHARTS: &str = "packaging/helm";
const CHART: &str = "scurry";

/// Packs both.
pub(crate) fn pack(release: &Release<'_>) -> Result<()> {
    let name = format!("scurry-docs-{}", release.version);
    let dir = release.work.join(&name);
    let made = site::make(release.host)?;
    release.host.show(Command::new("cp").arg("-r").args([&made, &dir]))?;
    gzipped(release, &release.work, &name, &name)?;
    let name = format!("scurry-chart-{}", release.version);
    gzipped(release, &release.host.root.join(CHARTS), CHART, &name)
}

/// Packs the subdirectory `dir` of `parent`.
fn gzipped(release: &Release<'_>, parent: &Path, dir: &str, name: &str) -> Result<()> {
    let tar = release.page.join(format!("{name}.tar"));
    let mut packer = tarball::tar(release);
    release.host.show(packer.arg("-cf").arg(&tar).arg("-C").arg(parent).arg(dir))?;
    release.host.show(Command::new("gzip").args(["-n", "-9", "-f"]).arg(&tar))
}
