//! Peers that run in a JVM: a server and a driver with the system's own client, both started from
//! `lab/jvm` as `make lab-peers` has built it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::{Start, Target};
use crate::scenario::Kind;

/// Where `make lab-peers` puts it, below the repository.
const BUILT: &str = ".cache/lab-jvm";
const MAIN: &str = "scurry.lab.Main";
/// Ignite 3, whose libraries have the names of Ignite 2's.
const IGNITE3: &str = "ignite3";
const IGNITE3_MAIN: &str = "scurry.lab.Ignite3";
/// The driver's port, counted from the first member's; the members and a client take those between.
const DRIVER_PORT: u16 = 16;

/// Packages that Java 17 must open, by Ignite's manual; Hazelcast's are a part of them.
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

/// Packages that Java 17 must open for Ignite 3 beside these.
const OPENED_FOR_IGNITE3: [&str; 3] =
    ["java.base/java.lang.reflect", "java.base/java.math", "java.base/java.time"];

impl Target {
    /// The name of a system whose own client in a JVM carries the load.
    pub fn jvm_system(self) -> Option<&'static str> {
        match self {
            Target::HazelcastJava | Target::HazelcastClient => Some("hazelcast"),
            Target::IgniteJava | Target::IgniteClient => Some("ignite"),
            Target::Ignite3Java | Target::Ignite3Client => Some(IGNITE3),
            Target::TigerBeetle => Some("tigerbeetle"),
            Target::Aerospike => Some("aerospike"),
            _ => None,
        }
    }
}

/// Whether the classes of a target are built.
pub(super) fn is_built(target: Target) -> bool {
    let part = if target.is_ignite3() { IGNITE3 } else { "" };
    directory().is_some_and(|directory| directory.join(part).join("classes").is_dir())
}

/// Directory of the built classes, looked for from the working directory upwards.
fn directory() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let built = |above: &Path| Some(above.join(BUILT)).filter(|path| path.join("classes").is_dir());
    here.ancestors().find_map(built)
}

/// The arguments of `java` for the first member.
pub(super) fn server(target: Target, start: &Start<'_>) -> Vec<String> {
    let system = target.jvm_system().unwrap_or_default();
    let port = start.address.port().to_string();
    let (members, backups) = (start.members.to_string(), start.backups.to_string());
    java(&["serve", system, &port, &port, &members, &backups, start.durability.word()])
}

/// Where the driver of the members at this address and behind listens, and the arguments of `java`
/// for it.
pub(crate) fn driver(
    system: &str,
    server: SocketAddr,
    target: Target,
    kind: Kind,
) -> (SocketAddr, Vec<String>) {
    let mut address = server;
    address.set_port(server.port() + DRIVER_PORT);
    let (port, server) = (address.port().to_string(), server.port().to_string());
    (address, java(&["drive", system, &port, &server, work(target, kind)]))
}

/// The arguments of `java` for a driver that listens here, of a system that runs already.
pub(crate) fn driver_of_another(
    system: &str,
    address: SocketAddr,
    server: SocketAddr,
) -> Vec<String> {
    java(&["drive", system, &address.port().to_string(), &server.to_string(), "holds"])
}

/// Driver's word for the kind of work.
fn work(target: Target, kind: Kind) -> &'static str {
    match kind {
        Kind::Kv => "values",
        Kind::Index => "records",
        _ if target.decides_in_client() => "client",
        _ => "server",
    }
}

fn java(words: &[&str]) -> Vec<String> {
    let built = directory().unwrap_or_default();
    let built = built.display();
    let is_ignite3 = words.get(1) == Some(&IGNITE3);
    let (path, main) = match is_ignite3 {
        true => {
            let own = format!("{built}/{IGNITE3}");
            (format!("{own}/classes:{built}/classes:{own}/jars/*"), IGNITE3_MAIN)
        }
        false => (format!("{built}/classes:{built}/jars/*"), MAIN),
    };
    let more = OPENED_FOR_IGNITE3.iter().filter(|_| is_ignite3);
    let opened = OPENED.iter().chain(more);
    let mut all: Vec<String> =
        opened.map(|package| format!("--add-opens={package}=ALL-UNNAMED")).collect();
    // The collector that both recommend, also where there is one core.
    all.extend(["-XX:+UseG1GC", "-Xms1g", "-Xmx4g"].map(str::to_owned));
    if is_ignite3 {
        all.push("-Dio.netty.tryReflectionSetAccessible=true".to_owned());
    }
    all.extend(["-Djava.net.preferIPv4Stack=true", "-cp", &path, main].map(str::to_owned));
    all.extend(words.iter().map(|word| (*word).to_owned()));
    all
}
