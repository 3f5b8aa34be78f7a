//! What the ledger explains in the words of its commands, in those of HTTP: a command is a request, an
//! option is a member of the body, and what is wrong with one has a place there.

use super::input::{FaultLocation, field_problem};
use super::refusal::Refused;
use super::table::OPERATIONS;
use crate::problem::Problem;
use scurry_ledger::Code;
use serde_json::Value;

/// Options of commands, and the members that they are.
const MEMBERS: &[(&str, &str)] = &[
    ("PRIORITY", "priority"),
    ("FROM", "valid_from_ms"),
    ("TO", "valid_to_ms"),
    ("FLOOR", "floor"),
    ("UNIT", "unit"),
    ("VALIDITY", "validity_ms"),
    ("TCC", "tcc_ms"),
    ("DATA", "data"),
    ("REQUESTED", "requested"),
    ("MIN", "min"),
    ("USED", "used"),
    ("IFVERSION", "if_version"),
    ("OVERRUN", "overrun"),
    ("FORCE", "force=true"),
];

/// Other subjects of an explanation of INVALID: it has the name of the member.
const SUBJECTS: &[&str] = &["identities", "buckets", "items", "amount"];

/// The same in words of HTTP.
pub(crate) fn http(why: &str) -> String {
    why.split(' ').map(word).collect::<Vec<String>>().join(" ")
}

fn word(word: &str) -> String {
    let bare = word.trim_matches(|mark: char| matches!(mark, ',' | ':' | '.' | '\'' | '`'));
    let is_command = bare.len() >= 5 && bare.as_bytes()[..5].eq_ignore_ascii_case(b"scur.");
    let meant = if is_command {
        let operation = OPERATIONS.iter().find(|one| one.command.eq_ignore_ascii_case(bare));
        operation.map(|one| format!("{} {}", one.method.word().to_uppercase(), one.path))
    } else {
        let member = MEMBERS.iter().find(|(option, _)| *option == bare);
        member.map(|(_, member)| (*member).to_owned())
    };
    meant.map_or_else(|| word.to_owned(), |meant| word.replacen(bare, &meant, 1))
}

/// A refusal as a problem; of a field that the ledger finds wrong with its place in this body.
pub(crate) fn explain(refused: Refused, body: &[u8]) -> Problem {
    match &refused {
        Refused::Rejected(Code::Invalid, why) => match place(why, body) {
            Some(pointer) => field_problem(FaultLocation::Body(&pointer), why),
            None => refused.into(),
        },
        _ => refused.into(),
    }
}

/// The member that this is about: the first of those that it names which the body has.
fn place(why: &str, body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    why.split([' ', ',', ':']).filter_map(subject).find_map(|member| find(&body, member))
}

/// The member that a word of an explanation means.
fn subject(word: &str) -> Option<&'static str> {
    let members = MEMBERS.iter().map(|(_, member)| *member);
    members.chain(SUBJECTS.iter().copied()).find(|member| *member == word)
}

/// The place of a member. Among several elements that have it, it is somewhere in their array.
fn find(body: &Value, member: &str) -> Option<String> {
    let says = |object: &Value| object.get(member).is_some_and(|value| !value.is_null());
    if says(body) {
        return Some(format!("/{member}"));
    }
    ["items", "buckets"].into_iter().find_map(|list| {
        let elements = body.get(list)?.as_array()?.iter().enumerate();
        let mut have = elements.filter(|(_, element)| says(element));
        let (number, _) = have.next()?;
        Some(match have.next() {
            None => format!("/{list}/{number}/{member}"),
            Some(_) => format!("/{list}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_requests_and_options_are_members() {
        for (why, meant) in [
            (
                "no account has this id: create it with SCUR.CREATE",
                "no account has this id: create it with PUT /v1/accounts/{account}",
            ),
            (
                "the bucket exists: change PRIORITY, FROM and FLOOR with SCUR.BUCKET",
                "the bucket exists: change priority, valid_from_ms and floor with PATCH \
                 /v1/accounts/{account}/buckets/{bucket}",
            ),
            ("TO must be in the future", "valid_to_ms must be in the future"),
            (
                "wrong number of arguments for 'scur.get'",
                "wrong number of arguments for 'GET /v1/accounts/{account}'",
            ),
            ("a closed account stays closed", "a closed account stays closed"),
        ] {
            assert_eq!(http(why), meant);
        }
    }

    #[test]
    fn what_is_wrong_has_a_place_as_far_as_it_can_be_told() {
        for (why, body, pointer) in [
            ("TO must be in the future", r#"{"valid_to_ms":1}"#, Some("/valid_to_ms")),
            (
                "TO must be in the future",
                r#"{"buckets":[{"valid_to_ms":null},{"valid_to_ms":1}]}"#,
                Some("/buckets/1/valid_to_ms"),
            ),
            (
                "TO must be in the future",
                r#"{"buckets":[{"valid_to_ms":2},{"valid_to_ms":1}]}"#,
                Some("/buckets"),
            ),
            ("the item has another unit", r#"{"items":[{"unit":"x"}]}"#, Some("/items/0/unit")),
            ("too many identities", r#"{"identities":{}}"#, Some("/identities")),
            ("something else", r#"{"unit":"x"}"#, None),
        ] {
            assert_eq!(place(&http(why), body.as_bytes()).as_deref(), pointer, "{why}");
        }
    }
}
