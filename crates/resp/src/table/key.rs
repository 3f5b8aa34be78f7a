//! The commands on keys of any kind: deleting, expiry, listing, how they are kept.

use super::{BLANK, CommandId, ContainerId, HelpId, KeyId, Role, ServerId, Spec, Spread};

const KEY: Spec = Spec { group: "generic", keys: (1, 1, 1), ..BLANK };

const READ: &[&str] = &["readonly"];
const READ_FAST: &[&str] = &["readonly", "fast"];
const WRITE_FAST: &[&str] = &["write", "fast"];
const SLOW: &[&str] = &["noscript", "loading", "stale"];

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Key(KeyId::Del),
        name: "DEL",
        spread: Spread::Sum,
        role: Role::Charge,
        arity: -2,
        flags: &["write"],
        keys: (1, -1, 1),
        grammar: "key [key ...]",
        reply: "how many keys were deleted",
        summary: "Deletes plain values.",
        notes: "With an account or an entity among the keys the answer is WRONGTYPE and nothing is deleted (on several threads the thread that has this key deletes nothing): SCUR.DELETE deletes accounts, ENTITY.DEL entities.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::Unlink),
        name: "UNLINK",
        spread: Spread::Sum,
        role: Role::Charge,
        arity: -2,
        flags: WRITE_FAST,
        keys: (1, -1, 1),
        grammar: "key [key ...]",
        reply: "how many keys were deleted",
        summary: "The same as DEL: memory is given back at once.",
        notes: "As DEL.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::Exists),
        name: "EXISTS",
        spread: Spread::Sum,
        role: Role::Read,
        arity: -2,
        flags: READ_FAST,
        keys: (1, -1, 1),
        grammar: "key [key ...]",
        reply: "how many of the keys exist, accounts and entities included",
        summary: "Counts the keys that exist.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::Touch),
        name: "TOUCH",
        spread: Spread::Sum,
        role: Role::Read,
        arity: -2,
        flags: READ_FAST,
        keys: (1, -1, 1),
        grammar: "key [key ...]",
        reply: "how many of the keys exist",
        summary: "The same as EXISTS: nothing is evicted by age.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::Type),
        name: "TYPE",
        role: Role::Read,
        arity: 2,
        flags: READ_FAST,
        grammar: "key",
        reply: "string, scurryacc for an account, scurryent for an entity, or none",
        summary: "Says what a key holds.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::Expire),
        name: "EXPIRE",
        role: Role::Charge,
        arity: -3,
        flags: WRITE_FAST,
        grammar: "key s [NX|XX|GT|LT ...]",
        reply: "1, or 0 when the key does not exist or a condition does not hold",
        summary: "Lets a plain value expire after so many seconds.",
        notes: "The answer is WRONGTYPE for an account or an entity: an entity expires by the options of ENTITY.PUT.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::PExpire),
        name: "PEXPIRE",
        role: Role::Charge,
        arity: -3,
        flags: WRITE_FAST,
        grammar: "key ms [NX|XX|GT|LT ...]",
        reply: "as EXPIRE",
        summary: "Lets a plain value expire after so many milliseconds.",
        notes: "As EXPIRE.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::ExpireAt),
        name: "EXPIREAT",
        role: Role::Charge,
        arity: -3,
        flags: WRITE_FAST,
        grammar: "key s [NX|XX|GT|LT ...]",
        reply: "as EXPIRE",
        summary: "Lets a plain value expire at a time, in seconds since 1970.",
        notes: "As EXPIRE.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::PExpireAt),
        name: "PEXPIREAT",
        role: Role::Charge,
        arity: -3,
        flags: WRITE_FAST,
        grammar: "key ms [NX|XX|GT|LT ...]",
        reply: "as EXPIRE",
        summary: "Lets a plain value expire at a time, in milliseconds since 1970.",
        notes: "As EXPIRE.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::Ttl),
        name: "TTL",
        role: Role::Read,
        arity: 2,
        flags: READ_FAST,
        grammar: "key",
        reply: "seconds, rounded; -1 when it does not expire; -2 when there is no key",
        summary: "Says how long a key has to live.",
        notes: "An account has no end of its own: -1.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::PTtl),
        name: "PTTL",
        role: Role::Read,
        arity: 2,
        flags: READ_FAST,
        grammar: "key",
        reply: "milliseconds; -1 or -2 as TTL",
        summary: "Says how long a key has to live.",
        notes: "As TTL.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::ExpireTime),
        name: "EXPIRETIME",
        role: Role::Read,
        arity: 2,
        flags: READ_FAST,
        grammar: "key",
        reply: "seconds since 1970, rounded; -1 or -2 as TTL",
        summary: "Says when a key expires.",
        notes: "As TTL.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::PExpireTime),
        name: "PEXPIRETIME",
        role: Role::Read,
        arity: 2,
        flags: READ_FAST,
        grammar: "key",
        reply: "milliseconds since 1970; -1 or -2 as TTL",
        summary: "Says when a key expires.",
        notes: "As TTL.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::Persist),
        name: "PERSIST",
        role: Role::Charge,
        arity: 2,
        flags: WRITE_FAST,
        grammar: "key",
        reply: "1, or 0 when the key does not exist or does not expire",
        summary: "Lets a plain value live for good.",
        notes: "As EXPIRE.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::Scan),
        name: "SCAN",
        spread: Spread::Special,
        role: Role::Read,
        arity: -2,
        flags: READ,
        keys: (0, 0, 0),
        grammar: "cursor [MATCH pattern] [COUNT n] [TYPE type]",
        reply: "[cursor, keys]; the cursor is 0 at the end",
        summary: "Lists keys in steps: every key that exists all the time is listed.",
        notes: "Types are string, scurryacc, scurryent, and tombstone, which alone lists entities that are deleted and still remembered; other types of Redis match nothing. Keys come in another order. A cursor is valid for the life of the process that gave it: after a restart begin at 0. A step looks at 10000 keys at most, whatever COUNT says, and ends early with its cursor after 5000000 steps of matching; a pattern that takes more for a single key is an error.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::Keys),
        name: "KEYS",
        spread: Spread::EveryKeys,
        role: Role::Read,
        arity: 2,
        flags: READ,
        keys: (0, 0, 0),
        grammar: "pattern",
        reply: "array of the keys",
        summary: "Lists the keys that match a pattern, in a small store.",
        notes: "An error that says to use SCAN where a thread has more than 10000 keys, or more than 4 MiB of matching ones, or where its pattern takes more than 5000000 steps of matching with all of them (about a step for each byte that is compared): a thread that lists them serves nobody else. Deleted entities that are still remembered count to the 10000 and are not listed. Accounts and entities are listed too, as by SCAN. Not within MULTI.",
        ..KEY
    },
    Spec {
        id: CommandId::Container(ContainerId::Object),
        name: "OBJECT",
        role: Role::Read,
        arity: -2,
        flags: SLOW,
        keys: (0, 0, 0),
        grammar: "subcommand",
        reply: "depends on the subcommand",
        summary: "Container of commands about how a key is kept.",
        subcommands: OBJECT,
        ..KEY
    },
    Spec {
        id: CommandId::Container(ContainerId::Memory),
        name: "MEMORY",
        role: Role::Read,
        arity: -2,
        flags: SLOW,
        keys: (0, 0, 0),
        grammar: "subcommand",
        reply: "depends on the subcommand",
        summary: "Container of commands about memory.",
        subcommands: MEMORY,
        ..KEY
    },
    Spec {
        id: CommandId::Server(ServerId::Wait),
        name: "WAIT",
        role: Role::Anyone,
        arity: 3,
        flags: &["blocking"],
        keys: (0, 0, 0),
        grammar: "replicas timeout",
        reply: "0: there are no replicas",
        summary: "Waits until replicas have what this connection wrote.",
        notes: "The server answers at once and does not wait for the timeout: nothing could change the answer.",
        ..KEY
    },
];

