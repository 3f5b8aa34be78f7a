//! The SCUR commands that are about the store as a whole and need its files.

use super::{BLANK, CommandId, Role, Spec, Spread};

const STORE: Spec = Spec { group: "store", ..BLANK };

pub(super) const COMMANDS: &[Spec] = &[Spec {
    id: CommandId::ScurSnapshot,
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
    notes: "An error when one is being written already, or when the server keeps no log.",
    ..STORE
}];
