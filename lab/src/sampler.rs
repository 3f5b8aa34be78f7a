//! What the kernel says about the system under test: its CPU time and memory, and the packets
//! over the loopback interface.

use std::fs;

use anyhow::{Context, Result};

/// Clock ticks of /proc per second: USER_HZ, 100 on every Linux that matters.
const TICKS_PER_S: f64 = 100.0;

/// One look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// CPU seconds of the process and its children since they began.
    pub cpu_seconds: f64,
    /// Packets received over `lo`.
    pub rx_packets: u64,
    /// Packets sent over `lo`.
    pub tx_packets: u64,
    /// Bytes received over `lo`.
    pub rx_bytes: u64,
    /// Bytes sent over `lo`.
    pub tx_bytes: u64,
}

impl Sample {
    /// Looks at these processes and at the loopback interface now.
    ///
    /// # Errors
    /// When one of them has gone.
    pub fn take(pids: &[u32]) -> Result<Sample> {
        let mut sample = read_loopback(&fs::read_to_string("/proc/net/dev")?)
            .context("/proc/net/dev has no line for lo")?;
        sample.cpu_seconds = cpu_seconds(pids)?;
        Ok(sample)
    }
}

/// CPU seconds of processes and their children since they began.
///
/// # Errors
/// When one of them has gone.
pub fn cpu_seconds(pids: &[u32]) -> Result<f64> {
    let mut seconds = 0.0;
    for pid in pids {
        for member in family(*pid)? {
            // A child may end between the listing and the look.
            if let Ok(stat) = fs::read_to_string(format!("/proc/{member}/stat")) {
                seconds += read_cpu_seconds(&stat).unwrap_or(0.0);
            }
        }
    }
    Ok(seconds)
}

/// Resident memory of a process and its children, bytes.
///
/// # Errors
/// When the process has gone.
pub fn resident_bytes(pid: u32) -> Result<u64> {
    let mut total = 0;
    for member in family(pid)? {
        if let Ok(status) = fs::read_to_string(format!("/proc/{member}/status")) {
            total += read_resident(&status).unwrap_or(0);
        }
    }
    Ok(total)
}

/// The process and all its descendants.
fn family(pid: u32) -> Result<Vec<u32>> {
    let mut members = vec![pid];
    let mut at = 0;
    while let Some(member) = members.get(at).copied() {
        at += 1;
        let tasks = fs::read_dir(format!("/proc/{member}/task"));
        if member == pid && tasks.is_err() {
            anyhow::bail!("the system under test has ended");
        }
        for task in tasks.into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            members
                .extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    Ok(members)
}

/// utime + stime of a `stat` line. The command in brackets may hold spaces.
fn read_cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) as f64 / TICKS_PER_S)
}

fn read_resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1_024)
}

fn read_loopback(devices: &str) -> Option<Sample> {
    let line = devices.lines().find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    let fields: Vec<u64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    Some(Sample {
        cpu_seconds: 0.0,
        rx_bytes: *fields.first()?,
        rx_packets: *fields.get(1)?,
        tx_bytes: *fields.get(8)?,
        tx_packets: *fields.get(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_with_spaces_in_the_name() {
        let stat = "77 (a (b) c) S 1 77 77 0 -1 4194304 100 0 0 0 250 150 0 0 20 0 1 0 5 0 0";
        assert_eq!(read_cpu_seconds(stat), Some(4.0));
        assert_eq!(read_cpu_seconds("77"), None);
    }

    #[test]
    fn the_loopback_line_and_the_resident_line() {
        let devices = "Inter-|\n face |\n  eth0: 9 9 0 0 0 0 0 0 9 9 0\n    lo:    3193      29    0    0    0     0          0         0     3194      30    0\n";
        let sample = read_loopback(devices).unwrap();
        assert_eq!((sample.rx_bytes, sample.rx_packets), (3193, 29));
        assert_eq!((sample.tx_bytes, sample.tx_packets), (3194, 30));
        assert_eq!(read_resident("Name:\tx\nVmRSS:\t  12 kB\n"), Some(12_288));
    }

    #[test]
    fn this_process_can_be_sampled() {
        let pid = std::process::id();
        assert!(Sample::take(&[pid]).is_ok());
        assert!(resident_bytes(pid).unwrap() > 0);
    }
}
