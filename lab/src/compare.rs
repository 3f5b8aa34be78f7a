//! `scurry-lab compare`: measures all targets that suit a scenario side by side. It prints them below the figures that
//! others have published, compares ours with the best of the others, and lists what could not be measured here and how
//! to fix that.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

use crate::arguments::{Arguments, CompareArguments, LabCommand, RunArguments};
use crate::clock::Clock;
use crate::html::{Source, write};
use crate::peer_comparison::{Finding, findings};
use crate::report::{measured_table, published_text};
use crate::row::{Report, Row};
use crate::run::measure;
use crate::scenario::{Scenario, ScenarioKind};
use crate::target::{Durability, Target};
use crate::testbed::write_json;

const SHORT_RUNS: u32 = 3;
const FULL_RUNS: u32 = 5;
/// Minutes for all scenarios in the short form, which leaves time to build and install within half an hour.
const ALL_MINUTES: f64 = 12.0;
/// Durable rows of the short form; the long form has more.
const DURABLE: &[(Target, Durability)] = &[
    (Target::Scurry, Durability::Fsync),
    (Target::ValkeyLua, Durability::Always),
    (Target::Valkey, Durability::Always),
    (Target::TarantoolLua, Durability::Fsync),
];
/// Older releases that are measured as well, where a change since then shows in the figures.
const OLDER: &[(bool, &str)] =
    &[(true, "valkey-8+lua"), (true, "valkey-8+hset"), (false, "valkey-8")];

/// Runs the comparison and reports whether every measured target passed its audit.
///
/// # Errors
/// When the arguments contradict each other, or no target of a scenario could be measured.
pub fn compare(arguments: &CompareArguments) -> Result<bool> {
    arguments.check()?;
    let scenarios: Vec<String> = match &arguments.scenario {
        Some(name) => vec![name.clone()],
        None => Scenario::all()?.into_iter().map(|scenario| scenario.name).collect(),
    };
    if let Some(directory) = &arguments.out {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("making {}", directory.display()))?;
    }
    let minutes = arguments.within.or((arguments.all && !arguments.full).then_some(ALL_MINUTES));
    let clock = Clock::start();
    let mut sources = Vec::new();
    let mut is_sound = true;
    for (index, name) in scenarios.iter().enumerate() {
        let share = minutes.map(|minutes| {
            let left = (60.0 * minutes - clock.elapsed().as_secs_f64()).max(0.0);
            Duration::from_secs_f64(left / (scenarios.len() - index) as f64)
        });
        let (scenario, report) = one(arguments, name, share)?;
        print!("{}", text(&scenario, &report)?);
        // Fails for a single scenario only; among several the rows say it.
        if !arguments.all && report.rows.iter().all(|row| row.not_measured.is_some()) {
            bail!("no target of {name} could be measured here: run `make lab-peers`");
        }
        is_sound &= report.rows.iter().all(|row| row.not_measured.is_some() || row.is_sound());
        write_json(arguments.common.json.as_deref(), &report)?;
        if let Some(directory) = &arguments.out {
            let file = format!("{}.json", scenario.name);
            write_json(Some(&directory.join(&file)), &report)?;
            sources.push(Source { name: file, report });
        }
    }
    if let Some(directory) = &arguments.out {
        page(directory, &sources)?;
    }
    Ok(is_sound)
}

fn page(directory: &Path, sources: &[Source]) -> Result<()> {
    let page = directory.join("report.html");
    write(&page, "Scurry measured", sources)?;
    println!("\n{}", page.display());
    Ok(())
}

/// Measures one scenario.
fn one(
    arguments: &CompareArguments,
    name: &str,
    share: Option<Duration>,
) -> Result<(Scenario, Report)> {
    let run = words(arguments, name)?;
    let mut steps = run.scenarios()?;
    ensure!(!steps.is_empty(), "{name} has no steps");
    let report = measure(&run, &steps, share).with_context(|| format!("measuring {name}"))?;
    let scenario = steps.swap_remove(0);
    Ok((scenario, report))
}

/// Builds the arguments of the equivalent `run` command line.
fn words(arguments: &CompareArguments, name: &str) -> Result<Box<RunArguments>> {
    let mut words: Vec<String> = vec!["scurry-lab".into(), "run".into(), name.into()];
    let runs = arguments.runs.unwrap_or(if arguments.full { FULL_RUNS } else { SHORT_RUNS });
    words.extend(["--runs".to_owned(), runs.to_string()]);
    if !arguments.full {
        words.push("--short".to_owned());
    }
    words.extend(arguments.run.iter().cloned());
    let LabCommand::Run(mut run) = Arguments::try_parse_from(&words)?.command else {
        bail!("these are no arguments of `scurry-lab run`: {}", arguments.run.join(" "));
    };
    run.target.clone_from(&arguments.target);
    if run.target.is_empty()
        && let Some(first) = run.scenarios()?.first().filter(|first| first.targets.is_empty())
    {
        run.target = targets(first.kind, arguments.full);
    }
    run.common = arguments.common.clone();
    Ok(run)
}

