//! The commands about the server and the connection that clients of Redis expect.

use super::{
    BLANK, CommandId, ConnectionId, ContainerId, EchoId, FlushId, HelpId, PartId, Role, ServerId,
    Spec, Spread, acl, cluster, sentinel,
};

const SERVER: Spec = Spec { group: "server", ..BLANK };
const CONNECTION: Spec = Spec { group: "connection", ..BLANK };

const FAST: &[&str] = &["loading", "stale", "fast"];
const NO_AUTH: &[&str] = &["noscript", "loading", "stale", "fast", "no_auth", "allow_busy"];
const SLOW: &[&str] = &["noscript", "loading", "stale"];

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Part(PartId::DbSize),
        name: "DBSIZE",
        tips: &["request_policy:all_shards", "response_policy:agg_sum"],
        categories: &["@keyspace"],
        spread: Spread::EverySum,
        role: Role::Read,
        arity: 1,
        flags: &["readonly", "fast"],
        reply: "how many keys there are, accounts included",
        summary: "Counts all keys.",
        ..SERVER
    },
    Spec {
        id: CommandId::Flush(FlushId::All),
        name: "FLUSHALL",
        tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
        categories: &["@keyspace", "@dangerous"],
        spread: Spread::EverySuccess,
        role: Role::Admin,
        arity: -1,
        flags: &["write"],
        grammar: "[ASYNC|SYNC] [FORCE]",
        reply: "OK",
        summary: "Deletes everything.",
        notes: "The server refuses this while there are accounts, unless FORCE is given. ASYNC and SYNC are the same.",
        ..SERVER
    },
    Spec {
        id: CommandId::Flush(FlushId::Db),
        name: "FLUSHDB",
        tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
        categories: &["@keyspace", "@dangerous"],
        spread: Spread::EverySuccess,
        role: Role::Admin,
        arity: -1,
        flags: &["write"],
        grammar: "[ASYNC|SYNC] [FORCE]",
        reply: "OK",
        summary: "The same as FLUSHALL: there is one database.",
        notes: "As FLUSHALL.",
        ..SERVER
    },
    Spec {
        id: CommandId::Echo(EchoId::Ping),
        name: "PING",
        flags: &["fast"],
        tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
        arity: -1,
        grammar: "[message]",
        reply: "PONG, or the message",
        summary: "Answers.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Echo(EchoId::Echo),
        name: "ECHO",
        arity: 2,
        flags: FAST,
        grammar: "message",
        reply: "the message",
        summary: "Answers with the message.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::Hello),
        name: "HELLO",
        arity: -1,
        flags: NO_AUTH,
        grammar: "[2|3 [AUTH user password] [SETNAME name]]",
        reply: "map of: server, version, proto, id, mode, role, modules",
        summary: "Chooses the protocol, authenticates, names the connection.",
        notes: "server is scurry, version is ours.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::Auth),
        name: "AUTH",
        arity: -2,
        flags: NO_AUTH,
        grammar: "[user] password",
        reply: "OK",
        summary: "Authenticates the connection.",
        notes: "Without a user the command means `default`. The answer to a wrong pair is WRONGPASS; the replies of later commands of the connection wait until the password is checked. docs/access.md describes users and roles.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::Select),
        name: "SELECT",
        flags: &["loading", "stale", "fast", "allow_busy"],
        arity: 2,
        grammar: "index",
        reply: "OK",
        summary: "Selects database 0.",
        notes: "There is no other database.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::Quit),
        name: "QUIT",
        arity: -1,
        flags: NO_AUTH,
        reply: "OK, then the connection is closed",
        summary: "Closes the connection.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::Reset),
        name: "RESET",
        arity: 1,
        flags: NO_AUTH,
        reply: "RESET",
        summary: "Puts the connection back to how it began: RESP2, no name, not authenticated.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Server(ServerId::Info),
        name: "INFO",
        tips: &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"],
        categories: &["@dangerous"],
        spread: Spread::Special,
        role: Role::Read,
        arity: -1,
        flags: &["loading", "stale"],
        grammar: "[section ...]",
        reply: "text: lines of name:value under # headings",
        summary: "Describes the server.",
        notes: "Sections: server, clients, memory, persistence, stats, replication, rdma, scurry, cpu, commandstats, errorstats, cluster, keyspace; default means all but commandstats; all and everything mean all. redis_version is the level that clients may assume of the generic commands. The server times up to 16 commands together, and usec of commandstats gives them equal shares.",
        ..SERVER
    },
    Spec {
        id: CommandId::Server(ServerId::Role),
        name: "ROLE",
        categories: &["@admin", "@dangerous"],
        role: Role::Read,
        arity: 1,
        flags: &["noscript", "loading", "stale", "fast"],
        reply: "array of: master, 0, empty array",
        summary: "Says that the server is a primary without replicas.",
        ..SERVER
    },
    Spec {
        id: CommandId::Server(ServerId::Time),
        name: "TIME",
        tips: &["nondeterministic_output"],
        arity: 1,
        flags: FAST,
        reply: "array of: seconds since 1970, microseconds",
        summary: "Says what time it is.",
        notes: "The time has steps of a millisecond: it is the time by which the server decides commands.",
        ..SERVER
    },
    Spec {
        id: CommandId::Container(ContainerId::Client),
        name: "CLIENT",
        flags: &[],
        arity: -2,
        grammar: "subcommand",
        reply: "depends on the subcommand",
        summary: "Container of commands about connections.",
        subcommands: CLIENT,
        ..CONNECTION
    },
    Spec {
        id: CommandId::Server(ServerId::Command),
        name: "COMMAND",
        tips: &["nondeterministic_output_order"],
        categories: &["@connection"],
        arity: -1,
        flags: &["loading", "stale"],
        grammar: "[subcommand]",
        reply: "without subcommand: array of what COMMAND INFO answers, for every command",
        summary: "Describes the commands.",
        subcommands: COMMAND,
        ..SERVER
    },
    Spec {
        id: CommandId::Container(ContainerId::Config),
        name: "CONFIG",
        flags: &[],
        arity: -2,
        grammar: "subcommand",
        reply: "depends on the subcommand",
        summary: "Container of commands about settings.",
        notes: "There is no CONFIG REWRITE: the server never writes the file of settings.",
        subcommands: CONFIG,
        ..SERVER
    },
    Spec {
        id: CommandId::Container(ContainerId::Acl),
        name: "ACL",
        flags: &[],
        arity: -2,
        grammar: "subcommand",
        reply: "depends on the subcommand",
        summary: "Container of commands about users.",
        notes: "The settings file defines the users: there is no ACL SETUSER.",
        subcommands: acl::SUBCOMMANDS,
        ..SERVER
    },
    cluster::CLUSTER,
    cluster::READ_ONLY,
    cluster::READ_WRITE,
    cluster::ASKING,
    sentinel::SENTINEL,
];

