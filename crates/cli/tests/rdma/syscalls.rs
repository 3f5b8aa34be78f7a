//! System calls of a server over TCP and RDMA, counted by the kernel. If `SCURRY_VALKEY_SERVER` and
//! `SCURRY_VALKEY_RDMA` (its module) give their paths, the calls of valkey-server are counted too.
//!
//! It reads tracefs, which only root may, so it does nothing outside of the guest. The device there is software:
//! posting work and requesting a notification are system calls, unlike on hardware. Reading the clock is a system call
//! there too, unlike on most machines, so it is not counted.

use crate::support::{Client, LONG, Server, device};
use crate::techniques::{LOADS, OFF, fill, grouped, print_table};
use scurry_rdma_proto::Settings;
use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const TRACEFS: &str = "/sys/kernel/tracing";
const EVENT: &str = "/sys/kernel/tracing/events/raw_syscalls/sys_enter";
/// System calls that are not counted.
const CLOCKS: [&str; 2] = ["clock_gettime", "gettimeofday"];
const COUNT: &str = "hist:keys=common_pid,id.syscall:size=4096";

/// Counts the calls of every thread, until dropped.
struct Kernel;

impl Kernel {
    /// Requires tracefs and the permission to use it.
    fn new() -> Kernel {
        if !fs::exists(EVENT).unwrap_or(false) {
            let mut mount = Command::new("mount");
            let status = mount.args(["-t", "tracefs", "tracefs", TRACEFS]).status();
            assert!(status.is_ok_and(|status| status.success()), "tracefs is mounted");
        }
        fs::write(format!("{EVENT}/trigger"), COUNT).expect("the kernel counts");
        Kernel
    }

    /// Returns how often the threads of a process have made each call, by name.
    fn counts(&self, process: u32) -> BTreeMap<String, u64> {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
        let threads: Vec<String> = tasks
            .map(|task| task.expect("it runs").file_name().to_string_lossy().into_owned())
            .collect();
        let text = fs::read_to_string(format!("{EVENT}/hist")).expect("the kernel counts");
        assert!(text.contains("Dropped: 0"), "there was no room for some");
        counts_of(&text, &threads)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // The trigger may already be gone.
        let _ = fs::write(format!("{EVENT}/trigger"), format!("!{COUNT}"));
    }
}

/// Parses lines like `{ common_pid: 12, id: sys_read [  0] } hitcount: 3`, and keeps the counts of the threads.
fn counts_of(text: &str, threads: &[String]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("{ common_pid:")) {
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let after = |name: &str| words.iter().skip_while(|word| **word != name).nth(1);
        let (Some(thread), Some(name)) = (after("common_pid:"), after("id:")) else { continue };
        if threads.iter().any(|own| own == thread) {
            let count: u64 = after("hitcount:").expect("a count").parse().expect("a number");
            *counts.entry(name.trim_start_matches("sys_").to_owned()).or_default() += count;
        }
    }
    counts
}

/// Returns how often each system call was made under each load.
fn measure(kernel: &Kernel, process: u32, client: &mut Client) -> Vec<BTreeMap<String, u64>> {
    fill(client);
    let counted = LOADS.map(|(_, load)| {
        let before = kernel.counts(process);
        load(client);
        let mut after = kernel.counts(process);
        for (name, count) in &mut after {
            *count -= before.get(name).copied().unwrap_or(0);
        }
        after.retain(|name, count| *count > 0 && !CLOCKS.contains(&name.as_str()));
        after
    });
    counted.to_vec()
}

/// Interval of polls until a server listens.
const WAIT: Duration = Duration::from_millis(50);

/// Rows that are compared.
const TCP: usize = 0;
const RDMA: usize = 1;

/// A valkey-server, stopped when dropped.
struct Valkey {
    child: Child,
    tcp: SocketAddr,
    rdma: SocketAddr,
}

