//! THE command table: name, arity, keys, flags, grammar, reply, errors, first version. It feeds the server's dispatch,
//! COMMAND DOCS and COMMAND INFO, the reference page and the conformance checker.

mod account_transfer;
mod acl;
mod cluster;
mod entity;
mod find;
mod generic;
mod group;
mod id;
mod key;
mod memory;
mod node;
mod positions;
mod role;
mod scur;
mod sentinel;
mod slow_operations;
mod spread;
mod store;
mod string;
mod transaction;

use crate::Args;
use scurry_ledger::Code;

pub use find::find;
pub use id::{
    CommandId, ConnectionId, ContainerId, EchoId, EntityId, FlushId, GroupId, HelpId, HotId,
    ImageId, KeyId, NodeId, PartId, ScurChainId, ScurReadId, ScurWriteId, SentinelId, ServerId,
    StoreId, StringId, TransactionId,
};
pub use memory::Memory;
pub use positions::{KeyPositions, chain_link_end};
pub use role::Role;
pub use spread::Spread;

/// One command, or one subcommand of a container.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Key of the server's dispatch.
    pub id: CommandId,
    /// Name in upper case; a subcommand is `CONTAINER|SUB`.
    pub name: &'static str,
    /// Number of arguments as Redis counts it: with the name; negative means at least.
    pub arity: i32,
    /// Redis command flags except `denyoom`, which follows from `memory`.
    pub flags: &'static [&'static str],
    /// Rule for when no memory is left.
    pub memory: Memory,
    /// Role that the user must have.
    pub role: Role,
    /// First key, last key, step, as in COMMAND INFO; 0,0,0 for none.
    pub keys: (i32, i32, i32),
    /// Whether the positions of further keys depend on the arguments, as in a chain.
    pub has_dynamic_keys: bool,
    /// Flags of COMMAND INFO for the use of the keys; empty if they follow from the command flags.
    pub key_flags: &'static [&'static str],
    /// Hints of COMMAND INFO to clients: where to send the command, and how to combine several replies.
    pub tips: &'static [&'static str],
    /// ACL categories besides those that follow from the flags; empty for that of the group.
    pub categories: &'static [&'static str],
    /// How it is spread over the cores of a server.
    pub spread: Spread,
    /// Group in COMMAND DOCS.
    pub group: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Term of the field, empty if there is none.
    pub term: &'static str,
    /// Grammar of the arguments after the name.
    pub grammar: &'static str,
    /// Form of the reply.
    pub reply: &'static str,
    /// Result codes that it can answer, in order of precedence; OK is not listed.
    pub codes: &'static [Code],
    /// First version that has it.
    pub since: &'static str,
    /// Example in one line, which works after those of the commands before it.
    pub example: &'static str,
    /// Lines that have to be typed before the example: other commands of the table.
    pub example_needs: &'static [&'static str],
    /// Differences from what users of Redis expect; empty if there are none.
    pub notes: &'static str,
    /// Subcommands of a container.
    pub subcommands: &'static [Spec],
}

/// Joins lists of entries into one list, at compile time.
macro_rules! join {
    ($($list:expr),+) => {{
        const LEN: usize = 0 $(+ $list.len())+;
        &const {
            let mut joined = [BLANK; LEN];
            let mut at = 0;
            $(
                let mut from = 0;
                while from < $list.len() {
                    joined[at] = $list[from];
                    at += 1;
                    from += 1;
                }
            )+
            assert!(at == LEN);
            joined
        }
    }};
}

/// Defaults for fields that most entries leave empty.
const BLANK: Spec = Spec {
    id: CommandId::Echo(EchoId::Ping),
    name: "",
    arity: 0,
    role: Role::Anyone,
    flags: &[],
    memory: Memory::Free,
    keys: (0, 0, 0),
    has_dynamic_keys: false,
    key_flags: &[],
    tips: &[],
    categories: &[],
    spread: Spread::One,
    group: "generic",
    summary: "",
    term: "",
    grammar: "",
    reply: "",
    codes: &[],
    since: "0.1.0",
    example: "",
    example_needs: &[],
    notes: "",
    subcommands: &[],
};

/// SCUR commands, in the order of the reference page.
pub static SCUR: &[Spec] = scur::COMMANDS;

/// Commands on entities.
pub static ENTITY: &[Spec] = entity::COMMANDS;

/// Commands on the store as a whole, and those that move accounts between stores.
pub static STORE: &[Spec] = join!(store::COMMANDS, account_transfer::COMMANDS);

