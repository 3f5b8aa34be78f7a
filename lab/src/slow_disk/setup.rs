//! The set-ups that are compared.

use serde::Serialize;

use crate::target::Target;

/// Servers, and the disk of the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Setup {
    /// One server, its disk as it is.
    #[serde(rename = "one machine")]
    One,
    /// One server with a slow disk.
    #[serde(rename = "one machine, a slow disk")]
    OneSlow,
    /// A group, the disks as they are.
    #[serde(rename = "three machines")]
    Three,
    /// A group, of which a follower has a slow disk.
    #[serde(rename = "three machines, a follower with a slow disk")]
    ThreeSlow,
}

impl Setup {
    /// All of them, in the order of the table.
    pub const ALL: [Setup; 4] = [Setup::One, Setup::OneSlow, Setup::Three, Setup::ThreeSlow];

    /// As in the table.
    pub fn name(self) -> &'static str {
        match self {
            Setup::One => "one machine",
            Setup::OneSlow => "one machine, a slow disk",
            Setup::Three => "three machines",
            Setup::ThreeSlow => "three machines, a follower with a slow disk",
        }
    }

    pub(super) fn target(self) -> Target {
        match self {
            Setup::One | Setup::OneSlow => Target::Scurry,
            Setup::Three | Setup::ThreeSlow => Target::ScurryReplicas,
        }
    }

    pub(super) fn is_group(self) -> bool {
        self.target().is_group()
    }

    pub(super) fn has_slow_disk(self) -> bool {
        matches!(self, Setup::OneSlow | Setup::ThreeSlow)
    }
}
