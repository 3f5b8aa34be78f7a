//! The page of the commands that clients of Redis expect: one table, and the rules for all of them.

use super::{ReferencePage, cell, line, syntax};
use crate::table::{GENERIC, Spec};

pub(super) const FILE: &str = "redis.md";
const TITLE: &str = "Commands of Redis";

const RULES: &str = "These commands answer as Valkey 8.0 does, in RESP2 and RESP3, except where the last column says
otherwise; a test sends random commands to both and compares. SET with IFEQ and DELIFEQ are compared
with Valkey 9.1.2. INCREX follows the documentation of Redis 8.8, and is compared with nothing.

There is one database, 0. Replicas exist only in a [group](../replication.md). There is no SAVE, BGSAVE and
BGREWRITEAOF: SCUR.SNAPSHOT writes a snapshot, and `--durability` says what survives a restart. A key of a plain
value has at most 65535 bytes, a value at most `--max-argument`. HELP of a container lists its subcommands. Keywords
and numbers are read strictly: Valkey accepts a zero byte and more behind a keyword, and a space or a plus sign
before a cursor.

## Accounts and entities

A plain write to a key that holds an account or an entity is WRONGTYPE and changes nothing; so is a plain read of its value.

## Many keys

MGET, MSET, DEL, UNLINK, EXISTS and TOUCH over keys of several threads are not one step: other clients may see a
part of it done. MSETNX is always one step.

## Scripts

There are none: EVAL, EVALSHA, SCRIPT, FUNCTION, FCALL and their like get an error that says what does the job instead.

| what scripts are for | instead |
|---|---|
| a lock: taken, prolonged and released by its holder | `SET lock me NX PX 30000`, `SET lock me IFEQ me PX 30000`, `DELIFEQ lock me` |
| a rate limit | `INCREX key UBOUND 100 EX 60 ENX` |
| a balance that is not overdrawn, a quota, a budget | SCUR.RESERVE, SCUR.DEBIT, SCUR.LIMIT |
| several keys in one step | MULTI and WATCH; accounts by SCUR.CHAIN |

The error is not NOSCRIPT, so a client that tries EVALSHA first does not send the script afterwards. Its first
words differ from those of other unknown commands, because Redisson would answer these with EVALSHA for ever.

## Transactions

MULTI queues commands, and EXEC executes them in one step: no other client sees a part of it, and after a restart
all of it is there or nothing. A command that fails does not undo the others.

- Allowed are commands with keys, PING and ECHO. Commands about the server or the connection, commands without a
  key, WATCH and MULTI are an error, and EXEC then refuses, as in Redis.
- On several threads all keys of a transaction and of its WATCH must be on one thread, as keys with one hash tag
  (`{tag}a`, `{tag}b`) are; otherwise the answer is CROSSSLOT.
- A transaction has at most 16 MiB of commands, counting 64 bytes for each beside its arguments. When its
  replies are longer than 64 MiB, the replies of the remaining reads are errors. With a log it has at most 16 MiB of
  records, which only short commands that change long values (SETRANGE) can exceed: further writes are errors.

## Slow commands

SLOWLOG keeps every command that takes at least `slowlog-log-slower-than` microseconds (10000 by default; 0 for
all, negative for none), for each thread the newest `slowlog-max-len` (128 by default). A command that another
thread executed has no connection name. A command that may take long (more than 16 arguments, or not `fast` in
the table) is measured alone. Other commands take well below a microsecond and are measured up to 16 together:
if they together took as long as the limit, one entry has the arguments of the last one and their number. With a
limit below 1000 microseconds every command is measured alone.

## The table

| command | does | role | reply | differs from Redis |
|---|---|---|---|---|";

const CACHING: &str = "
## Client-side caching

After `CLIENT TRACKING ON` a connection may cache what it reads: the server tracks each key that a command with
the flag `readonly` reads. When the key changes, by any client, by an expiry or by an account's timer, the server tells
the connection once, and does not track the key until it is read again:

    >2
    $10
    invalidate
    *1
    $5
    alice

FLUSHALL is told as one nil in the place of the keys: drop everything. Pushes come between replies; the push for a
connection's own command comes after its reply, or after the replies of its batch when another thread owns the key.
Pushes need RESP3 (`HELLO 3`); RESP2 has none. OPTIN, OPTOUT, NOLOOP and `CLIENT CACHING` are as in Valkey.

- What time alone changes in a reply is not told: a TTL, a counter that begins a period, a bucket that
  becomes valid. A hold that comes back or a bucket that expires is told when the timer has run.
- With several threads FLUSHALL may be told once by each.
- The tracked keys are bounded by `tracking-table-max-keys` (1,000,000) and by 256 bytes of memory for each
  of them, all threads together; this memory counts to `maxmemory`. Beyond the bound some keys are told as if they
  had changed. `INFO` shows tracking_clients, tracking_total_keys and tracking_total_items.
- A connection that does not read its pushes is told to drop everything instead.";

pub(super) fn page() -> ReferencePage {
    let mut text = format!("# {TITLE}\n\n{RULES}\n");
    for spec in GENERIC {
        row(&mut text, spec);
        for sub in spec.subcommands {
            row(&mut text, sub);
        }
    }
    line(&mut text, CACHING);
    ReferencePage { file: FILE.to_owned(), title: TITLE.to_owned(), text }
}

fn row(page: &mut String, spec: &Spec) {
    line(
        page,
        format_args!(
            "| `{}` | {} | {} | {} | {} |",
            cell(&syntax(spec)),
            cell(spec.summary),
            spec.role.name(),
            cell(spec.reply),
            cell(spec.notes)
        ),
    );
}
