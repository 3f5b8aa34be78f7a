//! Blocks of generated tables in the documents: `<!-- figures: NAME -->` to `<!-- end -->` is written from results. In
//! the parts of pages that quote measurements, no line outside of a block may contain a figure.

use super::results::Results;
use super::{chart, tables};
use anyhow::{Context, Result};

const BEGIN: &str = "<!-- figures: ";
const CLOSE: &str = " -->";
const END: &str = "<!-- end -->";

/// Pages that quote measurements, and the heading under which they do; an empty heading means the whole page.
const PLACES: &[(&str, &str)] = &[("README.md", "## Figures"), ("docs/performance.md", "")];

/// Returns the documents that are written from results: the pages, and the chart.
pub(crate) fn documents() -> impl Iterator<Item = &'static str> {
    PLACES.iter().map(|(page, _)| *page).chain([chart::FILE])
}

/// Units that mark the number before them as measured.
const UNITS: &[&str] = &["%", "us", "ms", "ns", "times", "operations/s", "requests/s"];

/// Line that breaks the rule, counted from 0, and the reason.
pub(crate) type Fault = (usize, String);

/// Regenerates a document: all of the chart, or the blocks of a page.
pub(crate) fn written(path: &str, text: &str, results: &Results<'_>) -> Result<String> {
    if path == chart::FILE {
        return Ok(chart::render(&tables::compared(results)?));
    }
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some(name) = opened(line) else { continue };
        out.push_str(&tables::render(name, results).with_context(|| format!("{path}: {name}"))?);
        lines
            .by_ref()
            .find(|line| *line == END)
            .with_context(|| format!("{path}: no `{END}` behind `{line}`"))?;
        out.push_str(END);
        out.push('\n');
    }
    Ok(out)
}

/// Returns the blocks that differ from the results, and the figures outside of any block.
pub(crate) fn faults(path: &str, text: &str, results: &Results<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    match written(path, text, results) {
        Ok(new) if new == text => {}
        Ok(new) => {
            let same = text.lines().zip(new.lines()).take_while(|(a, b)| a == b).count();
            let what = "differs from what the results give: cargo xtask figures --write";
            faults.push((same, what.to_owned()));
        }
        Err(error) => faults.push((0, format!("{error:#}"))),
    }
    for (_, heading) in PLACES.iter().filter(|(page, _)| *page == path) {
        let found = figures_outside_blocks(text, heading);
        if !found.0 {
            faults.push((0, format!("has no `{heading}`, where measurements are quoted")));
        }
        faults.extend(found.1);
    }
    faults
}

/// Reports whether the heading exists, and returns the figures below it outside of any block.
fn figures_outside_blocks(text: &str, heading: &str) -> (bool, Vec<Fault>) {
    let level = |line: &str| line.chars().take_while(|c| *c == '#').count();
    let mut is_inside = heading.is_empty();
    let (mut is_there, mut is_block, mut is_fenced) = (is_inside, false, false);
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        }
        if line == heading && !heading.is_empty() {
            (is_inside, is_there) = (true, true);
            continue;
        }
        let is_heading = line.starts_with('#') && !is_fenced;
        if is_heading && !heading.is_empty() && level(line) <= level(heading) {
            is_inside = false;
        }
        if opened(line).is_some() {
            is_block = true;
        } else if line == END {
            is_block = false;
        } else if is_inside
            && !is_block
            && !is_fenced
            && let Some(figure) = figure(line)
        {
            let what =
                format!("`{figure}` is no figure of a run: let a block `{BEGIN}...` write it");
            faults.push((index, what));
        }
    }
    (is_there, faults)
}

fn opened(line: &str) -> Option<&str> {
    line.strip_prefix(BEGIN)?.strip_suffix(CLOSE)
}

/// Returns the first figure of a line: a number with a unit, or one with a comma in it. Code and link targets do not
/// count.
fn figure(line: &str) -> Option<String> {
    let line: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" code ");
    let shown = line.split("](").enumerate().map(|(index, part)| match index {
        0 => part,
        _ => part.split_once(')').map_or("", |(_, rest)| rest),
    });
    let shown = shown.collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = shown.split_whitespace().collect();
    let is_number = |word: &str| {
        let word = word.trim_matches(|c: char| "(,;:".contains(c));
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ".,".contains(c))
    };
    let pair = words.windows(2).find(|pair| {
        let unit = pair[1].trim_matches(|c: char| "().,;:|".contains(c));
        is_number(pair[0]) && UNITS.contains(&unit)
    });
    pair.map(|pair| pair.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "docs/performance.md";
    const LOST: &str = r#"{"comparisons": [{"file": "a.json", "scenario": "kv", "ours": "scurry", "peer": "valkey",
        "times": 0.64, "figure": "throughput", "ours_value": 9000, "peer_value": 14000, "verdict": "loses"}]}"#;

    fn read(path: &str) -> Option<String> {
        (path == tables::COMPARISONS).then(|| LOST.to_owned())
    }

    fn page() -> String {
        let empty = "# P\n<!-- figures: losses -->\n<!-- end -->\nbehind\n";
        written(PAGE, empty, &Results::new(&read)).unwrap()
    }

    #[test]
    fn a_page_is_written_from_results_and_writing_it_again_changes_nothing() {
        let page = page();
        assert!(page.contains("9,000/s") && page.ends_with("<!-- end -->\nbehind\n"), "{page}");
        assert_eq!(written(PAGE, &page, &Results::new(&read)).unwrap(), page);
        assert_eq!(faults(PAGE, &page, &Results::new(&read)), []);
    }

    #[test]
    fn a_tampered_table_is_found() {
        let tampered = page().replace("9,000", "9,900");
        let found = faults(PAGE, &tampered, &Results::new(&read));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(tampered.lines().nth(found[0].0).unwrap().contains("9,900"), "{found:?}");
        let open = page().replace(END, "");
        assert!(faults(PAGE, &open, &Results::new(&read))[0].1.contains("no `<!-- end -->`"));
        let none = |_: &str| None;
        assert!(faults(PAGE, &page(), &Results::new(&none))[0].1.contains("docs/results has no"));
        let unknown = page().replace("figures: losses", "figures: lozes");
        let found = faults(PAGE, &unknown, &Results::new(&read));
        assert!(found[0].1.contains("there is no block `lozes`"), "{found:?}");
    }

    #[test]
    fn a_figure_that_no_run_wrote_is_found() {
        let figures_outside_blocks =
            |line: &str| faults(PAGE, &format!("{}{line}\n", page()), &Results::new(&read));
        for line in ["p99 is 1.2 ms.", "| a | 12 % |", "(3.5 times as fast)"] {
            assert_eq!(figures_outside_blocks(line).len(), 1, "{line}");
        }
        for line in ["64 requests", "`--p99 3 ms`", "[a](x 1.2 ms)", "```\n1 ms\n```"] {
            assert_eq!(figures_outside_blocks(line), [], "{line}");
        }
    }

    #[test]
    fn only_the_places_that_quote_measurements_are_looked_at() {
        let none = |_: &str| None;
        let text = "# H\n10 ms\n## Figures\n12 ms\n### More\n13 ms\n## Bounds\n14 ms\n";
        let found = faults("README.md", text, &Results::new(&none));
        assert_eq!(found.into_iter().map(|fault| fault.0).collect::<Vec<_>>(), [3, 5]);
        let moved = text.replace("## Figures", "## Speed");
        let found = faults("README.md", &moved, &Results::new(&none));
        assert!(found[0].1.contains("has no `## Figures`"));
    }
}
