//! The systems that can be measured: where their program is, how it is started, and how the
//! charging commands are spelt there.

mod command;
mod durability;
mod fit;
mod identity;
mod jvm;
mod locate;
mod ndb;
mod probe;
mod releases;
mod two_phase;
mod variant;

use anyhow::{Context, Result, ensure};

use crate::client::Client;
use crate::dialect::Dialect;
pub use crate::missing::Missing;
use crate::scenario::Kind;
use crate::wire::{HttpTarget, Wire};
use crate::workload::IndexDialect;
pub use command::Start;
pub(crate) use command::door;
pub use durability::Durability;
pub use identity::Identity;
pub(crate) use jvm::{driver, driver_of_another};
pub use ndb::NdbPlan;
pub(crate) use ndb::beside;
pub use probe::{probe_charging, probe_key_value, probe_refill};
pub use two_phase::probe_two_phase;
pub use variant::Variant;

/// The rules as a Lua library of the Redis family.
const LIBRARY: &str = include_str!("../peers/scur.lua");
/// Functions that a client needs of the Redis family when it decides by itself.
const SWAP: &str = include_str!("../peers/swap.lua");
/// An index on the value, of the Redis family.
const INDEX: &str = include_str!("../peers/index.lua");
/// The rules as stored procedures of Tarantool, and what a client that decides needs.
const PROCEDURES: &str = include_str!("../peers/scur.tarantool.lua");

/// Makes the targets of a table: name, how charging is spelt, protocol, and a line for `scurry-lab list`.
macro_rules! targets {
    ($($target:ident = $name:literal, $dialect:expr, $wire:expr => $description:literal;)*) => {
        /// A system and a way of doing the logic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Target {
            $(#[doc = $description] $target,)*
        }

        impl Target {
            /// All of them.
            pub const ALL: &'static [Target] = &[$(Target::$target),*];

            /// The name on the command line and in every row.
            pub fn name(self) -> &'static str {
                match self { $(Target::$target => $name,)* }
            }

            /// One line for `scurry-lab list`.
            pub fn description(self) -> &'static str {
                match self { $(Target::$target => $description,)* }
            }

            /// How charging is spelt; `None` where the target cannot do it.
            pub fn dialect(self) -> Option<Dialect> {
                match self { $(Target::$target => $dialect,)* }
            }

            /// Protocol of the target.
            pub fn wire(self) -> Wire {
                match self { $(Target::$target => $wire,)* }
            }
        }
    };
}

