//! The options of a session: those that a RESERVE, UPDATE or TERMINATE gives, and those that the open session keeps.
//! Everything between the grammar and the rules carries both whole, so a new option is a field here, a word in the
//! grammar of each door, and its rule in `decide`.

/// Policy for use beyond the amount that could be debited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Overrun {
    /// Debits the overrun from the first valid bucket in burn order that has an allowance, else from the last valid one,
    /// below its floor.
    Overdraw = 0,
    /// Records the overrun as uncollected.
    Clamp = 1,
    /// Debits from the hold alone: all use beyond it is uncollected.
    Held = 2,
}

impl Overrun {
    /// Every policy, in the order of their numbers.
    pub const ALL: [Overrun; 3] = [Overrun::Overdraw, Overrun::Clamp, Overrun::Held];
    /// The words on the wire, as an error text lists them.
    pub const WORDS: &str = "overdraw, clamp or held";

    /// Returns the word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Overrun::Overdraw => "overdraw",
            Overrun::Clamp => "clamp",
            Overrun::Held => "held",
        }
    }

    /// Returns the policy of this word, in any case.
    pub fn named(word: &[u8]) -> Option<Overrun> {
        Overrun::ALL
            .into_iter()
            .find(|overrun| word.eq_ignore_ascii_case(overrun.name().as_bytes()))
    }
}

/// Options of a RESERVE, UPDATE or TERMINATE. `Default` has none set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// UPDATE and TERMINATE: the session version that the client expects.
    pub if_version: Option<u64>,
    /// Validity of the grants, ms.
    pub validity_ms: Option<i64>,
    /// Supervision time, ms.
    pub tcc_ms: Option<i64>,
    /// RESERVE, and late use: policy for use beyond the amount that could be debited.
    pub overrun: Option<Overrun>,
    /// Whether one denied item closes the session.
    pub close_on_denial: bool,
    /// RESERVE: whether the session opens although every item is denied.
    pub keep_open: bool,
    /// UPDATE: whether an item that is denied keeps what it held.
    pub keep_hold: bool,
    /// UPDATE and TERMINATE: whether use is settled although the session is not open.
    pub late_use: bool,
    /// TERMINATE: whether a session that is not known ends too, so that a RESERVE that comes later opens nothing.
    pub cancel: bool,
    /// Whether the session is a transfer. TRANSFER alone sets it: no door has a word for it.
    pub transfer: bool,
}

/// The options in the digest of a request's body.
pub(crate) struct HashedOptions {
    /// One bit per option, in the lower 56 bits. Bit 2 is that of the blob.
    pub(crate) bits: u64,
    /// Values of the options that have one, in the order of their bits.
    pub(crate) values: [Option<i64>; 2],
}

impl SessionOptions {
    /// Returns the part of the body's digest. Every option changes what is decided, and so the body, but three: IFVERSION
    /// is a condition on the session that a retry may no longer meet, and LATEUSE and CANCEL let a retry do what the
    /// first attempt could not. Persisted: the bits and their order must never change.
    #[inline]
    pub(crate) fn hashed(&self) -> HashedOptions {
        let SessionOptions {
            if_version: _,
            validity_ms,
            tcc_ms,
            overrun,
            close_on_denial,
            keep_open,
            keep_hold,
            late_use: _,
            cancel: _,
            transfer: _,
        } = *self;
        let flags = u64::from(validity_ms.is_some())
            | u64::from(tcc_ms.is_some()) << 1
            | u64::from(close_on_denial) << 3
            | u64::from(keep_open) << 4
            | u64::from(keep_hold) << 5;
        let overrun = overrun.map_or(0, |overrun| 1 + overrun as u64);
        HashedOptions { bits: flags | overrun << 16, values: [validity_ms, tcc_ms] }
    }

    /// Returns the terms of a session that a RESERVE with these options opens, with the store's default policy.
    pub(crate) fn terms(&self, overrun_default: Overrun) -> SessionTerms {
        let overrun = self.overrun.unwrap_or(overrun_default);
        SessionTerms { overrun, transfer: self.transfer }
    }
}

/// Options that a session keeps as they were when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTerms {
    /// Policy for use beyond the amount that could be debited.
    pub overrun: Overrun,
    /// Whether it is a transfer to another account, which no command of a client settles (docs/ledger.md section 17).
    pub transfer: bool,
}
