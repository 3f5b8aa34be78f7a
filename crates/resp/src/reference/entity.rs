//! The page of the entity commands.

use super::{ReferencePage, line, page};
use crate::table::ENTITY;

pub(super) const FILE: &str = "entities.md";
const TITLE: &str = "Entity commands";

pub(super) fn page() -> ReferencePage {
    let mut text = format!("# {TITLE}\n\n");
    line(
        &mut text,
        "An entity is a record with a version: bytes under a key of their own kind, which the plain
commands do not write and the SCUR commands do not know. An id is 1 to 65535 bytes, any bytes. A
version is an integer from 1 to 9223372036854775807, and a greater one is a later write: the time
in UTC milliseconds, a counter and the number of the node that gave it, in this order. A version
whose time is far ahead of the server's clock is refused, because no write could win against it.
A refusal because of an argument is `-INVALID 10 why`, as for SCUR commands. While the deletion of
an entity is remembered its id belongs to entities: to write something else there is WRONGTYPE.
",
    );
    for spec in ENTITY {
        line(&mut text, format_args!("## {}\n", spec.name));
        page::body(&mut text, spec);
    }
    ReferencePage { file: FILE.to_owned(), title: TITLE.to_owned(), text }
}
