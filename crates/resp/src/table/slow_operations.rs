//! The commands that show slow operations, and the one that stops the server.

use super::{
    BLANK, CommandId, ConnectionId, ContainerId, HelpId, PartId, Role, ServerId, Spec, Spread,
};

const SERVER: Spec = Spec { group: "server", ..BLANK };
const ADMIN: &[&str] = &["admin", "loading", "stale"];

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Container(ContainerId::Slowlog),
        name: "SLOWLOG",
        flags: &[],
        role: Role::Admin,
        arity: -2,
        grammar: "subcommand",
        reply: "depends on the subcommand",
        summary: "Container of commands about slow commands.",
        notes: "See the notes on slow commands.",
        subcommands: SLOWLOG,
        ..SERVER
    },
    Spec {
        id: CommandId::Container(ContainerId::Latency),
        name: "LATENCY",
        flags: &[],
        role: Role::Admin,
        arity: -2,
        grammar: "subcommand",
        reply: "depends on the subcommand",
        summary: "Container of commands about what took long.",
        notes: "Events: command, expire-cycle, loop-turn. There are no LATENCY GRAPH and HISTOGRAM.",
        subcommands: LATENCY,
        ..SERVER
    },
    Spec {
        id: CommandId::Connection(ConnectionId::Monitor),
        name: "MONITOR",
        role: Role::Admin,
        arity: 1,
        flags: &["admin", "noscript", "loading", "stale"],
        reply: "OK, then a line for each command of any client",
        summary: "Shows what clients send, until the connection ends.",
        notes: "MONITOR shows the first 32 arguments and 128 bytes of each, and 256 KiB for each turn of a thread (then it says how many commands it leaves out); the server closes a connection that reads too slowly. A line comes after the command was executed or handed on. Commands that are refused when they run are shown; unknown ones, ones with a wrong number of arguments, AUTH and HELLO are not.",
        ..SERVER
    },
    Spec {
        id: CommandId::Server(ServerId::Shutdown),
        name: "SHUTDOWN",
        flags: &["admin", "noscript", "loading", "stale", "no_multi", "allow_busy"],
        role: Role::Admin,
        arity: -1,
        grammar: "[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]",
        reply: "none: the connection is closed; an error when it does not stop",
        summary: "Stops the server as SIGTERM does: what was sent is answered, then it ends.",
        notes: "The log has everything that is kept, and a stop syncs it, with SAVE and without; with durability none the server refuses SAVE, because it has nothing to save to. NOW and FORCE have no effect, ABORT never finds a shutdown in progress.",
        ..SERVER
    },
];

const SLOWLOG: &[Spec] = &[
    Spec {
        id: CommandId::Server(ServerId::SlowlogGet),
        name: "SLOWLOG|GET",
        tips: &["nondeterministic_output"],
        spread: Spread::Special,
        role: Role::Admin,
        arity: -2,
        flags: ADMIN,
        grammar: "[count]",
        reply: "array of [id, time in s, duration in microseconds, arguments, address, connection name], newest first",
        summary: "Shows slow commands, 10 unless told otherwise, -1 for all.",
        ..SERVER
    },
    Spec {
        id: CommandId::Part(PartId::SlowlogLen),
        name: "SLOWLOG|LEN",
        tips: &["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"],
        spread: Spread::EverySum,
        role: Role::Admin,
        arity: 2,
        flags: ADMIN,
        reply: "how many there are",
        summary: "Counts the slow commands that are kept.",
        ..SERVER
    },
    Spec {
        id: CommandId::Part(PartId::SlowlogReset),
        name: "SLOWLOG|RESET",
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        spread: Spread::EverySuccess,
        role: Role::Admin,
        arity: 2,
        flags: ADMIN,
        reply: "OK",
        summary: "Forgets the slow commands.",
        ..SERVER
    },
    Spec {
        id: CommandId::Help(HelpId::Slowlog),
        name: "SLOWLOG|HELP",
        flags: &["loading", "stale"],
        role: Role::Anyone,
        arity: 2,
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..SERVER
    },
];

const LATENCY: &[Spec] = &[
    Spec {
        id: CommandId::Server(ServerId::LatencyLatest),
        name: "LATENCY|LATEST",
        flags: &["admin", "noscript", "loading", "stale"],
        tips: &["nondeterministic_output"],
        spread: Spread::Special,
        role: Role::Admin,
        arity: 2,
        reply: "array of [event, time in s, latest in ms, longest in ms]",
        summary: "Shows the latest of each event.",
        ..SERVER
    },
    Spec {
        id: CommandId::Server(ServerId::LatencyHistory),
        name: "LATENCY|HISTORY",
        flags: &["admin", "noscript", "loading", "stale"],
        tips: &["nondeterministic_output"],
        spread: Spread::Special,
        role: Role::Admin,
        arity: 3,
        grammar: "event",
        reply: "array of [time in s, ms], at most 160",
        summary: "Shows how long an event took, the longest of each second.",
        ..SERVER
    },
    Spec {
        id: CommandId::Part(PartId::LatencyReset),
        name: "LATENCY|RESET",
        flags: &["admin", "noscript", "loading", "stale"],
        tips: &["request_policy:all_nodes", "response_policy:agg_sum"],
        spread: Spread::EverySum,
        role: Role::Admin,
        arity: -2,
        grammar: "[event ...]",
        reply: "how many events were forgotten",
        summary: "Forgets events.",
        notes: "On several threads an event counts once for each thread that has it.",
        ..SERVER
    },
    Spec {
        id: CommandId::Server(ServerId::LatencyDoctor),
        name: "LATENCY|DOCTOR",
        flags: &["admin", "noscript", "loading", "stale"],
        tips: &["nondeterministic_output"],
        spread: Spread::Special,
        role: Role::Admin,
        arity: 2,
        reply: "text",
        summary: "Describes what took long.",
        notes: "The words differ from those of Redis.",
        ..SERVER
    },
    Spec {
        id: CommandId::Help(HelpId::Latency),
        name: "LATENCY|HELP",
        flags: &["loading", "stale"],
        role: Role::Anyone,
        arity: 2,
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..SERVER
    },
];
