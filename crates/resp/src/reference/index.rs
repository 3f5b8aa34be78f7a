//! docs/commands.md: the conventions of all commands, the result codes, and a line for each command.

use super::{cell, entity, file_of, line, node, redis};
use crate::table::{ENTITY, GENERIC, NODE, SCUR, STORE, Spec};
use scurry_ledger::{
    ACCOUNT_ID_LEN_MAX, Code, CodeKind, ID_LEN_MAX, ITEM_KEY_LEN_MAX, NAME_LEN_MAX,
};

/// Returns the page in Markdown. The copy in the repository has no links to the pages of commands, since only the site
/// has these.
pub fn reference(with_links: bool) -> String {
    let mut page = String::new();
    conventions(&mut page);
    codes(&mut page);
    commands(&mut page, "SCUR commands", SCUR, with_links);
    commands(&mut page, "Entity commands", ENTITY, with_links);
    commands(&mut page, "Store commands", STORE, with_links);
    commands_of_redis(&mut page, with_links);
    commands(&mut page, "Commands between nodes", NODE, with_links);
    page
}

fn conventions(page: &mut String) {
    line(
        page,
        format_args!(
            r#"# Commands

This page is generated from the command table in crates/resp: do not edit it. It has what all commands have in common
and a line for each of them. All that is said of one command (reply, codes, role, example, notes) is on a page of its
own on the site (`make site`), in `scurry cli help COMMAND`, which needs no server, and for programs in
[commands.json](commands.json). The rules are in [ledger.md](ledger.md), the words in [glossary.md](glossary.md).

## Conventions

**Arguments.** The first argument of a SCUR command is the account id, and it is the key. Keywords
(upper case here) are case-insensitive. Options come in any order after the fields; those of an
ITEM or BUCKET belong to the last one before them. `[ ]` may be left out, `...` may be repeated,
`|` is a choice.

**Ids.** An account is 1 to {ACCOUNT_ID_LEN_MAX} bytes; a session, a transaction id (`txn`) and an identity's value are 1
to {ID_LEN_MAX}; a unit, bucket, counter, limit and identity's kind are 1 to {NAME_LEN_MAX}. All are printable ASCII without
space. The `key` of an item is 1 to {ITEM_KEY_LEN_MAX} of the same: a rating group (`7`), one with a service
(`10.4711`), `-` for none, or a name. Digits from 0 to 4294967295 without a leading zero are a number, which
replies have as an integer; any other key is a bulk string. An item is found by its key and its unit
together. `request` (the request number) is an integer from 0 to 4294967295.

**Numbers.** Amounts are 64-bit signed integers in the minor units that you have chosen (cents,
octets, seconds, tokens), in decimal: no plus sign, no leading zero, no fraction. `ms` is a time in
UTC milliseconds since 1970, or a duration in milliseconds. `duration` is a number with its unit:
`500ms`, `60s`, `20m`, `1h`; without a unit it is milliseconds, and at least 1000. A total that leaves 64 bits
is a big number in RESP3 and a bulk string of its digits in RESP2.

**Replies.** Maps are RESP3 maps, in RESP2 flat arrays of key, value. Result codes, status, period and overrun are
simple strings; map keys, ids, units and names are bulk strings. Most commands reply with one of these:

| commands | reply |
|---|---|
| TOPUP, ADJUST, BUCKET, DEBIT, REFUND, COUNTER, LIMIT | `[code, replayed, version, amount]` |
| RESERVE, UPDATE, TERMINATE | `[code, replayed, version, items]`, each item `[key, code, granted, final, uncollected]` |

- `replayed` is 1 when the request was a duplicate and this is the stored answer, else 0.
- `version` is the account's version after the command was first executed. In replies about a session it is the
  session's version, 0 when the session is not open afterwards.
- `final` is 1 or 2 when credit or a limit gave the item less than it asked for, a denial with CREDIT_LIMIT_REACHED included:
  1 if nothing is left but this grant, 2 if other items hold more, which may come back. Else it is 0: also for a denial with SERVICE_DENIED or CHAIN_DENIED, for late use, and where CLOSEONDENIAL undid the grant.
- `cause` follows as one more element of a denied item, a denied command with an amount, and a denied request of a
  session without items, where it is known. After that of a limit follows `allowed_at`, the time (ms) at which it would be
  allowed if nothing else changes; without it waiting does not help:

| cause | what is wrong | cure |
|---|---|---|
| `balance` | the buckets of the unit have less, after what the unit owes, than was asked for (or than MIN), or are not valid now | ask for less, or SCUR.TOPUP |
| `no_bucket` | the account has no bucket of this unit. Case counts: `EUR` is not `eur` | SCUR.GET shows the units; SCUR.TOPUP with UNIT makes a bucket |
| `bucket ID` | the bucket that the command names has less than it takes, or than its new floor | ask for less, or SCUR.TOPUP |
| `limit ID` | the account's limit with this id is reached | wait until `allowed_at`, where that follows, or change it |
| `chain` | another command of the same chain was denied | the one that was denied says why |
| `items` | the session has as many items as it may have (session_items_max); the use of the item was debited | another session, or a greater bound |
| `status` | the account is suspended or closed | SCUR.STATUS |

**Errors.** A refusal changes nothing and is a RESP error `-NAME number why`:

| error | when |
|---|---|
| `-UNKNOWN_ACCOUNT 20 no account has this id: ...` | a rule refuses it: the codes below |
| `-INVALID 10 amount is not an integer or out of range: ...` | an argument is malformed; the message names it |
| `-BUSY 50 sessions_max 64, the first goes in 1200 ms: ...` | a bound is reached; with a time where the first of what counts to it goes by itself |
| `-ERR wrong number of arguments for 'scur.get' command: SCUR.GET account` | too few or too many arguments |
| `-WRONGTYPE Operation against a key holding ...` | a SCUR command on a plain value, or a plain command on an account |
| `-OOM command not allowed when used memory > 'maxmemory'.` | a write needs memory, and none is left. What ends, settles, corrects or removes something always runs, and a duplicate gets its stored answer |
| `-NOAUTH Authentication required.` | the server has a password and the connection has not given it |
"#
        ),
    );
}

