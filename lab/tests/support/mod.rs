//! The servers that several tests start.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the binary that `SCURRY_BIN` names, otherwise the one of this build, after bringing it up to date.
pub(crate) fn scurry() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        if let Some(binary) = std::env::var_os("SCURRY_BIN") {
            return PathBuf::from(binary);
        }
        let directory = Path::new(env!("CARGO_BIN_EXE_scurry-lab")).parent().unwrap();
        let profile = directory.file_name().and_then(|name| name.to_str()).unwrap();
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["build", "--quiet", "--package", "scurry-cli", "--bin", "scurry"]);
        cargo.args(["--profile", if profile == "debug" { "dev" } else { profile }]);
        cargo.arg("--target-dir").arg(directory.parent().unwrap());
        cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
        assert!(cargo.status().unwrap().success(), "scurry does not build: set SCURRY_BIN");
        directory.join("scurry")
    })
}
