//! The durability of a change when a target acknowledges it, in the target's own words.

use super::Target;

/// Where a change is stored when it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// In memory only.
    #[default]
    None,
    /// Scurry, Tarantool and Ignite (`LOG_ONLY`): in the page cache.
    Write,
    /// Scurry, Tarantool and Ignite: on the device.
    Fsync,
    /// Redis family: in memory. It gets to the page cache in the same turn of the event loop, and to the device within
    /// a second or two.
    Everysec,
    /// Redis family: on the device.
    Always,
    /// MySQL NDB: in the memory of all its data nodes; changes get to the device with the next global checkpoint, which
    /// begins every two seconds.
    Checkpoint,
}

impl Durability {
    /// Returns the word on the command line, which is also the server's own.
    pub fn word(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Write => "write",
            Durability::Fsync => "fsync",
            Durability::Everysec => "everysec",
            Durability::Always => "always",
            Durability::Checkpoint => "checkpoint",
        }
    }

    /// Reports whether the target writes to a disk.
    pub fn keeps(self) -> bool {
        self != Durability::None
    }

    /// Returns the durabilities that a target supports.
    pub fn of(target: Target) -> &'static [Durability] {
        match target {
            // A node of a group has on its device everything that it has promised to the others.
            Target::ScurryReplicas => &[Durability::Fsync],
            Target::Scurry
            | Target::ScurryDiameter
            | Target::ScurryNchf
            | Target::ScurryNchfHttp1
            | Target::ScurryHttp
            | Target::TarantoolLua
            | Target::TarantoolClient
            | Target::TarantoolBulk
            | Target::IgniteJava
            | Target::IgniteClient => &[Durability::None, Durability::Write, Durability::Fsync],
            Target::Ndb | Target::NdbClient => &[Durability::None, Durability::Checkpoint],
            // Only the Enterprise edition of Hazelcast is durable. A system that already runs has the durability that
            // it was started with.
            Target::Dragonfly
            | Target::KeyDb
            | Target::Kvrocks
            | Target::Garnet
            | Target::TigerBeetle
            | Target::Aerospike
            | Target::Echo
            | Target::DiameterEcho
            | Target::HttpEcho
            | Target::HazelcastJava
            | Target::HazelcastClient => &[Durability::None],
            Target::ValkeyLua
            | Target::RedisLua
            | Target::ValkeyClient
            | Target::RedisClient
            | Target::ValkeyBulk
            | Target::RedisBulk
            | Target::ValkeyModule
            | Target::RedisModule
            | Target::ValkeyClusterModule
            | Target::ValkeyHset
            | Target::Valkey
            | Target::Redis => &[Durability::None, Durability::Everysec, Durability::Always],
        }
    }
}
