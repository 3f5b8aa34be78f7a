//! The wheel of the Python client. There is no program in it, and so no bill of materials.

use super::{Release, stage};
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// The package, and what of its directory is packed: its tests and the caches of whoever ran them are not.
const PROJECT: &str = "clients/python";
const PACKED: [&str; 2] = ["pyproject.toml", "scurry_client"];

/// Packs it onto the page, out of a copy: its tools write beside what they read.
pub(crate) fn pack(release: &Release<'_>) -> Result<()> {
    let (root, copy) = (&release.host.root, release.work.join("client"));
    std::fs::create_dir_all(&copy)?;
    let project = root.join(PROJECT);
    let mut copying = Command::new("cp");
    copying.arg("-r").args(PACKED.map(|name| project.join(name))).arg(root.join("LICENSE"));
    release.host.show(copying.arg(&copy))?;
    let page = std::fs::read_to_string(project.join(stage::README))?;
    std::fs::write(copy.join(stage::README), stage::standing_alone(&page, &release.version))?;
    // The modes are in the wheel, and must not be those of whoever packs it.
    release.host.show(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&copy))?;
    let python = release.tool("python")?;
    let mut pip = Command::new("sh");
    pip.args(["-c", "umask 022 && exec \"$@\"", "-"]).arg(python.get_program());
    pip.env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    pip.args(["-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"])
        .arg("--wheel-dir")
        .args([&release.page, &copy])
        .current_dir(&release.work);
    let output = pip.output().context("cannot start pip")?;
    ensure!(output.status.success(), "pip wheel: {}", String::from_utf8_lossy(&output.stderr));
    let name = name(&release.version);
    ensure!(release.page.join(&name).is_file(), "{PROJECT} is of another version: no {name}");
    Ok(())
}

/// The name that pip gives it.
fn name(version: &str) -> String {
    format!("scurry_client-{version}-py3-none-any.whl")
}
