//! The SCUR commands that are about the store as a whole and need its files.

use super::{BLANK, CommandId, Role, Spec, Spread, StoreId};
use scurry_ledger::Code::Invalid;

const STORE: Spec = Spec { group: "store", ..BLANK };

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Store(StoreId::Snapshot),
        name: "SCUR.SNAPSHOT",
        spread: Spread::EverySuccess,
        role: Role::Admin,
        arity: 1,
        flags: &["admin", "noscript"],
        summary: "Begins a snapshot, which is written while the server serves.",
        term: "backup",
        grammar: "",
        reply: "OK when it is begun; INFO persistence says when it is written (snapshot_in_progress, snapshots_written, snapshots_failed)",
        codes: &[],
        example: "SCUR.SNAPSHOT",
        notes: "An error when one is being written already, or when the server keeps no log. On a node of Valkey or Redis an\n\
                error: BGSAVE and BGREWRITEAOF are theirs.",
        ..STORE
    },
    Spec {
        id: CommandId::Store(StoreId::Watch),
        name: "SCUR.WATCH",
        spread: Spread::Special,
        role: Role::Read,
        arity: -2,
        flags: &["readonly", "blocking"],
        summary: "Reads what was committed, from a position on: each change of a balance, each expiry, each crossing of a threshold.",
        term: "event stream, notification",
        grammar: "position [THREAD n] [COUNT n] [BLOCK ms] [LOW unit amount]... [ACCOUNT account]",
        reply: "map of: next, oldest, end, events\n\
                events: array of [id, [field, value, ...]]",
        codes: &[Invalid],
        example: "SCUR.WATCH 0 COUNT 100 BLOCK 5000 LOW cent 200",
        notes: "The position is 0 (the oldest that is kept), $ (what comes from now on) or the next of an earlier reply. With several threads each has events of its own: THREAD chooses; on a thread's own port it is that thread, with ACCOUNT that of the account. Events are in docs/events.md. An error when the server keeps no log, and on a node of Valkey or Redis, which has none.",
        ..STORE
    },
];