/// Commands between nodes of Valkey and Redis; [`find`] does not return them.
pub static NODE: &[Spec] = node::COMMANDS;

/// Commands that clients of Redis expect.
pub static GENERIC: &[Spec] = join!(
    string::COMMANDS,
    key::COMMANDS,
    transaction::COMMANDS,
    generic::COMMANDS,
    slow_operations::COMMANDS,
    sentinel::COMMANDS,
    group::COMMANDS
);

/// Every command, containers once: [`SCUR`], [`ENTITY`], [`STORE`], [`GENERIC`].
static ALL: &[Spec] = join!(SCUR, ENTITY, STORE, GENERIC);

/// Iterates over all commands, containers once.
pub fn all() -> impl Iterator<Item = &'static Spec> {
    ALL.iter()
}

impl Spec {
    /// Reports whether this number of arguments, with the name, is valid. If keys have values, each key must have one.
    #[inline]
    pub const fn accepts(&self, arguments: usize) -> bool {
        let arity = self.arity.unsigned_abs() as usize;
        if self.arity >= 0 {
            return arguments == arity;
        }
        let (_, last, step) = self.keys;
        // With keys up to the end, the arguments after the name must be whole steps: each key with its value.
        let whole = last >= 0 || (arguments - 1).is_multiple_of(step.unsigned_abs() as usize);
        arguments >= arity && whole
    }

