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
            call it scurry. Of the channels of a Sentinel something is said on +switch-master alone. \
            A server that is no node of a group answers with an error.",
    subcommands: SUBCOMMANDS,
    ..BASE
};

const CHANNELS: Spec = Spec { flags: &["pubsub", "noscript", "loading", "stale"], ..BASE };
const CONFIRMED: &str = "for each name [word, name, count of all that are left]; in RESP3 a push";

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Sentinel(SentinelId::Subscribe),
        name: "SUBSCRIBE",
        arity: -2,
        grammar: "channel [channel ...]",
        reply: CONFIRMED,
        summary: "Has the connection told on these channels who leads a group from now on.",
        notes: "A node of a group says one thing: `scurry OLD-IP OLD-PORT NEW-IP NEW-PORT` on +switch-master, when another node \
                has come to lead; the ports are main ports. Other channels may be named, and stay silent. The port of a thread \
                keeps the connection on its node; on a main port it goes to the node that leads, and ends with that. 32 \
                channels and patterns of 256 bytes at most. In RESP2 a connection that is subscribed may only send \
                (P)SUBSCRIBE, (P)UNSUBSCRIBE, PING, QUIT and RESET. A server that is no node of a group answers with an error: \
                there is no PUBLISH.",
        ..CHANNELS
    },
    Spec {
        id: CommandId::Sentinel(SentinelId::PSubscribe),
        name: "PSUBSCRIBE",
        arity: -2,
        grammar: "pattern [pattern ...]",
        reply: CONFIRMED,
        summary: "The same for channels that match these patterns.",
        ..CHANNELS
    },
    Spec {
        id: CommandId::Sentinel(SentinelId::Unsubscribe),
        name: "UNSUBSCRIBE",
        arity: -1,
        grammar: "[channel ...]",
        reply: CONFIRMED,
        summary: "Ends it for these channels, or for all.",
        ..CHANNELS
    },
    Spec {
        id: CommandId::Sentinel(SentinelId::PUnsubscribe),
        name: "PUNSUBSCRIBE",
        arity: -1,
        grammar: "[pattern ...]",
        reply: CONFIRMED,
        summary: "Ends it for these patterns, or for all.",
        ..CHANNELS
    },
];

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
