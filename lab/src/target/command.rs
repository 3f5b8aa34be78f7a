//! How each target is started. Every setting about durability is explicit, never a server's default.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::{Durability, PROCEDURES, ScurryOptions, Target, jvm, locate, ndb};
use crate::process::ServerCommand;
use crate::scenario::ScenarioKind;
use crate::wire::{DIAMETER_SETTINGS, HttpTarget, Wire};

/// Address, resources and durability of a server to start.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// Program to run.
    pub program: PathBuf,
    /// Address that it will listen on.
    pub address: SocketAddr,
    /// Cores to run on; empty leaves it to the kernel.
    pub cores: Vec<usize>,
    /// Durability of acknowledged changes, one of those that the target supports.
    pub durability: Durability,
    /// Parent of its directory.
    pub place: PathBuf,
    /// Reply sizes of the echo server.
    pub echo_sizes: &'a str,
    /// Options of scurry.
    pub scurry: &'a ScurryOptions,
    /// Lua library that replaces the built-in one.
    pub library: Option<&'a str>,
    /// Kind of load.
    pub kind: ScenarioKind,
    /// Members of a system whose members know each other.
    pub members: u32,
    /// Backups of each key among the members.
    pub backups: u32,
    /// Connections of the load.
    pub connections: u32,
}

/// Distance of the port of a door to networks from that of its server, behind the ports of the server's threads.
const NETWORK_DOOR: u16 = 16;
/// Settings of the server with a Diameter door.
const SETTINGS_FILE: &str = "scurry.toml";
/// Connections that every target accepts by default.
const CLIENTS_MAX: u32 = 10_000;
/// Connections that the HTTP door of scurry accepts by default.
const HTTP_CLIENTS_MAX: u32 = 1_000;
/// Connections of the lab beside those of the load.
const CLIENTS_SPARE: u32 = 100;

impl Target {
    /// Returns the command that starts the target. Its data goes to its working directory.
    pub fn command(self, start: Start<'_>) -> ServerCommand {
        let port = start.address.port().to_string();
        let words = match self {
            Target::Scurry
            | Target::ScurryDiameter
            | Target::ScurryNchf
            | Target::ScurryNchfHttp1
            | Target::ScurryReplicas
            | Target::ScurryHttp
            | Target::HttpEcho => scurry(self, &start),
            Target::Echo => echo(&start),
            Target::DiameterEcho => {
                let address = start.address.to_string();
                words(&["echo-server", "--listen", &address, "--diameter"])
            }
            _ if self.is_tarantool() => tarantool(&start, &port),
            _ if self.jvm_system().is_some() => jvm_server(self, &start),
            Target::Ndb | Target::NdbClient => ndb::node(start.address),
            _ => family(self, &start, &port),
        };
        let arguments = words.into_iter().map(OsString::from).collect();
        let Start { program, address, cores, place, .. } = start;
        let wire = match self {
            // The servers behind a door speak RESP.
            _ if self.is_http() || self.has_network_door() => Wire::Resp,
            // The lab speaks to the client beside the data nodes.
            _ if self.is_ndb() => Wire::Foreign,
            _ => self.wire(),
        };
        let files = match self {
            Target::ScurryDiameter => &[(SETTINGS_FILE, DIAMETER_SETTINGS)][..],
            _ => &[],
        };
        ServerCommand { program, arguments, cores, address, wire, place, files }
    }
}

/// Returns the address of a server's door to networks.
pub(crate) fn network_door(server: SocketAddr) -> SocketAddr {
    SocketAddr::new(server.ip(), server.port() + NETWORK_DOOR)
}

/// The arguments of `java` for the first member.
fn jvm_server(target: Target, start: &Start<'_>) -> Vec<String> {
    let system = target.jvm_system().unwrap_or_default();
    let port = start.address.port().to_string();
    let (members, backups) = (start.members.to_string(), start.backups.to_string());
    jvm::java(&["serve", system, &port, &port, &members, &backups, start.durability.word()])
}

fn echo(start: &Start<'_>) -> Vec<String> {
    let address = start.address.to_string();
    words(&["echo-server", "--listen", &address, "--sizes", start.echo_sizes])
}

/// Returns the command of the door in front of these nodes; it takes the place of the first one.
pub(crate) fn door(
    node: &ServerCommand,
    nodes: &[SocketAddr],
    address: SocketAddr,
) -> ServerCommand {
    let names: Vec<String> = nodes.iter().map(SocketAddr::to_string).collect();
    let (listen, names) = (address.to_string(), names.join(","));
    let all = words(&["http", "--listen", &listen, "--nodes", &names, "--log", "warn"]);
    let wire = Wire::Http(HttpTarget::Entities(None));
    let arguments = all.into_iter().map(OsString::from).collect();
    ServerCommand { arguments, address, wire, ..node.clone() }
}

fn scurry(target: Target, start: &Start<'_>) -> Vec<String> {
    let address = start.address.to_string();
    let durability = start.durability.word();
    let mut all = words(&["serve", "--listen", &address, "--log", "warn"]);
    all.extend(words(&["--durability", durability]));
    if start.durability.keeps() {
        all.extend(words(&["--dir", "data"]));
    }
    // The ports of group nodes depend on the number of threads.
    let threads = start.scurry.threads.or(target.is_group().then_some(1));
    if let Some(threads) = threads {
        all.extend(words(&["--threads", &threads.to_string()]));
    }
    let door = network_door(start.address).to_string();
    match target {
        Target::ScurryDiameter => {
            all.extend(words(&["--diameter-listen", &door, "--config", SETTINGS_FILE]));
        }
        Target::ScurryNchf | Target::ScurryNchfHttp1 => {
            all.extend(words(&["--http-listen", &door]));
        }
        _ => {}
    }
    if start.kind == ScenarioKind::Index {
        all.push("--entity-index".to_owned());
    }
    let clients = start.connections + CLIENTS_SPARE;
    let is_nchf = matches!(target, Target::ScurryNchf | Target::ScurryNchfHttp1);
    if is_nchf && clients > HTTP_CLIENTS_MAX {
        // All of the load goes to the door, which shares the server's files with RESP.
        let spare = CLIENTS_SPARE.to_string();
        all.extend(words(&["--http-max-clients", &clients.to_string(), "--max-clients", &spare]));
    } else if clients > CLIENTS_MAX {
        all.extend(words(&["--max-clients", &clients.to_string()]));
    }
    all.extend(start.scurry.arguments.iter().cloned());
    all
}

