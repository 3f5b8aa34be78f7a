//! Finds the programs of a local cluster and checks that they are new enough.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Oldest major version of Valkey that the module is tested with.
const OLDEST: u32 = 8;
const MODULE: &str = "libscurry.so";

/// Returns the version of a valkey-server, or fails if it is not Valkey or too old.
pub(super) fn check_server(program: &Path) -> Result<String> {
    let name = program.display();
    let output = Command::new(program).arg("--version").output().with_context(|| {
        format!(
            "{name} cannot be started: install Valkey {OLDEST} or newer (scripts/install-tools.sh \
             does, on Debian), or say where it is with --server"
        )
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().find_map(|word| word.strip_prefix("v="));
    let version = version
        .filter(|_| text.starts_with("Valkey"))
        .with_context(|| format!("{name} is no Valkey server: say where one is with --server"))?;
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    ensure!(
        major.is_some_and(|major| major >= OLDEST),
        "{name} is Valkey {version}: version {OLDEST} or newer is needed"
    );
    Ok(version.to_owned())
}

/// Returns the absolute path of the module: the server runs in another directory.
pub(super) fn find_module(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = given {
        let found = path.canonicalize();
        return found.with_context(|| {
            format!(
                "no module is at {}: build it with `cargo build --release -p scurry-valkey-module`",
                path.display()
            )
        });
    }
    let program = std::env::current_exe().context("this program's own place is not known")?;
    let beside = program.with_file_name(MODULE);
    match beside.canonicalize() {
        Ok(path) => Ok(path),
        Err(_) => bail!(
            "{} is not there: build it with `cargo build --release -p scurry-valkey-module`, or \
             say where it is with --module",
            beside.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_no_valkey_is_named() {
        let _lock = crate::machine::CHILDREN.lock().expect("no test has failed");
        let error = check_server(Path::new("/bin/true")).expect_err("it is none").to_string();
        assert!(error.contains("/bin/true is no Valkey server"), "{error}");
        let error = check_server(Path::new("/none/valkey-server")).expect_err("absent");
        assert!(error.to_string().contains("install Valkey 8"), "{error}");
        let error = find_module(Some(Path::new("/none/libscurry.so"))).expect_err("absent");
        assert!(error.to_string().contains("no module is at"), "{error}");
    }
}
