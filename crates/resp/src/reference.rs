//! Renders the reference from the table, so that it always matches the server: docs/commands.md with a line for each
//! command, and the pages of single commands on the site.

mod entity;
mod index;
mod node;
mod page;
mod redis;

use crate::table::{SCUR, STORE, Spec};
use std::fmt::Write;

pub use index::reference;
pub use page::details;

/// A page of the reference.
pub struct ReferencePage {
    /// File name in `docs/commands`.
    pub file: String,
    /// Heading of the page.
    pub title: String,
    /// The whole page, in Markdown.
    pub text: String,
}

/// Returns the pages of single commands and of groups, in the order of the index.
pub fn reference_pages() -> Vec<ReferencePage> {
    let own = SCUR.iter().chain(STORE).map(page::of_command);
    own.chain([entity::page(), redis::page(), node::page()]).collect()
}

/// Returns the name of the page that describes the command.
fn file_of(spec: &Spec) -> String {
    match spec.group {
        "entity" => entity::FILE.to_owned(),
        "node" => node::FILE.to_owned(),
        _ => format!("{}.md", spec.lower_name()),
    }
}

/// Appends a line. Writing to a string cannot fail.
fn line(page: &mut String, text: impl std::fmt::Display) {
    let _ = writeln!(page, "{text}");
}

/// Escapes text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Returns the name and arguments of a command.
fn syntax(spec: &Spec) -> String {
    format!("{} {}", spec.name.replace('|', " "), spec.grammar).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ENTITY, NODE};

    #[test]
    fn each_command_has_a_line_of_the_index_and_stands_on_the_page_that_it_leads_to() {
        let (index, linked) = (reference(false), reference(true));
        let pages = reference_pages();
        assert!(!index.contains("](commands/"), "the pages are not in the repository");
        for spec in SCUR.iter().chain(ENTITY).chain(STORE).chain(NODE) {
            assert!(index.contains(&format!("\n| `{}", spec.name)), "{}", spec.name);
            let file = file_of(spec);
            assert!(linked.contains(&format!("[{}](commands/{file}", spec.name)), "{file}");
            let page = pages.iter().find(|page| page.file == file).expect(spec.name);
            assert!(page.text.contains(spec.notes) && page.text.contains(&syntax(spec)[..8]));
        }
    }

    #[test]
    fn a_page_opens_with_its_title() {
        for page in reference_pages() {
            assert!(page.text.starts_with(&format!("# {}\n", page.title)), "{}", page.file);
        }
    }
}
