//! The binaries to pack, built for an old libc: zig has the stubs of every glibc, so the build machine may be newer
//! than the machines that run the binaries.

use super::TOOLS;
use crate::host::Host;
use crate::optimized::{self, MODULE, PROFILE, SERVER, TARGET};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Newest glibc version of linked symbols: the oldest that Rust supports.
pub(crate) const GLIBC: &str = "2.17";

/// Binaries that have been built.
pub(crate) struct Built {
    pub(crate) server: PathBuf,
    pub(crate) module: PathBuf,
}

/// Builds the module; the program exists once the wheel is built. The module is built alone, so that features that
/// other packages request of a crate do not get into it, and in its own directory: cargo-zigbuild and maturin would
/// each rebuild the artifacts of the other.
pub(crate) fn build(host: &Host) -> Result<Built> {
    let (target, programs) = (host.target_dir()?, Path::new(TARGET).join(PROFILE));
    let modules = target.join("release-module");
    let mut cargo = zigbuild(host)?;
    cargo.args(["--target", &format!("{TARGET}.{GLIBC}"), "-p", "scurry-valkey-module"]);
    host.show(cargo.env("CARGO_TARGET_DIR", &modules))?;
    let built = Built {
        server: target.join(&programs).join(SERVER),
        module: modules.join(&programs).join(MODULE),
    };
    built.there()
}

/// Finds existing binaries in a directory.
pub(crate) fn find(dir: &Path) -> Result<Built> {
    Built { server: dir.join(SERVER), module: dir.join(MODULE) }.there()
}

impl Built {
    fn there(self) -> Result<Built> {
        for path in [&self.server, &self.module] {
            ensure!(path.is_file(), "{} is not there", path.display());
        }
        Ok(self)
    }
}

/// Returns cargo-zigbuild, which looks for zig as a module of the first Python on the path.
fn zigbuild(host: &Host) -> Result<Command> {
    let tools = host.root.join(TOOLS);
    let program = tools.join("cargo-zigbuild");
    ensure!(program.is_file(), "cargo-zigbuild is missing: scripts/install-tools.sh release");
    let mut command = Command::new(program);
    command.args(["zigbuild", "--locked", "--profile", PROFILE]);
    environment(host, &mut command)?;
    Ok(command)
}

/// Sets the environment that must be the same for every cargo build of the binaries, or cargo rebuilds them.
pub(crate) fn environment(host: &Host, command: &mut Command) -> Result<()> {
    command.env("RUSTFLAGS", flags(host)?).env("PATH", path(&host.root.join(TOOLS))?);
    // Remove what cargo has set for this program: build scripts depend on some of it, and run again when it changes.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    Ok(())
}

/// Returns compiler flags that use the execution counts, and keep paths of the build machine out of the binaries.
fn flags(host: &Host) -> Result<String> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => {
            PathBuf::from(std::env::var_os("HOME").context("no home directory")?).join(".cargo")
        }
    };
    let map = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let counted = optimized::flag(&optimized::counts(host)?);
    Ok([counted, map(&host.root, "/scurry"), map(&home, "/cargo")].join(" "))
}

/// Returns the search path with these tools first.
fn path(tools: &Path) -> Result<std::ffi::OsString> {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(tools.to_owned()).chain(std::env::split_paths(&rest));
    std::env::join_paths(all).context("a directory of PATH has a colon in its name")
}
