//! The systems that can be measured: where their program is, how it is started, and how they spell the charging
//! commands.

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
use crate::scenario::ScenarioKind;
use crate::wire::{HttpTarget, HttpVersion, Wire};
use crate::workload::IndexDialect;
pub use command::Start;
pub(crate) use command::{door, network_door};
pub use durability::Durability;
pub use identity::Identity;
pub(crate) use jvm::{driver, driver_of_another};
pub use ndb::NdbPlan;
pub(crate) use ndb::beside;
pub use probe::{probe_charging, probe_key_value, probe_refill};
pub use two_phase::probe_two_phase;
pub use variant::Variant;

/// Charging rules as a Lua library of the Redis family.
const LIBRARY: &str = include_str!("../peers/scur.lua");
/// Functions of the Redis family for a client that decides by itself.
const SWAP: &str = include_str!("../peers/swap.lua");
/// Index on the value, for the Redis family.
const INDEX: &str = include_str!("../peers/index.lua");
/// Charging rules as stored procedures of Tarantool, and the functions for a client that decides by itself.
const PROCEDURES: &str = include_str!("../peers/scur.tarantool.lua");

/// Defines the targets from a table: name, spelling of the charging commands, protocol, and a line for `scurry-lab
/// list`.
macro_rules! targets {
    ($($target:ident = $name:literal, $dialect:expr, $wire:expr => $description:literal;)*) => {
        /// System under test together with the place where its charging logic runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Target {
            $(#[doc = $description] $target,)*
        }

        impl Target {
            /// All targets.
            pub const ALL: &'static [Target] = &[$(Target::$target),*];

            /// Returns the name on the command line and in every row.
            pub fn name(self) -> &'static str {
                match self { $(Target::$target => $name,)* }
            }

            /// Returns the line for `scurry-lab list`.
            pub fn description(self) -> &'static str {
                match self { $(Target::$target => $description,)* }
            }

            /// Returns the spelling of the charging commands; `None` where the target does no charging.
            pub fn dialect(self) -> Option<Dialect> {
                match self { $(Target::$target => $dialect,)* }
            }

            /// Returns the protocol of the target.
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
    ScurryDiameter = "scurry+diameter", Some(Dialect::Scur), Wire::Diameter =>
        "scurry serve with its Diameter door; the load is CCR-I, U and T";
    ScurryNchf = "scurry+nchf", Some(Dialect::Scur), Wire::Nchf(HttpVersion::Http2) =>
        "scurry serve with its HTTP door; the load is Nchf over HTTP/2, Create, Update and Release";
    ScurryNchfHttp1 = "scurry+nchf1", Some(Dialect::Scur), Wire::Nchf(HttpVersion::Http1) =>
        "as scurry+nchf, over HTTP/1.1; requests in flight on a connection are pipelined";
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
    DiameterEcho = "diameter-echo", Some(Dialect::Scur), Wire::Diameter =>
        "a Diameter server of the same codec that grants everything, with no store behind";
    Echo = "echo", Some(Dialect::Scur), Wire::Resp =>
        "answers as long as scurry's with no store behind: the loopback's limit";
}

/// Options of scurry beside its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScurryOptions {
    /// Threads of the server; None for its own default.
    pub threads: Option<u32>,
    /// Extra arguments of `scurry serve`.
    pub arguments: Vec<String>,
}

impl Target {
    /// Returns the target of this name.
    ///
    /// # Errors
    /// When no target has this name.
    pub fn parse(name: &str) -> Result<Target> {
        let names: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
        let found = Target::ALL.iter().copied().find(|target| target.name() == name);
        found.with_context(|| format!("no target `{name}`: there are {}", names.join(", ")))
    }

    /// Reports whether the rules run in the client, and the store only keeps values.
    pub fn decides_in_client(self) -> bool {
        let wire = self.wire();
        matches!(wire, Wire::RespLogic | Wire::IprotoLogic | Wire::RespBulk | Wire::IprotoBulk)
            || matches!(self, Target::HazelcastClient | Target::IgniteClient | Target::NdbClient)
    }

    /// Reports whether the target is Tarantool, wherever the rules run.
    pub fn is_tarantool(self) -> bool {
        matches!(self, Target::TarantoolLua | Target::TarantoolClient | Target::TarantoolBulk)
    }

    /// Reports whether the server loads [`module`].
    pub fn has_module(self) -> bool {
        matches!(self, Target::ValkeyModule | Target::RedisModule | Target::ValkeyClusterModule)
    }

    /// Reports whether several servers share the keys by their hash slots.
    pub fn is_cluster(self) -> bool {
        self == Target::ValkeyClusterModule
    }

