//! The terms of a session as bits: 0 and 1 the overrun policy (0 overdraw, 1 clamp, 2 held), 2 whether it is a
//! transfer.

use scurry_ledger::{Overrun, SessionTerms};

/// Number of bits.
pub(crate) const TERMS_BITS: u32 = 3;

const OVERRUN: u8 = 0b11;
const TRANSFER: u8 = 1 << 2;

#[inline]
pub(crate) fn terms_to_bits(terms: SessionTerms) -> u8 {
    terms.overrun as u8 | if terms.transfer { TRANSFER } else { 0 }
}

/// Returns the terms of these bits; `None` if they are those of no terms.
#[inline]
pub(crate) fn terms_from_bits(bits: u8) -> Option<SessionTerms> {
    let overrun = match bits & OVERRUN {
        0 => Overrun::Overdraw,
        1 => Overrun::Clamp,
        2 => Overrun::Held,
        _ => return None,
    };
    let transfer = bits & TRANSFER != 0;
    (bits >> TERMS_BITS == 0).then_some(SessionTerms { overrun, transfer })
}
