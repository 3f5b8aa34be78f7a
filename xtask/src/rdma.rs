//! Connections over a software RDMA device, in the guest of `scripts/rdma-guest.sh`: nothing on this machine is
//! changed, and none of its devices is used.

use crate::host::Host;
use crate::lab;
use crate::steps::Outcome;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Command;

const GUEST: &str = "scripts/rdma-guest.sh";
const QEMU: &str = "qemu-system-x86_64";

/// Timeout after which a guest is killed, seconds. Its processor is emulated: a slow machine takes several times as
/// long as a fast one.
const GUEST_SECONDS: &str = "RDMA_GUEST_SECONDS";
const GUEST_SECONDS_MAX: &str = "600";

/// Exit status of the script when it cannot run here; it has printed why.
const CANNOT: i32 = 77;

/// Commands of the first guest: all tests of a device (the tests of two hosts skip themselves); then the server, the
/// scenario scripts over RDMA and TCP, and the laboratory's load with its audit. Sharing one guest saves starting two
/// more.
const ONE_HOST: [&str; 4] = [
    "--",
    "sh",
    "-c",
    "cd /guest && export SCURRY_BIN=/guest/scurry SCURRY_SCENARIOS=/guest/scenarios && \
     ./device --test-threads 1 && ./server --test-threads 1 --nocapture && \
     ./scripts --test-threads 1 --nocapture && \
     ./scurry-lab run moaf-scur --target scurry --scurry-bin ./scurry --directory /tmp --transport rdma \
     --rdma-address 10.77.0.1 --sessions 32 --connections 8 --depth 4 --accounts 200 --seconds 1 --warmup 0",
];

/// Commands for the test of two hosts, one guest each.
const TWO_HOSTS: [&str; 14] = [
    "--",
    "env",
    "SCURRY_RDMA_HOST=serve 10.78.0.1:6390",
    "/guest/device",
    "--exact",
    "hosts::a_lossy_way_loses_nothing_and_a_dead_host_is_noticed",
    "--nocapture",
    "--",
    "env",
    "SCURRY_RDMA_HOST=ask 10.78.0.1:6390",
    "/guest/device",
    "--exact",
    "hosts::a_lossy_way_loses_nothing_and_a_dead_host_is_noticed",
    "--nocapture",
];

/// Crates that exist only for RDMA.
const CRATES: [&str; 5] = [
    "scurry-rdma-sys",
    "scurry-rdma",
    "scurry-rdma-proto",
    "scurry-rdma-server",
    "scurry-rdma-fabric",
];
/// Feature that the other crates have.
const FEATURE: [&str; 2] = ["--features", "rdma"];

/// Checks the build with RDMA, and runs the device tests in a guest, and the test of two hosts in two.
pub(crate) fn run(host: &Host) -> Result<Outcome> {
    let with =
        ["--locked", "-p", "scurry-cli", "-p", "scurry-rdma-server", "-p", "scurry-conformance"];
    let clippy = [&["clippy", "--all-targets"], &with[..], &FEATURE, &["--", "-D", "warnings"]];
    host.cargo(&clippy.concat())?;
    let crates = CRATES.iter().flat_map(|name| ["-p", name]);
    host.cargo(&["test", "--locked"].into_iter().chain(crates).collect::<Vec<_>>())?;
    let options = ["test", "--locked", "-p", "scurry-cli", "--bin", "scurry", "--test", "rdma"];
    host.cargo(&[&options[..], &FEATURE].concat())?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|dir| dir.join(QEMU).is_file()) {
        return Ok(Outcome::Skipped(format!("{QEMU} is not here: scripts/install-tools.sh rdma")));
    }
    let device = built_test(host, "scurry-rdma", "device", "/guest/device")?;
    let files = [one_host(host)?, vec![device.clone()]].concat();
    for (what, files, tests) in
        [("run", files, &ONE_HOST[..]), ("pair", vec![device], &TWO_HOSTS[..])]
    {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let outcome = guest(host, &[&[what], &files[..], tests].concat())?;
        if outcome != Outcome::Passed {
            return Ok(outcome);
        }
    }
    Ok(Outcome::Passed)
}