    /// Iterates over all Redis command flags. `denyoom` says that the command may be refused for lack of memory.
    pub fn command_flags(&self) -> impl Iterator<Item = &'static str> {
        let denied = (self.memory != Memory::Free).then_some("denyoom");
        self.flags.iter().copied().chain(denied)
    }

    /// Returns the name as Redis writes it in errors and in COMMAND.
    pub fn lower_name(&self) -> String {
        self.name.to_ascii_lowercase()
    }

    /// Returns Redis's error for a wrong number of arguments. For commands that Redis does not have, the syntax
    /// follows; for the others clients know it, and compare the text.
    pub fn wrong_arity(&self) -> String {
        let words = format!("ERR wrong number of arguments for '{}' command", self.lower_name());
        if !self.name.contains('.') {
            return words;
        }
        let mut syntax = self.name.replace('|', " ");
        let ways = self.subcommands.iter().filter_map(|sub| sub.name.split_once('|'));
        let ways: Vec<&str> = ways.map(|(_, short)| short).chain([self.grammar]).collect();
        if let [first, ..] = ways[..]
            && !first.is_empty()
        {
            syntax = format!("{syntax} {}", ways.join("|").trim_end_matches('|'));
        }
        format!("{words}: {syntax}")
    }

    /// Returns the subcommand of this name, in any case.
    pub fn subcommand(&self, name: &[u8]) -> Option<&'static Spec> {
        self.subcommands.iter().find(|sub| {
            sub.name
                .split_once('|')
                .is_some_and(|(_, short)| short.as_bytes().eq_ignore_ascii_case(name))
        })
    }

    /// Reports whether a request may have more than one key.
    #[inline]
    pub const fn has_several_keys(&self) -> bool {
        self.keys.0 != self.keys.1 || self.has_dynamic_keys
    }

    /// Returns the positions of the keys among the arguments, with the name.
    pub fn key_positions<'a>(&self, args: Args<'a>) -> KeyPositions<'a> {
        let (first, last, step) = self.keys;
        // A negative last key counts from the end of the arguments.
        let last = if last < 0 || self.has_dynamic_keys {
            args.len().saturating_sub(last.unsigned_abs() as usize)
        } else {
            usize::try_from(last).unwrap_or_default()
        };
        let first = usize::try_from(first).unwrap_or_default();
        let end = if first > 0 { args.len().min(last + 1) } else { 0 };
        let step = usize::try_from(step).unwrap_or_default().max(1);
        KeyPositions { args, next: first, end, step: (!self.has_dynamic_keys).then_some(step) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_number_of_arguments_of_our_own_commands_shows_their_syntax() {
        let said = |name: &str| find(name.as_bytes()).expect(name).wrong_arity();
        assert_eq!(said("GET"), "ERR wrong number of arguments for 'get' command");
        assert_eq!(
            said("SCUR.DUMP"),
            "ERR wrong number of arguments for 'scur.dump' command: SCUR.DUMP account"
        );
        let totals = "ERR wrong number of arguments for 'scur.totals' command: SCUR.TOTALS";
        assert_eq!(said("SCUR.TOTALS"), totals);
        let group = find(b"SCUR.REPLICA").and_then(|spec| spec.subcommand(b"status"));
        let said = group.expect("SCUR.REPLICA STATUS").wrong_arity();
        assert!(said.ends_with("'scur.replica|status' command: SCUR.REPLICA STATUS"), "{said}");
        let container = find(b"SCUR.REPLICA").expect("SCUR.REPLICA").wrong_arity();
        let ways = "'scur.replica' command: SCUR.REPLICA HELP|STATUS|TRANSFER|REMOVE";
        assert!(container.contains(ways), "{container}");
        for spec in all().flat_map(|spec| std::iter::once(spec).chain(spec.subcommands)) {
            assert!(!spec.wrong_arity().contains(['\r', '\n']), "{}", spec.name);
        }
    }

    #[test]
    fn every_command_is_found_in_any_case_and_nothing_else_is() {
        for spec in all() {
            assert_eq!(find(spec.name.as_bytes()).map(|found| found.name), Some(spec.name));
            let lower = find(spec.lower_name().as_bytes());
            assert_eq!(lower.map(|found| found.id), Some(spec.id));
            for sub in spec.subcommands {
                let short =
                    sub.name.strip_prefix(&format!("{}|", spec.name)).expect("its container");
                assert_eq!(spec.subcommand(short.as_bytes()).map(|sub| sub.id), Some(sub.id));
            }
        }
        for name in [
            "",
            "G",
            "GETT",
            "GE",
            "SCUR",
            "SCUR.",
            "SCUR.CREATE\0",
            "SCUR.TERMINATEE",
            "a-very-long-command-name",
        ] {
            assert!(find(name.as_bytes()).is_none(), "{name:?}");
        }
    }

    #[test]
    fn entries_are_complete_and_codes_stand_in_order_of_precedence() {
        let place = |code: &Code| Code::ALL.iter().position(|other| other == code);
        for spec in SCUR.iter().chain(ENTITY).chain(STORE) {
            for text in [spec.summary, spec.term, spec.reply, spec.since, spec.example, spec.group]
            {
                assert!(!text.is_empty(), "{}", spec.name);
            }
            assert!(spec.example.starts_with(spec.name), "{}", spec.name);
            assert_ne!(spec.role, Role::Anyone, "{}: needs a role", spec.name);
            assert!(spec.codes.is_sorted_by_key(place), "{}: codes out of order", spec.name);
            let words = spec.example.split_whitespace().count();
            assert!(spec.accepts(words), "{}: the example has another arity", spec.name);
        }
        for spec in GENERIC.iter().flat_map(|spec| std::iter::once(spec).chain(spec.subcommands)) {
            for text in [spec.summary, spec.reply, spec.since, spec.group] {
                assert!(!text.is_empty(), "{}", spec.name);
            }
        }
    }

    #[test]
    fn keys_are_where_the_table_says() {
        let keys = |line: &str| {
            let mut requests = crate::Requests::default();
            requests.push(line.split(' ').map(str::as_bytes));
            let args = requests.get(0);
            let spec = find(args.at(0)).expect(line);
            spec.key_positions(args).collect::<Vec<_>>()
        };
        assert_eq!(keys("GET a"), [1]);
        assert_eq!(keys("DEL a b c"), [1, 2, 3]);
        assert_eq!(keys("MSET a 1 b 2"), [1, 3]);
        assert_eq!(keys("SCUR.RESERVE a s 0 ITEM 1 cent REQUESTED 1"), [1]);
        assert_eq!(keys("SCUR.TOTALS"), []);
        assert_eq!(keys("PING"), []);
        assert_eq!(keys("SCUR.CHAIN a 4 DEBIT t cent 1"), [1]);
        assert_eq!(keys("SCUR.CHAIN a 4 DEBIT t cent 1 b 4 DEBIT t cent 1 c 1 DEBIT"), [1, 7, 13]);
        // With wrong word counts, the keys up to the error are returned.
        assert_eq!(keys("SCUR.CHAIN a x DEBIT t cent 1"), [1]);
        assert_eq!(keys("SCUR.CHAIN a 4 DEBIT t cent 1 b 9 DEBIT t cent 1"), [1, 7]);
        assert_eq!(keys("SCUR.CHAIN a -1 DEBIT t cent 1"), [1]);
        assert_eq!(keys("SCUR.CHAIN a 9223372036854775807 DEBIT t cent 1"), [1]);
    }
}
