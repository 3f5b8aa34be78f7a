//! Explains where an argument of a SCUR command belongs that is not allowed in its position.

use crate::Fault;

/// Kinds of session requests, which differ in their options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Reserve,
    Update,
    Terminate,
}

const OF_ITEMS: &[&str] = &["used", "requested", "min"];
const FOR_RESERVE: &[&str] = &["keepopen"];
const FOR_ALL_BUT_RESERVE: &[&str] = &["used", "ifversion", "lateuse"];
const FOR_ALL_BUT_TERMINATE: &[&str] =
    &["requested", "min", "validity", "tcc", "closeondenial", "data"];

/// Returns the fault of an argument that a session request does not allow in its position.
#[cold]
pub(crate) fn of_session(kind: RequestKind, argument: &[u8], has_item: bool) -> Fault<'_> {
    let is_one_of =
        |words: &[&str]| words.iter().any(|word| argument.eq_ignore_ascii_case(word.as_bytes()));
    let place = if kind != RequestKind::Reserve && is_one_of(FOR_RESERVE) {
        "it is for SCUR.RESERVE"
    } else if kind == RequestKind::Reserve && is_one_of(FOR_ALL_BUT_RESERVE) {
        "it is for SCUR.UPDATE and SCUR.TERMINATE"
    } else if kind == RequestKind::Terminate && is_one_of(FOR_ALL_BUT_TERMINATE) {
        "it is for SCUR.RESERVE and SCUR.UPDATE"
    } else if !has_item && is_one_of(OF_ITEMS) {
        "it belongs behind an ITEM"
    } else if argument.first().is_some_and(u8::is_ascii_digit) {
        "a number has its word before it, as REQUESTED or USED"
    } else {
        return Fault::Unexpected(argument);
    };
    Fault::Misplaced { argument, place }
}
