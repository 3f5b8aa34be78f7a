//! Renders docs/commands.md from the table, so that the page cannot say anything else than
//! what the server does.

use crate::table::{ENTITY, GENERIC, NODE, SCUR, STORE, Spec};
use scurry_ledger::{
    ACCOUNT_ID_LEN_MAX, Code, CodeKind, ID_LEN_MAX, ITEM_KEY_LEN_MAX, NAME_LEN_MAX,
};
use std::fmt::Write;

/// The whole page, in Markdown.
pub fn reference() -> String {
    let mut page = String::new();
    introduction(&mut page);
    codes(&mut page);
    overview(&mut page, "SCUR commands", SCUR);
    for spec in SCUR {
        command(&mut page, spec);
    }
    entities(&mut page);
    nodes(&mut page);
    generic_commands(&mut page);
    client_side_caching(&mut page);
    page
}

/// Appends a line. Writing to a string cannot fail.
fn line(page: &mut String, text: impl std::fmt::Display) {
    let _ = writeln!(page, "{text}");
}

fn introduction(page: &mut String) {
    line(
        page,
        format_args!(
            r#"# Commands: grammar and replies

This page is generated from the command table in crates/resp: do not edit it. The rules behind
the commands are in [ledger.md](ledger.md), the words in [glossary.md](glossary.md).

## Conventions

**Arguments.** The first argument of a SCUR command is the account id, and it is the key. Keywords
(upper case here) are case-insensitive. Options come in any order after the fields; those of an
ITEM or BUCKET belong to the last one before them. `[ ]` may be left out, `...` may be repeated,
`|` is a choice.

**Examples** of the SCUR, entity and store commands can be typed in the order of this page into a new
`scurry serve --entity-index`; a test does. That of SCUR.LOAD shows the form: its bytes are those of SCUR.DUMP.

**Ids.** An account is 1 to {ACCOUNT_ID_LEN_MAX} bytes; a session, a transaction id (`txn`) and an identity's value are 1
to {ID_LEN_MAX}; a unit, bucket, counter and identity's kind are 1 to {NAME_LEN_MAX}. All are printable ASCII without
space. The `key` of an item is 1 to {ITEM_KEY_LEN_MAX} of the same: a rating group (`7`), one with a service
(`10.4711`), `-` for none, or a name. Digits from 0 to 4294967295 without a leading zero are a number, and
replies have them as an integer, any other key as a bulk string. An item is found by its key and its unit
together. `request` (the request number) is an integer from 0 to 4294967295.

**Numbers.** Amounts are 64-bit signed integers in the minor units that you have chosen (cents,
octets, seconds, tokens), in decimal: no plus sign, no leading zero, no fraction. `ms` is a time in
UTC milliseconds since 1970, or a duration in milliseconds. `duration` is a number with its unit:
`500ms`, `60s`, `20m`, `1h`. Without a unit it is milliseconds, and at least 1000: `TCC 60` would be
over at once, and is refused. A total that leaves 64 bits is a big
number in RESP3 and a bulk string of its digits in RESP2.

**Replies.** The words of this page are simple strings: `code`, which is the name of the result code
(`+OK`, `+CREDIT_LIMIT_REACHED`, `+SERVICE_DENIED`), status, period and overrun. Map keys, ids, units
and names are bulk strings. `replayed` is 1 when the request was a duplicate and the stored answer is
given again, else 0; `final` is 1 when less was granted than requested, else 0. `version` is the
account's version after the command was first executed; in the replies to RESERVE, UPDATE, TERMINATE
and RELEASE it is the session's version, 0 when the session is not open afterwards. Maps are RESP3
maps, in RESP2 flat arrays of key, value. A denied item, a denied command with an amount, and a
denied request of a session without items have one more element, the `cause`, where it is known:

| cause | what is wrong | cure |
|---|---|---|
| `balance` | the buckets of the unit have less than was asked for (or than MIN), or are not valid now | ask for less, or SCUR.TOPUP |
| `no_bucket` | the account has no bucket of this unit, valid or not. Units are told apart by case: `EUR` is not `eur` | SCUR.GET shows the units; SCUR.TOPUP with UNIT makes a bucket |
| `limit ID` | the account's limit with this id is reached | wait for its next period, or change it |
| `chain` | another command of the same chain was denied | the one that was denied says why |
| `status` | the account is suspended or closed | SCUR.STATUS |

**Errors.** A refusal changes nothing and is a RESP error `-NAME number why`:

    -UNKNOWN_ACCOUNT 20 no account has this id: create it with SCUR.CREATE

| error | when |
|---|---|
| `-INVALID 10 amount is not an integer or out of range: ...` | an argument is malformed; the message names the field |
| `-INVALID 10 unexpected argument 'xyz'` | the grammar has no such option here |
| `-BUSY 50 sessions_max 64, the first goes in 1200 ms: ...` | a bound is reached; with a time where the first of what counts to it goes by itself |
| `-ERR wrong number of arguments for 'scur.get' command: SCUR.GET account` | too few or too many arguments; the syntax follows, but for commands of Redis and in the module |
| `-WRONGTYPE Operation against a key holding the wrong kind of value` | a SCUR command on a plain value, or a plain command on an account |
| `-OOM command not allowed when used memory > 'maxmemory'.` | a write that needs memory, and there is none left. What ends, settles, corrects or removes something always runs, and a duplicate gets its stored answer |
| `-NOAUTH Authentication required.` | the server has a password and the connection has not given it |
"#
        ),
    );
}

