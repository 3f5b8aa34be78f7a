//! AVPs that decide about money occur once: which of two would count is a guess.

use crate::avp::Avp;
use crate::refusal::Refusal;
use crate::result_code::ResultCode;

/// Stores the value of an AVP that may occur once.
#[inline]
pub(super) fn once<'a, T>(
    slot: &mut Option<T>,
    avp: &Avp<'a>,
    value: Result<T, Refusal<'a>>,
) -> Result<(), Refusal<'a>> {
    if slot.is_some() {
        return Err(too_many(avp));
    }
    *slot = Some(value?);
    Ok(())
}

/// Stores the value of an AVP of which the first counts.
#[inline]
pub(super) fn first<'a, T>(
    slot: &mut Option<T>,
    value: Result<T, Refusal<'a>>,
) -> Result<(), Refusal<'a>> {
    let value = value?;
    slot.get_or_insert(value);
    Ok(())
}

/// Returns the refusal of an AVP that occurs more often than is allowed.
#[cold]
pub(super) fn too_many<'a>(avp: &Avp<'a>) -> Refusal<'a> {
    let text = "an AVP occurs more often than is allowed";
    avp.refuse(ResultCode::AVP_OCCURS_TOO_MANY_TIMES, text)
}
