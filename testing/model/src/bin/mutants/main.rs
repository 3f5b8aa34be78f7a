//! Seeds known bugs, one at a time, and requires that the named test catches each. A mutant is a file of
//! testing/mutants: `cargo run -p scurry-model --bin mutants [NAME...]`.
//!
//! The tracked files, and new ones that git does not ignore, are copied to scratch workspaces under target/, so that
//! the working tree is never touched; only the mutated file is rebuilt. Mutants that the same test target must catch
//! form a group; each lane has its own copy and processes one group after another.

mod mutant;
mod scratch;

use anyhow::{Result, ensure};
use mutant::{CatchingTest, Mutant};
use scratch::{MutantResult, Scratch};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::thread;

/// Number of lanes: a compiler or a test leaves half of two cores idle. More copies would cost more to build than they
/// save.
const LANES: usize = 2;

fn main() -> Result<ExitCode> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let top = ["rev-parse", "--show-toplevel"];
    let root = PathBuf::from(scratch::stdout(Command::new("git").args(top))?);
    let mutants = mutant::load(&root.join("testing/mutants"), &wanted)?;
    ensure!(!mutants.is_empty(), "no mutant has such a name: see testing/mutants");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);

    let width = mutants.iter().map(|mutant| mutant.name.len()).max().unwrap_or(0);
    let groups = Mutex::new(VecDeque::from(groups(&mutants)));
    let next = || groups.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
    let lane = |number: usize| -> Result<bool> {
        let Some(first) = next() else { return Ok(true) };
        let place = target.join("mutants").join(number.to_string());
        let lane = MutantCopy { scratch: Scratch::copy(&root, &place)?, width };
        let mut fine = true;
        for group in std::iter::once(first).chain(std::iter::from_fn(&next)) {
            fine &= lane.seed(&group)?;
        }
        Ok(fine)
    };
    let fine = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|number| scope.spawn(move || lane(number))).collect();
        let ends = lanes.into_iter().map(|lane| lane.join().expect("a lane does not panic"));
        ends.collect::<Result<Vec<bool>>>().map(|lanes| lanes.into_iter().all(|fine| fine))
    })?;
    println!("{} mutants", mutants.len());
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Groups the mutants by the test target that must catch them, and sorts each group by the changed file, so that little
/// is built twice. The largest group comes first, so that the lanes do not end up waiting for it.
fn groups(mutants: &[Mutant]) -> Vec<Vec<&Mutant>> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        let CatchingTest { package, target, .. } = &mutant.caught_by;
        groups.entry((package, target)).or_default().push(mutant);
    }
    let mut groups: Vec<Vec<&Mutant>> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort_by_key(|mutant| &mutant.file));
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

/// One of the copies, with the width of the names in the output.
struct MutantCopy {
    scratch: Scratch,
    width: usize,
}

impl MutantCopy {
    /// Reports whether each test of the group passes on the unchanged code, and fails with its mutant.
    fn seed(&self, group: &[&Mutant]) -> Result<bool> {
        let (mut fine, width) = (true, self.width);
        let mut catchers: Vec<&CatchingTest> =
            group.iter().map(|mutant| &mutant.caught_by).collect();
        catchers.sort();
        catchers.dedup();
        if let Some(why) = self.scratch.baseline(&catchers)? {
            fine = false;
            println!("{} {}: {why}", group[0].caught_by.package, group[0].caught_by.target);
        }
        for mutant in group {
            let (name, test) = (&mutant.name, &mutant.caught_by.test);
            match self.scratch.mutate(mutant)? {
                MutantResult::Caught => println!("{name:width$}  caught    {test}"),
                MutantResult::Survived => {
                    fine = false;
                    println!("{name:width$}  SURVIVED  {test}: {}", mutant.description);
                }
                MutantResult::Broken(why) => {
                    fine = false;
                    println!("{name:width$}  BROKEN    {why}");
                }
            }
        }
        Ok(fine)
    }
}