fn client_side_caching(page: &mut String) {
    line(
        page,
        "
## Client-side caching

A connection that says `CLIENT TRACKING ON` may keep what it reads: each key that a command with the
flag `readonly` reads is tracked for it. When the key changes, by anybody, by an expiry or by an
account's timer, the connection is told once, and the key is not tracked any more until it is read
again:

    >2
    $10
    invalidate
    *1
    $5
    alice

FLUSHALL is told as one nil in the place of the keys: drop everything. Pushes come between replies, the
one for a connection's own command behind its reply, or behind the replies of its batch when another
thread owns the key. They need RESP3 (`HELLO 3`); RESP2 has none. OPTIN, OPTOUT, NOLOOP and
`CLIENT CACHING` are as in Valkey.

- What time alone changes in a reply is not told: a TTL, a counter that begins a period, a bucket that
  becomes valid. A hold that comes back or a bucket that expires is, when the timer has seen to it.
- With several threads FLUSHALL may be told once by each.
- What is tracked is bounded by `tracking-table-max-keys` (1,000,000) and by 256 bytes of memory for each
  of them, all threads together; it counts to `maxmemory` with the connections. Beyond that some keys
  are told as if they had changed. `INFO` shows tracking_clients, tracking_total_keys and
  tracking_total_items.
- A connection that does not read what it is told is told to drop everything instead.",
    );
}

