//! What commands do when no memory is left.

/// Whether a command may take memory: what happens to it at the bound (`--max-memory`, `maxmemory`).
/// Both hosts act by it, and COMMAND INFO and the reference show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// A command that always runs: it takes none, or it ends, settles, corrects or removes what is there.
    Free,
    /// A command that is refused with OOM where it would be executed. A duplicate gets its stored answer, and
    /// what would be refused anyway is refused for that.
    ForNew,
    /// A command that is refused with OOM where what it deletes is not there: that deletion would have to be remembered.
    ForAbsent,
    /// A command that is refused with OOM.
    Taken,
}

impl Memory {
    /// The sentence of the reference about it; none of a command that always runs.
    pub const fn at_the_bound(self) -> Option<&'static str> {
        match self {
            Memory::Free => None,
            Memory::ForNew => Some("refused with OOM; a duplicate gets its stored answer"),
            Memory::ForAbsent => Some("refused with OOM where there is nothing to delete"),
            Memory::Taken => Some("refused with OOM"),
        }
    }
}
