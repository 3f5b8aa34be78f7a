//! The commands on entities: versioned records that replicas can agree about.

use super::{BLANK, CommandId, EntityId, Memory, Role, Spec, Spread};

const ENTITY: Spec = Spec { keys: (1, 1, 1), group: "entity", ..BLANK };

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Entity(EntityId::Put),
        name: "ENTITY.PUT",
        role: Role::Charge,
        arity: -3,
        flags: &["write", "fast"],
        memory: Memory::Taken,
        grammar: "id value [VERSION v] [IFVERSION v] [EX s|PX ms|EXAT s|PXAT ms]",
        reply: "[applied, version]",
        summary: "Writes an entity.",
        term: "put, upsert",
        example: "ENTITY.PUT user:7 blue EX 3600",
        notes: "Without VERSION the server gives it a version of its own, greater than every one it has seen. With\n\
                VERSION, as a replica or a coordinator writes, it is applied when that is greater than the stored\n\
                one, a deletion's included; of two writes with one version the greater bytes stand, any value over a\n\
                deletion, and of one value the later expiry over an earlier one or none. With IFVERSION it is\n\
                applied when the stored version is exactly this, a deletion's included, or 0 when no entity lives\n\
                there. `applied` is 1 or 0, `version` is the one that is stored afterwards: a writer of VERSION v has its write stored here when the reply is\n\
                `[1, v]` or, sent again, `[0, v]`, and has lost to a later one when the version is greater (or to\n\
                another of the same version, if another writer gives such).\n\
                Without EX or its like it does not expire: what an earlier put said is forgotten. An entity that\n\
                expires is gone without a trace: a write that is older and comes later is taken for a new one.",
        ..ENTITY
    },
    Spec {
        id: CommandId::Entity(EntityId::Get),
        name: "ENTITY.GET",
        role: Role::Read,
        arity: -2,
        flags: &["readonly", "fast"],
        grammar: "id [WITHVERSION]",
        reply: "the value, or nil; with WITHVERSION [version, value, expires], or nil when nothing is known of it",
        summary: "Reads an entity.",
        term: "get",
        example: "ENTITY.GET user:7 WITHVERSION",
        notes: "`value` is nil for a deleted entity while its deletion is remembered. `expires` is the time at which\n\
                it expires, -1 when it does not.",
        ..ENTITY
    },
    Spec {
        id: CommandId::Entity(EntityId::Del),
        name: "ENTITY.DEL",
        role: Role::Charge,
        arity: -2,
        memory: Memory::ForAbsent,
        flags: &["write", "fast"],
        grammar: "id [VERSION v] [IFVERSION v]",
        reply: "[applied, version]",
        summary: "Deletes an entity; the deletion is remembered for a while, with its version.",
        term: "delete",
        example: "ENTITY.DEL user:7",
        notes: "VERSION, IFVERSION and the reply are as in ENTITY.PUT. With VERSION also what is not there is\n\
                deleted: a put that comes later with a smaller version must lose.",
        ..ENTITY
    },
    Spec {
        id: CommandId::Entity(EntityId::Find),
        name: "ENTITY.FIND",
        spread: Spread::Special,
        role: Role::Read,
        arity: -2,
        flags: &["readonly"],
        keys: (0, 0, 0),
        grammar: "value [COUNT n] [AFTER cursor]",
        reply: "[cursor, ids]; the cursor is 0 at the end",
        summary: "Lists the entities whose whole value is this, in steps.",
        term: "query by value",
        example: "ENTITY.FIND blue COUNT 100",
        notes: "It needs the index on values, which costs memory for every entity and is off unless the server is\n\
                started with `--entity-index`; without it the answer is an error. Every entity that has the value\n\
                all the time is listed. A step lists 1000 ids at most, 10 unless COUNT says otherwise.\n\
                On a node of Valkey or Redis there is no such index, and the answer is an error.",
        ..ENTITY
    },
];
