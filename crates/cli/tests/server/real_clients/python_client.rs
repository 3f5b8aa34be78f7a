//! Runs the tests of the Python client, clients/python, with the binary of this build.

use std::process::Command;

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/python");
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache/python-client/bin");

/// Runs a program in the client's directory, which must succeed.
fn succeed(program: &str, arguments: &[&str]) {
    succeed_in(CLIENT, program, arguments);
}

/// Runs a program in a directory of clients, which must succeed within 14 minutes.
pub(super) fn succeed_in(directory: &str, program: &str, arguments: &[&str]) {
    let mut command = Command::new("timeout");
    command.args(["840", program]).args(arguments).current_dir(directory);
    command.env("SCURRY_BIN", env!("CARGO_BIN_EXE_scurry")).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().expect("timeout (coreutils) runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {said}{complained}: is it there? run scripts/install-tools.sh"
    );
}

#[test]
fn generated_files_are_those_of_the_command_table() {
    succeed("python3", &["generate.py", "--check"]);
}

#[test]
fn its_own_tests_pass() {
    succeed(&format!("{TOOLS}/python"), &["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
}

#[test]
fn its_types_and_style_are_checked() {
    succeed(&format!("{TOOLS}/mypy"), &["--no-incremental"]);
    succeed(&format!("{TOOLS}/ruff"), &["check", "--no-cache", "."]);
    succeed(&format!("{TOOLS}/ruff"), &["format", "--no-cache", "--check", "."]);
}
