//! The commands that combine several commands into one step.

use super::{BLANK, CommandId, Role, Spec, Spread, TransactionId};

const TRANSACTION: Spec =
    Spec { group: "transactions", spread: Spread::Connection, arity: 1, reply: "OK", ..BLANK };

const ENDS: &[&str] = &["noscript", "loading", "stale", "fast", "allow_busy"];
const BEGINS: &[&str] = &["noscript", "loading", "stale", "fast", "no_multi", "allow_busy"];

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Transaction(TransactionId::Multi),
        name: "MULTI",
        flags: BEGINS,
        summary: "Begins a transaction: the commands that follow are answered QUEUED.",
        notes: "See the notes on transactions.",
        ..TRANSACTION
    },
    Spec {
        id: CommandId::Transaction(TransactionId::Exec),
        name: "EXEC",
        flags: &["noscript", "loading", "stale", "skip_commandlog"],
        reply: "array of the replies; null when a watched key was changed",
        summary: "Executes the queued commands in one step.",
        ..TRANSACTION
    },
    Spec {
        id: CommandId::Transaction(TransactionId::Discard),
        name: "DISCARD",
        flags: ENDS,
        summary: "Forgets the queued commands and the watched keys.",
        ..TRANSACTION
    },
    Spec {
        id: CommandId::Transaction(TransactionId::Watch),
        name: "WATCH",
        key_flags: &["RO"],
        arity: -2,
        flags: BEGINS,
        keys: (1, -1, 1),
        role: Role::Read,
        grammar: "key [key ...]",
        summary: "Makes the next EXEC depend on keys: it does nothing if one is not as it was.",
        notes: "A key with the same value and the same expiry as before counts as unchanged.",
        ..TRANSACTION
    },
    Spec {
        id: CommandId::Transaction(TransactionId::Unwatch),
        name: "UNWATCH",
        flags: ENDS,
        summary: "Forgets the watched keys.",
        ..TRANSACTION
    },
];
