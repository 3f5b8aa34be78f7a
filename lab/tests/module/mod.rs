//! The lab with the module of Valkey and Redis.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of the lab in this directory with libscurry.so beside it, which is built alone with a profile
/// of its own, or is the one that `SCURRY_MODULE` names.
pub(crate) fn lab_with_module(directory: &Path) -> PathBuf {
    let lab = Path::new(env!("CARGO_BIN_EXE_scurry-lab"));
    let target = lab.ancestors().nth(2).unwrap();
    let module = std::env::var_os("SCURRY_MODULE").map(PathBuf::from).unwrap_or_else(|| {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["build", "--quiet", "--package", "scurry-valkey-module", "--lib"]);
        cargo.args(["--profile", "module", "--target-dir"]).arg(target);
        cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
        assert!(cargo.status().unwrap().success(), "libscurry.so does not build");
        target.join("module/libscurry.so")
    });
    std::fs::copy(module, directory.join("libscurry.so")).unwrap();
    let copy = directory.join("scurry-lab");
    std::fs::copy(lab, &copy).unwrap();
    copy
}
