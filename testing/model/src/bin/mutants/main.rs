//! Seeds known bugs, one at a time, and demands that the named test catches each. A mutant is a
//! file of testing/mutants: `cargo run -p scurry-model --bin mutants [NAME... | --part 3/8 |
//! --minutes M [--since 3/8=COMMIT]...]`.
//!
//! The files that git knows or would know are copied to scratch workspaces under target/, so
//! that the working tree is never touched; only the mutated file is rebuilt. Mutants that the
//! same tests must catch form a group; each lane has a copy of its own and takes one group after
//! another. With minutes it seeds those whose files have changed since their part was seeded, what is built
//! soon and the newest change first, as many as fit.

mod change;
mod mutant;
mod scratch;

use anyhow::{Context, Result, ensure};
use change::{Change, Touched};
use mutant::{Catcher, Mutant, Part};
use scratch::{Scratch, Verdict};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A compiler or a test leaves half of two cores idle. More copies would cost more to build
/// than they save.
const LANES: usize = 2;
/// The same for the mutants of a change: a gate's tests run beside them, and a copy is built before its first mutant.
const LANES_OF_A_CHANGE: usize = 1;

/// The arguments.
struct Args {
    /// Names of mutants; all when there is none.
    wanted: Vec<String>,
    /// Of all mutants those of one part.
    part: Option<Part>,
    /// Minutes from the start, after which no mutant is begun; of all mutants those that the change touches.
    minutes: Option<u64>,
    /// Parts, and the commits at which they were seeded.
    since: Vec<(Part, String)>,
}

impl Args {
    fn read(words: impl Iterator<Item = String>) -> Result<Args> {
        let mut args = Args { wanted: vec![], part: None, minutes: None, since: vec![] };
        let mut words = words;
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} is without a value"));
            match word.as_str() {
                "--minutes" => args.minutes = Some(value()?.parse().context("--minutes")?),
                "--part" => args.part = Some(value()?.parse()?),
                "--since" => {
                    let value = value()?;
                    let (part, commit) = value.split_once('=').context("--since 3/8=COMMIT")?;
                    args.since.push((part.parse()?, commit.to_owned()));
                }
                _ => args.wanted.push(word),
            }
        }
        let ways = [!args.wanted.is_empty(), args.part.is_some(), args.minutes.is_some()];
        ensure!(
            ways.into_iter().filter(|way| *way).count() <= 1,
            "name mutants, a part, or the minutes of a change: one of these"
        );
        ensure!(args.minutes.is_some() || args.since.is_empty(), "--since is without --minutes");
        Ok(args)
    }
}

fn main() -> Result<ExitCode> {
    let begin = now();
    let args = Args::read(std::env::args().skip(1))?;
    let top = ["rev-parse", "--show-toplevel"];
    let root = PathBuf::from(scratch::stdout(Command::new("git").args(top))?);
    let mut mutants = mutant::load(&root.join("testing/mutants"), &args.wanted)?;
    mutants.retain(|mutant| args.part.is_none_or(|part| part.holds(mutant)));
    ensure!(!mutants.is_empty(), "no mutant has such a name: see testing/mutants");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);

    let Touched { groups, count: touched } = match args.minutes {
        None => Touched { groups: groups(&mutants), count: mutants.len() },
        Some(_) => Change::since(&root, &args.since)?.touched(&mutants),
    };
    let limit = args.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let is_late = || limit.is_some_and(|limit| now().duration_since(begin) >= limit);
    let width = mutants.iter().map(|mutant| mutant.name.len()).max().unwrap_or(0);
    let (seeded, groups) = (AtomicUsize::new(0), Mutex::new(VecDeque::from(groups)));
    let next = || groups.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
    let lane = |number: usize| -> Result<bool> {
        let Some(first) = next() else { return Ok(true) };
        let place = target.join("mutants").join(number.to_string());
        let lane = Lane { scratch: Scratch::copy(&root, &place)?, width, is_late: &is_late };
        let mut fine = true;
        for group in std::iter::once(first).chain(std::iter::from_fn(&next)) {
            let (count, is_fine) = lane.seed(&group)?;
            seeded.fetch_add(count, Ordering::Relaxed);
            fine &= is_fine;
            if is_late() {
                break;
            }
        }
        Ok(fine)
    };
    let lanes = if args.minutes.is_some() { LANES_OF_A_CHANGE } else { LANES };
    let fine = thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes).map(|number| scope.spawn(move || lane(number))).collect();
        let ends = lanes.into_iter().map(|lane| lane.join().expect("a lane does not panic"));
        ends.collect::<Result<Vec<bool>>>().map(|lanes| lanes.into_iter().all(|fine| fine))
    })?;
    let (seeded, all) = (seeded.into_inner(), mutants.len());
    match args.minutes {
        None => println!("{seeded} of {all} mutants"),
        Some(minutes) => println!(
            "{seeded} mutants of the {touched} that the change touches, in at most {minutes} minutes; \
             {} left to make test-all, which seeds all {all}",
            touched - seeded
        ),
    }
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[expect(clippy::disallowed_methods, reason = "how many are seeded, not what becomes of them")]
fn now() -> Instant {
    Instant::now()
}

