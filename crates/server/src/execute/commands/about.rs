//! COMMAND and its subcommands, which show the command table to clients.

use super::SYNTAX_ERROR;
use crate::glob::{self, Budget, BudgetSpent};
use scurry_resp::table::{self, Spec};
use scurry_resp::{Args, Argument, Reply, arguments};

/// Answers COMMAND without a subcommand: describes all commands.
pub(crate) fn command(reply: &mut Reply<'_>) {
    reply.array(table::all().count());
    for spec in table::all() {
        describe(spec, reply);
    }
}

pub(crate) fn count(reply: &mut Reply<'_>) {
    reply.unsigned(table::all().count() as u64);
}

/// Returns the entry of a command or, for `container|sub`, of a subcommand.
fn named(name: &[u8]) -> Option<&'static Spec> {
    match name.iter().position(|&byte| byte == b'|') {
        None => table::find(name),
        Some(bar) => table::find(&name[..bar])?.subcommand(&name[bar + 1..]),
    }
}

pub(crate) fn info(args: Args<'_>, reply: &mut Reply<'_>) {
    if args.len() == 2 {
        return command(reply);
    }
    reply.array(args.len() - 2);
    for name in args.iter_from(2) {
        match named(name) {
            Some(spec) => describe(spec, reply),
            None => reply.null(),
        }
    }
}

fn describe(spec: &Spec, reply: &mut Reply<'_>) {
    let (first, last, step) = spec.keys;
    reply.array(10);
    reply.text(&spec.lower_name());
    reply.integer(i64::from(spec.arity));
    reply.set(spec.command_flags().count());
    for flag in spec.command_flags() {
        reply.simple(flag);
    }
    for position in [first, last, step] {
        reply.integer(i64::from(position));
    }
    let mut categories = categories(spec);
    categories.sort_by_key(|name| CATEGORIES.iter().position(|one| one == name));
    reply.set(categories.len());
    for category in categories {
        reply.simple(category);
    }
    reply.set(spec.tips.len());
    for tip in spec.tips {
        reply.text(tip);
    }
    key_specifications(spec, reply);
    reply.set(spec.subcommands.len());
    for sub in spec.subcommands {
        describe(sub, reply);
    }
}

/// ACL categories in the order in which Valkey lists them, then Scurry's own.
const CATEGORIES: [&str; 15] = [
    "@keyspace",
    "@read",
    "@write",
    "@list",
    "@string",
    "@pubsub",
    "@admin",
    "@fast",
    "@slow",
    "@blocking",
    "@dangerous",
    "@connection",
    "@transaction",
    "@scur",
    "@entity",
];

/// Returns the ACL categories: some derived from flags as in Valkey, the others from the entry or else from its group.
fn categories(spec: &Spec) -> Vec<&'static str> {
    let has = |flag: &str| spec.flags.contains(&flag);
    let mut categories = Vec::new();
    if has("write") {
        categories.push("@write");
    }
    if has("readonly") {
        categories.push("@read");
    }
    if has("admin") {
        categories.extend(["@admin", "@dangerous"]);
    }
    for (flag, category) in [("pubsub", "@pubsub"), ("blocking", "@blocking")] {
        if has(flag) {
            categories.push(category);
        }
    }
    categories.push(if has("fast") { "@fast" } else { "@slow" });
    categories.extend(spec.categories);
    // The commands of a container have categories of their own.
    if !spec.categories.is_empty() || !spec.subcommands.is_empty() {
        return categories;
    }
    match spec.group {
        "string" => categories.push("@string"),
        "list" => categories.push("@list"),
        "connection" => categories.push("@connection"),
        "transactions" => categories.push("@transaction"),
        "generic" => categories.push("@keyspace"),
        "scur" => categories.push("@scur"),
        "entity" => categories.push("@entity"),
        _ => {}
    }
    categories
}

/// Returns Redis's words for the use that a command makes of its keys.
fn key_flags(spec: &Spec) -> &'static [&'static str] {
    match spec.key_flags {
        [] if spec.flags.contains(&"write") => &["RW", "access", "update"],
        [] => &["RO", "access"],
        flags => flags,
    }
}

