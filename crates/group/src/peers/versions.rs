//! Versions of the protocol between nodes, and what each has brought. docs/formats/between-nodes.md.

/// The lowest version of the protocol between nodes that this build speaks: the log of an older node has other bytes.
pub(crate) const PROTOCOL_LOWEST: u16 = 6;
/// The highest version of the protocol between nodes that this build speaks.
pub const PROTOCOL_HIGHEST: u16 = 6;

/// The versions that a node speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) lowest: u16,
    pub(crate) highest: u16,
}

impl Versions {
    /// All versions that this build speaks.
    pub(crate) const ALL: Versions =
        Versions { lowest: PROTOCOL_LOWEST, highest: PROTOCOL_HIGHEST };

    /// Returns the versions of a node whose group requires at least this one.
    pub(crate) fn from(required: u16) -> Versions {
        Versions { lowest: required.max(PROTOCOL_LOWEST), ..Versions::ALL }
    }

    /// Returns the highest version that both sides speak. None if there is none.
    pub(crate) fn common(self, theirs: Versions) -> Option<u16> {
        let highest = theirs.highest.min(self.highest);
        (highest >= theirs.lowest.max(self.lowest)).then_some(highest)
    }
}
