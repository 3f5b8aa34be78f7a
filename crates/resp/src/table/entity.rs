//! The commands on entities: versioned records that replicas can agree on.

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
        notes: "Without VERSION the server gives the entity a version greater than every one it has seen. A replica or\n\
                a coordinator gives VERSION: the server applies the write when this version is greater than the\n\
                stored one, that of a deletion included. Of two writes with one version the greater bytes stand, and\n\
                any value stands over a deletion; of two writes with one value the later expiry stands, and any\n\
                expiry stands over none. With IFVERSION the server applies the write when the stored version is\n\
                exactly this one, that of a deletion included, or 0 when no entity lives there. In the reply\n\
                `applied` is 1 or 0, and `version` is the version that is stored afterwards. A writer of VERSION v\n\
                has its write stored when the reply is `[1, v]` or, after a repetition, `[0, v]`. The write has lost\n\
                to a later one when the version is greater (or to another write of the same version, if another\n\
                writer gives the same versions). Without EX, PX, EXAT or PXAT the entity does not expire, whatever\n\
                an earlier put said. An entity that expires leaves no trace: an older write that comes later counts\n\
                as a new one.",
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
        notes: "`value` is nil for a deleted entity while its deletion is remembered. `expires` is the time at which the\n\
                entity expires, or -1 when it does not expire.",
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
        notes: "VERSION, IFVERSION and the reply are as in ENTITY.PUT. With VERSION the server deletes also an entity\n\
                that is absent, so that a later put with a smaller version loses.",
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
        notes: "The command needs the index on values, which costs memory for every entity and exists only if the\n\
                server is started with `--entity-index`; without the index the answer is an error. The steps list\n\
                every entity that has the value all the time. A step lists 1000 ids at most, 10 unless COUNT says\n\
                otherwise. A node of Valkey or Redis has no such index, and answers with an error.",
        ..ENTITY
    },
];
