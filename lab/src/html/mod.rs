//! `scurry-lab report`: one page of HTML from files of results. It needs nothing but itself: no
//! script, no font, no picture from elsewhere. It reads on a phone and in print, light and dark.

mod chart;
mod curve;
mod group;
mod ladder;
mod picture;
mod tables;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::arguments::ReportArguments;
use crate::comparisons;
use crate::results::Results;
use crate::rivals::{Finding, Outcome, findings, is_measured};
use crate::row::Row;
use group::Group;
use picture::Pair;

const STYLE: &str = include_str!("style.css");

/// A file and what is in it.
#[derive(Debug)]
pub struct Source {
    /// The file's name without its directory.
    pub name: String,
    /// Results in the file.
    pub results: Results,
}

/// Writes the page.
///
/// # Errors
/// When a file cannot be read or written.
pub fn report(arguments: &ReportArguments) -> Result<()> {
    let read = |path: &PathBuf| -> Result<Source> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Source { name, results: Results::read(path)? })
    };
    let sources = arguments.files.iter().map(read).collect::<Result<Vec<_>>>()?;
    write(&arguments.out, &arguments.title, &sources)?;
    println!("{}", arguments.out.display());
    if let Some(path) = &arguments.comparisons {
        let results = sources.iter().map(|source| &source.results);
        let files: Vec<_> = arguments.files.iter().cloned().zip(results).collect();
        comparisons::write(path, &files)?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Writes the page of these results.
///
/// # Errors
/// When it cannot be written, or a row breaks the rule that none stands without its audit.
pub fn write(out: &std::path::Path, title: &str, sources: &[Source]) -> Result<()> {
    let page = page(title, sources)?.into_string();
    std::fs::write(out, page).with_context(|| format!("writing {}", out.display()))
}

fn page(title: &str, sources: &[Source]) -> Result<Markup> {
    let mut groups: Vec<Group> = Vec::new();
    for source in sources {
        if let Results::Rows(report) = &source.results {
            report.rows.iter().try_for_each(|row| {
                let is_whole = !row.audit.is_empty()
                    && (!is_measured(row) || !row.durability.is_empty() && !row.version.is_empty());
                ensure!(
                    is_whole,
                    "{}: row {} has figures without an audit, a durability or a version: such a row \
                     is not shown",
                    source.name,
                    row.target
                );
                Ok(())
            })?;
            groups.extend(Group::of(&source.name, &report.rows));
        }
    }
    let ladders = sources.iter().filter_map(|source| match &source.results {
        Results::Ladder(ladder) => Some((source.name.as_str(), ladder)),
        Results::Rows(_) => None,
    });
    for (index, group) in groups.iter_mut().enumerate() {
        group.anchor = format!("load-{}", index + 1);
    }
    let (shown, alone): (Vec<&Group>, Vec<&Group>) =
        groups.iter().partition(|group| group.is_shown());
    let published = tables::published(groups.iter().map(|group| group.rows[0].scenario.as_str()))?;
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
                header {
                    h1 { (title) }
                    p.machine { (machines(&groups)) }
                }
                (failed(&groups))
                (picture::render(&Pair::all(&groups), &groups))
                @for group in shown { (group.render()?) }
                @for (name, ladder) in ladders { (ladder::render(name, ladder)) }
                @if !alone.is_empty() {
                    section {
                        details {
                            summary { "Charts of " (alone.len()) " loads without a peer" }
                            @for group in alone { (group.render()?) }
                        }
                    }
                }
                (summary(&groups))
                (published)
                footer {
                    p {
                        "Written by scurry-lab. Every measured row was audited: what the store holds "
                        "was compared with what it acknowledged, and a row that failed has no figures. "
                        "docs/lab.md says how each figure is taken."
                    }
                }
            }
        }
    })
}

/// The machines and the commits that the figures are of.
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

/// Rows whose store does not hold what it acknowledged: nothing stands before them.
fn failed(groups: &[Group]) -> Markup {
    let failed: Vec<&Row> = groups
        .iter()
        .flat_map(|group| &group.rows)
        .filter(|row| row.not_measured.is_none() && !row.is_sound())
        .collect();
    html! {
        @if !failed.is_empty() {
            section {
                h2 { "Rows that failed their audit" }
                ul { @for row in &failed { li { (row.title()) ", " (row.target) ": " (row.audit) } } }
            }
        }
    }
}

/// Every comparison in words, the losses first.
fn summary(groups: &[Group]) -> Markup {
    let is_behind = |one: &Finding<'_>| one.outcome != Outcome::Loses && one.is_behind();
    let all = groups.iter().flat_map(|group| findings(&group.rows));
    let unsure =
        all.filter(|one| matches!(one.outcome, Outcome::Even | Outcome::NoClaim(_))).count();
    let nowhere = html! { p { "Nowhere that the runs support." } };
    html! {
        section {
            details {
                summary { "Every comparison in words" }
                h3 { "Where scurry loses" }
                (list(groups, |one| one.outcome == Outcome::Loses).unwrap_or_else(|| nowhere.clone()))
                @if let Some(behind) = list(groups, is_behind) {
                    h3 { "Behind by the median, and the runs support no claim" }
                    (behind)
                }
                h3 { "Where scurry wins" }
                (list(groups, |one| one.outcome == Outcome::Wins).unwrap_or(nowhere))
                @if unsure > 0 {
                    p.note { (unsure) " comparisons are even or support no claim: they stand in the \
                        tables of their loads, each with its reason." }
                }
            }
        }
    }
}

/// The findings of a kind, by group; none where there is none.
fn list(groups: &[Group], is_wanted: impl Fn(&Finding<'_>) -> bool) -> Option<Markup> {
    let of_group = |group: &Group| {
        let found = findings(&group.rows);
        let lines: Vec<String> =
            found.iter().filter(|one| is_wanted(one)).map(Finding::words).collect();
        (!lines.is_empty()).then(|| (format!("{} ({})", group.title(), group.file), lines))
    };
    let found: Vec<(String, Vec<String>)> = groups.iter().filter_map(of_group).collect();
    (!found.is_empty()).then(|| {
        html! {
            @for (title, lines) in &found {
                p.of { (title) }
                ul { @for line in lines { li { (line) } } }
            }
        }
    })
}