fn codes(page: &mut String) {
    line(
        page,
        "## Result codes

In order of precedence: of two that apply, the one that stands higher is answered. A *denial* is an answer: it is
stored, and a duplicate gets it again. A *reject* is a RESP error and is stored nowhere.

| code | number | kind | Diameter | Nchf | HTTP | meaning |
|---|---|---|---|---|---|---|",
    );
    for code in Code::ALL {
        let kind = match code.kind() {
            CodeKind::Success => "success",
            CodeKind::Denial => "denial",
            CodeKind::Reject => "reject",
        };
        line(
            page,
            format_args!(
                "| `{}` | {} | {kind} | {} | {} | {} | {} |",
                code.name(),
                *code as u8,
                code.diameter(),
                code.nchf(),
                code.http(),
                code.meaning()
            ),
        );
    }
    line(page, "");
}

fn commands(page: &mut String, title: &str, specs: &[Spec], with_links: bool) {
    line(page, format_args!("## {title}\n\n| command | does |\n|---|---|"));
    for spec in specs {
        let grammar = cell(spec.grammar);
        let command = match (with_links, grammar.as_str()) {
            (false, _) => format!("`{}`", format!("{} {grammar}", spec.name).trim_end()),
            (true, "") => linked(spec),
            (true, grammar) => format!("{} `{grammar}`", linked(spec)),
        };
        line(page, format_args!("| {command} | {} |", spec.summary));
    }
    line(page, "");
}

/// Returns the name of a command as a link to its page, or to its heading on the page of its group.
fn linked(spec: &Spec) -> String {
    let file = file_of(spec);
    let heading = match file.as_str() {
        entity::FILE | node::FILE => format!("#{}", spec.lower_name().replace('.', "")),
        _ => String::new(),
    };
    format!("[{}](commands/{file}{heading})", spec.name)
}

fn commands_of_redis(page: &mut String, with_links: bool) {
    let here = if with_links {
        format!("[a table](commands/{})", redis::FILE)
    } else {
        "a table".to_owned()
    };
    let names: Vec<&str> = GENERIC.iter().map(|spec| spec.name).collect();
    line(
        page,
        format_args!(
            "## Commands of Redis\n\nThey answer as in Valkey 8.0; {here} of the site says where one differs. \
             There are no scripts, hashes, lists, sets, streams and no PUBLISH ([what does their job](clients.md#by-use)).\n\n{}\n",
            names.join(", ")
        ),
    );
}