const CLIENT: &[Spec] = &[
    Spec {
        id: CommandId::Connection(ConnectionId::ClientId),
        name: "CLIENT|ID",
        flags: &["noscript", "loading", "stale", "allow_busy"],
        arity: 2,
        reply: "the id of the connection",
        summary: "The id of the connection.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientGetName),
        name: "CLIENT|GETNAME",
        flags: &["noscript", "loading", "stale", "allow_busy"],
        arity: 2,
        reply: "the name, or nil",
        summary: "The name of the connection.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientSetName),
        name: "CLIENT|SETNAME",
        flags: &["noscript", "loading", "stale", "allow_busy"],
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        arity: 3,
        grammar: "name",
        reply: "OK",
        summary: "Names the connection.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientSetInfo),
        name: "CLIENT|SETINFO",
        flags: &["noscript", "loading", "stale", "allow_busy"],
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        arity: 4,
        grammar: "LIB-NAME name | LIB-VER version",
        reply: "OK",
        summary: "Names the client's library.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientInfo),
        name: "CLIENT|INFO",
        tips: &["nondeterministic_output"],
        arity: 2,
        flags: SLOW,
        reply: "text: the connection's line of CLIENT LIST",
        summary: "Describes the connection.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientList),
        name: "CLIENT|LIST",
        tips: &["nondeterministic_output"],
        spread: Spread::Special,
        role: Role::Admin,
        arity: -2,
        flags: &["admin", "noscript", "loading", "stale"],
        grammar: "",
        reply: "text: one line for each connection",
        summary: "Describes every connection.",
        notes: "No filters in this release.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientTracking),
        name: "CLIENT|TRACKING",
        arity: -3,
        flags: SLOW,
        grammar: "ON|OFF [OPTIN] [OPTOUT] [NOLOOP]",
        reply: "OK; in RESP3 then pushes of: invalidate, array of one key, or nil for all keys",
        summary: "Tracks the keys that the connection reads, and tells it when they change.",
        notes: "The server refuses REDIRECT, because there is no publish/subscribe to redirect to, and BCAST, because it tracks keys one by one. See [Client-side caching](#client-side-caching).",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientTrackingInfo),
        name: "CLIENT|TRACKINGINFO",
        arity: 2,
        flags: SLOW,
        reply: "map of: flags, redirect (0, or -1 without tracking), prefixes (none)",
        summary: "Says what CLIENT TRACKING has switched on.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientCaching),
        name: "CLIENT|CACHING",
        flags: &["noscript", "loading", "stale", "allow_busy"],
        arity: 3,
        grammar: "YES|NO",
        reply: "OK",
        summary: "Says of the next command whether what it reads is tracked: YES with OPTIN, NO with OPTOUT.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientGetRedir),
        name: "CLIENT|GETREDIR",
        flags: &["noscript", "loading", "stale", "allow_busy"],
        arity: 2,
        reply: "0, or -1 without tracking",
        summary: "Says where pushes of CLIENT TRACKING are redirected: nowhere.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientNoEvict),
        name: "CLIENT|NO-EVICT",
        flags: &["admin", "noscript", "loading", "stale", "allow_busy"],
        arity: 3,
        grammar: "ON|OFF",
        reply: "OK",
        summary: "Accepted and without effect: no connection is evicted.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Connection(ConnectionId::ClientNoTouch),
        name: "CLIENT|NO-TOUCH",
        flags: &["noscript", "loading", "stale", "allow_busy"],
        arity: 3,
        grammar: "ON|OFF",
        reply: "OK",
        summary: "Accepted and without effect: nothing is evicted by age.",
        ..CONNECTION
    },
    Spec {
        id: CommandId::Help(HelpId::Client),
        name: "CLIENT|HELP",
        flags: &["loading", "stale"],
        arity: 2,
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..CONNECTION
    },
];

