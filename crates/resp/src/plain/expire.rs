//! Conditions of EXPIRE and similar commands.

use super::PlainFault;
use crate::Args;
use scurry_ledger::Time;

/// NX, XX, GT and LT: conditions under which a deadline is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpireCondition {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

/// Parses the conditions, from the command's fourth argument on.
pub fn parse_expire(args: Args<'_>) -> Result<ExpireCondition, PlainFault<'_>> {
    let mut condition = ExpireCondition::default();
    for word in args.iter_from(3) {
        if word.eq_ignore_ascii_case(b"NX") {
            condition.nx = true;
        } else if word.eq_ignore_ascii_case(b"XX") {
            condition.xx = true;
        } else if word.eq_ignore_ascii_case(b"GT") {
            condition.gt = true;
        } else if word.eq_ignore_ascii_case(b"LT") {
            condition.lt = true;
        } else {
            return Err(PlainFault::UnsupportedOption(word));
        }
    }
    if condition.nx && (condition.xx || condition.gt || condition.lt) {
        return Err(PlainFault::NxExcludes);
    }
    if condition.gt && condition.lt {
        return Err(PlainFault::GtExcludesLt);
    }
    Ok(condition)
}

impl ExpireCondition {
    /// Reports whether the deadline may be replaced by `after`; a missing deadline counts as later than any.
    pub fn allows(&self, before: Option<Time>, after: Time) -> bool {
        let nx = !self.nx || before.is_none();
        let xx = !self.xx || before.is_some();
        let gt = !self.gt || before.is_some_and(|before| after > before);
        let lt = !self.lt || before.is_none_or(|before| after < before);
        nx && xx && gt && lt
    }
}
