//! Network namespaces: one for the whole test, which contains a bridge, and one for each node, connected to the bridge.
//! The namespaces have no names, so the kernel removes them with their last process, however the test ends.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Variable set for the program that runs in the test's namespace.
const INSIDE: &str = "SCURRY_CLUSTER_TEST_INSIDE";
const BRIDGE: &str = "hub";
/// Name of nftables' table that loses packets.
const LOSSY: &str = "lossy";
/// Bucket and queue of a thin link: a few packets, and half a second of them.
const THIN: [&str; 4] = ["burst", "16kb", "latency", "500ms"];
/// Bound of polls for a new namespace.
const LOOKS_MAX: u32 = 10_000;

/// Options of unshare, with and without the rights of root.
const WAYS: [&[&str]; 2] =
    [&["--net", "--mount"], &["--user", "--map-root-user", "--net", "--mount"]];

/// Returns the options with which namespaces can be made here. The error says why they cannot.
pub fn possible() -> Result<&'static [&'static str]> {
    let script = "ip link set lo up && ip link add b0 type bridge && \
                  ip link add v0 type veth peer name v1 && unshare --net true";
    let mut why = String::new();
    for way in WAYS {
        let output = Command::new("unshare")
            .args(way)
            .args(["sh", "-c", script])
            .stdin(Stdio::null())
            .output()
            .context("unshare (util-linux) cannot be started")?;
        if output.status.success() {
            return Ok(way);
        }
        why = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    }
    bail!("no network namespaces can be made: {why}")
}

/// Reports whether this is the program that [`enter`] has started.
pub fn inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Replaces this process by the same program in new namespaces, with a variable that names the binary under test.
/// Returns only on failure.
pub fn enter(way: &[&str], binary: (&str, &Path)) -> anyhow::Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error.into(),
    };
    let mut command = Command::new("unshare");
    command.args(way).arg(program).args(std::env::args_os().skip(1)).env(INSIDE, "1");
    command.env(binary.0, binary.1);
    anyhow::Error::new(command.exec()).context("unshare (util-linux) cannot be started")
}

/// Replaces this process by the same program in new namespaces with a bridge, if that can be done here. Returns in that
/// program, or the reason why it cannot be done.
pub fn enter_network(binary: (&str, &Path)) -> Result<Option<String>> {
    if inside() {
        lay_bridge()?;
        return Ok(None);
    }
    match possible() {
        Ok(way) => Err(enter(way, binary)),
        Err(why) => Ok(Some(format!("{why:#}"))),
    }
}

/// Creates the bridge that connects this program and the nodes. Once in each program that [`enter`] has started.
pub(crate) fn lay_bridge() -> Result<()> {
    ip(&["link", "set", "lo", "up"])?;
    ip(&["link", "add", BRIDGE, "type", "bridge"])?;
    ip(&["addr", "add", "10.83.0.254/24", "dev", BRIDGE])?;
    ip(&["link", "set", BRIDGE, "up"])
}

/// Checks that packets can be lost here by chance. The error says why not.
pub(crate) fn loss_possible() -> Result<()> {
    run(&["nft", &lossy_rule(1, &[0])]).context("nftables cannot lose packets by chance")?;
    run(&["nft", "delete", "table", "ip", LOSSY]).map(drop)
}

/// Checks that links can be made thin here. The error says why not.
pub(crate) fn thin_links_possible() -> Result<()> {
    let lo = ["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1mbit"];
    run(&[&lo[..], &THIN].concat()).context("tc cannot bound the rate of a link")?;
    run(&["tc", "qdisc", "del", "dev", "lo", "root"]).map(drop)
}

/// The namespace of one node. It exists as long as its holder, a process that sleeps.
#[derive(Debug)]
pub(crate) struct Namespace {
    holder: Child,
    index: usize,
}

impl Namespace {
    pub(crate) fn new(index: usize) -> Result<Namespace> {
        let holder = Command::new("unshare")
            .args(["--net", "setpriv", "--pdeathsig", "KILL", "sleep", "infinity"])
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .context("unshare (util-linux) cannot be started")?;
        let namespace = Namespace { holder, index };
        namespace.wait()?;
        let (pid, end) = (namespace.holder.id().to_string(), namespace.end());
        ip(&["link", "add", &end, "type", "veth", "peer", "name", "eth0", "netns", &pid])?;
        ip(&["link", "set", &end, "master", BRIDGE, "up"])?;
        namespace.within(&["ip", "link", "set", "lo", "up"])?;
        let address = format!("{}/24", Namespace::address(index));
        namespace.within(&["ip", "addr", "add", &address, "dev", "eth0"])?;
        namespace.within(&["ip", "link", "set", "eth0", "up"])?;
        // Drops packets from addresses that cannot be replied to, so that a partition works in both directions.
        namespace.within(&["sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=1"])?;
        Ok(namespace)
    }

    /// Returns the number of its node.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Returns the address of a node.
    pub(crate) fn address(index: usize) -> String {
        format!("10.83.0.{}", index + 1)
    }