fn key_specifications(spec: &Spec, reply: &mut Reply<'_>) {
    let (first, last, step) = spec.keys;
    if first == 0 {
        return reply.set(0);
    }
    reply.set(1);
    reply.map(3);
    reply.text("flags");
    let incomplete = spec.has_dynamic_keys.then_some("incomplete");
    let flags = || key_flags(spec).iter().copied().chain(incomplete);
    reply.set(flags().count());
    for flag in flags() {
        reply.simple(flag);
    }
    reply.text("begin_search");
    reply.map(2);
    reply.text("type");
    reply.text("index");
    reply.text("spec");
    reply.map(1);
    reply.text("index");
    reply.integer(i64::from(first));
    reply.text("find_keys");
    reply.map(2);
    reply.text("type");
    reply.text("range");
    reply.text("spec");
    reply.map(3);
    reply.text("lastkey");
    // Relative to the first key, unless it is counted from the end.
    reply.integer(i64::from(if last < 0 { last } else { last - first }));
    reply.text("keystep");
    reply.integer(i64::from(step));
    reply.text("limit");
    reply.integer(0);
}

pub(crate) fn docs(args: Args<'_>, reply: &mut Reply<'_>) {
    let specs: Vec<&Spec> = if args.len() == 2 {
        table::all().collect()
    } else {
        args.iter_from(2).filter_map(named).collect()
    };
    reply.map(specs.len());
    for spec in specs {
        document(spec, reply);
    }
}

fn document(spec: &Spec, reply: &mut Reply<'_>) {
    let codes: Vec<&str> = spec.codes.iter().map(|code| code.name()).collect();
    let codes = codes.join(" ");
    let entries = [
        ("summary", spec.summary),
        ("since", spec.since),
        ("group", spec.group),
        ("syntax", spec.grammar),
        ("reply", spec.reply),
        ("codes", codes.as_str()),
        ("term", spec.term),
        ("example", spec.example),
        ("notes", spec.notes),
    ];
    let given = || entries.iter().filter(|(_, text)| !text.is_empty());
    reply.text(&spec.lower_name());
    let has_arguments = !spec.grammar.is_empty();
    let has_subcommands = !spec.subcommands.is_empty();
    reply.map(given().count() + usize::from(has_arguments) + usize::from(has_subcommands));
    for (name, text) in given() {
        reply.text(name);
        reply.text(text);
    }
    if has_arguments {
        // valkey-cli uses these to show the rest of the syntax while a user types.
        let arguments = arguments(spec.grammar);
        reply.text("arguments");
        reply.array(arguments.len());
        for argument in &arguments {
            document_argument(argument, reply);
        }
    }
    if has_subcommands {
        reply.text("subcommands");
        reply.map(spec.subcommands.len());
        for sub in spec.subcommands {
            document(sub, reply);
        }
    }
}

fn document_argument(argument: &Argument<'_>, reply: &mut Reply<'_>) {
    let name = argument.name.to_ascii_lowercase();
    let flags = [
        (argument.is_optional, "optional"),
        (argument.is_multiple, "multiple"),
        (argument.is_multiple && argument.token.is_some(), "multiple_token"),
    ];
    let flags = || flags.into_iter().filter(|(is_set, _)| *is_set);
    let has_arguments = !argument.arguments.is_empty();
    // In a choice or a block, the inner arguments have the display texts.
    let entries = [
        ("name", name.as_str()),
        ("type", argument.kind.word()),
        ("display_text", if has_arguments { "" } else { argument.name }),
        ("token", argument.token.unwrap_or_default()),
    ];
    let given = || entries.iter().filter(|(_, text)| !text.is_empty());
    let has_flags = flags().count() > 0;
    reply.map(given().count() + usize::from(has_flags) + usize::from(has_arguments));
    for (name, text) in given() {
        reply.text(name);
        reply.text(text);
    }
    if has_flags {
        reply.text("flags");
        reply.set(flags().count());
        for (_, flag) in flags() {
            reply.simple(flag);
        }
    }
    if has_arguments {
        reply.text("arguments");
        reply.array(argument.arguments.len());
        for inner in &argument.arguments {
            document_argument(inner, reply);
        }
    }
}

