//! Peers that run in a JVM: a server and a driver with the system's own client, both started from
//! `lab/jvm` as `make lab-peers` has built it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::{Durability, Target};

/// Where `make lab-peers` puts it, below the repository.
const BUILT: &str = ".cache/lab-jvm";
const MAIN: &str = "scurry.lab.Main";
/// The driver's port, counted from the server's, which takes those between.
const DRIVER_PORT: u16 = 8;

/// What Ignite's manual says Java 17 must open to it; Hazelcast's is a part of it.
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
    /// The name of a system whose own client in a JVM carries the load.
    pub fn jvm_system(self) -> Option<&'static str> {
        match self {
            Target::HazelcastJava | Target::HazelcastClient => Some("hazelcast"),
            Target::IgniteJava | Target::IgniteClient => Some("ignite"),
            _ => None,
        }
    }
}

/// What was built, looked for from the working directory upwards.
pub(super) fn directory() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let built = |above: &Path| Some(above.join(BUILT)).filter(|path| path.join("classes").is_dir());
    here.ancestors().find_map(built)
}

/// The arguments of `java` for the server.
pub(super) fn server(system: &str, port: u16, durability: Durability) -> Vec<String> {
    java(&["serve", system, &port.to_string(), durability.word()])
}

/// Where the driver of the server at this address listens, and the arguments of `java` for it.
pub(crate) fn driver(
    system: &str,
    server: SocketAddr,
    decides_in_client: bool,
) -> (SocketAddr, Vec<String>) {
    let mut address = server;
    address.set_port(server.port() + DRIVER_PORT);
    let (port, server) = (address.port().to_string(), server.port().to_string());
    let logic = if decides_in_client { "client" } else { "server" };
    (address, java(&["drive", system, &port, &server, logic]))
}

fn java(words: &[&str]) -> Vec<String> {
    let built = directory().unwrap_or_default();
    let path = format!("{0}/classes:{0}/jars/*", built.display());
    let mut all: Vec<String> =
        OPENED.iter().map(|package| format!("--add-opens={package}=ALL-UNNAMED")).collect();
    // The collector that both recommend, also where there is one core.
    all.extend(["-XX:+UseG1GC", "-Xms1g", "-Xmx4g"].map(str::to_owned));
    all.extend(["-Djava.net.preferIPv4Stack=true", "-cp", &path, MAIN].map(str::to_owned));
    all.extend(words.iter().map(|word| (*word).to_owned()));
    all
}
