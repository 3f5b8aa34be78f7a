//! COMMAND and its subcommands: the table, told to clients.

use super::SYNTAX_ERROR;
use crate::glob;
use scurry_resp::table::{self, Spec};
use scurry_resp::{Args, Reply};

/// COMMAND without subcommand: everything.
pub(crate) fn command(reply: &mut Reply<'_>) {
    reply.array(table::all().count());
    for spec in table::all() {
        describe(spec, reply);
    }
}

pub(crate) fn count(reply: &mut Reply<'_>) {
    reply.unsigned(table::all().count() as u64);
}

/// A command or, as `container|sub`, a subcommand.
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
            None => reply.null_array(),
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
    let categories = categories(spec);
    reply.set(categories.len());
    for category in categories {
        reply.simple(category);
    }
    reply.array(0);
    key_specifications(spec, reply);
    reply.array(spec.subcommands.len());
    for sub in spec.subcommands {
        describe(sub, reply);
    }
}

/// ACL categories, as Redis derives them from flags and groups.
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
    categories.push(if has("fast") { "@fast" } else { "@slow" });
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

fn key_specifications(spec: &Spec, reply: &mut Reply<'_>) {
    let (first, last, step) = spec.keys;
    if first == 0 {
        return reply.array(0);
    }
    reply.array(1);
    reply.map(3);
    reply.text("flags");
    let flags: &[&str] = if spec.keys_move {
        &["RW", "UPDATE", "INCOMPLETE"]
    } else if spec.flags.contains(&"write") {
        &["RW", "UPDATE"]
    } else {
        &["RO", "ACCESS"]
    };
    reply.set(flags.len());
    for flag in flags {
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
    // Counted from the first key when it is not counted from the end.
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
        // As one argument, so that redis-cli can show the grammar while people type.
        reply.text("arguments");
        reply.array(1);
        reply.map(3);
        for (name, text) in
            [("name", spec.grammar), ("display_text", spec.grammar), ("type", "string")]
        {
            reply.text(name);
            reply.text(text);
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

pub(crate) fn list(args: Args<'_>, reply: &mut Reply<'_>) {
    let pattern = match args.len() {
        2 => &b"*"[..],
        5 if args.at(2).eq_ignore_ascii_case(b"FILTERBY")
            && args.at(3).eq_ignore_ascii_case(b"PATTERN") =>
        {
            args.at(4)
        }
        _ => return reply.error(SYNTAX_ERROR),
    };
    let names: Vec<String> = table::all()
        .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
        .map(Spec::lower_name)
        .filter(|name| glob::matches(pattern, name.as_bytes()))
        .collect();
    reply.array(names.len());
    for name in names {
        reply.text(&name);
    }
}

pub(crate) fn get_keys(args: Args<'_>, reply: &mut Reply<'_>) {
    let named = |spec: &'static Spec| match args.get(3) {
        Some(sub) if !spec.subcommands.is_empty() => spec.subcommand(sub),
        _ => Some(spec),
    };
    let Some(spec) = table::find(args.at(2)).and_then(named) else {
        return reply.error("ERR Invalid command specified");
    };
    if !spec.accepts(args.len() - 2) {
        return reply.error("ERR Invalid number of arguments specified for command");
    }
    let request = args.part(2, args.len() - 2);
    let positions: Vec<usize> =
        request.map_or_else(Vec::new, |args| spec.key_positions(args).collect());
    if positions.is_empty() {
        return reply.error("ERR The command has no key arguments");
    }
    reply.array(positions.len());
    for position in positions {
        reply.bulk(args.at(2 + position));
    }
}

/// HELP of any container.
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
