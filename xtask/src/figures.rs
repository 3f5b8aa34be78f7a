//! `cargo xtask figures`: measures the figures of the documents on one machine and one commit, and writes their tables
//! from the results. tidy rejects a table that differs from its results, and a figure without results.

mod blocks;
mod chart;
mod format;
mod lines;
mod parts;
mod results;
mod runner;
mod tables;

use crate::host::Host;
use anyhow::{Context, Result, bail, ensure};
pub(crate) use blocks::{documents, faults};
use parts::{FULL, FigurePart, TINY};
pub(crate) use results::Results;
use runner::{Runner, chosen};
use std::path::{Path, PathBuf};

/// Directory of the results, relative to the root of the repository.
pub(crate) const DIRECTORY: &str = "docs/results";

#[derive(Debug, Default)]
struct Arguments {
    only: Vec<String>,
    /// Time limit, minutes.
    within: Option<f64>,
    is_list: bool,
    /// True to write the documents from the existing results without measuring.
    is_write: bool,
    /// True to compare the documents with the results, as tidy does.
    is_check: bool,
    is_tiny: bool,
    results: Option<PathBuf>,
    /// Directory with a copy of the documents, which is written instead of the repository's.
    into: Option<PathBuf>,
}

impl Arguments {
    fn parse(words: &[String]) -> Result<Arguments> {
        let mut arguments = Arguments::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} wants a value"));
            match word.as_str() {
                "--list" => arguments.is_list = true,
                "--write" => arguments.is_write = true,
                "--check" => arguments.is_check = true,
                "--tiny" => arguments.is_tiny = true,
                "--only" => arguments.only.extend(value()?.split(',').map(str::to_owned)),
                "--within" => {
                    let minutes: f64 = value()?.parse().context("--within wants minutes")?;
                    arguments.within = Some(minutes);
                }
                "--results" => arguments.results = Some(value()?.into()),
                "--into" => arguments.into = Some(value()?.into()),
                other => bail!("figures: no `{other}`: see cargo xtask help"),
            }
        }
        ensure!(
            !arguments.is_tiny || arguments.results.is_some() && arguments.into.is_some(),
            "--tiny measures nothing that may be quoted: say --results DIR and --into DIR"
        );
        Ok(arguments)
    }
}

/// Lists, measures or writes, as the arguments say.
pub(crate) fn run(host: &Host, words: &[String]) -> Result<()> {
    let arguments = Arguments::parse(words)?;
    let directory = arguments.results.clone().unwrap_or_else(|| host.root.join(DIRECTORY));
    if !arguments.is_write && !arguments.is_check {
        let scale = if arguments.is_tiny { &TINY } else { &FULL };
        let runner = Runner::new(host, std::path::absolute(&directory)?, scale)?;
        let due = runner.due(&chosen(&arguments.only)?)?;
        list(&runner, &due)?;
        if arguments.is_list {
            return Ok(());
        }
        runner.begin()?;
        let failed = measure(&runner, &due, arguments.within)?;
        runner.conclude()?;
        write(&directory, &arguments.into.unwrap_or_else(|| host.root.clone()))?;
        ensure!(failed.is_empty(), "failed, and due again: {}", failed.join(", "));
        return Ok(());
    }
    let into = arguments.into.unwrap_or_else(|| host.root.clone());
    if arguments.is_check { check(&directory, &into) } else { write(&directory, &into) }
}

/// Writes the documents from the results.
fn write(directory: &Path, into: &Path) -> Result<()> {
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).ok();
    for document in documents() {
        let path = into.join(document);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let new = blocks::written(document, &text, &Results::new(&read))?;
        if new != text {
            std::fs::create_dir_all(path.parent().unwrap_or(into))?;
            std::fs::write(&path, new).with_context(|| format!("writing {}", path.display()))?;
            println!("{document}: written");
        }
    }
    Ok(())
}

/// Prints every document that differs from its results, and every figure outside of a generated block.
fn check(directory: &Path, into: &Path) -> Result<()> {
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).ok();
    let mut count = 0;
    for document in documents() {
        let text = std::fs::read_to_string(into.join(document)).unwrap_or_default();
        for (line, what) in faults(document, &text, &Results::new(&read)) {
            println!("{document}:{}: {what}", line + 1);
            count += 1;
        }
    }
    ensure!(count == 0, "figures: {count} findings");
    Ok(())
}

fn list(runner: &Runner<'_>, due: &[&FigurePart]) -> Result<()> {
    let mut sum = 0.0;
    for part in due {
        let minutes = runner.minutes(part)?;
        sum += minutes;
        println!("{:32} {minutes:5.0} min", part.file.trim_end_matches(".json"));
    }
    println!("{} parts are due, about {:.1} h", due.len(), sum / 60.0);
    Ok(())
}

/// Measures the parts that fit into the time limit. Returns the names of the failed ones, so that one failure does not
/// lose the others.
fn measure<'p>(
    runner: &Runner<'_>,
    due: &[&'p FigurePart],
    within: Option<f64>,
) -> Result<Vec<&'p str>> {
    let mut left = within.unwrap_or(f64::INFINITY);
    let mut failed = Vec::new();
    for (index, part) in due.iter().enumerate() {
        let expected = runner.minutes(part)?;
        if expected > left {
            println!("\n== {}: no room for {expected:.0} min", part.file);
            continue;
        }
        let rest: f64 = due[index..].iter().filter_map(|part| runner.minutes(part).ok()).sum();
        println!(
            "\n== {} ({}/{}), about {expected:.0} min; all that is due {rest:.0} min",
            part.file,
            index + 1,
            due.len()
        );
        match runner.measure(part) {
            Ok(()) => left -= runner.minutes(part)?,
            Err(error) => {
                println!("{}: FAILED: {error:#}", part.file);
                failed.push(part.file);
                left -= expected;
            }
        }
    }
    Ok(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Arguments::parse(&words)
    }

    #[test]
    fn words_are_understood_or_refused() {
        let arguments = parse("--only durable,kv-pipelined --within 30 --only fill").unwrap();
        assert_eq!(arguments.only, ["durable", "kv-pipelined", "fill"]);
        assert_eq!(arguments.within, Some(30.0));
        for (line, expected) in [
            ("--tiny", "may be quoted"),
            ("--within", "wants a value"),
            ("--within soon", "wants minutes"),
            ("--fast", "no `--fast`"),
        ] {
            let error = format!("{:#}", parse(line).unwrap_err());
            assert!(error.contains(expected), "{line}: {error}");
        }
        let error = chosen(&["laddr".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("no part `laddr`"), "{error}");
    }
}
