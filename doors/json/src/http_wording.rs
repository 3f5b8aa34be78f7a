//! Translates the ledger's explanations from command words to HTTP words: a command becomes a method and path, an
//! option becomes a member of the body.

use crate::table::OPERATIONS;

/// Options of commands, each with its member in JSON.
const MEMBERS: &[(&str, &str)] = &[
    ("PRIORITY", "priority"),
    ("FROM", "valid_from_ms"),
    ("TO", "valid_to_ms"),
    ("FLOOR", "floor"),
    ("MARK", "mark"),
    ("PERIOD", "period"),
    ("OFFSET", "offset_minutes"),
    ("ZONE", "zone"),
    ("BEGIN", "begin"),
    ("ROLLING", "rolling_ms"),
    ("RATE", "rate_ms"),
    ("BURST", "burst"),
    ("AMOUNT", "allowance.amount"),
    ("ROLLOVER", "rollover"),
    ("DEBT", "debt"),
    ("UNIT", "unit"),
    ("VALIDITY", "validity_ms"),
    ("TCC", "tcc_ms"),
    ("DATA", "data"),
    ("ITEM", "items"),
    ("REQUESTED", "requested"),
    ("MIN", "min"),
    ("USED", "used"),
    ("IFVERSION", "if_version"),
    ("OVERRUN", "overrun"),
    ("FORCE", "force=true"),
    ("TRANSACTION", "transaction"),
    ("IFTXN", "if_transaction"),
];

/// Members that an explanation of INVALID can be about and that have the same name in commands.
const SUBJECTS: &[&str] = &["identities", "buckets", "items", "amount"];

/// Returns an explanation in HTTP words.
pub(crate) fn to_http_words(why: &str) -> String {
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

/// Returns the member of the body that a word of a translated explanation names.
pub(crate) fn member_named(word: &str) -> Option<&'static str> {
    let members = MEMBERS.iter().map(|(_, member)| *member);
    members.chain(SUBJECTS.iter().copied()).find(|member| *member == word)
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
                "the bucket exists: change PRIORITY, FROM, FLOOR and MARK with SCUR.BUCKET",
                "the bucket exists: change priority, valid_from_ms, floor and mark with PATCH \
                 /v1/accounts/{account}/buckets/{bucket}",
            ),
            ("TO must be in the future", "valid_to_ms must be in the future"),
            (
                "wrong number of arguments for 'scur.get'",
                "wrong number of arguments for 'GET /v1/accounts/{account}'",
            ),
            ("a closed account stays closed", "a closed account stays closed"),
        ] {
            assert_eq!(to_http_words(why), meant);
        }
    }
}