const OBJECT: &[Spec] = &[
    Spec {
        id: CommandId::Key(KeyId::ObjectEncoding),
        name: "OBJECT|ENCODING",
        role: Role::Read,
        arity: 3,
        flags: READ,
        keys: (2, 2, 1),
        grammar: "key",
        reply: "int, embstr or raw for plain values, image for accounts, record for entities; nil when there is no key",
        summary: "Says how a key is kept.",
        notes: "The words for plain values follow from the value alone: after APPEND or SETRANGE Redis says raw for any value.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::ObjectFreq),
        name: "OBJECT|FREQ",
        role: Role::Read,
        arity: 3,
        flags: READ,
        keys: (2, 2, 1),
        grammar: "key",
        reply: "an error, or nil when there is no key",
        summary: "Not kept.",
        notes: "As Redis without an LFU policy.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::ObjectIdleTime),
        name: "OBJECT|IDLETIME",
        role: Role::Read,
        arity: 3,
        flags: READ,
        keys: (2, 2, 1),
        grammar: "key",
        reply: "an error, or nil when there is no key",
        summary: "Not kept.",
        notes: "The answer is an error, as of Redis with an LFU policy: the server evicts nothing by age and keeps no time of access.",
        ..KEY
    },
    Spec {
        id: CommandId::Key(KeyId::ObjectRefCount),
        name: "OBJECT|REFCOUNT",
        role: Role::Read,
        arity: 3,
        flags: READ,
        keys: (2, 2, 1),
        grammar: "key",
        reply: "1, or nil when there is no key",
        summary: "How often a value is shared.",
        notes: "Always 1: values are not shared.",
        ..KEY
    },
    Spec {
        id: CommandId::Help(HelpId::Object),
        name: "OBJECT|HELP",
        role: Role::Anyone,
        arity: 2,
        flags: SLOW,
        keys: (0, 0, 0),
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..KEY
    },
];

const MEMORY: &[Spec] = &[
    Spec {
        id: CommandId::Key(KeyId::MemoryUsage),
        name: "MEMORY|USAGE",
        role: Role::Read,
        arity: -3,
        flags: READ,
        keys: (2, 2, 1),
        grammar: "key [SAMPLES n]",
        reply: "bytes, or nil when there is no key",
        summary: "Says what a key and what it holds take.",
        notes: "The number is exact, so SAMPLES has no effect. It differs from that of Redis.",
        ..KEY
    },
    Spec {
        id: CommandId::Help(HelpId::Memory),
        name: "MEMORY|HELP",
        role: Role::Anyone,
        arity: 2,
        flags: SLOW,
        keys: (0, 0, 0),
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..KEY
    },
];
