//! SCUR.REPLICA: the group that keeps a store on three machines.

use super::{BLANK, CommandId, ContainerId, GroupId, HelpId, Role, Spec};

const GROUP: Spec = Spec {
    group: "replication",
    role: Role::Admin,
    flags: &["admin", "loading", "stale"],
    ..BLANK
};

pub(super) const COMMANDS: &[Spec] = &[Spec {
    id: CommandId::Container(ContainerId::Replica),
    name: "SCUR.REPLICA",
    arity: -2,
    summary: "Container of commands about the group that keeps the store on several machines.",
    reply: "that of the subcommand",
    notes: "STATUS shows what this node knows of its group: its id, whether service goes on without any one of the \
            nodes, each node, and each thread's log with who leads it; INFO replication has the same lines. TRANSFER and \
            REMOVE name a node by the id that STATUS shows, and answer when it has ended: OK says that the other node leads, or \
            that the others are a group without the removed one, which may be stopped now. What has not ended after 10 seconds is \
            an error that says what has begun. TRANSFER to the node that leads is OK at once. A client of the leader's main port \
            gets its OK, and then the connection ends, as all connections there do when another node leads; where another \
            node forwards the connection it may end before the OK: ask again. A \
            node that was removed comes back with an empty directory alone. The answer is an error on a server that is no node of a group, and on a node of Valkey or Redis.",
    subcommands: SUBCOMMANDS,
    ..GROUP
}];

const SUBCOMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Help(HelpId::Replica),
        name: "SCUR.REPLICA|HELP",
        arity: 2,
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..GROUP
    },
    Spec {
        id: CommandId::Group(GroupId::Status),
        name: "SCUR.REPLICA|STATUS",
        arity: 2,
        reply: "lines of name:value",
        summary: "Shows what this node knows of its group.",
        ..GROUP
    },
    Spec {
        id: CommandId::Group(GroupId::Transfer),
        name: "SCUR.REPLICA|TRANSFER",
        arity: 3,
        grammar: "node",
        reply: "OK",
        summary: "Lets another node lead, once it has all that this one has executed; OK when it does. For the leader.",
        ..GROUP
    },
    Spec {
        id: CommandId::Group(GroupId::Remove),
        name: "SCUR.REPLICA|REMOVE",
        arity: 3,
        grammar: "node",
        reply: "OK",
        summary: "Removes a node from the group for ever; OK when the others do without it. For the leader, which cannot \
                  remove itself.",
        ..GROUP
    },
];