    /// Reports whether the load goes to `scurry serve`.
    pub fn is_scurry(self) -> bool {
        matches!(self, Target::Scurry | Target::ScurryReplicas) || self.has_network_door()
    }

    /// Reports whether the load goes to a door to networks of `scurry serve`: over Diameter, or over Nchf. The lab
    /// fills and audits over RESP.
    pub fn has_network_door(self) -> bool {
        matches!(self, Target::ScurryDiameter | Target::ScurryNchf | Target::ScurryNchfHttp1)
    }

    /// Reports whether three servers keep one log, one of which executes all commands; the replicas are part of the
    /// target.
    pub fn is_group(self) -> bool {
        self == Target::ScurryReplicas
    }

    /// Reports whether the lab can add replicas: to Tarantool and the Redis family, where it starts them.
    pub fn replicates(self) -> bool {
        let is_other = self.is_scurry() || self.is_echo() || self.is_http() || self.has_members();
        !is_other && !self.is_by_address()
    }

    /// Reports whether several of its servers know each other.
    pub fn has_members(self) -> bool {
        self.jvm_system().is_some() || self.is_ndb()
    }

    /// Reports whether the members back each other up. JVM members do so for plain keys only, because the entry
    /// processors of charging do not run on backups.
    pub fn backs_up(self, kind: ScenarioKind) -> bool {
        self.is_ndb()
            || self.jvm_system().is_some() && !self.is_two_phase() && kind == ScenarioKind::Kv
    }

    /// Reports whether the target meets the requirements of replicas: a durable primary (Tarantool does not replicate
    /// without a log), or members that back each other up.
    pub fn replicates_with(self, durability: Durability, kind: ScenarioKind) -> bool {
        self.backs_up(kind) || self.replicates() && (!self.is_tarantool() || durability.keeps())
    }

    /// Reports whether the lab can start several servers that share the keys, by hash slots that clients compute or in
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

    /// Returns how it writes and finds records by an index; `None` where it has no index.
    pub fn index_dialect(self) -> Option<IndexDialect> {
        match self {
            Target::Scurry | Target::TarantoolLua | Target::HazelcastJava => {
                Some(IndexDialect::Entity)
            }
            Target::ValkeyLua | Target::RedisLua => Some(IndexDialect::Sets),
            _ => None,
        }
    }

    /// Reports whether the target does no charging, but gets a load of the same shape.
    pub fn is_yardstick(self) -> bool {
        self == Target::ValkeyHset
    }

    /// Reports whether a function library keeps everything of an account in one key.
    pub fn keeps_accounts_in_keys(self) -> bool {
        matches!(self, Target::ValkeyLua | Target::RedisLua)
    }

    /// Reports whether replies are filler, and there is nothing to audit.
    pub fn is_echo(self) -> bool {
        matches!(self, Target::Echo | Target::DiameterEcho | Target::HttpEcho)
    }

    /// Reports whether the target is the HTTP door with its servers.
    pub fn is_http(self) -> bool {
        matches!(self, Target::ScurryHttp | Target::HttpEcho)
    }

    /// Reports whether the target only holds an amount and then takes part of it, and supports nothing else of
    /// charging.
    pub fn is_two_phase(self) -> bool {
        matches!(self, Target::TigerBeetle | Target::Aerospike)
    }

    /// Reports whether the lab cannot start it and needs an address.
    fn is_by_address(self) -> bool {
        matches!(self, Target::Dragonfly | Target::KeyDb | Target::Kvrocks | Target::Garnet)
            || self.is_two_phase()
    }

    /// Reports whether the target may run at an address that the lab was given: a store of the Redis family without
    /// logic, Tarantool with our procedures, and targets that need an address.
    pub fn may_be_addressed(self) -> bool {
        let is_plain = matches!(self, Target::Valkey | Target::Redis);
        is_plain || self.is_by_address() || self.is_tarantool()
    }

    /// Prepares a new server for this kind of load.
    ///
    /// # Errors
    /// When the function library does not load.
    pub fn prepare(
        self,
        kind: ScenarioKind,
        client: &mut Client,
        library: Option<&str>,
    ) -> Result<()> {
        let (name, library) = match self {
            Target::ValkeyLua | Target::RedisLua if kind == ScenarioKind::Index => {
                ("index", library.unwrap_or(INDEX))
            }
            Target::ValkeyLua | Target::RedisLua => ("scur", library.unwrap_or(LIBRARY)),
            Target::ValkeyClient | Target::RedisClient | Target::ValkeyBulk | Target::RedisBulk => {
                ("swap", SWAP)
            }
            _ => return Ok(()),
        };
        if kind != ScenarioKind::Kv {
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
