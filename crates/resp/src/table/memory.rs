//! What commands do when no memory is left.

/// Rule for a command when the memory bound is reached (`--max-memory`, `maxmemory`). Both hosts follow it, and COMMAND
/// INFO and the reference show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The command always runs: it takes no memory, or it ends, settles, corrects or removes something.
    Free,
    /// The command is refused with OOM when it would be executed. A duplicate still gets its stored answer, and a
    /// command that would be refused anyway is refused for that reason.
    ForNew,
    /// The command is refused with OOM if the key to delete does not exist: that deletion would have to be remembered.
    ForAbsent,
    /// The command is refused with OOM.
    Taken,
}

impl Memory {
    /// Returns the sentence of the reference about it; `None` for a command that always runs.
    pub const fn at_the_bound(self) -> Option<&'static str> {
        match self {
            Memory::Free => None,
            Memory::ForNew => Some("refused with OOM; a duplicate gets its stored answer"),
            Memory::ForAbsent => Some("refused with OOM where there is nothing to delete"),
            Memory::Taken => Some("refused with OOM"),
        }
    }
}
