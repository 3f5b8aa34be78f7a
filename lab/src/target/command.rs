//! How each target is started. Nothing is left to a server's default that says what is kept.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::{Durability, PROCEDURES, ScurryOptions, Target, jvm, locate};
use crate::process::ServerCommand;

/// Where a server listens, what it may use and what it keeps.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// The program.
    pub program: PathBuf,
    /// Where it listens.
    pub address: SocketAddr,
    /// The cores to run on; none leaves it to the kernel.
    pub cores: Vec<usize>,
    /// How safe a change is when it is answered: one of those that the target has.
    pub durability: Durability,
    /// Where its directory is made.
    pub place: PathBuf,
    /// The echo server's answers.
    pub echo_sizes: &'a str,
    /// How scurry is started.
    pub scurry: &'a ScurryOptions,
    /// A Lua library instead of the built-in one.
    pub library: Option<&'a str>,
}

impl Target {
    /// How to start it. What it keeps it keeps in the directory that it is started in.
    pub fn command(self, start: Start<'_>) -> ServerCommand {
        let port = start.address.port().to_string();
        let words = match self {
            Target::Scurry => scurry(&start),
            Target::Echo => echo(&start),
            Target::TarantoolLua | Target::TarantoolClient => tarantool(&start, &port),
            Target::HazelcastJava
            | Target::HazelcastClient
            | Target::IgniteJava
            | Target::IgniteClient => jvm::server(
                self.jvm_system().unwrap_or_default(),
                start.address.port(),
                start.durability,
            ),
            _ => family(self, &start, &port),
        };
        let arguments = words.into_iter().map(OsString::from).collect();
        let Start { program, address, cores, place, .. } = start;
        ServerCommand {
            program,
            arguments,
            cores,
            address,
            wire: self.wire(),
            place,
            namespace: None,
        }
    }
}

fn echo(start: &Start<'_>) -> Vec<String> {
    let address = start.address.to_string();
    words(&["echo-server", "--listen", &address, "--sizes", start.echo_sizes])
}

fn scurry(start: &Start<'_>) -> Vec<String> {
    let address = start.address.to_string();
    let durability = start.durability.word();
    let mut all = words(&["serve", "--listen", &address, "--log", "warn"]);
    all.extend(words(&["--durability", durability]));
    if start.durability.keeps() {
        all.extend(words(&["--dir", "data"]));
    }
    if let Some(threads) = start.scurry.threads {
        all.extend(words(&["--threads", &threads.to_string()]));
    }
    all.extend(start.scurry.arguments.iter().cloned());
    all
}

/// It has no file of settings: a script says them, and then what the procedures are.
fn tarantool(start: &Start<'_>, port: &str) -> Vec<String> {
    let mode = start.durability.word();
    let settings = format!(
        "settings = {{ host = '{}', port = {port}, wal_mode = '{mode}' }}",
        start.address.ip()
    );
    words(&["-e", &settings, "-e", start.library.unwrap_or(PROCEDURES)])
}

/// Redis and what descends from it.
fn family(target: Target, start: &Start<'_>, port: &str) -> Vec<String> {
    let ip = start.address.ip().to_string();
    let mut all = words(&["--bind", &ip, "--port", port, "--save", ""]);
    if start.durability.keeps() {
        all.extend(words(&["--appendonly", "yes", "--appendfsync", start.durability.word()]));
        // In their favour: no run pays for rewriting the file.
        all.extend(words(&["--auto-aof-rewrite-percentage", "0"]));
    } else {
        all.extend(words(&["--appendonly", "no"]));
    }
    if !start.address.ip().is_loopback() {
        // On the stand's own wire, where nobody else is.
        all.extend(words(&["--protected-mode", "no"]));
    }
    all.extend(words(&["--loglevel", "warning", "--maxclients", "10100"]));
    // Small hashes in one block: 5 % less CPU for the Lua library, and less memory.
    all.extend(words(&["--hash-max-listpack-value", "4096"]));
    all.extend(words(&["--hash-max-listpack-entries", "16"]));
    if target.has_module() {
        // It loads where nothing is evicted.
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
}
