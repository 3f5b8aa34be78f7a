//! Where the loader and the system under test meet: on the loopback interface, or as two hosts, each
//! a network namespace of its own with a cable of 1 Gbit/s between them (`--stand namespaces`).
//!
//! The namespaces have no name: they live as long as the lab's descriptors and the processes in
//! them, so the kernel takes them away, with the cable, however the lab ends.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use nix::sched::{CloneFlags, setns, unshare};

use crate::process::free_address;

/// The end of the cable, by the same name on both hosts.
const INTERFACE: &str = "cable";
const LOADER: Ipv4Addr = Ipv4Addr::new(10, 87, 0, 1);
const TARGET: Ipv4Addr = Ipv4Addr::new(10, 87, 0, 2);
/// The first port of a host that has nothing else.
const PORT: u16 = 20_000;
/// The shaper of each end. A burst is what passes in half a millisecond.
const SHAPER: &[&str] = &["tbf", "rate", "1gbit", "burst", "64kb", "latency", "50ms"];
const CURE: &str = "run the lab as root where the kernel allows it, with Debian's package iproute2, \
                    or leave --stand namespaces out";

/// Network between loader and target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StandKind {
    /// The loopback interface, without a limit.
    #[default]
    Loopback,
    /// Two network namespaces with a cable of 1 Gbit/s.
    Namespaces,
    /// The same with a cable that has no limit, to see what the limit does.
    NamespacesUnshaped,
}

impl StandKind {
    /// As on the command line and in every row.
    pub fn name(self) -> &'static str {
        match self {
            StandKind::Loopback => "loopback",
            StandKind::Namespaces => "namespaces",
            StandKind::NamespacesUnshaped => "namespaces-unshaped",
        }
    }

    /// Loader and target are on hosts of their own.
    pub fn is_apart(self) -> bool {
        self != StandKind::Loopback
    }
}

/// A stand that is there.
#[derive(Debug)]
pub enum Stand {
    /// The loopback interface.
    Loopback,
    /// The two hosts.
    Namespaces(Hosts),
}

/// Two network namespaces. The thread that made them is on the loader's.
#[derive(Debug)]
pub struct Hosts {
    home: File,
    target: File,
}

impl Stand {
    /// Builds it, and puts the calling thread and all that it starts on the loader's host.
    ///
    /// # Errors
    /// When namespaces cannot be made here, with the cure.
    pub fn build(kind: StandKind) -> Result<Stand> {
        match kind {
            StandKind::Loopback => Ok(Stand::Loopback),
            StandKind::Namespaces => Hosts::build(true).map(Stand::Namespaces).context(CURE),
            StandKind::NamespacesUnshaped => {
                Hosts::build(false).map(Stand::Namespaces).context(CURE)
            }
        }
    }

    /// Where a server may listen that the lab starts.
    ///
    /// # Errors
    /// When the port that was asked for is taken.
    pub fn address(&self, port: Option<u16>) -> Result<SocketAddr> {
        match self {
            Stand::Loopback => free_address(port),
            Stand::Namespaces(_) => Ok(SocketAddr::from((TARGET, port.unwrap_or(PORT)))),
        }
    }

    /// The interface that carries the load.
    pub fn interface(&self) -> &'static str {
        match self {
            Stand::Loopback => "lo",
            Stand::Namespaces(_) => INTERFACE,
        }
    }

    /// The target's host, as a path that a child of the lab can open; none where it is the lab's.
    pub fn namespace(&self) -> Option<PathBuf> {
        match self {
            Stand::Loopback => None,
            Stand::Namespaces(hosts) => Some(path(&hosts.target)),
        }
    }
}

impl Hosts {
    fn build(is_shaped: bool) -> Result<Hosts> {
        let here = || File::open("/proc/thread-self/ns/net").context("opening a namespace");
        let home = here()?;
        let new = || unshare(CloneFlags::CLONE_NEWNET).context("making a network namespace");
        new()?;
        let hosts = Hosts { home, target: here()? };
        run(&["ip", "link", "set", "lo", "up"])?;
        new()?;
        run(&["ip", "link", "set", "lo", "up"])?;
        let other = path(&hosts.target).display().to_string();
        let cable = ["ip", "link", "add", INTERFACE, "type", "veth", "peer", "name", INTERFACE];
        run(&[cable.as_slice(), &["netns", &other]].concat())?;
        plug(LOADER, is_shaped)?;
        let loader = here()?;
        enter(&hosts.target)?;
        plug(TARGET, is_shaped)?;
        enter(&loader)?;
        Ok(hosts)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // The thread goes back; where it cannot, the namespaces end with the lab.
        let _ = enter(&self.home);
    }
}

/// Moves the calling thread to a host.
///
/// # Errors
/// When it may not go there.
pub fn enter(namespace: &File) -> Result<()> {
    setns(namespace, CloneFlags::CLONE_NEWNET).context("entering a network namespace")
}

/// Brings this host's end of the cable up.
fn plug(address: Ipv4Addr, is_shaped: bool) -> Result<()> {
    run(&["ip", "addr", "add", &format!("{address}/30"), "dev", INTERFACE])?;
    // Packets as a wire has them, and not 64 KiB at a time.
    run(&["ip", "link", "set", "dev", INTERFACE, "gso_max_segs", "1", "up"])?;
    if !is_shaped {
        return Ok(());
    }
    run(&[&["tc", "qdisc", "add", "dev", INTERFACE, "root"], SHAPER].concat())
}

fn path(namespace: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd()).into()
}

fn run(words: &[&str]) -> Result<()> {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.with_context(|| format!("running {}", words[0]))?;
    ensure!(
        output.status.success(),
        "`{}` says {}",
        words.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}
