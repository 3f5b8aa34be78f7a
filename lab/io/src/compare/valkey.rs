//! The load: valkey-benchmark, which others know and trust, on the core of this process.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::case::Case;

/// A load that takes longer has failed.
const SECONDS_MAX: &str = "120";
const VALUE_LEN: &str = "100";
const TESTS: u64 = 2;

/// Sends so many requests. Returns the seconds that they took.
///
/// # Errors
/// When valkey-benchmark is not installed or fails.
pub(super) fn run(case: &Case, address: SocketAddr, requests: u64) -> Result<f64> {
    let each = requests.div_ceil(TESTS);
    let output = Command::new("timeout")
        .args([SECONDS_MAX, "valkey-benchmark", "--csv", "-t", "set,get", "-d", VALUE_LEN])
        .args(["-h".to_owned(), address.ip().to_string()])
        .args(["-p".to_owned(), address.port().to_string()])
        .args(["-c".to_owned(), case.connections.to_string()])
        .args(["-P".to_owned(), case.depth.to_string()])
        .args(["-n".to_owned(), each.to_string()])
        .output()
        .context("starting valkey-benchmark under timeout")?;
    ensure!(output.status.success(), "valkey-benchmark has failed: {}", output.status);
    let seconds = seconds(&String::from_utf8_lossy(&output.stdout), each as f64);
    seconds.context("valkey-benchmark printed no rate")
}

/// The time that both tests took, from their rates.
fn seconds(csv: &str, each: f64) -> Option<f64> {
    let rate = |test: &str| -> Option<f64> {
        let line = csv.lines().find_map(|line| line.strip_prefix(test))?;
        line.split(',').nth(1)?.trim_matches('"').parse().ok()
    };
    Some(each / rate("\"SET\"")? + each / rate("\"GET\"")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_follows_from_both_rates() {
        let csv = "\"test\",\"rps\",\"avg\"\n\"SET\",\"1000.00\",\"1\"\n\"GET\",\"500.00\",\"1\"\n";
        assert_eq!(seconds(csv, 1_000.0), Some(3.0));
        assert_eq!(seconds("\"SET\",\"1000.00\"\n", 1_000.0), None);
    }
}