    /// Returns the first words of a command that runs in the namespace.
    pub(crate) fn prefix(&self) -> [String; 2] {
        ["nsenter".to_owned(), format!("--net=/proc/{}/ns/net", self.holder.id())]
    }

    /// Takes the network link down, in both directions.
    pub(crate) fn unplug(&self) -> Result<()> {
        ip(&["link", "set", &self.end(), "down"])
    }

    /// Undoes [`Namespace::unplug`].
    pub(crate) fn plug_in(&self) -> Result<()> {
        ip(&["link", "set", &self.end(), "up"])
    }

    /// Blocks packets between it and these nodes. Clients still reach it.
    pub(crate) fn part_from(&self, others: &[usize]) -> Result<()> {
        self.route("add", others)
    }

    /// Undoes [`Namespace::part_from`].
    pub(crate) fn join_again(&self, others: &[usize]) -> Result<()> {
        self.route("del", others)
    }

    /// Sets whether packets from nodes that cannot be replied to are accepted. By default they are not.
    pub(crate) fn take_what_cannot_be_answered(&self, is: bool) -> Result<()> {
        let filter = if is { "0" } else { "1" };
        let set = format!("net.ipv4.conf.all.rp_filter={filter}");
        self.within(&["sysctl", "-q", "-w", &set]).map(drop)
    }

    /// Resets its connections to another node.
    pub(crate) fn reset(&self, other: usize) -> Result<()> {
        self.within(&["ss", "--kill", "--tcp", "dst", &Namespace::address(other)]).map(drop)
    }

    /// Loses each packet that arrives from these nodes with this probability, in percent.
    pub(crate) fn lose(&self, percent: i64, others: &[usize]) -> Result<()> {
        self.within(&["nft", &lossy_rule(percent, others)]).map(drop)
    }

    /// Undoes [`Namespace::lose`]. Returns the number of packets that were lost.
    pub(crate) fn lose_no_more(&self) -> Result<u64> {
        let shown = self.within(&["nft", "list", "table", "ip", LOSSY])?;
        let mut words = shown.split_whitespace().skip_while(|word| *word != "packets");
        let lost = words.nth(1).with_context(|| format!("no counter in {shown}"))?.parse()?;
        self.within(&["nft", "delete", "table", "ip", LOSSY])?;
        Ok(lost)
    }

    /// Bounds the rate of its link, in both directions.
    pub(crate) fn thin(&self, kbit: i64) -> Result<()> {
        let (end, rate) = (self.end(), format!("{kbit}kbit"));
        let add = |device| ["tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", &rate];
        run(&[&add(&end)[..], &THIN].concat())?;
        self.within(&[&add("eth0")[..], &THIN].concat()).map(drop)
    }

    /// Undoes [`Namespace::thin`].
    pub(crate) fn widen(&self) -> Result<()> {
        run(&["tc", "qdisc", "del", "dev", &self.end(), "root"])?;
        self.within(&["tc", "qdisc", "del", "dev", "eth0", "root"]).map(drop)
    }

    fn route(&self, what: &str, others: &[usize]) -> Result<()> {
        for &other in others {
            let to = format!("{}/32", Namespace::address(other));
            self.within(&["ip", "route", what, "blackhole", &to])?;
        }
        Ok(())
    }

    /// Returns the name of its link at the bridge.
    fn end(&self) -> String {
        format!("node{}", self.index)
    }

    /// Waits until the holder runs `sleep` in its own namespace.
    fn wait(&self) -> Result<()> {
        let own = fs::read_link("/proc/self/ns/net")?;
        let pid = self.holder.id();
        for _ in 0..LOOKS_MAX {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let theirs = fs::read_link(format!("/proc/{pid}/ns/net"))?;
            if name.trim() == "sleep" && theirs != own {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(1)); // tidy: allow (a process says nothing)
        }
        bail!("process {pid} has made no network namespace")
    }

    /// Runs a program in the namespace and returns its output.
    fn within(&self, words: &[&str]) -> Result<String> {
        let prefix = self.prefix();
        let all: Vec<&str> =
            prefix.iter().map(String::as_str).chain(words.iter().copied()).collect();
        run(&all)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Returns the command of nftables that loses packets which arrive from these nodes.
fn lossy_rule(percent: i64, others: &[usize]) -> String {
    let from: Vec<String> = others.iter().map(|other| Namespace::address(*other)).collect();
    format!(
        "add table ip {LOSSY}; add chain ip {LOSSY} arriving {{ type filter hook input priority 0; }}; \
         add rule ip {LOSSY} arriving ip saddr {{ {} }} numgen random mod 100 < {percent} counter drop",
        from.join(", ")
    )
}

fn ip(words: &[&str]) -> Result<()> {
    let all: Vec<&str> = std::iter::once("ip").chain(words.iter().copied()).collect();
    run(&all).map(drop)
}

/// Runs a program to its end and returns its output.
fn run(words: &[&str]) -> Result<String> {
    // Ctrl-C is for the test: a fault is undone to its end.
    let output =
        Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).process_group(0).output();
    let output = output.with_context(|| format!("{} cannot be started", words[0]))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` fails: {}", words.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
