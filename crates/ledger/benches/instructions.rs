//! Counts the instructions of one UPDATE in the ledger alone with callgrind, and shows which functions take them. The
//! count is the difference of two runs, so that setup is not part of it.

mod charging;

use charging::{NOW, account, items, update};
use scurry_ledger::{Decision, Limits, apply, decide, decide_in_place};
use std::error::Error;
use std::hint::black_box;
use std::process::Command;

/// UPDATEs in the longer of the two runs.
const UPDATES: u32 = 2_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, way, updates] = arguments.as_slice()
        && child == "--child"
    {
        run(way, updates.parse()?);
        return Ok(());
    }
    for way in ["decide+apply", "decide_in_place"] {
        let (none, _) = count(way, 0)?;
        let (all, profile) = count(way, UPDATES)?;
        let each = |instructions: u64| instructions / u64::from(UPDATES);
        println!("update/{way}: {} instructions; of these, callees included:", each(all - none));
        for (function, instructions) in functions(&profile).into_iter().take(16) {
            println!("    {:6} {function}", each(instructions));
        }
    }
    Ok(())
}

fn run(way: &str, updates: u32) {
    let limits = Limits::default();
    let items = items();
    let mut state = Some(account(&limits));
    for request in 8..8 + updates {
        let command = update(request, &items);
        if way == "decide_in_place" {
            black_box(decide_in_place(&mut state, black_box(&command), NOW, &limits));
        } else if let Decision::Commit(change, answer) =
            decide(state.as_ref(), black_box(&command), NOW, &limits)
        {
            apply(&mut state, &change);
            black_box(answer);
        }
    }
    black_box(&state);
}

/// Parses callgrind's table. Returns the ledger's functions and the allocator's, with their callees. An inlined
/// function counts towards the function that it was inlined into.
fn functions(profile: &str) -> Vec<(String, u64)> {
    let mut functions: Vec<(String, u64)> = Vec::new();
    for line in profile.lines() {
        let mut words = line.split_whitespace();
        let Some(instructions) = words.next().and_then(|word| word.replace(',', "").parse().ok())
        else {
            continue;
        };
        let place = line.split_once(") ").map_or("", |(_, place)| place);
        let name =
            place.split_once(".rs:").or(place.split_once(".c:")).map_or("", |(_, name)| name);
        let name = name.split(" [").next().unwrap_or_default();
        let ours = name.starts_with("scurry_ledger::") || ["malloc", "free"].contains(&name);
        if ours && functions.iter().all(|(known, _)| known != name) {
            functions.push((name.to_owned(), instructions));
        }
    }
    functions
}

/// Returns the instructions of a whole run, and callgrind's table of functions.
fn count(way: &str, updates: u32) -> Result<(u64, String), Box<dyn Error>> {
    let out =
        std::env::temp_dir().join(format!("scurry-callgrind-{}-{updates}", std::process::id()));
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .args(["--child", way, &updates.to_string()])
        .status()
        .map_err(|error| format!("cannot run valgrind ({error}): run scripts/install-tools.sh"))?;
    if !status.success() {
        return Err(format!("valgrind ended with {status}").into());
    }
    let profile = Command::new("callgrind_annotate").arg("--inclusive=yes").arg(&out).output()?;
    std::fs::remove_file(&out)?;
    let text = String::from_utf8_lossy(&profile.stdout).into_owned();
    let total = text
        .lines()
        .find(|line| line.contains("PROGRAM TOTALS"))
        .and_then(|line| line.split_whitespace().next())
        .ok_or("callgrind_annotate printed no total")?
        .replace(',', "");
    Ok((total.parse()?, text))
}
