//! Runs scripts through the Diameter door of a server: commands that a credit-control request can say are sent as one, all
//! others over RESP. What the answer shows of the expected result is compared; the reads of the script, over RESP, compare
//! the rest. Scripts that set the clock are not for a server.

mod client;
mod plan;
mod process;
mod translate;

use client::Client;
use plan::Plan;
use process::Server;
use scurry_conformance::{Argument, Event, Pattern, Script, ScriptLine, ServerDoor, scripts};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use translate::Why;

/// Longest DATA that the door gives a session here, bytes.
const DATA_LEN: usize = 64;

/// Commands that were said in Diameter, and scripts with at least one, when this was last measured. A translation that says
/// fewer proves less.
const SAID_MIN: usize = 329;
const SCRIPTS_MIN: usize = 31;

#[derive(Default)]
struct Counts {
    /// Scripts with a command that was said in Diameter.
    scripts: usize,
    said: usize,
    /// The other scripts, by the reason.
    others: BTreeMap<Why, usize>,
    /// Commands of charging without a form in Diameter, by the reason.
    unsaid: BTreeMap<Why, usize>,
    failures: Vec<String>,
}

/// A command of a script, with its expected result.
struct ScriptCommand<'a> {
    line: &'a ScriptLine,
    words: Vec<Vec<u8>>,
    expected: &'a Pattern,
}

/// Returns the words of a command. None if one is a reply that was kept.
fn words_of(arguments: &[Argument]) -> Option<Vec<Vec<u8>>> {
    let word = |argument: &Argument| match argument {
        Argument::Bytes(bytes) => Some(bytes.clone()),
        Argument::Kept(_) => None,
    };
    arguments.iter().map(word).collect()
}

/// Returns the commands of a script, or why the script is not for this door.
fn commands(script: &Script) -> Result<Vec<ScriptCommand<'_>>, Why> {
    if script.sets_clock {
        return Err("script that sets the clock");
    }
    if !script.doors.is_empty() && !script.doors.iter().any(|door| door == "server") {
        return Err("script for other doors");
    }
    if script.limits.blob_len_max < DATA_LEN {
        return Err("script whose sessions have no room for the door's DATA");
    }
    let mut out = Vec::new();
    for line in &script.lines {
        if let Event::Command { text, words, expected } = &line.event {
            // A chain is remembered with the bodies of its commands, and replies may be kept for later.
            if text.starts_with("SCUR.CHAIN") {
                return Err("script with chains");
            }
            let kept = "script that keeps replies";
            if matches!(expected.pattern, Pattern::Kept(_)) {
                return Err(kept);
            }
            let words = words_of(words).ok_or(kept)?;
            out.push(ScriptCommand { line, words, expected: &expected.pattern });
        }
    }
    Ok(out)
}

fn run(door: &ServerDoor, script: &Script, counts: &mut Counts) {
    let commands = match commands(script) {
        Ok(commands) => commands,
        Err(why) => {
            *counts.others.entry(why).or_default() += 1;
            return;
        }
    };
    let plan = Plan::of(commands.iter().map(|command| (&command.words[..], command.expected)));
    for why in plan.unsaid() {
        *counts.unsaid.entry(why).or_default() += 1;
    }
    if plan.said() == 0 {
        *counts.others.entry("script without a command that has a form").or_default() += 1;
        return;
    }
    counts.scripts += 1;
    counts.said += plan.said();
    let mut server =
        Server::start(door.binary(), script, &plan.settings(script.limits.validity_ms_default));
    let mut client = Client::connect(server.diameter);
    for (at, ScriptCommand { line, words, expected }) in commands.iter().enumerate() {
        let wrong = match plan.request(at) {
            Some(request) => {
                let answer = client.ask(request);
                request.compare(expected, &answer).err()
            }
            None => {
                let reply = server.ask(&plan.renamed(words));
                let is_right = expected.matches(&reply);
                (!is_right).then(|| format!("over RESP: {reply}"))
            }
        };
        if let Some(wrong) = wrong {
            let Event::Command { text, expected, .. } = &line.event else { unreachable!() };
            let place = format!("{}:{}", script.file, line.number);
            let (text, expected) = (text.as_str(), expected.text.as_str());
            counts.failures.push(format!("{place}: {text}\n  expected: {expected}\n  {wrong}"));
        }
    }
}

#[test]
fn scripts_have_the_same_results_through_the_diameter_door() {
    let door = ServerDoor::find().expect("a scurry binary");
    let mut counts = Counts::default();
    for source in scripts().expect("the scripts are read") {
        run(&door, &source.script, &mut counts);
    }
    let mut told = format!("{} commands of {} scripts in Diameter", counts.said, counts.scripts);
    for (why, count) in &counts.unsaid {
        write!(told, "\n  {count} commands not: {why}").expect("memory");
    }
    for (why, count) in &counts.others {
        write!(told, "\n  {count} x {why}").expect("memory");
    }
    println!("{told}");
    let failures = &counts.failures;
    assert!(failures.is_empty(), "{} differ:\n{}\n{told}", failures.len(), failures.join("\n"));
    assert!(counts.said >= SAID_MIN && counts.scripts >= SCRIPTS_MIN, "{told}");
}
