//! Samples from the kernel about the system under test: CPU time and memory, the use of each core, and the packets over
//! the interface.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::clock::unix_ms;
use crate::figures::{percent, rounded};

/// Clock ticks of /proc per second: USER_HZ, 100 on every common Linux.
const TICKS_PER_S: f64 = 100.0;

/// One sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// When it was taken, ms since 1970.
    pub unix_ms: i64,
    /// CPU seconds of the processes and their children since they started.
    pub cpu_seconds: f64,
    /// CPU seconds of the threads of the processes, by their names without numbers. Threads that have ended are left out.
    pub thread_seconds: BTreeMap<String, f64>,
    /// Packets received over the interface.
    pub rx_packets: u64,
    /// Packets sent over the interface.
    pub tx_packets: u64,
    /// Bytes received over the interface.
    pub rx_bytes: u64,
    /// Bytes sent over the interface.
    pub tx_bytes: u64,
    /// Ticks of each core since boot.
    cores: Vec<CoreTicks>,
}

/// Use of one core over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreUse {
    /// Number of the core.
    pub core: usize,
    /// Share of the interval in which it was not idle, percent.
    pub busy_percent: f64,
    /// Part of that in which it handled interrupts, including packets, percent of the interval.
    pub interrupts_percent: f64,
    /// Share that the hypervisor gave to others, percent; not part of `busy_percent`.
    pub stolen_percent: f64,
}

/// Tick counters of a line of /proc/stat.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CoreTicks {
    core: usize,
    all: u64,
    idle: u64,
    interrupts: u64,
    stolen: u64,
}

impl Sample {
    /// Samples these processes, the loopback interface and the cores.
    ///
    /// # Errors
    /// When a process has ended.
    pub fn take(pids: &[u32]) -> Result<Sample> {
        let devices = fs::read_to_string("/proc/net/dev")?;
        let mut sample = read_loopback(&devices).context("the kernel counts nothing for lo")?;
        sample.unix_ms = unix_ms();
        sample.cpu_seconds = cpu_seconds(pids)?;
        sample.thread_seconds = thread_seconds(pids);
        sample.cores = read_cores(&fs::read_to_string("/proc/stat")?);
        Ok(sample)
    }

    /// Returns the use of the cores since an earlier sample.
    pub fn core_use(&self, earlier: &Sample) -> Vec<CoreUse> {
        let since = |now: &CoreTicks| {
            let then = earlier.cores.iter().find(|then| then.core == now.core)?;
            let all = now.all.saturating_sub(then.all) as f64;
            let share = |now: u64, then: u64| percent(now.saturating_sub(then) as f64, all);
            let (idle, stolen) = (share(now.idle, then.idle), share(now.stolen, then.stolen));
            Some(CoreUse {
                core: now.core,
                busy_percent: rounded(100.0 - idle - stolen, 1),
                interrupts_percent: rounded(share(now.interrupts, then.interrupts), 1),
                stolen_percent: rounded(stolen, 1),
            })
        };
        self.cores.iter().filter_map(since).collect()
    }
}

/// Returns the CPU seconds of processes and their children since they started.
///
/// # Errors
/// When a process has ended.
pub fn cpu_seconds(pids: &[u32]) -> Result<f64> {
    let mut seconds = 0.0;
    for pid in pids {
        for member in family(*pid)? {
            // A child may end between the listing and the read.
            if let Ok(stat) = fs::read_to_string(format!("/proc/{member}/stat")) {
                seconds += read_cpu_seconds(&stat).unwrap_or(0.0);
            }
        }
    }
    Ok(seconds)
}

/// Name of the first thread of a process, which has the name of the program.
pub const MAIN_THREAD: &str = "main";

/// Returns the CPU seconds of the threads of processes, by their names without numbers.
pub fn thread_seconds(pids: &[u32]) -> BTreeMap<String, f64> {
    let mut threads = BTreeMap::new();
    for pid in pids {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            // A thread may end between the listing and the read.
            let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            let is_first = task.file_name().to_str() == Some(&pid.to_string());
            let name = if is_first { Some(MAIN_THREAD) } else { thread_name(&stat) };
            if let Some((name, seconds)) = name.zip(read_cpu_seconds(&stat)) {
                *threads.entry(name.to_owned()).or_insert(0.0) += seconds;
            }
        }
    }
    threads
}

/// Returns the name of a thread in its `stat` line, without the number that distinguishes it from others of its kind.
fn thread_name(stat: &str) -> Option<&str> {
    let name = stat.split_once('(')?.1.rsplit_once(')')?.0;
    Some(name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '-'))
}

/// Returns the resident memory of a process and its children, bytes.
///
/// # Errors
/// When the process has ended.
pub fn resident_bytes(pid: u32) -> Result<u64> {
    let mut total = 0;
    for member in family(pid)? {
        if let Ok(status) = fs::read_to_string(format!("/proc/{member}/status")) {
            total += read_resident(&status).unwrap_or(0);
        }
    }
    Ok(total)
}

/// Returns the process and all its descendants.
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

/// Returns utime + stime of a `stat` line. The command in brackets may contain spaces.
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

/// Parses user nice system idle iowait irq softirq steal of each core.
fn read_cores(stat: &str) -> Vec<CoreTicks> {
    let core = |line: &str| {
        let (name, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
        let core = name.parse().ok()?;
        let ticks: Vec<u64> =
            ticks.split_whitespace().map_while(|tick| tick.parse().ok()).collect();
        let &[user, nice, system, idle, iowait, irq, softirq, stolen, ..] = ticks.as_slice() else {
            return None;
        };
        let idle = idle + iowait;
        let interrupts = irq + softirq;
        let all = user + nice + system + idle + interrupts + stolen;
        Some(CoreTicks { core, all, idle, interrupts, stolen })
    };
    stat.lines().filter_map(core).collect()
}

fn read_loopback(devices: &str) -> Option<Sample> {
    let of_interface = |line: &str| line.trim_start().strip_prefix("lo:").map(str::to_owned);
    let line = devices.lines().find_map(of_interface)?;
    let fields: Vec<u64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    Some(Sample {
        rx_bytes: *fields.first()?,
        rx_packets: *fields.get(1)?,
        tx_bytes: *fields.get(8)?,
        tx_packets: *fields.get(9)?,
        ..Sample::default()
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
        assert_eq!(thread_name(stat), Some("a (b) c"));
        assert_eq!(thread_name("78 (reader-12) S 1"), Some("reader"));
    }

    #[test]
    fn cores_are_busy_where_they_are_not_idle() {
        let line = |user, idle, softirq, steal| {
            format!("cpu  9 9\ncpu1 {user} 0 0 {idle} 0 0 {softirq} {steal} 0 0\nintr 5\n")
        };
        let sample = |text: String| Sample { cores: read_cores(&text), ..Sample::default() };
        let found = sample(line(150, 330, 15, 25)).core_use(&sample(line(100, 300, 10, 10)));
        let expected =
            CoreUse { core: 1, busy_percent: 55.0, interrupts_percent: 5.0, stolen_percent: 15.0 };
        assert_eq!(found, [expected]);
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
        assert!(thread_seconds(&[pid]).contains_key(MAIN_THREAD));
    }
}
