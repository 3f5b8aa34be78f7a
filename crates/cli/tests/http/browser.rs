//! The console in a browser: runs testing/console.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Runs the script and returns its findings.
pub(crate) fn drive(base: &str, task: &[&str]) -> serde_json::Value {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let libraries = root.join(".cache/clients/console/node_modules");
    let missing = "run scripts/install-tools.sh tests";
    assert!(libraries.join("playwright-core").is_dir(), "no playwright-core: {missing}");
    let profile = TempDir::new().expect("a directory");
    let output = Command::new("timeout")
        .args(["--kill-after=5", "840", "node"])
        .arg(root.join("testing/console/console.mjs"))
        .arg(base)
        .arg(profile.path())
        .args(task)
        .env("CONSOLE_LIBRARIES", &libraries)
        .stdin(Stdio::null())
        .output()
        .expect("timeout runs node");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n(without a browser: {missing})");
    serde_json::from_slice(&output.stdout).expect("a line of JSON")
}
