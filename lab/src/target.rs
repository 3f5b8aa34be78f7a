//! The systems that can be measured: where their program is, how it is started, and how the
//! charging commands are spelt there.

mod probe;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::client::Client;
use crate::dialect::Dialect;
use crate::process::ServerCommand;
use crate::scenario::Kind;
pub use probe::{Probe, probe_charging, probe_key_value};

/// The rules as a Lua library.
pub const LIBRARY: &str = include_str!("../peers/scur.lua");
const INSTALL: &str = "run scripts/install-tools.sh";

/// A system and a way of doing the logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// This project's server.
    Scurry,
    /// Valkey with the rules as a Lua library.
    ValkeyLua,
    /// Redis with the rules as a Lua library.
    RedisLua,
    /// Plain Valkey, for key-value loads.
    Valkey,
    /// Plain Redis, for key-value loads.
    Redis,
    /// The echo server: the limit of the loopback rung.
    Echo,
}

/// How scurry is started, beyond where it listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScurryOptions {
    /// Its threads; its own default without.
    pub threads: Option<u32>,
    /// Further arguments of `scurry serve`.
    pub arguments: Vec<String>,
}

/// Why a target cannot be measured here, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}: {cure}")]
pub struct Missing {
    /// What is missing.
    pub why: String,
    /// What the user can do.
    pub cure: String,
}

/// What a server says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Product and version.
    pub version: String,
    /// Durability of what it acknowledges.
    pub durability: String,
}

impl Target {
    /// All of them.
    pub const ALL: &'static [Target] = &[
        Target::Scurry,
        Target::ValkeyLua,
        Target::RedisLua,
        Target::Valkey,
        Target::Redis,
        Target::Echo,
    ];

    /// The name on the command line and in every row.
    pub fn name(self) -> &'static str {
        match self {
            Target::Scurry => "scurry",
            Target::ValkeyLua => "valkey+lua",
            Target::RedisLua => "redis+lua",
            Target::Valkey => "valkey",
            Target::Redis => "redis",
            Target::Echo => "echo",
        }
    }

    /// One line for `scurry-lab list`.
    pub fn description(self) -> &'static str {
        match self {
            Target::Scurry => "scurry serve; charging by SCUR.* commands",
            Target::ValkeyLua => "valkey-server; charging by a Lua function library (FCALL)",
            Target::RedisLua => "redis-server; charging by a Lua function library (FCALL)",
            Target::Valkey => "valkey-server; plain commands, so kv only",
            Target::Redis => "redis-server; plain commands, so kv only",
            Target::Echo => {
                "answers as long as scurry's with no store behind: the loopback's limit"
            }
        }
    }

    /// The target of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn parse(name: &str) -> Result<Target> {
        let names: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
        let found = Target::ALL.iter().copied().find(|target| target.name() == name);
        found.with_context(|| format!("no target `{name}`: there are {}", names.join(", ")))
    }

    /// How charging is spelt; `None` where the target cannot do it.
    pub fn dialect(self) -> Option<Dialect> {
        match self {
            Target::Scurry | Target::Echo => Some(Dialect::Scur),
            Target::ValkeyLua | Target::RedisLua => Some(Dialect::Functions),
            Target::Valkey | Target::Redis => None,
        }
    }

    /// Its replies are filler, and there is nothing to audit.
    pub fn is_echo(self) -> bool {
        self == Target::Echo
    }

    /// Finds its program, or says why it cannot be measured under this kind of load.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn locate(self, kind: Kind, scurry: Option<&Path>) -> Result<PathBuf, Missing> {
        if kind == Kind::Charging && self.dialect().is_none() {
            let why = format!("{} has no charging logic of its own", self.name());
            let cure = format!("measure {}+lua", self.name());
            return Err(Missing { why, cure });
        }
        let missing = |program: &str, cure: &str| Missing {
            why: format!("{program} is not installed"),
            cure: cure.to_owned(),
        };
        match self {
            Target::Scurry => locate_scurry(scurry),
            Target::ValkeyLua | Target::Valkey => {
                on_path("valkey-server").ok_or_else(|| missing("valkey-server", INSTALL))
            }
            Target::RedisLua | Target::Redis => {
                on_path("redis-server").ok_or_else(|| missing("redis-server", INSTALL))
            }
            Target::Echo => std::env::current_exe().map_err(|error| Missing {
                why: format!("the lab does not find its own program ({error})"),
                cure: "start it by its path".to_owned(),
            }),
        }
    }

    /// How to start it, with everything in memory.
    pub fn command(
        self,
        program: PathBuf,
        address: SocketAddr,
        cores: Vec<usize>,
        echo_sizes: &str,
        scurry: &ScurryOptions,
    ) -> ServerCommand {
        let port = address.port().to_string();
        let words: Vec<String> = match self {
            Target::Scurry => {
                let address = address.to_string();
                let fixed = ["serve", "--listen", &address, "--log", "warn"].map(str::to_owned);
                let threads =
                    scurry.threads.map(|threads| ["--threads".to_owned(), threads.to_string()]);
                let rest = scurry.arguments.iter().cloned();
                fixed.into_iter().chain(threads.into_iter().flatten()).chain(rest).collect()
            }
            Target::Echo => {
                ["echo-server", "--port", &port, "--sizes", echo_sizes].map(str::to_owned).to_vec()
            }
            _ => {
                let ip = address.ip().to_string();
                let words = [
                    ["--bind", ip.as_str()],
                    ["--port", port.as_str()],
                    ["--save", ""],
                    ["--appendonly", "no"],
                    ["--loglevel", "warning"],
                    ["--maxclients", "10100"],
                    // Small hashes in one block: 5 % less CPU for the Lua library, and less memory.
                    ["--hash-max-listpack-value", "4096"],
                    ["--hash-max-listpack-entries", "16"],
                ];
                words.as_flattened().iter().map(|word| (*word).to_owned()).collect()
            }
        };
        let arguments = words.into_iter().map(OsString::from).collect();
        ServerCommand { program, arguments, cores, address }
    }

    /// Makes a fresh server ready for this kind of load.
    ///
    /// # Errors
    /// When the function library does not load.
    pub fn prepare(self, kind: Kind, client: &mut Client, library: &str) -> Result<()> {
        if kind == Kind::Charging && self.dialect() == Some(Dialect::Functions) {
            let reply = client.call(&["FUNCTION", "LOAD", "REPLACE", library])?;
            ensure!(reply.text() == Some("scur"), "the Lua library does not load: {reply}");
        }
        Ok(())
    }

    /// Asks a running server what it is.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn identify(self, client: &mut Client) -> Result<Identity> {
        if self.is_echo() {
            let version = format!("scurry-lab {}", env!("CARGO_PKG_VERSION"));
            return Ok(Identity { version, durability: "none".to_owned() });
        }
        let reply = client.call(&["INFO"])?;
        Ok(identity(reply.text().unwrap_or_default()))
    }
}

