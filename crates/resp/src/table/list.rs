//! The commands on lists, which are short.

use super::{BLANK, CommandId, ListId, Memory, Role, Spec};

const LIST: Spec = Spec { group: "list", keys: (1, 1, 1), ..BLANK };

const READ: Spec = Spec { role: Role::Read, flags: &["readonly"], ..LIST };
const WRITE: Spec = Spec { role: Role::Charge, flags: &["write"], ..LIST };
const WRITE_FAST: Spec = Spec { flags: &["write", "fast"], ..WRITE };
const PUSH: Spec = Spec {
    arity: -3,
    flags: &["write", "fast"],
    memory: Memory::Taken,
    grammar: "key element [element ...]",
    ..WRITE
};
const POP: Spec = Spec {
    arity: -2,
    grammar: "key [count]",
    reply: "the element, or nil; with a count an array, or a nil array where there is no list",
    ..WRITE_FAST
};

/// Notes that a user of Valkey must know first.
const SHORT: &str = "Beyond 65536 bytes, where an element takes its length and up to three bytes more, it is an error and changes nothing: queues of thousands of elements belong into Valkey. There are no blocking forms, and no LMOVE, LINSERT, LPOS.";

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::List(ListId::LPush),
        name: "LPUSH",
        reply: "how many elements there are afterwards",
        summary: "Puts elements at the head of a list, one after the other; a list begins where there is nothing.",
        notes: SHORT,
        ..PUSH
    },
    Spec {
        id: CommandId::List(ListId::RPush),
        name: "RPUSH",
        reply: "how many elements there are afterwards",
        summary: "Puts elements at the tail of a list; a list begins where there is nothing.",
        notes: "As LPUSH.",
        ..PUSH
    },
    Spec {
        id: CommandId::List(ListId::LPushX),
        name: "LPUSHX",
        reply: "how many elements there are afterwards; 0 where there is no list",
        summary: "Puts elements at the head of a list that exists.",
        notes: "As LPUSH.",
        ..PUSH
    },
    Spec {
        id: CommandId::List(ListId::RPushX),
        name: "RPUSHX",
        reply: "how many elements there are afterwards; 0 where there is no list",
        summary: "Puts elements at the tail of a list that exists.",
        notes: "As LPUSH.",
        ..PUSH
    },
    Spec {
        id: CommandId::List(ListId::LPop),
        name: "LPOP",
        summary: "Takes elements from the head of a list. A list without elements is gone.",
        ..POP
    },
    Spec {
        id: CommandId::List(ListId::RPop),
        name: "RPOP",
        summary: "Takes elements from the tail of a list, the last one first.",
        ..POP
    },
    Spec {
        id: CommandId::List(ListId::LLen),
        name: "LLEN",
        arity: 2,
        flags: &["readonly", "fast"],
        grammar: "key",
        reply: "how many elements there are",
        summary: "Counts the elements of a list.",
        ..READ
    },
    Spec {
        id: CommandId::List(ListId::LRange),
        name: "LRANGE",
        arity: 4,
        grammar: "key start stop",
        reply: "array of elements",
        summary: "Reads the elements from one place to another, both included; negative places count from the tail.",
        ..READ
    },
    Spec {
        id: CommandId::List(ListId::LIndex),
        name: "LINDEX",
        arity: 3,
        grammar: "key index",
        reply: "the element, or nil",
        summary: "Reads the element at a place; a negative one counts from the tail.",
        ..READ
    },
    Spec {
        id: CommandId::List(ListId::LSet),
        name: "LSET",
        arity: 4,
        flags: &["write"],
        memory: Memory::Taken,
        grammar: "key index element",
        reply: "OK",
        summary: "Replaces the element at a place; a negative one counts from the tail.",
        notes: "Bounded as LPUSH. A place of more than 32 bits is out of range; Valkey cuts it to 32 and takes what is left.",
        ..WRITE
    },
    Spec {
        id: CommandId::List(ListId::LRem),
        name: "LREM",
        arity: 4,
        grammar: "key count element",
        reply: "how many were removed",
        summary: "Removes elements that equal this one: so many from the head, from the tail with a negative count, all with 0.",
        ..WRITE
    },
    Spec {
        id: CommandId::List(ListId::LTrim),
        name: "LTRIM",
        arity: 4,
        grammar: "key start stop",
        reply: "OK",
        summary: "Keeps the elements from one place to another, both included, and removes the others.",
        ..WRITE
    },
];
