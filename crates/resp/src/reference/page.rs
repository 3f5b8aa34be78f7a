//! The page of one command, and the facts that it shares with the help of `scurry cli`.

use super::{ReferencePage, file_of, line};
use crate::table::{Role, Spec};

/// Returns the page of a command that has a page of its own.
pub(super) fn of_command(spec: &Spec) -> ReferencePage {
    let mut text = format!("# {}\n\n", spec.name);
    body(&mut text, spec);
    line(
        &mut text,
        "[Conventions and all commands](../commands.md), [the rules](../ledger.md), \
         [the words](../glossary.md).",
    );
    ReferencePage { file: file_of(spec), title: spec.name.to_owned(), text }
}

/// Writes everything about a command under its heading.
pub(super) fn body(page: &mut String, spec: &Spec) {
    line(page, format_args!("{}\n", spec.summary));
    line(page, format_args!("    {}\n", broken(&super::syntax(spec))));
    for (title, text) in details(spec) {
        let text = if title == "Example" {
            text.lines().map(|line| format!("`{line}`")).collect::<Vec<_>>().join(", then ")
        } else {
            text.replace('\n', "\n  - ")
        };
        line(page, format_args!("- **{title}:** {text}"));
    }
    if !spec.notes.is_empty() {
        line(page, format_args!("\n{}", spec.notes));
    }
    line(page, "");
}

/// Returns the facts about a command with their titles, in order; a fact may have several lines.
pub fn details(spec: &Spec) -> Vec<(&'static str, String)> {
    let codes: Vec<&str> = spec.codes.iter().map(|code| code.name()).collect();
    let examples: Vec<&str> = spec.example_needs.iter().chain([&spec.example]).copied().collect();
    let role = if spec.role == Role::Anyone { "" } else { spec.role.name() };
    let facts = [
        ("Reply", spec.reply.to_owned()),
        ("Codes besides OK", codes.join(", ")),
        ("Role", role.to_owned()),
        ("Without memory", spec.memory.at_the_bound().unwrap_or_default().to_owned()),
        ("Term of the field", spec.term.to_owned()),
        ("Example", examples.join("\n")),
    ];
    facts.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// Returns name and arguments in lines: a long grammar is broken before ITEM and BUCKET.
fn broken(syntax: &str) -> String {
    if syntax.len() <= 96 {
        return syntax.to_owned();
    }
    let breaks = [" [ITEM key", " ITEM key unit REQUESTED", " [BUCKET bucket"];
    breaks.into_iter().fold(syntax.to_owned(), |text, at| {
        text.replacen(at, &format!("\n        {}", &at[1..]), 1)
    })
}
