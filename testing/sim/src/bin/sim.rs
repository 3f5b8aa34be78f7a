//! Explores seeds: `cargo xtask sim --seconds N [--theme NAME] [--seed S]`, or `--seeds N` of them; with a
//! seed and neither of both it replays that run.

use scurry_sim::{Counts, Failure, Report, Theme, run};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: cargo xtask sim [--seconds N | --seeds N] [--theme power|kill|write|errors|damage|reads|room|missing|chains] \
                     [--seed S]";

struct Args {
    seconds: Option<u64>,
    seeds: u64,
    theme: Option<Theme>,
    seed: u64,
}

fn args() -> Option<Args> {
    let mut found = Args { seconds: None, seeds: 1, theme: None, seed: 0 };
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        let value = args.next()?;
        match option.as_str() {
            "--seconds" => found.seconds = Some(value.parse().ok()?),
            "--seeds" => found.seeds = value.parse().ok().filter(|&seeds| seeds > 0)?,
            "--theme" => found.theme = Some(Theme::named(&value)?),
            "--seed" => found.seed = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(found)
}

/// Twice, with the same end.
fn twice(theme: Theme, seed: u64) -> Result<Report, Failure> {
    let (first, second) = (run(theme, seed)?, run(theme, seed)?);
    if first == second {
        return Ok(first);
    }
    let why = format!("{} seed {seed} does not end as it did before", theme.name());
    Err(Failure { why, tail: String::new() })
}

fn main() -> ExitCode {
    let Some(args) = args() else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let themes = args.theme.map_or(Theme::ALL.to_vec(), |theme| vec![theme]);
    let limit = Duration::from_secs(args.seconds.unwrap_or(0));
    #[expect(clippy::disallowed_methods, reason = "how long it explores, not what it does")]
    let start = Instant::now();
    let (mut seed, mut counts, mut runs) = (args.seed, Counts::default(), 0_u64);
    loop {
        for &theme in &themes {
            match twice(theme, seed) {
                Ok(report) => counts.add(&report.counts),
                Err(failure) => {
                    println!("{}{}", failure.tail, failure.why);
                    println!("replay: cargo xtask sim --theme {} --seed {seed}", theme.name());
                    return ExitCode::FAILURE;
                }
            }
            runs += 1;
        }
        if start.elapsed() >= limit && seed - args.seed + 1 >= args.seeds {
            break;
        }
        seed += 1;
    }
    println!("{runs} runs, seeds {} to {seed}, nothing found: {counts:?}", args.seed);
    ExitCode::SUCCESS
}