/// Returns the arguments of Tarantool, which has no settings file: a script sets the options and then defines the
/// procedures.
fn tarantool(start: &Start<'_>, port: &str) -> Vec<String> {
    let mode = start.durability.word();
    let settings = format!(
        "settings = {{ host = '{}', port = {port}, wal_mode = '{mode}' }}",
        start.address.ip()
    );
    words(&["-e", &settings, "-e", start.library.unwrap_or(PROCEDURES)])
}

/// Returns the arguments of Redis and its descendants.
fn family(target: Target, start: &Start<'_>, port: &str) -> Vec<String> {
    let ip = start.address.ip().to_string();
    let mut all = words(&["--bind", &ip, "--port", port, "--save", ""]);
    if start.durability.keeps() {
        all.extend(words(&["--appendonly", "yes", "--appendfsync", start.durability.word()]));
        // In their favor: no run pays for rewriting the file.
        all.extend(words(&["--auto-aof-rewrite-percentage", "0"]));
    } else {
        all.extend(words(&["--appendonly", "no"]));
    }
    if !start.address.ip().is_loopback() {
        // The stand's own network has no other users.
        all.extend(words(&["--protected-mode", "no"]));
    }
    let clients = start.connections.max(CLIENTS_MAX) + CLIENTS_SPARE;
    all.extend(words(&["--loglevel", "warning", "--maxclients", &clients.to_string()]));
    // Small hashes in one block: 5 % less CPU for the Lua library, and less memory.
    all.extend(words(&["--hash-max-listpack-value", "4096"]));
    all.extend(words(&["--hash-max-listpack-entries", "16"]));
    if target.has_module() {
        // The module loads only where nothing is evicted.
        all.extend(words(&["--maxmemory-policy", "noeviction", "--loadmodule"]));
        all.extend(locate::module().map(|path| path.to_string_lossy().into_owned()));
    }
    all
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(target: Target, durability: Durability) -> String {
        line_of(target, durability, 50)
    }

    fn line_of(target: Target, durability: Durability, connections: u32) -> String {
        let scurry = ScurryOptions { threads: Some(2), arguments: vec!["--io".into()] };
        let command = target.command(Start {
            program: "x".into(),
            address: SocketAddr::from(([127, 0, 0, 1], 7)),
            cores: vec![],
            durability,
            place: "p".into(),
            echo_sizes: "",
            scurry: &scurry,
            library: None,
            kind: ScenarioKind::Charging,
            members: 2,
            backups: 1,
            connections,
        });
        command.arguments.join(&OsString::from(" ")).into_string().unwrap()
    }

    #[test]
    fn scurry_gets_its_durability_its_threads_and_what_the_command_line_adds() {
        let begin = "serve --listen 127.0.0.1:7 --log warn --durability";
        let expected = format!("{begin} none --threads 2 --io");
        assert_eq!(line(Target::Scurry, Durability::None), expected);
        let expected = format!("{begin} fsync --dir data --threads 2 --io");
        assert_eq!(line(Target::Scurry, Durability::Fsync), expected);
    }

    #[test]
    fn a_target_is_told_of_more_connections_than_it_takes_by_itself() {
        let line = |target, connections| line_of(target, Durability::None, connections);
        assert!(line(Target::Scurry, 19_500).contains(" --max-clients 19600 "));
        assert!(!line(Target::Scurry, 9_900).contains("--max-clients"));
        assert!(
            line(Target::ScurryNchf, 901).contains(" --http-max-clients 1001 --max-clients 100 ")
        );
        assert!(!line(Target::ScurryNchf, 900).contains("--http-max-clients"));
        assert!(line(Target::Redis, 19_500).contains(" --maxclients 19600 "));
        assert!(line(Target::Redis, 50).contains(" --maxclients 10100 "));
    }

    #[test]
    fn tarantool_is_told_its_way_with_the_log() {
        let line = line(Target::TarantoolLua, Durability::Write);
        assert!(
            line.starts_with(
                "-e settings = { host = '127.0.0.1', port = 7, wal_mode = 'write' } -e -- "
            ),
            "{line}"
        );
    }

    #[test]
    fn the_others_get_an_append_only_file_or_are_told_that_they_have_none() {
        let none = line(Target::Redis, Durability::None);
        assert!(none.contains("--appendonly no") && !none.contains("threads"), "{none}");
        let always = line(Target::ValkeyLua, Durability::Always);
        assert!(always.contains("--appendonly yes --appendfsync always"), "{always}");
        assert!(!always.contains("--loadmodule"), "{always}");
        let module = line(Target::ValkeyModule, Durability::None);
        assert!(module.contains("--maxmemory-policy noeviction --loadmodule"), "{module}");
    }

    #[test]
    fn a_member_in_a_jvm_is_told_of_the_others() {
        let line = line(Target::IgniteJava, Durability::Write);
        assert!(line.ends_with("scurry.lab.Main serve ignite 7 7 2 1 write"), "{line}");
    }
}