targets! {
    Scurry = "scurry", Some(Dialect::Scur), Wire::Resp => "scurry serve; charging by SCUR.* commands";
    ScurryReplicas = "scurry+replicas", Some(Dialect::Scur), Wire::Resp =>
        "three of scurry serve that keep one log; an answer is on the devices of two";
    ValkeyLua = "valkey+lua", Some(Dialect::Functions), Wire::Resp =>
        "valkey-server; charging by a Lua function library (FCALL)";
    RedisLua = "redis+lua", Some(Dialect::Functions), Wire::Resp =>
        "redis-server; charging by a Lua function library (FCALL)";
    TarantoolLua = "tarantool+lua", Some(Dialect::Functions), Wire::Iproto =>
        "tarantool; charging by stored procedures in Lua, kv without them";
    ValkeyClient = "valkey+client", Some(Dialect::Decided), Wire::RespLogic =>
        "valkey-server; the client reads, decides, compares and sets";
    RedisClient = "redis+client", Some(Dialect::Decided), Wire::RespLogic =>
        "redis-server; the client reads, decides, compares and sets";
    TarantoolClient = "tarantool+client", Some(Dialect::Decided), Wire::IprotoLogic =>
        "tarantool; the client reads, decides, compares and sets";
    ValkeyBulk = "valkey+bulk", Some(Dialect::Decided), Wire::RespBulk =>
        "valkey-server; as +client, for all requests of a connection at once";
    RedisBulk = "redis+bulk", Some(Dialect::Decided), Wire::RespBulk =>
        "redis-server; as +client, for all requests of a connection at once";
    TarantoolBulk = "tarantool+bulk", Some(Dialect::Decided), Wire::IprotoBulk =>
        "tarantool; as +client, for all requests of a connection at once";
    HazelcastJava = "hazelcast+java", Some(Dialect::Decided), Wire::Resp =>
        "Hazelcast; charging by an EntryProcessor, kv by its maps, its own client";
    HazelcastClient = "hazelcast+client", Some(Dialect::Decided), Wire::Resp =>
        "Hazelcast; the client reads, decides, compares and sets";
    IgniteJava = "ignite+java", Some(Dialect::Decided), Wire::Resp =>
        "Ignite 2; charging by IgniteCache.invoke, kv by its caches, its own client";
    IgniteClient = "ignite+client", Some(Dialect::Decided), Wire::Resp =>
        "Ignite 2; the client reads, decides, compares and sets";
    Ndb = "ndb", None, Wire::Locked => "MySQL NDB, by its C++ API; plain keys, so kv only";
    NdbClient = "ndb+client", Some(Dialect::Decided), Wire::Locked =>
        "MySQL NDB; the client reads with a lock, decides and writes in one transaction";
    ValkeyModule = "valkey+module", Some(Dialect::Scur), Wire::Resp =>
        "valkey-server with libscurry.so; charging by SCUR.* commands";
    RedisModule = "redis+module", Some(Dialect::Scur), Wire::Resp =>
        "redis-server with libscurry.so; charging by SCUR.* commands";
    ValkeyClusterModule = "valkey-cluster+module", Some(Dialect::Scur), Wire::Resp =>
        "a Valkey Cluster of 3 primaries with libscurry.so; each request to its owner";
    ValkeyHset = "valkey+hset", None, Wire::Resp =>
        "valkey-server; an HSET of four fields for each operation: no rules, a yardstick";
    Valkey = "valkey", None, Wire::Resp => "valkey-server; plain commands, so kv only";
    Redis = "redis", None, Wire::Resp => "redis-server; plain commands, so kv only";
    Dragonfly = "dragonfly", None, Wire::Resp => "by --address only; plain commands, so kv only";
    KeyDb = "keydb", None, Wire::Resp => "by --address only; plain commands, so kv only";
    Kvrocks = "kvrocks", None, Wire::Resp => "by --address only; plain commands, so kv only";
    Garnet = "garnet", None, Wire::Resp => "by --address only; plain commands, so kv only";
    TigerBeetle = "tigerbeetle", Some(Dialect::Decided), Wire::Resp =>
        "by --address only; pending transfers that are posted, so two-phase only";
    Aerospike = "aerospike", Some(Dialect::Decided), Wire::Resp =>
        "by --address only; operations on a record with a filter, so two-phase only";
    ScurryHttp = "scurry-http", None, Wire::Http(HttpTarget::Entities(None)) =>
        "scurry http before three of scurry serve; entities over HTTP, so kv only";
    HttpEcho = "http-echo", None, Wire::Http(HttpTarget::Healthz) =>
        "the same door asked for GET /healthz, which no server is behind: HTTP's limit";
    Echo = "echo", Some(Dialect::Scur), Wire::Resp =>
        "answers as long as scurry's with no store behind: the loopback's limit";
}

/// How scurry is started, beyond where it listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScurryOptions {
    /// Threads of the server; none for its own default.
    pub threads: Option<u32>,
    /// Further arguments of `scurry serve`.
    pub arguments: Vec<String>,
}