impl Valkey {
    /// Starts a server. None if no path was given.
    fn start(device: SocketAddr) -> Option<Valkey> {
        let program = std::env::var_os("SCURRY_VALKEY_SERVER")?;
        let module = std::env::var("SCURRY_VALKEY_RDMA").expect("SCURRY_VALKEY_RDMA is its module");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("a port");
        let (address, port) = (device.ip().to_string(), free.port().to_string());
        let mut command = Command::new(program);
        command.args(["--port", &port, "--bind", "127.0.0.1", "--protected-mode", "no"]);
        command.args(["--save", "", "--loadmodule", &module]);
        command.args(["--rdma-bind", &address, "--rdma-port", &port]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
        let listens = (0..LONG.as_millis() / WAIT.as_millis()).any(|_| {
            std::thread::sleep(WAIT); // tidy: allow (it says nothing)
            TcpStream::connect(free).is_ok()
        });
        assert!(listens, "valkey-server does not listen");
        Some(Valkey { child, tcp: free, rdma: SocketAddr::new(device.ip(), free.port()) })
    }
}

impl Drop for Valkey {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn system_calls_are_few_and_known() {
    let Some(address) = device() else { return };
    if std::env::var_os("SCURRY_RDMA_GUEST").is_none() {
        eprintln!("skipped: it counts what the whole machine calls, and so runs in the guest only");
        return;
    }
    let kernel = Kernel::new();
    let mut rows = Vec::new();
    for (way, tuning) in [("defaults", ""), ("`spin=0`", "spin=0"), ("all off", OFF)] {
        let server = Server::start(address, &["--rdma-window", "64kb", "--rdma-tuning", tuning]);
        if rows.is_empty() {
            let counts = measure(&kernel, server.process(), &mut server.connect_over_tcp());
            rows.push(("Scurry, TCP".to_owned(), counts));
        }
        let counts = measure(&kernel, server.process(), &mut server.connect());
        rows.push((format!("Scurry, RDMA, {way}"), counts));
    }
    if let Some(valkey) = Valkey::start(address) {
        let process = valkey.child.id();
        let counts = measure(&kernel, process, &mut Client::over_tcp(valkey.tcp));
        rows.push(("valkey-server, TCP".to_owned(), counts));
        let mut client = Client::over_rdma(valkey.rdma, Settings::default());
        rows.push(("valkey-server, RDMA".to_owned(), measure(&kernel, process, &mut client)));
    }
    for (at, (load, _)) in LOADS.iter().enumerate() {
        let row = |(way, counts): &(String, Vec<BTreeMap<String, u64>>)| {
            let total = counts[at].values().sum();
            let each = counts[at].iter().map(|(name, count)| format!("{name} {}", grouped(*count)));
            vec![way.clone(), grouped(total), each.collect::<Vec<_>>().join(", ")]
        };
        let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
        print_table(load, ["calls".into(), "of these".into()].into_iter(), &rows);
    }
    let of = |row: usize, load: usize, name: &str| rows[row].1[load].get(name).copied();
    let requests = [1_000, 250];
    for (load, requests) in requests.into_iter().enumerate() {
        for name in ["recvfrom", "sendto"] {
            assert!(of(TCP, load, name).is_some_and(|count| count <= requests + 10), "{name}");
            assert_eq!(of(RDMA, load, name), None, "{name}");
        }
        // One completion event is read for each time that the server has slept, without another read to learn that
        // there are no more.
        let (slept, reads) = (of(RDMA, load, "epoll_wait"), of(RDMA, load, "read"));
        assert!(reads <= slept && slept.is_some(), "{reads:?} reads, {slept:?} times asleep");
        assert!(of(RDMA, load, "write").is_some_and(|posts| posts <= requests + 20));
    }
}

#[test]
fn counts_are_read_as_the_kernel_prints_them() {
    let text = "# event histogram\n#\n\n\
        { common_pid:        123, id: sys_epoll_wait                [232] } hitcount:        500\n\
        { common_pid:        124, id: sys_write                     [  1] } hitcount:          7\n\
        { common_pid:         12, id: sys_write                     [  1] } hitcount:         90\n\
        { common_pid:        123, id: sys_write                     [  1] } hitcount:          3\n\
        \nTotals:\n    Hits: 600\n    Entries: 4\n    Dropped: 0\n";
    let counts = counts_of(text, &["123".to_owned(), "124".to_owned()]);
    let expected = [("epoll_wait".to_owned(), 500), ("write".to_owned(), 10)];
    assert_eq!(counts, BTreeMap::from(expected));
}
