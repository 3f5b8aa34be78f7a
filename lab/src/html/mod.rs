//! `scurry-lab report`: one HTML page from result files. The page is self-contained, without scripts, fonts or pictures
//! from elsewhere. It works on a phone and in print, in light and dark mode.

mod picture;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::arguments::ReportArguments;
use crate::comparisons;
use crate::peer_comparison::{Finding, findings, is_measured};
use crate::report::{measured_table, published_text};
use crate::results;
use crate::row::{Report, Row, by_load};
use crate::scenario::Scenario;
use picture::Pair;

const STYLE: &str = include_str!("style.css");

/// Result file and its content.
#[derive(Debug)]
pub struct Source {
    /// File name without its directory.
    pub name: String,
    /// Rows of the file.
    pub report: Report,
}

/// Rows that were measured side by side: of one file, one scenario and one load.
#[derive(Debug)]
struct Group {
    file: String,
    rows: Vec<Row>,
    /// Id of its section of the page.
    anchor: String,
}

/// Writes the page.
///
/// # Errors
/// When a file cannot be read or written.
pub fn report(arguments: &ReportArguments) -> Result<()> {
    let read = |path: &PathBuf| -> Result<Source> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Source { name, report: results::read(path)? })
    };
    let sources = arguments.files.iter().map(read).collect::<Result<Vec<_>>>()?;
    write(&arguments.out, &arguments.title, &sources)?;
    println!("{}", arguments.out.display());
    if let Some(path) = &arguments.comparisons {
        let reports = sources.iter().map(|source| &source.report);
        let files: Vec<_> = arguments.files.iter().cloned().zip(reports).collect();
        comparisons::write(path, &files)?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Writes the page of the results.
///
/// # Errors
/// When it cannot be written, or a row has no audit.
pub fn write(out: &Path, title: &str, sources: &[Source]) -> Result<()> {
    let page = page(title, sources)?.into_string();
    std::fs::write(out, page).with_context(|| format!("writing {}", out.display()))
}

fn page(title: &str, sources: &[Source]) -> Result<Markup> {
    let mut groups: Vec<Group> = Vec::new();
    for Source { name, report } in sources {
        for row in &report.rows {
            ensure!(
                !row.audit.is_empty()
                    && (!is_measured(row) || !row.durability.is_empty() && !row.version.is_empty()),
                "{name}: row {} has figures without an audit, a durability or a version: such a row is not \
                 shown",
                row.target
            );
        }
        for rows in by_load(&report.rows) {
            let anchor = format!("load-{}", groups.len() + 1);
            groups.push(Group { file: name.clone(), rows, anchor });
        }
    }
    let published = published(&groups)?;
    Ok(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                p.note { (machines(&groups)) }
                (failed(&groups))
                (picture::render(&Pair::all(&groups)))
                @for group in &groups { (group.render()) }
                @if !published.is_empty() {
                    section {
                        h2 { "Published by others" }
                        pre { (published) }
                    }
                }
                p.note {
                    "Written by scurry-lab. Every measured row was audited: what the store holds was compared \
                    with what it acknowledged, and a row that failed has no figures. docs/lab.md says how \
                    each figure is taken."
                }
            }
        }
    })
}

impl Group {
    /// Returns the scenario's name as the picture shows it.
    fn name(&self) -> String {
        self.rows[0].title()
    }

    /// Returns the number of connections, and of requests in flight on each.
    fn form(&self) -> String {
        let load = &self.rows[0].load;
        format!("{} \u{d7} {} in flight", load.connections, load.depth)
    }

    fn render(&self) -> Markup {
        let found = findings(&self.rows);
        let started = self.rows.iter().filter(|row| !row.configuration.is_empty());
        html! {
            section id=(self.anchor) {
                h2 { (self.name()) ", " (self.form()) }
                p.note { "From " (self.file) ". Measured here:" }
                pre { (measured_table(&self.rows)) }
                @if !found.is_empty() {
                    details {
                        summary { "Every comparison in words" }
                        ul { @for one in &found { li { (Finding::words(one)) } } }
                    }
                }
                details {
                    summary { "Command lines" }
                    ul { @for row in started { li { (row.target) ": " code { (row.configuration.join(" ")) } } } }
                }
            }
        }
    }
}

/// Renders the machines and commits of the figures.
fn machines(groups: &[Group]) -> String {
    let mut machines: Vec<String> = Vec::new();
    let mut commits: Vec<&str> = Vec::new();
    for row in groups.iter().flat_map(|group| &group.rows) {
        let host = &row.host;
        let words = format!("{}, {} cores", host.cpu, host.cores);
        if !machines.contains(&words) {
            machines.push(words);
        }
        if !commits.contains(&host.git_commit.as_str()) {
            commits.push(&host.git_commit);
        }
    }
    let commits = match commits.as_slice() {
        [] | [""] => "commit not kept".to_owned(),
        [one] => format!("commit {one}"),
        several => format!("results of {} commits, not one run", several.len()),
    };
    format!("{}; {commits}", machines.join("; "))
}

/// Renders the rows of stores that lost acknowledged data; they come before everything else.
fn failed(groups: &[Group]) -> Markup {
    let rows = groups.iter().flat_map(|group| &group.rows);
    let failed: Vec<&Row> =
        rows.filter(|row| row.not_measured.is_none() && !row.is_sound()).collect();
    html! {
        @if !failed.is_empty() {
            section {
                h2 { "Rows that failed their audit" }
                ul { @for row in &failed { li { (row.title()) ", " (row.target) ": " (row.audit) } } }
            }
        }
    }
}

/// Renders the published tables of the scenarios, each once.
fn published(groups: &[Group]) -> Result<String> {
    let mut names: Vec<&str> = groups.iter().map(|group| group.rows[0].scenario.as_str()).collect();
    names.dedup();
    let mut all = String::new();
    for scenario in names.into_iter().filter_map(|name| Scenario::built_in(name).ok()) {
        let text = published_text(&scenario)?;
        if !all.contains(&text) {
            all.push_str(&text);
        }
    }
    Ok(all)
}
