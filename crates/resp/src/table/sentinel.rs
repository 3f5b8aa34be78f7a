//! SENTINEL: how clients of Redis Sentinel find the primary of a group.

use super::{BLANK, CommandId, ContainerId, HelpId, SentinelId, Spec};

const BASE: Spec = Spec { group: "sentinel", flags: &["loading", "stale"], ..BLANK };
const INSTANCE: &str = "map of: name, ip, port, runid, flags, and more";

pub(super) const SENTINEL: Spec = Spec {
    id: CommandId::Container(ContainerId::Sentinel),
    name: "SENTINEL",
    arity: -2,
    reply: "that of the subcommand",
    summary: "Container of commands by which clients of Redis Sentinel find the leader of a group.",
    notes: "Every node of a group answers as a Sentinel, on each of its ports, and every name means the group; lists \
            call it scurry. There is no SUBSCRIBE: who waits for +switch-master asks again when a connection ends. \
            A server that is no node of a group answers with an error.",
    subcommands: SUBCOMMANDS,
    ..BASE
};

const SUBCOMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Sentinel(SentinelId::CkQuorum),
        name: "SENTINEL|CKQUORUM",
        arity: 3,
        grammar: "name",
        reply: "OK and a count, or the error NOQUORUM",
        summary: "Says whether this node reaches a majority of those that have a vote.",
        ..BASE
    },
    Spec {
        id: CommandId::Sentinel(SentinelId::Address),
        name: "SENTINEL|GET-MASTER-ADDR-BY-NAME",
        arity: 3,
        grammar: "name",
        reply: "[ip, port] of the leader's main port; null while no node leads",
        summary: "Says where the leader is.",
        ..BASE
    },
    Spec {
        id: CommandId::Help(HelpId::Sentinel),
        name: "SENTINEL|HELP",
        arity: 2,
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..BASE
    },
    Spec {
        id: CommandId::Sentinel(SentinelId::Master),
        name: "SENTINEL|MASTER",
        arity: 3,
        grammar: "name",
        reply: INSTANCE,
        summary: "Shows the leader.",
        ..BASE
    },
    Spec {
        id: CommandId::Sentinel(SentinelId::Masters),
        name: "SENTINEL|MASTERS",
        arity: 2,
        reply: "array of the leader, or of nothing",
        summary: "Lists the leader.",
        ..BASE
    },
    Spec {
        id: CommandId::Sentinel(SentinelId::MyId),
        name: "SENTINEL|MYID",
        arity: 2,
        reply: "40 hexadecimal digits",
        summary: "The name of this node.",
        ..BASE
    },
    Spec {
        id: CommandId::Sentinel(SentinelId::Replicas),
        name: "SENTINEL|REPLICAS",
        arity: 3,
        grammar: "name",
        reply: "array of maps",
        summary: "Lists the nodes that do not lead.",
        ..BASE
    },
    Spec {
        id: CommandId::Sentinel(SentinelId::Sentinels),
        name: "SENTINEL|SENTINELS",
        arity: 3,
        grammar: "name",
        reply: "array of maps",
        summary: "Lists the other nodes.",
        ..BASE
    },
    Spec {
        id: CommandId::Sentinel(SentinelId::Slaves),
        name: "SENTINEL|SLAVES",
        arity: 3,
        grammar: "name",
        reply: "array of maps",
        summary: "The same as SENTINEL REPLICAS.",
        ..BASE
    },
];