impl Target {
    /// The target of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn parse(name: &str) -> Result<Target> {
        let names: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
        let found = Target::ALL.iter().copied().find(|target| target.name() == name);
        found.with_context(|| format!("no target `{name}`: there are {}", names.join(", ")))
    }

    /// True when the rules run in the client, and the store keeps what it is given.
    pub fn decides_in_client(self) -> bool {
        let wire = self.wire();
        matches!(wire, Wire::RespLogic | Wire::IprotoLogic | Wire::RespBulk | Wire::IprotoBulk)
            || matches!(self, Target::HazelcastClient | Target::IgniteClient | Target::NdbClient)
    }

    /// True of Tarantool, whatever decides.
    pub fn is_tarantool(self) -> bool {
        matches!(self, Target::TarantoolLua | Target::TarantoolClient | Target::TarantoolBulk)
    }

    /// True when it loads [`module`].
    pub fn has_module(self) -> bool {
        matches!(self, Target::ValkeyModule | Target::RedisModule | Target::ValkeyClusterModule)
    }

    /// Several servers share the keys by their hash slots.
    pub fn is_cluster(self) -> bool {
        self == Target::ValkeyClusterModule
    }

    /// Whether it is `scurry serve` that is charged, over RESP.
    pub fn is_scurry(self) -> bool {
        matches!(self, Target::Scurry | Target::ScurryReplicas)
    }

    /// Three servers keep one log, one of which executes everything: the replicas are a part of it.
    pub fn is_group(self) -> bool {
        self == Target::ScurryReplicas
    }

    /// The lab can give it replicas: Tarantool and the Redis family, where it starts them.
    pub fn replicates(self) -> bool {
        let is_other =
            self.is_scurry() || self == Target::Echo || self.is_http() || self.has_members();
        !is_other && !self.is_by_address()
    }

    /// Whether several of its servers know each other.
    pub fn has_members(self) -> bool {
        self.jvm_system().is_some() || self.is_ndb()
    }

    /// Whether the members are each other's backups: those in a JVM of plain keys alone, because the
    /// entry processors of charging are not repeated there.
    pub fn backs_up(self, kind: Kind) -> bool {
        self.is_ndb() || self.jvm_system().is_some() && !self.is_two_phase() && kind == Kind::Kv
    }

    /// Whether the target has what replicas must have: what a primary keeps (Tarantool has none
    /// without a log), or members that back each other up.
    pub fn replicates_with(self, durability: Durability, kind: Kind) -> bool {
        self.backs_up(kind) || self.replicates() && (!self.is_tarantool() || durability.keeps())
    }

    /// The lab can start several of it that share the keys, by the slots that clients count or by
    /// their own way.
    pub fn is_partitioned(self) -> bool {
        matches!(
            self,
            Target::HazelcastJava
                | Target::IgniteJava
                | Target::Scurry
                | Target::Valkey
                | Target::Redis
                | Target::ValkeyModule
                | Target::RedisModule
        )
    }

    /// How it writes and finds records by an index; `None` where it has none.
    pub fn index_dialect(self) -> Option<IndexDialect> {
        match self {
            Target::Scurry | Target::TarantoolLua | Target::HazelcastJava => {
                Some(IndexDialect::Entity)
            }
            Target::ValkeyLua | Target::RedisLua => Some(IndexDialect::Sets),
            _ => None,
        }
    }

    /// Whether the target does no charging, and is loaded as if it did.
    pub fn is_yardstick(self) -> bool {
        self == Target::ValkeyHset
    }

    /// A library of functions keeps all of an account in one key, and nothing of it elsewhere.
    pub fn keeps_accounts_in_keys(self) -> bool {
        matches!(self, Target::ValkeyLua | Target::RedisLua)
    }

    /// Whether replies are filler, and there is nothing to audit.
    pub fn is_echo(self) -> bool {
        matches!(self, Target::Echo | Target::HttpEcho)
    }

    /// Whether the target is the HTTP door, with the servers behind it.
    pub fn is_http(self) -> bool {
        matches!(self, Target::ScurryHttp | Target::HttpEcho)
    }

    /// Sets an amount aside and takes a part of it, and knows nothing else of charging.
    pub fn is_two_phase(self) -> bool {
        matches!(self, Target::TigerBeetle | Target::Aerospike)
    }

    /// Only found where it runs already.
    fn is_by_address(self) -> bool {
        matches!(self, Target::Dragonfly | Target::KeyDb | Target::Kvrocks | Target::Garnet)
            || self.is_two_phase()
    }

    /// May run where the lab did not start it: a store of the Redis family without logic, Tarantool that was
    /// started with our procedures, and what is found in no other way.
    pub fn may_be_addressed(self) -> bool {
        let is_plain = matches!(self, Target::Valkey | Target::Redis);
        is_plain || self.is_by_address() || self.is_tarantool()
    }

    /// Makes a fresh server ready for this kind of load.
    ///
    /// # Errors
    /// When the function library does not load.
    pub fn prepare(self, kind: Kind, client: &mut Client, library: Option<&str>) -> Result<()> {
        let (name, library) = match self {
            Target::ValkeyLua | Target::RedisLua if kind == Kind::Index => {
                ("index", library.unwrap_or(INDEX))
            }
            Target::ValkeyLua | Target::RedisLua => ("scur", library.unwrap_or(LIBRARY)),
            Target::ValkeyClient | Target::RedisClient | Target::ValkeyBulk | Target::RedisBulk => {
                ("swap", SWAP)
            }
            _ => return Ok(()),
        };
        if kind != Kind::Kv {
            let reply = client.call(&["FUNCTION", "LOAD", "REPLACE", library])?;
            ensure!(reply.text() == Some(name), "the Lua library does not load: {reply}");
        }
        Ok(())
    }
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
}