/// What INFO says. A server of the Redis family that names no durability runs with
/// persistence off, because the lab starts it so.
fn identity(info: &str) -> Identity {
    let field = |name: &str| {
        info.lines()
            .find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
            .map(str::to_owned)
    };
    let products = ["scurry", "valkey", "redis"];
    let version = products.iter().find_map(|product| {
        field(&format!("{product}_version")).map(|version| format!("{product} {version}"))
    });
    Identity {
        version: version.unwrap_or_default(),
        durability: field("durability").unwrap_or_else(|| "none".to_owned()),
    }
}

fn locate_scurry(asked: Option<&Path>) -> Result<PathBuf, Missing> {
    if let Some(path) = asked {
        return path.is_file().then(|| path.to_owned()).ok_or_else(|| Missing {
            why: format!("there is no program {}", path.display()),
            cure: "give --scurry-bin the path of the scurry binary".to_owned(),
        });
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|lab| Some(lab.parent()?.join("scurry")))
        .filter(|path| path.is_file());
    beside.or_else(|| on_path("scurry")).ok_or_else(|| Missing {
        why: "there is no scurry beside the lab nor on PATH".to_owned(),
        cure: "build it with `cargo build --release -p scurry-cli`, or give --scurry-bin"
            .to_owned(),
    })
}

/// A program on PATH.
fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for target in Target::ALL {
            assert_eq!(Target::parse(target.name()).unwrap(), *target);
        }
        assert!(Target::parse("mongo").unwrap_err().to_string().contains("valkey+lua"));
    }

    #[test]
    fn scurry_gets_its_threads_and_what_the_command_line_adds() {
        let scurry = ScurryOptions { threads: Some(2), arguments: vec!["--io".into()] };
        let address = SocketAddr::from(([127, 0, 0, 1], 7));
        let words = |target: Target| {
            let command = target.command("x".into(), address, vec![], "", &scurry);
            command.arguments.join(&OsString::from(" ")).into_string().unwrap()
        };
        let expected = "serve --listen 127.0.0.1:7 --log warn --threads 2 --io";
        assert_eq!(words(Target::Scurry), expected);
        assert!(!words(Target::Redis).contains("threads"));
    }

    #[test]
    fn plain_stores_do_no_charging() {
        let missing = Target::Redis.locate(Kind::Charging, None).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "redis has no charging logic of its own: measure redis+lua"
        );
    }

    #[test]
    fn a_wrong_path_is_named() {
        let path = Path::new("no/such/scurry");
        let missing = Target::Scurry.locate(Kind::Kv, Some(path)).unwrap_err();
        assert!(missing.to_string().contains("no/such/scurry"));
    }

    #[test]
    fn the_most_specific_version_counts() {
        let info = "# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.0.1\r\n";
        let expected = Identity { version: "valkey 8.0.1".into(), durability: "none".into() };
        assert_eq!(identity(info), expected);
        assert_eq!(identity("durability:fsync\r\n").durability, "fsync");
    }
}
