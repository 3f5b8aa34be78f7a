//! ACL and the subcommands that tell which users exist. Users are defined in the settings file.

use super::{BLANK, CommandId, HelpId, Role, ServerId, Spec};

const ACL: Spec = Spec { group: "server", flags: &["noscript", "loading", "stale"], ..BLANK };

pub(super) const SUBCOMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Server(ServerId::AclWhoAmI),
        name: "ACL|WHOAMI",
        arity: 2,
        reply: "the name of the user",
        summary: "The user that the connection is.",
        ..ACL
    },
    Spec {
        id: CommandId::Server(ServerId::AclUsers),
        name: "ACL|USERS",
        role: Role::Admin,
        arity: 2,
        flags: &["admin", "noscript", "loading", "stale"],
        reply: "array of names",
        summary: "Lists the users, the default user also when it is off.",
        ..ACL
    },
    Spec {
        id: CommandId::Help(HelpId::Acl),
        name: "ACL|HELP",
        flags: &["loading", "stale"],
        arity: 2,
        reply: "array of lines",
        summary: "Lists the subcommands.",
        ..ACL
    },
];