/// By the test target that must catch them, within it by the file that they change, so that
/// little is built twice. The largest is the first, so that it is not what all wait for.
fn groups(mutants: &[Mutant]) -> Vec<Vec<&Mutant>> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        let Catcher { package, target, .. } = &mutant.caught_by;
        groups.entry((package, target)).or_default().push(mutant);
    }
    let mut groups: Vec<Vec<&Mutant>> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort_by_key(|mutant| &mutant.file));
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

/// One of the copies, and what its groups have in common.
struct Lane<'a> {
    scratch: Scratch,
    width: usize,
    is_late: &'a dyn Fn() -> bool,
}

impl Lane<'_> {
    /// How many mutants of the group were seeded before it was late, one at least; and whether each of
    /// their tests passes as things are, and fails with its mutant.
    fn seed(&self, group: &[&Mutant]) -> Result<(usize, bool)> {
        let (mut seeded, mut fine, width) = (0, true, self.width);
        let mut catchers: Vec<&Catcher> = group.iter().map(|mutant| &mutant.caught_by).collect();
        catchers.sort();
        catchers.dedup();
        if let Some(why) = self.scratch.baseline(&catchers)? {
            fine = false;
            println!("{} {}: {why}", group[0].caught_by.package, group[0].caught_by.target);
        }
        for mutant in group {
            if seeded > 0 && (self.is_late)() {
                break;
            }
            let (name, test) = (&mutant.name, &mutant.caught_by.test);
            match self.scratch.mutate(mutant)? {
                Verdict::Caught => println!("{name:width$}  caught    {test}"),
                Verdict::Survived => {
                    fine = false;
                    println!("{name:width$}  SURVIVED  {test}: {}", mutant.description);
                }
                Verdict::Broken(why) => {
                    fine = false;
                    println!("{name:width$}  BROKEN    {why}");
                }
            }
            seeded += 1;
        }
        Ok((seeded, fine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_part_and_a_change_exclude_each_other() {
        let read = |line: &str| Args::read(line.split_whitespace().map(str::to_owned));
        assert_eq!(read("a b").unwrap().wanted, ["a", "b"]);
        assert_eq!(read("--part 3/8").unwrap().part, "3/8".parse().ok());
        let args = read("--minutes 4 --since 1/8=abc --since 2/8=def").unwrap();
        assert_eq!((args.minutes, args.since.len(), &*args.since[1].1), (Some(4), 2, "def"));
        for line in [
            "--minutes",
            "--minutes x",
            "--minutes 4 a",
            "--minutes 4 --part 1/8",
            "--part 1/8 a",
            "--part 0/8",
            "--part 9/8",
            "--part 1",
            "--since 1/8=abc",
            "--minutes 4 --since abc",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn each_mutant_is_in_one_part_and_no_part_is_much_larger_than_its_share() {
        const PARTS: usize = 8;
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../mutants");
        let all = mutant::load(std::path::Path::new(folder), &[]).unwrap();
        let size = |number| {
            let part: Part = format!("{number}/{PARTS}").parse().unwrap();
            all.iter().filter(|mutant| part.holds(mutant)).count()
        };
        let sizes: Vec<usize> = (1..=PARTS).map(size).collect();
        assert_eq!(sizes.iter().sum::<usize>(), all.len());
        let share = all.len() / PARTS;
        assert!(sizes.iter().all(|size| (1..2 * share).contains(size)), "{sizes:?}");
    }
}
