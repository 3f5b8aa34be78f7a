//! The options of INCREX.

use super::set::{deadline, set_once};
use super::{Lifetime, PlainFault};
use crate::{Args, parse_integer};

/// Options of INCREX after the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncrexOptions<'a> {
    /// BYINT: number to add.
    pub by: i64,
    /// LBOUND: least allowed result.
    pub low: i64,
    /// UBOUND: greatest allowed result.
    pub high: i64,
    /// SATURATE: whether a result out of bounds becomes the bound; otherwise nothing is changed.
    pub saturates: bool,
    /// EX and similar options, or PERSIST.
    pub lifetime: Lifetime<'a>,
    /// ENX: whether an existing deadline is kept.
    pub keeps_deadline: bool,
}

impl IncrexOptions<'_> {
    /// Returns the result of adding to `before`; `None` if it would be out of bounds.
    pub fn after(&self, before: i64) -> Option<i64> {
        let wanted = i128::from(before) + i128::from(self.by);
        let within = wanted.clamp(self.low.into(), self.high.into());
        i64::try_from(within).ok().filter(|_| within == wanted || self.saturates)
    }
}

/// Parses the options of INCREX, from its third argument on.
pub fn parse_increx(args: Args<'_>) -> Result<IncrexOptions<'_>, PlainFault<'static>> {
    let (mut by, mut low, mut high) = (None, None, None);
    let (mut saturates, mut keeps_deadline) = (false, false);
    let mut lifetime = Lifetime::NotGiven;
    let mut words = args.iter_from(2);
    while let Some(word) = words.next() {
        let number = [(&b"BYINT"[..], &mut by), (b"LBOUND", &mut low), (b"UBOUND", &mut high)]
            .into_iter()
            .find_map(|(name, place)| word.eq_ignore_ascii_case(name).then_some(place));
        if let Some(place) = number {
            let value = words.next().ok_or(PlainFault::Syntax)?;
            let value = parse_integer(value).ok_or(PlainFault::NotAnInteger)?;
            if place.replace(value).is_some() {
                return Err(PlainFault::Syntax);
            }
        } else if word.eq_ignore_ascii_case(b"BYFLOAT") {
            return Err(PlainFault::NoFloat);
        } else if word.eq_ignore_ascii_case(b"SATURATE") {
            saturates = true;
        } else if word.eq_ignore_ascii_case(b"ENX") {
            keeps_deadline = true;
        } else if word.eq_ignore_ascii_case(b"PERSIST") {
            set_once(&mut lifetime, Lifetime::Persist)?;
        } else {
            deadline(&mut lifetime, word, words.next())?;
        }
    }
    if keeps_deadline && !matches!(lifetime, Lifetime::Until(_)) {
        return Err(PlainFault::Syntax);
    }
    let (by, low, high) = (by.unwrap_or(1), low.unwrap_or(i64::MIN), high.unwrap_or(i64::MAX));
    if low > high {
        return Err(PlainFault::BoundsCrossed);
    }
    Ok(IncrexOptions { by, low, high, saturates, lifetime, keeps_deadline })
}
