//! What is packed, built for an old libc: zig has the stubs of every glibc, so the machine that builds may be
//! newer than those that run it.

use super::TOOLS;
use crate::host::Host;
use crate::optimized::{self, MODULE, PROFILE, SERVER, TARGET};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The newest symbols that are linked to: those of the oldest glibc that Rust supports.
pub(crate) const GLIBC: &str = "2.17";

/// Binaries that are there.
pub(crate) struct Built {
    pub(crate) server: PathBuf,
    pub(crate) module: PathBuf,
}

/// Builds the module; the program is there when the wheel is. The module is built alone, so that no feature that
/// other packages ask of a crate gets into it, and in a directory of its own: each of the two builders compiles
/// again what the other one has.
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

/// Binaries that lie in a directory.
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

/// cargo-zigbuild, which asks for zig as a module of the Python that comes first.
fn zigbuild(host: &Host) -> Result<Command> {
    let tools = host.root.join(TOOLS);
    let program = tools.join("cargo-zigbuild");
    ensure!(program.is_file(), "cargo-zigbuild is missing: scripts/install-tools.sh release");
    let mut command = Command::new(program);
    command.args(["zigbuild", "--locked", "--profile", PROFILE]);
    environment(host, &mut command)?;
    Ok(command)
}

/// Sets what cargo must be told alike by everyone who asks it for the binaries, else it builds them again.
pub(crate) fn environment(host: &Host, command: &mut Command) -> Result<()> {
    command.env("RUSTFLAGS", flags(host)?).env("PATH", path(&host.root.join(TOOLS))?);
    // What cargo has set for this program: scripts of builds ask for some of it, and run again when it changes.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    Ok(())
}

/// Flags of the compiler by which it goes by what was counted, and no path of the machine that builds gets into a
/// binary.
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

/// The search path with these tools before all others.
fn path(tools: &Path) -> Result<std::ffi::OsString> {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(tools.to_owned()).chain(std::env::split_paths(&rest));
    std::env::join_paths(all).context("a directory of PATH has a colon in its name")
}
