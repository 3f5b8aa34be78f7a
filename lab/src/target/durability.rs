//! How safe a change is when a target answers it, in the target's own words.

use super::Target;

/// State of a change when it is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Memory alone.
    #[default]
    None,
    /// Scurry, Tarantool and Ignite (`LOG_ONLY`): the page cache.
    Write,
    /// Scurry, Tarantool and Ignite: it is on the device.
    Fsync,
    /// Redis family: it is in memory, and goes to the page cache with its turn of the event loop;
    /// the device follows within a second or two.
    Everysec,
    /// Redis family: it is on the device.
    Always,
    /// MySQL NDB: it is in the memory of all its data nodes; what is written for the device gets there with
    /// the next global checkpoint, which begins every two seconds.
    Checkpoint,
}

impl Durability {
    /// The word on the command line, and the server's own for it.
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

    /// Something is written to a disk.
    pub fn keeps(self) -> bool {
        self != Durability::None
    }

    /// Durabilities that a target has.
    pub fn of(target: Target) -> &'static [Durability] {
        match target {
            // A node of a group has on its device what it has promised to the others.
            Target::ScurryReplicas => &[Durability::Fsync],
            Target::Scurry
            | Target::ScurryHttp
            | Target::TarantoolLua
            | Target::TarantoolClient
            | Target::TarantoolBulk
            | Target::IgniteJava
            | Target::IgniteClient => &[Durability::None, Durability::Write, Durability::Fsync],
            Target::Ndb | Target::NdbClient => &[Durability::None, Durability::Checkpoint],
            // Hazelcast keeps things in its Enterprise edition alone.
            // What is there already keeps what it was told.
            Target::Dragonfly
            | Target::KeyDb
            | Target::Kvrocks
            | Target::Garnet
            | Target::TigerBeetle
            | Target::Aerospike
            | Target::Echo
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
