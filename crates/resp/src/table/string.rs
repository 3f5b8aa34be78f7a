//! The commands on plain values.

use super::{BLANK, CommandId, HotId, Memory, Role, Spec, Spread, StringId};

const STRING: Spec = Spec { group: "string", keys: (1, 1, 1), ..BLANK };

const READ: &[&str] = &["readonly"];
const READ_FAST: &[&str] = &["readonly", "fast"];
const WRITE_FAST: &[&str] = &["write", "fast"];
const WRITE: &[&str] = &["write"];

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Hot(HotId::Get),
        name: "GET",
        role: Role::Read,
        arity: 2,
        flags: READ_FAST,
        grammar: "key",
        reply: "the value, or nil",
        summary: "Reads a plain value.",
        ..STRING
    },
    Spec {
        id: CommandId::Hot(HotId::Set),
        name: "SET",
        role: Role::Charge,
        arity: -3,
        flags: WRITE,
        memory: Memory::Taken,
        grammar: "key value [NX|XX|IFEQ value] [GET] [EX s|PX ms|EXAT s|PXAT ms|KEEPTTL]",
        reply: "OK; nil when NX, XX or IFEQ kept it from being written; with GET the value before, or nil",
        summary: "Writes a plain value.",
        notes: "The answer is WRONGTYPE for an account or an entity, also with NX: SET never overwrites either. IFEQ is that of Valkey 9.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::SetNx),
        name: "SETNX",
        role: Role::Charge,
        arity: 3,
        flags: WRITE_FAST,
        memory: Memory::Taken,
        grammar: "key value",
        reply: "1, or 0 when the key exists",
        summary: "Writes a plain value where there is none.",
        notes: "As SET with NX.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::SetEx),
        name: "SETEX",
        role: Role::Charge,
        arity: 4,
        flags: WRITE,
        memory: Memory::Taken,
        grammar: "key s value",
        reply: "OK",
        summary: "Writes a plain value that expires after so many seconds.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::PSetEx),
        name: "PSETEX",
        role: Role::Charge,
        arity: 4,
        flags: WRITE,
        memory: Memory::Taken,
        grammar: "key ms value",
        reply: "OK",
        summary: "Writes a plain value that expires after so many milliseconds.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::GetSet),
        name: "GETSET",
        role: Role::Charge,
        arity: 3,
        flags: WRITE_FAST,
        memory: Memory::Taken,
        grammar: "key value",
        reply: "the value before, or nil",
        summary: "Writes a plain value and reads what was there.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::GetDel),
        name: "GETDEL",
        role: Role::Charge,
        arity: 2,
        flags: WRITE_FAST,
        grammar: "key",
        reply: "the value, or nil",
        summary: "Reads a plain value and deletes it.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::DelIfEq),
        name: "DELIFEQ",
        role: Role::Charge,
        arity: 3,
        flags: WRITE_FAST,
        grammar: "key value",
        reply: "1, or 0 when the key does not exist or has another value",
        summary: "Deletes a plain value when it is this one.",
        notes: "That of Valkey 9. Redis 8 writes DELEX key IFEQ value.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::GetEx),
        name: "GETEX",
        role: Role::Charge,
        arity: -2,
        flags: WRITE_FAST,
        grammar: "key [EX s|PX ms|EXAT s|PXAT ms|PERSIST]",
        reply: "the value, or nil",
        summary: "Reads a plain value and changes when it expires.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::MGet),
        name: "MGET",
        spread: Spread::Elements,
        role: Role::Read,
        arity: -2,
        flags: READ_FAST,
        keys: (1, -1, 1),
        grammar: "key [key ...]",
        reply: "array of values; nil where there is none, and for accounts and entities",
        summary: "Reads many plain values.",
        notes: "A reply of more than 64 MiB is an error.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::MSet),
        name: "MSET",
        spread: Spread::Success,
        role: Role::Charge,
        arity: -3,
        flags: WRITE,
        memory: Memory::Taken,
        keys: (1, -1, 2),
        grammar: "key value [key value ...]",
        reply: "OK",
        summary: "Writes many plain values.",
        notes: "With an account or an entity among the keys the answer is WRONGTYPE and nothing is written. When memory runs out half-way, the values written so far stay. The threads do not write their keys at one moment, and an error of one thread undoes nothing of the others.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::MSetNx),
        name: "MSETNX",
        role: Role::Charge,
        arity: -3,
        flags: WRITE,
        memory: Memory::Taken,
        keys: (1, -1, 2),
        grammar: "key value [key value ...]",
        reply: "1, or 0 when one of the keys exists",
        summary: "Writes many plain values where there are none: all of them or none.",
        notes: "The answer is WRONGTYPE with an account or an entity among the keys, and CROSSSLOT for keys of several threads.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::Incr),
        name: "INCR",
        role: Role::Charge,
        arity: 2,
        flags: WRITE_FAST,
        memory: Memory::Taken,
        grammar: "key",
        reply: "the number afterwards",
        summary: "Adds 1 to a plain value that is an integer; none counts as 0.",
        notes: "There is no INCRBYFLOAT: money in floats rounds.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::IncrBy),
        name: "INCRBY",
        role: Role::Charge,
        arity: 3,
        flags: WRITE_FAST,
        memory: Memory::Taken,
        grammar: "key n",
        reply: "the number afterwards",
        summary: "Adds to a plain value that is an integer; none counts as 0.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::IncrEx),
        name: "INCREX",
        role: Role::Charge,
        arity: -2,
        flags: WRITE_FAST,
        memory: Memory::Taken,
        grammar: "key [BYINT n] [LBOUND n] [UBOUND n] [SATURATE] [EX s|PX ms|EXAT s|PXAT ms|PERSIST] [ENX]",
        reply: "[the number afterwards, what was added]; nothing was where the number would be beyond a bound",
        summary: "Adds to a plain value that is an integer, within bounds, and sets when it expires.",
        notes: "That of Redis 8.8, without BYFLOAT. With ENX a deadline that there is stays. A limit of 100 a minute: INCREX key UBOUND 100 EX 60 ENX; 0 as the second number says no.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::Decr),
        name: "DECR",
        role: Role::Charge,
        arity: 2,
        flags: WRITE_FAST,
        memory: Memory::Taken,
        grammar: "key",
        reply: "the number afterwards",
        summary: "Subtracts 1 from a plain value that is an integer; none counts as 0.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::DecrBy),
        name: "DECRBY",
        role: Role::Charge,
        arity: 3,
        flags: WRITE_FAST,
        memory: Memory::Taken,
        grammar: "key n",
        reply: "the number afterwards",
        summary: "Subtracts from a plain value that is an integer; none counts as 0.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::Append),
        name: "APPEND",
        role: Role::Charge,
        arity: 3,
        flags: WRITE_FAST,
        memory: Memory::Taken,
        grammar: "key tail",
        reply: "how long the value is afterwards, bytes",
        summary: "Writes at the end of a plain value.",
        notes: "The server refuses a value longer than `--max-argument` in the words of Redis.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::StrLen),
        name: "STRLEN",
        role: Role::Read,
        arity: 2,
        flags: READ_FAST,
        grammar: "key",
        reply: "how long the value is, bytes",
        summary: "Measures a plain value.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::GetRange),
        name: "GETRANGE",
        role: Role::Read,
        arity: 4,
        flags: READ,
        grammar: "key start end",
        reply: "the bytes; empty where there are none",
        summary: "Reads a part of a plain value; negative places count from its end.",
        ..STRING
    },
    Spec {
        id: CommandId::String(StringId::SetRange),
        name: "SETRANGE",
        role: Role::Charge,
        arity: 4,
        flags: WRITE,
        memory: Memory::Taken,
        grammar: "key offset bytes",
        reply: "how long the value is afterwards, bytes",
        summary: "Overwrites a part of a plain value, with zeros up to the offset.",
        notes: "As APPEND.",
        ..STRING
    },
];
