//! CLUSTER, and the other commands that clients of a cluster send to a node.

use super::{BLANK, CommandId, ConnectionId, ContainerId, HelpId, ServerId, Spec};

const BASE: Spec = Spec { group: "cluster", flags: &["loading", "stale"], ..BLANK };
const FAST: &[&str] = &["loading", "stale", "fast"];

pub(super) const CLUSTER: Spec = Spec {
    id: CommandId::Container(ContainerId::Cluster),
    name: "CLUSTER",
    flags: &[],
    arity: -2,
    reply: "that of the subcommand",
    summary: "Container of commands about the server as a cluster, in which each thread is a node with a port of its own; each thread of each node, in a group.",
    subcommands: SUBCOMMANDS,
    ..BASE
};

pub(super) const READ_ONLY: Spec = Spec {
    id: CommandId::Connection(ConnectionId::ReadOnly),
    name: "READONLY",
    categories: &["@connection"],
    arity: 1,
    flags: FAST,
    reply: "OK",
    summary: "Lets a thread's port of a node that does not lead answer reads of keys from its memory, which may be old.",
    notes: "SCUR.REPLICA STATUS has its age; above 5 s, in MULTI and with client-side caching the answer is ASK. Without effect elsewhere.",
    ..BASE
};

pub(super) const READ_WRITE: Spec = Spec {
    id: CommandId::Connection(ConnectionId::ReadWrite),
    name: "READWRITE",
    categories: &["@connection"],
    arity: 1,
    flags: FAST,
    reply: "OK",
    summary: "Ends READONLY: MOVED is the answer again.",
    ..BASE
};

pub(super) const ASKING: Spec = Spec {
    id: CommandId::Connection(ConnectionId::Asking),
    name: "ASKING",
    arity: 1,
    flags: &["fast"],
    categories: &["@connection"],
    reply: "OK",
    summary: "Clients of a cluster say it before the command that ASK has sent elsewhere. Without effect.",
    ..BASE
};

const SUBCOMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Help(HelpId::Cluster),
        name: "CLUSTER|HELP",
        arity: 2,
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..BASE
    },
    Spec {
        id: CommandId::Server(ServerId::ClusterInfo),
        name: "CLUSTER|INFO",
        tips: &["nondeterministic_output"],
        arity: 2,
        reply: "lines of name:value",
        summary: "The state of the cluster: ok, or fail while no node of a group leads.",
        ..BASE
    },
    Spec {
        id: CommandId::Server(ServerId::ClusterKeySlot),
        name: "CLUSTER|KEYSLOT",
        flags: &["stale"],
        arity: 3,
        grammar: "key",
        reply: "0 to 16383",
        summary: "The hash slot of a key.",
        ..BASE
    },
    Spec {
        id: CommandId::Server(ServerId::ClusterMyId),
        name: "CLUSTER|MYID",
        arity: 2,
        reply: "40 hexadecimal digits",
        summary: "The name of this port's node.",
        notes: "The main port belongs to no node: it names the first.",
        ..BASE
    },
    Spec {
        id: CommandId::Server(ServerId::ClusterNodes),
        name: "CLUSTER|NODES",
        tips: &["nondeterministic_output"],
        arity: 2,
        reply: "a line per thread, and in a group per node",
        summary: "Shows each thread as a node, with its port and slots.",
        notes: "There is no cluster bus: its port is 0.",
        ..BASE
    },
    Spec {
        id: CommandId::Server(ServerId::ClusterShards),
        name: "CLUSTER|SHARDS",
        tips: &["nondeterministic_output"],
        arity: 2,
        reply: "array of maps",
        summary: "Shows each thread as a shard of one node; of a primary and its replicas, in a group.",
        ..BASE
    },
    Spec {
        id: CommandId::Server(ServerId::ClusterSlots),
        name: "CLUSTER|SLOTS",
        tips: &["nondeterministic_output"],
        arity: 2,
        reply: "array of [first, last, [ip, port, id, []], ...]; behind the primary its replicas",
        summary: "Says which thread's port serves which slots.",
        ..BASE
    },
];
