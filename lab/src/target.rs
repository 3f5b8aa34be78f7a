//! The systems that can be measured: where their program is, how it is started, and how the
//! charging commands are spelt there.

mod command;
mod durability;
mod identity;
mod probe;
mod variant;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::client::Client;
use crate::dialect::Dialect;
use crate::scenario::Kind;
pub use command::Start;
pub use durability::Durability;
pub use identity::Identity;
pub use probe::{Probe, probe_charging, probe_key_value};
pub use variant::Variant;

/// The rules as a Lua library.
pub const LIBRARY: &str = include_str!("../peers/scur.lua");
/// The file of `scurry-valkey-module`.
const MODULE: &str = "libscurry.so";
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
    /// Valkey with this project's module.
    ValkeyModule,
    /// Redis with this project's module.
    RedisModule,
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

impl Target {
    /// All of them.
    pub const ALL: &'static [Target] = &[
        Target::Scurry,
        Target::ValkeyLua,
        Target::RedisLua,
        Target::ValkeyModule,
        Target::RedisModule,
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
            Target::ValkeyModule => "valkey+module",
            Target::RedisModule => "redis+module",
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
            Target::ValkeyModule => "valkey-server with libscurry.so; charging by SCUR.* commands",
            Target::RedisModule => "redis-server with libscurry.so; charging by SCUR.* commands",
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
            Target::Scurry | Target::ValkeyModule | Target::RedisModule | Target::Echo => {
                Some(Dialect::Scur)
            }
            Target::ValkeyLua | Target::RedisLua => Some(Dialect::Functions),
            Target::Valkey | Target::Redis => None,
        }
    }

    /// True when it loads [`module`].
    pub fn has_module(self) -> bool {
        matches!(self, Target::ValkeyModule | Target::RedisModule)
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
        if self.has_module() && module().is_none() {
            return Err(Missing {
                why: format!("there is no {MODULE} beside the lab"),
                cure: "build it with `cargo build --release -p scurry-valkey-module`".to_owned(),
            });
        }
        match self {
            Target::Scurry => locate_scurry(scurry),
            Target::ValkeyLua | Target::ValkeyModule | Target::Valkey => {
                on_path("valkey-server").ok_or_else(|| missing("valkey-server", INSTALL))
            }
            Target::RedisLua | Target::RedisModule | Target::Redis => {
                on_path("redis-server").ok_or_else(|| missing("redis-server", INSTALL))
            }
            Target::Echo => std::env::current_exe().map_err(|error| Missing {
                why: format!("the lab does not find its own program ({error})"),
                cure: "start it by its path".to_owned(),
            }),
        }
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

/// The module, beside the lab.
pub(crate) fn module() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(MODULE);
    path.is_file().then_some(path)
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
}