const COMMAND: &[Spec] = &[
    Spec {
        id: CommandId::Server(ServerId::CommandCount),
        name: "COMMAND|COUNT",
        categories: &["@connection"],
        arity: 2,
        flags: &["loading", "stale"],
        reply: "how many commands there are",
        summary: "Counts the commands.",
        ..SERVER
    },
    Spec {
        id: CommandId::Server(ServerId::CommandDocs),
        name: "COMMAND|DOCS",
        tips: &["nondeterministic_output_order"],
        categories: &["@connection"],
        arity: -2,
        flags: &["loading", "stale"],
        grammar: "[name ...]",
        reply: "map of name to map of: summary, since, group, and for SCUR commands syntax, reply, codes, term, example",
        summary: "Documents commands.",
        notes: "Arguments are those of the syntax: blocks, one-ofs, tokens, optional and multiple ones, with string or key as their type.",
        ..SERVER
    },
    Spec {
        id: CommandId::Server(ServerId::CommandGetKeys),
        name: "COMMAND|GETKEYS",
        categories: &["@connection"],
        arity: -3,
        flags: &["loading", "stale"],
        grammar: "name [argument ...]",
        reply: "array of the keys",
        summary: "Finds the keys in a full command.",
        ..SERVER
    },
    Spec {
        id: CommandId::Server(ServerId::CommandGetKeysAndFlags),
        name: "COMMAND|GETKEYSANDFLAGS",
        categories: &["@connection"],
        arity: -3,
        flags: &["loading", "stale"],
        grammar: "name [argument ...]",
        reply: "array of: key, flags",
        summary: "Finds the keys in a full command, and says what becomes of them.",
        notes: "The flags are those of Valkey for plain values; RO and access for other reads, RW, access and update for other writes.",
        ..SERVER
    },
    Spec {
        id: CommandId::Server(ServerId::CommandInfo),
        name: "COMMAND|INFO",
        tips: &["nondeterministic_output_order"],
        categories: &["@connection"],
        arity: -2,
        flags: &["loading", "stale"],
        grammar: "[name ...]",
        reply: "array of: name, arity, flags, first key, last key, step, categories, tips, key specifications, subcommands; nil for an unknown name",
        summary: "Describes commands to clients.",
        ..SERVER
    },
    Spec {
        id: CommandId::Server(ServerId::CommandList),
        name: "COMMAND|LIST",
        tips: &["nondeterministic_output_order"],
        categories: &["@connection"],
        arity: -2,
        flags: &["loading", "stale"],
        grammar: "[FILTERBY PATTERN pattern|ACLCAT category|MODULE name]",
        reply: "array of names",
        summary: "Lists the names of the commands.",
        ..SERVER
    },
    Spec {
        id: CommandId::Help(HelpId::Command),
        name: "COMMAND|HELP",
        categories: &["@connection"],
        arity: 2,
        flags: &["loading", "stale"],
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..SERVER
    },
];

