//! Explores seeds: `cargo xtask sim --seconds N [--theme NAME] [--seed S]`, or `--seeds N` of them. With a seed and
//! neither of both it replays that run. Each run is made twice and must end in the same way, except with `--once`.

use scurry_sim::group::{self, GroupCounts, GroupTheme};
use scurry_sim::{Counts, Failure, Theme, run};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str =
    "usage: cargo xtask sim [--seconds N | --seeds N] [--seed S] [--once] [--theme NAME]
themes: power, kill, write, errors, damage, reads, room, missing, chains, and with three nodes
group-crashes, group-cuts, group-pauses, group-clocks, group-disks, group-members, group-rebuilds,
group-losses, group-all; alone all of the former, `group` all of the latter";

/// A theme of one shard alone, or of a group of three nodes.
#[derive(Clone, Copy)]
enum Any {
    Alone(Theme),
    Group(GroupTheme),
}

impl Any {
    fn name(self) -> &'static str {
        match self {
            Any::Alone(theme) => theme.name(),
            Any::Group(theme) => theme.name(),
        }
    }

    fn named(name: &str) -> Option<Vec<Any>> {
        if name == "group" {
            return Some(GroupTheme::ALL.into_iter().map(Any::Group).collect());
        }
        let alone = Theme::named(name).map(Any::Alone);
        alone.or_else(|| GroupTheme::named(name).map(Any::Group)).map(|theme| vec![theme])
    }
}

/// The counts of all runs.
#[derive(Default)]
struct Total {
    alone: Counts,
    group: GroupCounts,
}

impl Total {
    /// Runs a seed twice and checks that both runs end in the same way, or runs it once if `once` is set.
    fn run(&mut self, theme: Any, seed: u64, once: bool) -> Result<(), Failure> {
        match theme {
            Any::Alone(theme) => {
                let run = || run(theme, seed);
                self.alone.add(&again(theme.name(), seed, once, run)?.counts);
            }
            Any::Group(theme) => {
                let run = || group::run(theme, seed);
                self.group.add(&again(theme.name(), seed, once, run)?.counts);
            }
        }
        Ok(())
    }
}

fn again<R: PartialEq>(
    name: &str,
    seed: u64,
    once: bool,
    run: impl Fn() -> Result<R, Failure>,
) -> Result<R, Failure> {
    let first = run()?;
    if once || first == run()? {
        return Ok(first);
    }
    let why = format!("{name} seed {seed} does not end as it did before");
    Err(Failure { why, tail: String::new() })
}

struct Args {
    seconds: Option<u64>,
    seeds: u64,
    themes: Vec<Any>,
    seed: u64,
    once: bool,
}

fn args() -> Option<Args> {
    let themes = Theme::ALL.into_iter().map(Any::Alone).collect();
    let mut found = Args { seconds: None, seeds: 1, themes, seed: 0, once: false };
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        if option == "--once" {
            found.once = true;
            continue;
        }
        let value = args.next()?;
        match option.as_str() {
            "--seconds" => found.seconds = Some(value.parse().ok()?),
            "--seeds" => found.seeds = value.parse().ok().filter(|&seeds| seeds > 0)?,
            "--theme" => found.themes = Any::named(&value)?,
            "--seed" => found.seed = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(found)
}

fn main() -> ExitCode {
    let Some(args) = args() else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let limit = Duration::from_secs(args.seconds.unwrap_or(0));
    #[expect(clippy::disallowed_methods, reason = "how long it explores, not what it does")]
    let start = Instant::now();
    let (mut seed, mut total, mut runs) = (args.seed, Total::default(), 0_u64);
    loop {
        for &theme in &args.themes {
            if let Err(failure) = total.run(theme, seed, args.once) {
                println!("{}{}", failure.tail, failure.why);
                println!("replay: cargo xtask sim --theme {} --seed {seed}", theme.name());
                return ExitCode::FAILURE;
            }
            runs += 1;
        }
        if start.elapsed() >= limit && seed - args.seed + 1 >= args.seeds {
            break;
        }
        seed += 1;
    }
    println!("{runs} runs, seeds {} to {seed}, nothing found", args.seed);
    if total.alone != Counts::default() {
        println!("{:?}", total.alone);
    }
    if total.group != GroupCounts::default() {
        println!("{:?}", total.group);
    }
    ExitCode::SUCCESS
}
