//! The files that all artifacts carry, laid out as the tarball has them.

use super::{
    Release,
    binaries::{Built, MODULE, SERVER},
};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names of the files, as the shells look for them.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "scurry.bash"), ("zsh", "_scurry"), ("fish", "scurry.fish")];

/// Files of the tree beside the binaries.
const DOCUMENTS: [&str; 3] = ["LICENSE", "README.md", "CHANGELOG.md"];

/// The settings with their defaults.
const SETTINGS: &str = "crates/cli/scurry.example.toml";

/// The line of them that says where the store lies.
const DIR_LINE: &str = "dir = \"scurry-data\"";

/// Makes the directory. What the binary says of itself is asked of this one, which so runs once at least.
pub(crate) fn fill(release: &Release<'_>, built: &Built) -> Result<PathBuf> {
    let stage = release.work.join(release.base());
    std::fs::create_dir_all(stage.join("completions"))?;
    let server = stage.join(SERVER);
    copy(&built.server, &server, 0o755)?;
    copy(&built.module, &stage.join(MODULE), 0o755)?;
    for name in DOCUMENTS {
        copy(&release.host.root.join(name), &stage.join(name), 0o644)?;
    }
    let settings = release.host.root.join(SETTINGS);
    copy(&settings, &stage.join("scurry.example.toml"), 0o644)?;
    let said = release.host.output(Command::new(&server).arg("--version"))?;
    ensure!(said.trim() == format!("scurry {}", release.version), "the binary is {said}");
    for (shell, name) in COMPLETIONS {
        let script = release.host.output(Command::new(&server).args(["completions", shell]))?;
        std::fs::write(stage.join("completions").join(name), script)?;
    }
    release.host.show(Command::new(&server).arg("man").arg("--dir").arg(stage.join("man/man1")))?;
    Ok(stage)
}

/// The settings of a service: the defaults, with the store where the system keeps such.
pub(crate) fn service_settings(root: &Path) -> Result<String> {
    let text = std::fs::read_to_string(root.join(SETTINGS)).context(SETTINGS)?;
    ensure!(text.matches(DIR_LINE).count() == 1, "{SETTINGS} has no line {DIR_LINE}");
    Ok(text.replace(DIR_LINE, "dir = \"/var/lib/scurry\""))
}

/// Copies with a mode that does not depend on the umask.
pub(crate) fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(mode))?;
    Ok(())
}
