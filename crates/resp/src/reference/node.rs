//! The page of the commands between nodes of Valkey and Redis.

use super::{ReferencePage, line, page};
use crate::table::NODE;

pub(super) const FILE: &str = "between-nodes.md";
const TITLE: &str = "Commands between nodes";

pub(super) fn page() -> ReferencePage {
    let mut text = format!("# {TITLE}\n\n");
    line(
        &mut text,
        "A primary of Valkey or Redis with libscurry.so ([cluster.md](../cluster.md)) sends these commands to its
replicas and writes them to its file of commands. Clients get an error for them, also within MULTI and
scripts; `scurry serve` does not know them. A key that is not what the command was made for ends the
node, with a line in its log: it must not serve what nobody decided.
",
    );
    for spec in NODE {
        line(&mut text, format_args!("## {}\n", spec.name));
        page::body(&mut text, spec);
    }
    ReferencePage { file: FILE.to_owned(), title: TITLE.to_owned(), text }
}
