//! The wheel, built by maturin, which calls cargo for the program itself. The other artifacts take the program from
//! there, because maturin and cargo-zigbuild each recompile everything that the other has compiled.

use super::{Release, binaries};
use crate::optimized;
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Stdio;

/// Directory of its description; maturin finds that only in its working directory.
const PROJECT: &str = "packaging/python";
/// Policy with the same glibc as `binaries::GLIBC`.
const POLICY: &str = "manylinux2014";

/// Compiles the program, and packs it onto the page.
pub(crate) fn build(release: &Release<'_>) -> Result<PathBuf> {
    let out = release.work.join("wheel");
    let mut maturin = release.tool("maturin")?;
    maturin
        .args(["build", "--locked", "--zig", "--profile", optimized::PROFILE])
        .args(["--target", optimized::TARGET, "--compatibility", POLICY, "--out"])
        .arg(&out)
        .current_dir(release.host.root.join(PROJECT));
    binaries::environment(release.host, &mut maturin)?;
    let status = maturin.stdin(Stdio::null()).status().context("cannot start maturin")?;
    ensure!(status.success(), "maturin ended with {status}");
    let wheels: Vec<PathBuf> =
        std::fs::read_dir(&out)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    ensure!(wheels.len() == 1, "maturin has made {wheels:?}");
    let target = release.page.join(wheels[0].file_name().context("a wheel has no name")?);
    std::fs::rename(&wheels[0], &target)?;
    Ok(target)
}
