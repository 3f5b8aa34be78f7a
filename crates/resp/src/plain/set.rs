//! Options of SET and GETEX.

use super::{Deadline, DeadlineUnit, PlainFault};
use crate::Args;

/// Condition under which SET writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetCondition<'a> {
    /// No condition.
    #[default]
    Always,
    /// NX: the key does not exist.
    Absent,
    /// XX: the key exists.
    Present,
    /// IFEQ: the key has this value.
    Equal(&'a [u8]),
}

/// Lifetime of the written value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifetime<'a> {
    /// No option was given.
    #[default]
    NotGiven,
    /// KEEPTTL: the deadline stays.
    Keep,
    /// PERSIST: no deadline.
    Persist,
    /// EX and similar options: until this deadline.
    Until(Deadline<'a>),
}

/// Options of SET after the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetOptions<'a> {
    /// NX, XX or IFEQ.
    pub condition: SetCondition<'a>,
    /// GET: whether the old value is returned.
    pub get: bool,
    /// EX and similar options, or KEEPTTL.
    pub lifetime: Lifetime<'a>,
}

/// Parses the options of SET, from its fourth argument on.
pub fn parse_set(args: Args<'_>) -> Result<SetOptions<'_>, PlainFault<'static>> {
    let mut options = SetOptions::default();
    let mut words = args.iter_from(3);
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case(b"NX") {
            condition(&mut options.condition, SetCondition::Absent)?;
        } else if word.eq_ignore_ascii_case(b"XX") {
            condition(&mut options.condition, SetCondition::Present)?;
        } else if word.eq_ignore_ascii_case(b"IFEQ") {
            let value = words.next().ok_or(PlainFault::Syntax)?;
            condition(&mut options.condition, SetCondition::Equal(value))?;
        } else if word.eq_ignore_ascii_case(b"GET") {
            options.get = true;
        } else if word.eq_ignore_ascii_case(b"KEEPTTL") {
            set_once(&mut options.lifetime, Lifetime::Keep)?;
        } else {
            deadline(&mut options.lifetime, word, words.next())?;
        }
    }
    Ok(options)
}

/// Sets the condition. The same condition may be repeated, except IFEQ; a different one is an error.
fn condition<'a>(
    before: &mut SetCondition<'a>,
    said: SetCondition<'a>,
) -> Result<(), PlainFault<'static>> {
    let is_again = *before == said && !matches!(said, SetCondition::Equal(_));
    if *before != SetCondition::Always && !is_again {
        return Err(PlainFault::Syntax);
    }
    *before = said;
    Ok(())
}

/// Parses the options of GETEX, from its third argument on.
pub fn parse_get_ex(args: Args<'_>) -> Result<Lifetime<'_>, PlainFault<'static>> {
    let mut lifetime = Lifetime::NotGiven;
    let mut words = args.iter_from(2);
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case(b"PERSIST") {
            set_once(&mut lifetime, Lifetime::Persist)?;
        } else {
            deadline(&mut lifetime, word, words.next())?;
        }
    }
    Ok(lifetime)
}

pub(super) fn deadline<'a>(
    lifetime: &mut Lifetime<'a>,
    word: &[u8],
    number: Option<&'a [u8]>,
) -> Result<(), PlainFault<'static>> {
    match (DeadlineUnit::of_option(word), number) {
        (Some(unit), Some(number)) => {
            set_once(lifetime, Lifetime::Until(Deadline { unit, number }))
        }
        _ => Err(PlainFault::Syntax),
    }
}

/// Sets the lifetime. The same option may be repeated, and the last one counts; a different one is an error.
pub(super) fn set_once<'a>(
    lifetime: &mut Lifetime<'a>,
    said: Lifetime<'a>,
) -> Result<(), PlainFault<'static>> {
    let agrees = match (*lifetime, said) {
        (Lifetime::NotGiven, _) => true,
        (Lifetime::Until(before), Lifetime::Until(now)) => before.unit == now.unit,
        (before, now) => before == now,
    };
    if !agrees {
        return Err(PlainFault::Syntax);
    }
    *lifetime = said;
    Ok(())
}
