//! Peers that run in a JVM: a server and a driver with the system's own client, both started from `lab/jvm` as built by
//! `make lab-peers`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::Target;
use crate::scenario::ScenarioKind;

/// Build directory of `make lab-peers`, below the repository.
const BUILT: &str = ".cache/lab-jvm";
const MAIN: &str = "scurry.lab.Main";
/// Offset of the driver's port from the first member's; the members and a client use the ports between.
const DRIVER_PORT: u16 = 16;

/// Packages that Java 17 must open, from Ignite's manual; Hazelcast's are a subset.
const OPENED: [&str; 18] = [
    "java.base/jdk.internal.access",
    "java.base/jdk.internal.misc",
    "java.base/sun.nio.ch",
    "java.base/sun.util.calendar",
    "java.management/com.sun.jmx.mbeanserver",
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
    "jdk.internal.jvmstat/sun.jvmstat.monitor",
    "java.base/sun.reflect.generics.reflectiveObjects",
    "java.base/java.io",
    "java.base/java.nio",
    "java.base/java.net",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.locks",
    "java.base/java.util.concurrent.atomic",
    "java.base/java.lang",
    "java.base/java.lang.invoke",
];

impl Target {
    /// Returns the name of a system whose load is run by its own client in a JVM.
    pub fn jvm_system(self) -> Option<&'static str> {
        match self {
            Target::HazelcastJava | Target::HazelcastClient => Some("hazelcast"),
            Target::IgniteJava | Target::IgniteClient => Some("ignite"),
            Target::TigerBeetle => Some("tigerbeetle"),
            Target::Aerospike => Some("aerospike"),
            _ => None,
        }
    }
}

/// Reports whether the classes are built.
pub(super) fn is_built() -> bool {
    directory().is_some()
}

/// Returns the directory of the built classes, searched from the working directory upwards.
fn directory() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let built = |above: &Path| Some(above.join(BUILT)).filter(|path| path.join("classes").is_dir());
    here.ancestors().find_map(built)
}

/// Returns the address of the driver for the members at this address and the following ports, and the arguments of
/// `java` for it.
pub(crate) fn driver(
    system: &str,
    server: SocketAddr,
    target: Target,
    kind: ScenarioKind,
) -> (SocketAddr, Vec<String>) {
    let mut address = server;
    address.set_port(server.port() + DRIVER_PORT);
    let (port, server) = (address.port().to_string(), server.port().to_string());
    (address, java(&["drive", system, &port, &server, work(target, kind)]))
}

/// Returns the arguments of `java` for a driver that listens at `address`, for a system that already runs.
pub(crate) fn driver_of_another(
    system: &str,
    address: SocketAddr,
    server: SocketAddr,
) -> Vec<String> {
    java(&["drive", system, &address.port().to_string(), &server.to_string(), "holds"])
}

/// Returns the driver's name for the kind of work.
fn work(target: Target, kind: ScenarioKind) -> &'static str {
    match kind {
        ScenarioKind::Kv => "values",
        ScenarioKind::Index => "records",
        _ if target.decides_in_client() => "client",
        _ => "server",
    }
}

/// The arguments of `java` for these words of ours.
pub(super) fn java(words: &[&str]) -> Vec<String> {
    let built = directory().unwrap_or_default();
    let built = built.display();
    let path = format!("{built}/classes:{built}/jars/*");
    let opened = OPENED.iter().map(|package| format!("--add-opens={package}=ALL-UNNAMED"));
    let mut all: Vec<String> = opened.collect();
    // The collector that both vendors recommend, even with one core.
    all.extend(["-XX:+UseG1GC", "-Xms1g", "-Xmx4g"].map(str::to_owned));
    all.extend(["-Djava.net.preferIPv4Stack=true", "-cp", &path, MAIN].map(str::to_owned));
    all.extend(words.iter().map(|word| (*word).to_owned()));
    all
}
