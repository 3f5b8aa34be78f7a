//! The .deb and the .rpm, built by nfpm from packaging/nfpm.yaml.

use super::{Release, stage};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directory of the files that go into them.
const DIR: &str = "packaging";

/// Packs both from the stage into a directory. `added` is appended to the settings of the service.
pub(crate) fn pack(
    release: &Release<'_>,
    stage: &Path,
    version: &str,
    added: &str,
    into: &Path,
) -> Result<Vec<PathBuf>> {
    let work = release.work.join(format!("packages-{version}"));
    let packed = work.join("packed");
    std::fs::create_dir_all(packed.join("man1"))?;
    std::os::unix::fs::symlink(stage, work.join("stage"))?;
    std::os::unix::fs::symlink(release.host.root.join(DIR), work.join(DIR))?;
    let settings = stage::service_settings(&release.host.root)? + added;
    std::fs::write(packed.join("scurry.toml"), settings)?;
    compress_pages(release, &stage.join("man/man1"), &packed.join("man1"))?;
    let package = |format: &&str| {
        let target = into.join(name(version, format));
        let mut nfpm = release.tool("nfpm")?;
        nfpm.args(["package", "--config", "packaging/nfpm.yaml", "--packager", format, "--target"])
            .arg(&target)
            .env("SCURRY_VERSION", version)
            .current_dir(&work);
        let output = nfpm.output().context("cannot start nfpm")?;
        ensure!(output.status.success(), "nfpm: {}", String::from_utf8_lossy(&output.stderr));
        Ok(target)
    };
    ["deb", "rpm"].iter().map(package).collect()
}

/// Returns the file name in the convention of each format.
fn name(version: &str, format: &str) -> String {
    match format {
        "deb" => format!("scurry_{version}_amd64.deb"),
        _ => format!("scurry-{version}-1.x86_64.rpm"),
    }
}

/// Compresses the man pages, as packages require.
fn compress_pages(release: &Release<'_>, from: &Path, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from)? {
        let page = entry?.path();
        let copy = to.join(page.file_name().context("a page has no name")?);
        std::fs::copy(&page, &copy)?;
        release.host.show(Command::new("gzip").args(["-n", "-9"]).arg(&copy))?;
    }
    Ok(())
}