/// Returns the targets that suit a kind of load; without durability before with it.
fn targets(kind: ScenarioKind, full: bool) -> Vec<String> {
    let suit = |target: &&Target| match kind {
        ScenarioKind::Charging
        | ScenarioKind::Usage
        | ScenarioKind::Live
        | ScenarioKind::Failover => {
            // Targets that only support two phases have their own scenario, which names them.
            let is_one = !target.is_cluster() && !target.is_group();
            target.dialect().is_some() && is_one && !target.is_two_phase()
        }
        // Plain commands need no server-side logic: one target for each server.
        ScenarioKind::Kv | ScenarioKind::Index => {
            target.dialect().is_none() && !target.is_yardstick()
                || matches!(
                    target,
                    Target::Scurry
                        | Target::TarantoolLua
                        | Target::HazelcastJava
                        | Target::IgniteJava
                        | Target::Echo
                )
        }
    };
    let suiting: Vec<Target> = Target::ALL.iter().filter(suit).copied().collect();
    let durable = suiting.iter().flat_map(|target| {
        let words = Durability::of(*target).iter().filter(|one| one.keeps());
        let wanted = |one: &&Durability| full || DURABLE.contains(&(*target, **one));
        words.filter(wanted).map(|one| format!("{}:{}", target.name(), one.word()))
    });
    let is_charging = kind.is_charging();
    let older = OLDER.iter().filter(|(of, _)| full && *of == is_charging);
    let older = older.map(|(_, name)| (*name).to_owned());
    suiting.iter().map(|target| target.name().to_owned()).chain(durable).chain(older).collect()
}

/// Renders everything that is printed for one scenario.
fn text(scenario: &Scenario, report: &Report) -> Result<String> {
    let rows = &report.rows;
    let mut out = format!("\n{}: {}\n", scenario.name, scenario.description);
    out.push_str(&measured_table(rows));
    let found = findings(rows);
    if !found.is_empty() {
        out.push_str("\nours against the best peer that promises the same\n");
    }
    for one in &found {
        out.push_str(&format!("  {}\n", Finding::words(one)));
    }
    let missing: Vec<&Row> = rows.iter().filter(|row| row.not_measured.is_some()).collect();
    if !missing.is_empty() {
        out.push_str("\nnot measured here\n");
    }
    for row in missing {
        let why = row.not_measured.as_deref().unwrap_or_default();
        out.push_str(&format!("  {}: {why}\n", row.target));
    }
    Ok(out + &published_text(scenario)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::parse_words;

    fn parse(line: &str) -> Result<CompareArguments> {
        let LabCommand::Compare(compare) = parse_words(&format!("compare {line}"))? else {
            bail!("not a comparison");
        };
        Ok(*compare)
    }

    #[test]
    fn every_kind_has_scurry_its_rivals_and_the_limit() {
        for (kind, rival) in [(ScenarioKind::Charging, "valkey+lua"), (ScenarioKind::Kv, "valkey")]
        {
            let short = targets(kind, false);
            for name in ["scurry", "echo", "scurry:fsync", rival] {
                assert!(short.iter().any(|target| target == name), "{name}: {short:?}");
            }
            assert_eq!(short.iter().filter(|target| *target == "scurry").count(), 1);
            assert!(targets(kind, true).len() > short.len());
        }
        assert!(targets(ScenarioKind::Kv, false).contains(&"dragonfly".to_owned()));
        assert!(targets(ScenarioKind::Kv, true).contains(&"valkey-8".to_owned()));
        assert!(targets(ScenarioKind::Charging, true).contains(&"valkey-8+lua".to_owned()));
        assert!(!targets(ScenarioKind::Charging, true).contains(&"redis".to_owned()));
    }

    #[test]
    fn the_short_form_is_short_and_the_command_line_wins() {
        let scenario = |line: &str| {
            let arguments = parse(line).unwrap();
            let run = words(&arguments, "moaf-scur").unwrap();
            let scenario = run.scenarios().unwrap().remove(0);
            (scenario.seconds, scenario.accounts, scenario.depth, run.runs)
        };
        assert_eq!(scenario("moaf-scur"), (1.5, 20_000, 1, 3));
        let asked = "moaf-scur --runs 4 -- --seconds 9 --depth 64 --sessions 600 --accounts 5";
        assert_eq!(scenario(asked), (9.0, 5, 64, 4));
    }

    #[test]
    fn mistakes_are_refused_in_words() {
        for (line, expected) in [
            ("--all kv", "cannot be used with"),
            ("", "required arguments"),
            ("--all --json x", "say --out DIR"),
            ("kv --within 0", "--within must be"),
        ] {
            let error = parse(line).and_then(|arguments| arguments.check()).unwrap_err();
            assert!(error.to_string().contains(expected), "{line}: {error}");
        }
        let error = words(&parse("kv -- --no-such").unwrap(), "kv").unwrap_err().to_string();
        assert!(error.contains("--no-such"), "{error}");
    }
}
