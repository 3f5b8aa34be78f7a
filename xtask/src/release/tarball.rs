//! The tarball: the same files give the same bytes, on any machine and at any time.

use super::Release;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

impl Release<'_> {
    /// Returns the base name of artifacts for any Linux with glibc, without the ending.
    pub(crate) fn base(&self) -> String {
        format!("scurry-{}-x86_64-linux-gnu", self.version)
    }
}

/// Returns tar with options that write the same bytes for the same files: sorted entries, owned by root, with the time
/// of the release.
pub(crate) fn tar(release: &Release<'_>) -> Command {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"])
        .arg("--mode=u+rw,go+r-w,a+X")
        .arg(format!("--mtime=@{}", release.epoch));
    tar
}

/// Packs the stage.
pub(crate) fn pack(release: &Release<'_>, stage: &Path) -> Result<PathBuf> {
    let base = release.base();
    let tar = release.work.join(format!("{base}.tar"));
    let name = stage.file_name().context("the stage has no name")?;
    let mut packer = self::tar(release);
    packer.arg("-cf").arg(&tar).arg("-C").args([&release.work.as_os_str(), &name]);
    release.host.show(&mut packer)?;
    release.host.show(Command::new("gzip").args(["-n", "-9", "-f"]).arg(&tar))?;
    let packed = release.page.join(format!("{base}.tar.gz"));
    std::fs::rename(tar.with_extension("tar.gz"), &packed)?;
    Ok(packed)
}
