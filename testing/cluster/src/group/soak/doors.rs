//! A client of the HTTP doors: each second it asks one node for its health, its metrics, the console with its figures,
//! and an account.

use super::window::Signals;
use anyhow::{Context, Result, bail, ensure};
use scurry_crash::clock::ns;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

const PATHS: [&str; 6] =
    ["/healthz", "/readyz", "/metrics", "/", "/v1/console/past", "/v1/accounts/a0"];
/// Path with the metric that must be 0.
const METRICS: &str = "/metrics";
const CONSERVATION: &str = "scurry_conservation_error_units";
const EVERY: Duration = Duration::from_secs(1);
/// Timeout of connecting and of an answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the client has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DoorCounts {
    /// Answers with 200.
    pub(super) served: u64,
    /// Requests without one that a window of a fault touches.
    pub(super) refused_within: u64,
    /// Requests without one outside.
    pub(super) refused_outside: u64,
    /// The first of these.
    pub(super) first: Option<String>,
}

/// Asks the doors until the signals say that it is over. Fails if a node has lost or made units.
pub(super) fn visit(doors: &[(String, u16)], signals: &Signals) -> Result<DoorCounts> {
    let (mut counts, mut conserved) = (DoorCounts::default(), 0);
    for door in doors.iter().cycle() {
        for path in PATHS {
            let asked_ns = ns();
            let answer = get(door, path);
            let is_within = signals.windows().class_since(asked_ns) > 0;
            match answer {
                Ok(body) => {
                    counts.served += 1;
                    if path == METRICS {
                        conserved += ensure_conserved(&body)?;
                    }
                }
                Err(_) if is_within => counts.refused_within += 1,
                Err(error) => {
                    counts.refused_outside += 1;
                    let text = || format!("{path} of {}:{}: {error:#}", door.0, door.1);
                    counts.first.get_or_insert_with(text);
                }
            }
        }
        std::thread::sleep(EVERY); // tidy: allow (it asks at a pace)
        if signals.is_over() {
            ensure!(conserved > 0, "no node shows {CONSERVATION}");
            return Ok(counts);
        }
    }
    bail!("there are no doors")
}

/// Returns the body of an answer with 200.
fn get((host, port): &(String, u16), path: &str) -> Result<String> {
    let address = (host.as_str(), *port).to_socket_addrs()?.next().context("no address")?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").context("no answer")?;
    let status = head.lines().next().unwrap_or_default();
    ensure!(status.starts_with("HTTP/1.1 200"), "{status}: {}", body.trim());
    Ok(body.to_owned())
}

/// Checks that the metric of conservation is 0 for each unit. Returns the number of units.
fn ensure_conserved(metrics: &str) -> Result<usize> {
    let lines = || metrics.lines().filter(|line| line.starts_with(CONSERVATION));
    let wrong = lines().find(|line| !line.ends_with(" 0"));
    ensure!(wrong.is_none(), "a node has lost or made units: {wrong:?}");
    Ok(lines().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_were_lost_are_seen_in_metrics() {
        let metrics = |units: &str| format!("# HELP x\n{CONSERVATION}{{unit=\"cent\"}} {units}\n");
        assert_eq!(ensure_conserved(&metrics("0")).expect("none are lost"), 1);
        ensure_conserved(&metrics("-3")).expect_err("three are lost");
        ensure_conserved(&metrics("10")).expect_err("ten are made");
    }
}
