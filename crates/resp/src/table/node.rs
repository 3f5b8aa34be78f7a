//! Commands that a primary in Valkey or Redis sends to its replicas and writes to its append-only file. Our own server
//! does not know them: no client sends them.

use super::{BLANK, CommandId, NodeId, Role, Spec};

const NODE: Spec = Spec {
    role: Role::Admin,
    keys: (1, 1, 1),
    group: "node",
    flags: &["write", "fast", "admin"],
    reply: "OK, or an error to clients",
    ..BLANK
};

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Node(NodeId::ScurApply),
        name: "SCUR.APPLY",
        arity: -3,
        grammar: "account (change | IMAGE image | \"\")",
        summary: "Carries out what was decided about an account; nothing, where there is no change.",
        notes: "A change is 8 bytes, the lowest first, with the version of the account that the change was decided on,\n\
                and then a Change as in docs/formats/log.md.",
        term: "replication",
        example: "SCUR.APPLY alice \"\"",
        ..NODE
    },
    Spec {
        id: CommandId::Node(NodeId::EntityApply),
        name: "ENTITY.APPLY",
        arity: -3,
        grammar: "id version [end [value]]",
        summary: "Carries out a write of an entity that was decided.",
        term: "replication",
        example: "ENTITY.APPLY user:7 1700000000000 -1 blue",
        ..NODE
    },
];
