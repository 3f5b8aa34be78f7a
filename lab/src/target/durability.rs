//! How safe a change is when a target answers it, in the target's own words.

use super::Target;

/// What has been done with a change before it is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It is in memory alone.
    #[default]
    None,
    /// Scurry: it is in the page cache.
    Write,
    /// Scurry: it is on the device.
    Fsync,
    /// Redis family: it is in memory, and goes to the page cache with its turn of the event loop;
    /// the device follows within a second or two.
    Everysec,
    /// Redis family: it is on the device.
    Always,
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
        }
    }

    /// Something is written to a disk.
    pub fn keeps(self) -> bool {
        self != Durability::None
    }

    /// Those that a target has.
    pub fn of(target: Target) -> &'static [Durability] {
        match target {
            Target::Scurry => &[Durability::None, Durability::Write, Durability::Fsync],
            Target::Echo => &[Durability::None],
            Target::ValkeyLua
            | Target::RedisLua
            | Target::ValkeyModule
            | Target::RedisModule
            | Target::Valkey
            | Target::Redis => &[Durability::None, Durability::Everysec, Durability::Always],
        }
    }
}
