//! Network namespaces: one for the whole test with a bridge in it, and one for each node behind that
//! bridge. None of them has a name, so the kernel removes them with the last process in them,
//! whatever becomes of the test.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Set for the program that runs in the test's namespace.
const INSIDE: &str = "SCURRY_CLUSTER_TEST_INSIDE";
const BRIDGE: &str = "hub";
/// How often is looked whether a namespace is there.
const LOOKS_MAX: u32 = 10_000;

/// With and without the rights of root.
const WAYS: [&[&str]; 2] =
    [&["--net", "--mount"], &["--user", "--map-root-user", "--net", "--mount"]];

/// How namespaces can be made here; an error says why they cannot.
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

/// True in the program that [`enter`] has started.
pub fn inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Becomes the same program in namespaces of its own, with a variable that names the binary under test. Returns
/// only to say why it did not.
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

/// Lays the bridge, by which this program reaches the nodes and they each other.
pub(crate) fn lay_bridge() -> Result<()> {
    ip(&["link", "set", "lo", "up"])?;
    ip(&["link", "add", BRIDGE, "type", "bridge"])?;
    ip(&["addr", "add", "10.83.0.254/24", "dev", BRIDGE])?;
    ip(&["link", "set", BRIDGE, "up"])
}

/// The namespace of one node. It goes with its holder, a process that does nothing.
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
        // What comes from where nothing can be sent to is dropped.
        namespace.within(&["sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=1"])?;
        Ok(namespace)
    }

    /// The number of the node that has it.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The address of a node.
    pub(crate) fn address(index: usize) -> String {
        format!("10.83.0.{}", index + 1)
    }

    /// The words that a command begins with that is to run there.
    pub(crate) fn prefix(&self) -> [String; 2] {
        ["nsenter".to_owned(), format!("--net=/proc/{}/ns/net", self.holder.id())]
    }

    /// Nobody reaches it, and it reaches nobody.
    pub(crate) fn unplug(&self) -> Result<()> {
        ip(&["link", "set", &self.end(), "down"])
    }

    /// Undoes [`Namespace::unplug`].
    pub(crate) fn plug_in(&self) -> Result<()> {
        ip(&["link", "set", &self.end(), "up"])
    }

    /// Nothing passes between it and these nodes any more; clients reach it still.
    pub(crate) fn part_from(&self, others: &[usize]) -> Result<()> {
        self.route("add", others)
    }

    /// Undoes [`Namespace::part_from`].
    pub(crate) fn join_again(&self, others: &[usize]) -> Result<()> {
        self.route("del", others)
    }

    /// Whether packets come in from nodes that nothing is sent to. By itself they do not.
    pub(crate) fn take_what_cannot_be_answered(&self, is: bool) -> Result<()> {
        let filter = if is { "0" } else { "1" };
        self.within(&["sysctl", "-q", "-w", &format!("net.ipv4.conf.all.rp_filter={filter}")])
    }

    /// Ends its connections with another node, whatever they carry.
    pub(crate) fn reset(&self, other: usize) -> Result<()> {
        self.within(&["ss", "--kill", "--tcp", "dst", &Namespace::address(other)])
    }

    fn route(&self, what: &str, others: &[usize]) -> Result<()> {
        for &other in others {
            let to = format!("{}/32", Namespace::address(other));
            self.within(&["ip", "route", what, "blackhole", &to])?;
        }
        Ok(())
    }

    /// The end of its cable at the bridge.
    fn end(&self) -> String {
        format!("node{}", self.index)
    }

    /// Until the holder has a namespace of its own and is what it becomes.
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

    fn within(&self, words: &[&str]) -> Result<()> {
        let prefix = self.prefix();
        let all: Vec<&str> =
            prefix.iter().map(String::as_str).chain(words.iter().copied()).collect();
        run(&all)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // It may be gone already; either way it is afterwards.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

fn ip(words: &[&str]) -> Result<()> {
    let all: Vec<&str> = std::iter::once("ip").chain(words.iter().copied()).collect();
    run(&all)
}

fn run(words: &[&str]) -> Result<()> {
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{} cannot be started", words[0]))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` fails: {}", words.join(" "), said.trim());
    Ok(())
}