/// Filter of COMMAND LIST.
enum Filter<'a> {
    All,
    Pattern(&'a [u8]),
    /// A category without its `@`.
    Category(&'a [u8]),
    /// Commands of a module: none exist.
    Module,
}

impl<'a> Filter<'a> {
    fn parse(kind: &[u8], value: &'a [u8]) -> Option<Filter<'a>> {
        let is = |word: &str| kind.eq_ignore_ascii_case(word.as_bytes());
        if is("PATTERN") {
            Some(Filter::Pattern(value))
        } else if is("ACLCAT") {
            Some(Filter::Category(value))
        } else {
            is("MODULE").then_some(Filter::Module)
        }
    }

    fn takes(&self, spec: &Spec, budget: &mut Budget) -> Result<bool, BudgetSpent> {
        Ok(match self {
            Filter::All => true,
            Filter::Pattern(pattern) => {
                glob::matches(pattern, spec.lower_name().as_bytes(), budget)?
            }
            Filter::Category(name) => categories(spec)
                .iter()
                .any(|category| category.as_bytes()[1..].eq_ignore_ascii_case(name)),
            Filter::Module => false,
        })
    }
}

pub(crate) fn list(args: Args<'_>, reply: &mut Reply<'_>) {
    let filter = match args.len() {
        2 => Filter::All,
        5 if args.at(2).eq_ignore_ascii_case(b"FILTERBY") => {
            match Filter::parse(args.at(3), args.at(4)) {
                Some(filter) => filter,
                None => return reply.error(SYNTAX_ERROR),
            }
        }
        _ => return reply.error(SYNTAX_ERROR),
    };
    let (mut names, mut budget) = (Vec::new(), Budget::of_a_command());
    for spec in table::all().flat_map(|spec| std::iter::once(spec).chain(spec.subcommands)) {
        match filter.takes(spec, &mut budget) {
            Ok(true) => names.push(spec.lower_name()),
            Ok(false) => {}
            Err(spent) => return reply.error(format_args!("{spent}")),
        }
    }
    reply.array(names.len());
    for name in names {
        reply.text(&name);
    }
}

pub(crate) fn get_keys(args: Args<'_>, reply: &mut Reply<'_>) {
    match keys_of(args) {
        Err(words) => reply.error(words),
        Ok((_, positions)) => {
            reply.array(positions.len());
            for position in positions {
                reply.bulk(args.at(2 + position));
            }
        }
    }
}

pub(crate) fn get_keys_and_flags(args: Args<'_>, reply: &mut Reply<'_>) {
    match keys_of(args) {
        Err(words) => reply.error(words),
        Ok((spec, positions)) => {
            reply.array(positions.len());
            for position in positions {
                reply.array(2);
                reply.bulk(args.at(2 + position));
                reply.set(key_flags(spec).len());
                for flag in key_flags(spec) {
                    reply.simple(flag);
                }
            }
        }
    }
}

/// Returns the command of a full request that follows two words, and the positions of its keys; an error text if it has
/// none.
fn keys_of(args: Args<'_>) -> Result<(&'static Spec, Vec<usize>), &'static str> {
    let named = |spec: &'static Spec| match args.get(3) {
        Some(sub) if !spec.subcommands.is_empty() => spec.subcommand(sub),
        _ => Some(spec),
    };
    let Some(spec) = table::find(args.at(2)).and_then(named) else {
        return Err("ERR Invalid command specified");
    };
    if !spec.accepts(args.len() - 2) {
        return Err("ERR Invalid number of arguments specified for command");
    }
    let request = args.part(2, args.len() - 2);
    let positions: Vec<usize> =
        request.map_or_else(Vec::new, |args| spec.key_positions(args).collect());
    if positions.is_empty() {
        return Err("ERR The command has no key arguments");
    }
    Ok((spec, positions))
}

/// Answers HELP of any container.
pub(crate) fn help(args: Args<'_>, reply: &mut Reply<'_>) {
    let Some(container) = table::find(args.at(0)) else {
        return reply.error(SYNTAX_ERROR);
    };
    reply.array(1 + 2 * container.subcommands.len());
    let name = container.name;
    reply.simple(&format!("{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    for sub in container.subcommands {
        let short = sub.name.split_once('|').map_or(sub.name, |(_, short)| short);
        reply.simple(format!("{short} {}", sub.grammar).trim_end());
        reply.simple(&format!("    {}", sub.summary));
    }
}