fn codes(page: &mut String) {
    line(
        page,
        "## Result codes

In order of precedence: of two that apply, the one that stands higher is answered. A *denial* is
stored like a success, and a duplicate gets it again. A *reject* is a RESP error and is stored
nowhere.

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

fn overview(page: &mut String, title: &str, specs: &[Spec]) {
    line(page, format_args!("## {title}\n\n| command | term of the field | does |\n|---|---|---|"));
    for spec in specs {
        let anchor = spec.lower_name().replace('.', "");
        line(
            page,
            format_args!("| [{}](#{anchor}) | {} | {} |", spec.name, spec.term, spec.summary),
        );
    }
    line(page, "");
}

fn command(page: &mut String, spec: &Spec) {
    line(page, format_args!("### {}\n\n{}\n", spec.name, spec.summary));
    line(page, format_args!("    {}\n", synopsis(spec)));
    let mut reply = spec.reply.lines();
    line(page, format_args!("- **Reply:** {}", reply.next().unwrap_or_default()));
    for more in reply {
        line(page, format_args!("  - {more}"));
    }
    if !spec.codes.is_empty() {
        let codes: Vec<String> =
            spec.codes.iter().map(|code| format!("`{}`", code.name())).collect();
        line(page, format_args!("- **Codes besides OK:** {}", codes.join(", ")));
    }
    line(page, format_args!("- **Term of the field:** {}", spec.term));
    line(page, format_args!("- **Role:** {}", spec.role.name()));
    if let Some(refused) = spec.memory.at_the_bound() {
        line(page, format_args!("- **Without memory:** {refused}"));
    }
    line(page, format_args!("- **Since:** {}", spec.since));
    let needs = spec.example_needs.iter();
    let needs: String = needs.map(|needed| format!("`{needed}`, then ")).collect();
    line(page, format_args!("- **Example:** {needs}`{}`", spec.example));
    if !spec.notes.is_empty() {
        line(page, format_args!("\n{}", spec.notes));
    }
    line(page, "");
}

fn entities(page: &mut String) {
    overview(page, "Entity commands", ENTITY);
    overview(page, "Store commands", STORE);
    line(
        page,
        "An entity is a record with a version: bytes under a key of their own kind, which the plain
commands do not write and the SCUR commands do not know. An id is 1 to 65535 bytes, any bytes. A
version is an integer from 1 to 9223372036854775807, and a greater one is a later write: the time
in UTC milliseconds, a counter and the number of the node that gave it, in this order. A version
whose time is far ahead of the server's clock is refused, because no write could win against it.
A refusal because of an argument is `-INVALID 10 why`, as for SCUR commands. While the deletion of
an entity is remembered its id belongs to entities: to write something else there is WRONGTYPE.
",
    );
    for spec in ENTITY.iter().chain(STORE) {
        command(page, spec);
    }
}

fn nodes(page: &mut String) {
    overview(page, "Commands between nodes", NODE);
    line(
        page,
        "A primary of Valkey or Redis with libscurry.so ([cluster.md](cluster.md)) sends these commands to its
replicas and writes them to its file of commands. Clients get an error for them, also within MULTI and
scripts; `scurry serve` does not know them. A key that is not what the command was made for ends the
node, with a line in its log: it must not serve what nobody decided.
",
    );
    for spec in NODE {
        command(page, spec);
    }
}

/// Name and arguments; a long grammar is broken before ITEM and BUCKET.
fn synopsis(spec: &Spec) -> String {
    let text = format!("{} {}", spec.name, spec.grammar);
    let text = text.trim_end();
    if text.len() <= 96 {
        return text.to_owned();
    }
    let broken = text.replacen(" [ITEM key", "\n        [ITEM key", 1);
    let broken =
        broken.replacen(" ITEM key unit REQUESTED", "\n        ITEM key unit REQUESTED", 1);
    broken.replacen(" [BUCKET bucket", "\n        [BUCKET bucket", 1)
}

fn generic_commands(page: &mut String) {
    line(
        page,
        "## Generic commands

There is one database, 0. Replicas there are in a [group](replication.md) alone. SAVE, BGSAVE and BGREWRITEAOF do not exist,
SCUR.SNAPSHOT does; `--durability` says what survives a restart.

Ordinary clients of Redis and load tools need these commands. They answer as Valkey 8.0 does, in RESP2
and RESP3, except where the last column says otherwise; a test sends random commands to both and
compares. SET with IFEQ and DELIFEQ are compared with Valkey 9.1.2 in the same way. INCREX, which follows what Redis
says of its 8.8, is compared with nothing: the newest Redis that could be installed is 8.0.6. Keys of plain values are at most 65535 bytes long, values at most as long as
`--max-argument`. HELP of a container lists its subcommands. Keywords and numbers are taken as they are written: Valkey overlooks what
follows a zero byte in a keyword, and a space or a plus sign before a cursor.

**Accounts and entities.** A plain write to a key that holds one of them is WRONGTYPE and changes
nothing; so is a plain read of its value.

**Many keys.** MGET, MSET, DEL, UNLINK, EXISTS and TOUCH over keys of several cores are not one
step: other clients may see some of it done. MSETNX is always one step.

**Scripts.** There are none: EVAL, EVALSHA, SCRIPT, FUNCTION, FCALL and their like get an error that says what does
the job instead.

| what scripts are for | instead |
|---|---|
| a lock: taken, prolonged and let go by its holder | `SET lock me NX PX 30000`, `SET lock me IFEQ me PX 30000`, `DELIFEQ lock me` |
| so many a minute | `INCREX key UBOUND 100 EX 60 ENX` |
| a balance that is not overdrawn, a quota, a budget | SCUR.RESERVE, SCUR.DEBIT, SCUR.LIMIT |
| several keys in one step | MULTI and WATCH; accounts by SCUR.CHAIN |

The error is not NOSCRIPT, so a client that sends EVALSHA first does not send the script behind it; and its first
words are not those of other unknown commands, at which Redisson would send EVALSHA again for ever.

**Transactions.** MULTI queues what follows, EXEC has it executed in one step: nobody sees some of it
done, and after a restart all of it is there or nothing. A command that fails does not undo the others.
It may have commands with keys, PING and ECHO, and not those on the server or the connection, those
without a key, or WATCH and MULTI: they are an error, and EXEC refuses then, as in Redis. On several
threads all keys of a transaction and of its WATCH have to be on one thread, as those with one hash
tag (`{tag}a`, `{tag}b`) are; otherwise the answer is CROSSSLOT. A transaction has at most 16 MiB of commands, counting
64 bytes for each besides its arguments; when its replies are longer than 64 MiB, those of its
remaining reads are errors. With a log it has 16 MiB of records as well, which is enough unless short
commands change long values (SETRANGE): what it would write beyond is an error.

**Slow commands.** SLOWLOG keeps every command that takes at least `slowlog-log-slower-than`
microseconds (10000 unless set; 0 for all, negative for none): each thread the newest
`slowlog-max-len` (128 unless set) of them. A command that another thread has executed has no
connection name. A command that may take long (more than 16
arguments, or not `fast` in the table) is measured by itself. The others, which take well below a
microsecond each, are measured up to 16 at once: when they together took as long as the limit, one
entry tells of all of them, with the last one's arguments and how many they were. With a limit below
1000 microseconds each one is measured by itself.

| command | does | role | reply | differs from Redis |
|---|---|---|---|---|",
    );
    for spec in GENERIC {
        generic_row(page, spec);
        for sub in spec.subcommands {
            generic_row(page, sub);
        }
    }
}

fn generic_row(page: &mut String, spec: &Spec) {
    let synopsis = format!("{} {}", spec.name.replace('|', " "), spec.grammar);
    let cell = |text: &str| text.replace('|', "\\|");
    line(
        page,
        format_args!(
            "| `{}` | {} | {} | {} | {} |",
            cell(synopsis.trim_end()),
            cell(spec.summary),
            spec.role.name(),
            cell(spec.reply),
            cell(spec.notes)
        ),
    );
}
