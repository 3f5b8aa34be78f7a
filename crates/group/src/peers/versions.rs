//! Versions of the protocol between nodes, and what each has brought. docs/formats/between-nodes.md.

/// The first version in which nodes send their clocks, and doors use passages.
pub(crate) const CLOCKS_SINCE: u16 = 2;
/// The first version in which nodes send their health.
pub(crate) const HEALTH_SINCE: u16 = 3;
/// The first version in which nodes compare their memory and know nodes that only observe.
pub(crate) const DIGESTS_SINCE: u16 = 4;
/// The first version in which a node says when it joins that it only observes.
pub(crate) const OBSERVERS_JOIN_SINCE: u16 = 5;

/// The highest version of the protocol between nodes that this build speaks.
pub const PROTOCOL_HIGHEST: u16 = OBSERVERS_JOIN_SINCE;

/// The versions that a node speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) lowest: u16,
    pub(crate) highest: u16,
}

impl Versions {
    /// All versions that this build speaks.
    pub(crate) const ALL: Versions = Versions { lowest: 1, highest: PROTOCOL_HIGHEST };

    /// Returns the versions of a node whose group requires at least this one.
    pub(crate) fn from(required: u16) -> Versions {
        Versions { lowest: required, ..Versions::ALL }
    }

    /// Returns the highest version that both sides speak. None if there is none.
    pub(crate) fn common(self, theirs: Versions) -> Option<u16> {
        let highest = theirs.highest.min(self.highest);
        (highest >= theirs.lowest.max(self.lowest)).then_some(highest)
    }
}