fn script(host: &Host, args: &[&str]) -> Command {
    println!("$ {GUEST} {}", args.join(" "));
    let mut guest = Command::new(host.root.join(GUEST));
    guest.args(args).current_dir(&host.root);
    if std::env::var_os(GUEST_SECONDS).is_none() {
        guest.env(GUEST_SECONDS, GUEST_SECONDS_MAX);
    }
    guest
}

fn guest(host: &Host, args: &[&str]) -> Result<Outcome> {
    let status = script(host, args).status();
    let status = status.context("cannot start the guest")?;
    match status.code() {
        Some(0) => Ok(Outcome::Passed),
        Some(CANNOT) => Ok(Outcome::Skipped("the guest cannot run here: see above".to_owned())),
        _ => bail!("the guest's tests ended with {status}"),
    }
}

/// Builds the server; returns the mapping to its path in the guest.
fn server(host: &Host) -> Result<String> {
    host.cargo(&[&["build", "--locked", "--workspace", "--bin", "scurry"], &FEATURE[..]].concat())?;
    Ok(format!("{}:/guest/scurry", host.target_dir()?.join("debug/scurry").display()))
}

/// Returns the extra files for the tests on one host: the server with its test, and the scripts.
fn one_host(host: &Host) -> Result<Vec<String>> {
    let mut files = vec![
        server(host)?,
        format!("{}:/guest/scurry-lab", lab::binary(host)?.display()),
        built_test(host, "scurry-cli", "rdma", "/guest/server")?,
        built_test(host, "scurry-conformance", "rdma", "/guest/scripts")?,
    ];
    let scenarios = host.root.join("testing/conformance/scenarios");
    for entry in std::fs::read_dir(&scenarios).context("the scenario scripts")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        files.push(format!("{}:/guest/scenarios/{name}", path.display()));
    }
    Ok(files)
}

/// Builds a test; returns the mapping to its path in the guest.
fn built_test(host: &Host, package: &str, test: &str, place: &str) -> Result<String> {
    Ok(format!("{}:{place}", test_binary(host, package, test)?.display()))
}

/// Builds a test and returns its path. It is built as part of the workspace, as the server is, so that nothing is built
/// twice.
fn test_binary(host: &Host, package: &str, test: &str) -> Result<PathBuf> {
    let args = ["test", "--locked", "--no-run", "--workspace", "--test", test];
    let args = [&args[..], &FEATURE].concat();
    println!("$ cargo {}", args.join(" "));
    let output = host.cargo_output(&[args, vec!["--message-format", "json"]].concat())?;
    let path = executable(&output, package, test).context("cargo has built no such test")?;
    Ok(PathBuf::from(path))
}

/// Finds the executable of a package's test in cargo's messages.
fn executable(messages: &str, package: &str, test: &str) -> Option<String> {
    let name = format!("#{package}@");
    messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_of = message["package_id"].as_str().is_some_and(|id| id.contains(&name));
        let own = message["target"]["name"] == test && message["target"]["kind"][0] == "test";
        (is_of && own).then(|| message["executable"].as_str().map(str::to_owned))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_that_of_the_test() {
        let messages = "garbage\n\
            {\"package_id\":\"path#a@1\",\"target\":{\"name\":\"device\",\"kind\":[\"lib\"]},\"executable\":null}\n\
            {\"package_id\":\"path#a@1\",\"target\":{\"name\":\"other\",\"kind\":[\"test\"]},\"executable\":\"/no\"}\n\
            {\"package_id\":\"path#b@1\",\"target\":{\"name\":\"device\",\"kind\":[\"test\"]},\"executable\":\"/nor\"}\n\
            {\"package_id\":\"path#a@1\",\"target\":{\"name\":\"device\",\"kind\":[\"test\"]},\"executable\":\"/yes\"}\n";
        assert_eq!(executable(messages, "a", "device").as_deref(), Some("/yes"));
        assert_eq!(executable(messages, "a", "absent"), None);
    }
}