const CONFIG: &[Spec] = &[
    Spec {
        id: CommandId::Server(ServerId::ConfigGet),
        name: "CONFIG|GET",
        role: Role::Read,
        arity: -3,
        flags: &["admin", "noscript", "loading", "stale"],
        grammar: "pattern [pattern ...]",
        reply: "map of name to value",
        summary: "Shows settings.",
        notes: "The server never shows requirepass. Settings of Redis that clients ask for (save, appendonly, databases) have fixed values.",
        ..SERVER
    },
    Spec {
        id: CommandId::Part(PartId::ConfigSet),
        name: "CONFIG|SET",
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        spread: Spread::EverySuccess,
        role: Role::Admin,
        arity: -4,
        flags: &["admin", "noscript", "loading", "stale"],
        grammar: "name value [name value ...]",
        reply: "OK",
        summary: "Changes settings while the server runs: all of them or none.",
        notes: "These settings can be changed: maxmemory, maxclients, slowlog-log-slower-than, slowlog-max-len (at most 10000), latency-monitor-threshold, tracking-table-max-keys (1 to 4294967295, of all threads together). The others that CONFIG GET shows, and requirepass, are `can't set immutable config`, dir is `can't set protected config`, and other names are unknown to it: the settings of the command line are not all among them. On the port of one thread the command changes the settings of that thread alone.",
        ..SERVER
    },
    Spec {
        id: CommandId::Part(PartId::ConfigResetStat),
        name: "CONFIG|RESETSTAT",
        tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
        spread: Spread::EverySuccess,
        role: Role::Admin,
        arity: 2,
        flags: &["admin", "noscript", "loading", "stale"],
        reply: "OK",
        summary: "Sets the counters of the Stats section of INFO to 0.",
        ..SERVER
    },
    Spec {
        id: CommandId::Help(HelpId::Config),
        name: "CONFIG|HELP",
        flags: &["loading", "stale"],
        arity: 2,
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..SERVER
    },
];
