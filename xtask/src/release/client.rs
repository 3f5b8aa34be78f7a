//! The wheel of the Python client. It contains no program, so it has no bill of materials.

use super::{Release, stage};
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Directory of the package, and the parts of it that are packed: no tests, and no caches.
const PROJECT: &str = "clients/python";
const PACKED: [&str; 2] = ["pyproject.toml", "scurry_client"];

/// Packs it onto the page from a copy, because the tools write into their source directory.
pub(crate) fn pack(release: &Release<'_>) -> Result<()> {
    let (root, copy) = (&release.host.root, release.work.join("client"));
    std::fs::create_dir_all(&copy)?;
    let project = root.join(PROJECT);
    let mut copying = Command::new("cp");
    copying.arg("-r").args(PACKED.map(|name| project.join(name))).arg(root.join("LICENSE"));
    release.host.show(copying.arg(&copy))?;
    let page = std::fs::read_to_string(project.join(stage::README))?;
    std::fs::write(
        copy.join(stage::README),
        stage::without_repository_links(&page, &release.version),
    )?;
    // The file modes go into the wheel, and must not depend on the umask of the build user.
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

/// Returns the file name that pip gives it.
fn name(version: &str) -> String {
    format!("scurry_client-{version}-py3-none-any.whl")
}
