//! The standing of an item: a client is told of a top-up if its items were denied, or got the last there was.

/// What an item's last request for units got. The numbers are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Standing {
    /// What was requested, or it never requested any.
    #[default]
    Granted = 0,
    /// Less: nothing else was left.
    Final = 1,
    /// Less: others held the rest.
    FinalHeld = 2,
    /// Nothing, for lack of credit or by a limit.
    Denied = 3,
}

impl Standing {
    /// Returns the standing of a stored number.
    pub const fn from_number(number: u8) -> Option<Standing> {
        match number {
            0 => Some(Standing::Granted),
            1 => Some(Standing::Final),
            2 => Some(Standing::FinalHeld),
            3 => Some(Standing::Denied),
            _ => None,
        }
    }

    /// Returns the standing of a word on the wire.
    pub fn named(word: &[u8]) -> Option<Standing> {
        let all = [Standing::Granted, Standing::Final, Standing::FinalHeld, Standing::Denied];
        all.into_iter().find(|standing| standing.name().as_bytes() == word)
    }

    /// Returns the word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Granted => "granted",
            Standing::Final => "final",
            Standing::FinalHeld => "final_held",
            Standing::Denied => "denied",
        }
    }
}
