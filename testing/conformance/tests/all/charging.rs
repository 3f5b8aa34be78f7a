//! Runs scripts through a door of another protocol: commands that a request of it can say are sent as one, all others over
//! RESP. What the answer shows of the expected result is compared; the reads of the script, over RESP, compare the rest, and
//! so do the accounts of the same script over RESP alone. Scripts that set the clock are not for a server.

mod plan;
mod process;
mod translate;

pub(crate) use process::PATIENCE;
pub(crate) use translate::{Kind, Request, Why, changes, code_of, is, shows};

pub(crate) use plan::names_transaction;

use plan::Plan;
use process::Server;
use scurry_conformance::{
    Argument, Event, Pattern, Script, ScriptLine, ServerDoor, Value, scripts,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A command as a request, or why it has none: without a reason it is not of charging, or is refused for its grammar.
pub(crate) type Said = Result<Request, Option<Why>>;

/// A command of a script, with its expected result.
pub(crate) struct ScriptCommand<'a> {
    line: &'a ScriptLine,
    pub(crate) words: Vec<Vec<u8>>,
    pub(crate) expected: &'a Pattern,
}

/// What a name in a command names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    Session,
    Transaction,
}

/// A protocol, and a client of its door.
pub(crate) trait ChargingDoor: Sized {
    const PROTOCOL: &'static str;
    /// Option of `scurry serve` that opens the door.
    const OPTION: &'static str;
    /// Settings beside the table of services.
    const SETTINGS: &'static str;

    /// Returns why a script is not for the door.
    fn refuses(script: &Script) -> Option<Why>;

    /// Takes from the commands those that the protocol has no form for, or that it could not go on with.
    fn restrict(said: &mut [Said], commands: &[ScriptCommand<'_>]);

    fn connect(port: u16) -> Self;

    /// Sends a request, and compares its answer with the expected result.
    fn ask(&mut self, request: &Request, expected: &Pattern) -> Result<(), String>;

    /// Returns the name that the store has for a name of the script. None if it is the same.
    fn name(&mut self, what: Named, account: &[u8], name: &[u8]) -> Option<Vec<u8>>;

    /// Returns a name of the script again.
    fn name_of_script(&self, name: &[u8]) -> Option<Vec<u8>>;
}

#[derive(Default)]
struct Counts {
    /// Scripts with a command that was said in the protocol.
    scripts: usize,
    said: BTreeMap<Kind, usize>,
    /// The other scripts, by the reason.
    others: BTreeMap<Why, usize>,
    /// Commands of charging without a form, by the reason.
    unsaid: BTreeMap<Why, usize>,
    /// Accounts that were compared with those of the script over RESP.
    accounts: usize,
    failures: Vec<String>,
}

/// Returns the words of a command. None if one is a reply that was kept.
fn words_of(arguments: &[Argument]) -> Option<Vec<Vec<u8>>> {
    let word = |argument: &Argument| match argument {
        Argument::Bytes(bytes) => Some(bytes.clone()),
        Argument::Kept(_) => None,
    };
    arguments.iter().map(word).collect()
}

/// Returns the commands of a script, or why the script is not for a server or this door.
fn commands<D: ChargingDoor>(script: &Script) -> Result<Vec<ScriptCommand<'_>>, Why> {
    if script.sets_clock {
        return Err("script that sets the clock");
    }
    if !script.doors.is_empty() && !script.doors.iter().any(|door| door == "server") {
        return Err("script for other doors");
    }
    if let Some(why) = D::refuses(script) {
        return Err(why);
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

fn run<D: ChargingDoor>(door: &ServerDoor, script: &Script, counts: &mut Counts) {
    let commands = match commands::<D>(script) {
        Ok(commands) => commands,
        Err(why) => {
            *counts.others.entry(why).or_default() += 1;
            return;
        }
    };
    let plan = Plan::of::<D>(&commands);
    for why in plan.unsaid() {
        *counts.unsaid.entry(why).or_default() += 1;
    }
    if plan.said().next().is_none() {
        *counts.others.entry("script without a command that has a form").or_default() += 1;
        return;
    }
    counts.scripts += 1;
    for request in plan.said() {
        *counts.said.entry(request.kind).or_default() += 1;
    }
    let settings = D::SETTINGS.to_owned() + &plan.settings(script.limits.validity_ms_default);
    let mut server = Server::start(door.binary(), script, &settings, D::OPTION);
    let mut client = D::connect(server.door);
    for (at, command) in commands.iter().enumerate() {
        let expected = command.expected;
        let wrong = match plan.request(at) {
            Some(request) => client.ask(request, expected).err(),
            None => {
                let reply = server.ask(&plan.renamed(&mut client, &command.words));
                let is_right = expected.matches(&as_in_script(&client, reply.clone()));
                (!is_right).then(|| format!("over RESP: {reply}"))
            }
        };
        counts.failures.extend(wrong.map(|wrong| failure(script, command, &wrong)));
    }
    let mut plain = Server::start(door.binary(), script, &settings, D::OPTION);
    for command in &commands {
        plain.ask(&command.words);
    }
    for account in accounts(&commands) {
        let audit = [b"SCUR.AUDIT".to_vec(), account.clone()];
        let (own, over_resp) = (server.ask(&audit), plain.ask(&audit));
        counts.accounts += 1;
        if own != over_resp {
            let account = String::from_utf8_lossy(&account).into_owned();
            let file = &script.file;
            counts.failures.push(format!("{file}: {account} is {own}\n  over RESP: {over_resp}"));
        }
    }
}

/// Returns the accounts that a script creates.
fn accounts(commands: &[ScriptCommand<'_>]) -> BTreeSet<Vec<u8>> {
    let creates = commands.iter().filter(|command| is(&command.words, "SCUR.CREATE"));
    creates.filter_map(|command| command.words.get(1).cloned()).collect()
}

/// Returns a reply with the names that the script has.
fn as_in_script<D: ChargingDoor>(client: &D, reply: Value) -> Value {
    let inner = |value| as_in_script(client, value);
    match reply {
        Value::Word(word) => Value::Word(client.name_of_script(&word).unwrap_or(word)),
        Value::Array(values) => Value::Array(values.into_iter().map(inner).collect()),
        Value::Map(entries) => {
            Value::Map(entries.into_iter().map(|(key, value)| (key, inner(value))).collect())
        }
        other => other,
    }
}

fn failure(script: &Script, command: &ScriptCommand<'_>, wrong: &str) -> String {
    let Event::Command { text, expected, .. } = &command.line.event else { unreachable!() };
    let place = format!("{}:{}", script.file, command.line.number);
    format!("{place}: {text}\n  expected: {}\n  {wrong}", expected.text)
}

/// Runs all scripts through a door. Fails if a result differs, or if fewer commands and scripts than these were said in the
/// protocol: a translation that says fewer proves less.
pub(crate) fn run_all<D: ChargingDoor>(said_min: usize, scripts_min: usize) {
    let door = ServerDoor::find().expect("a scurry binary");
    let mut counts = Counts::default();
    for source in scripts().expect("the scripts are read") {
        run::<D>(&door, &source.script, &mut counts);
    }
    let said = counts.said.values().sum::<usize>();
    let Counts { scripts, accounts, .. } = counts;
    let mut told = format!(
        "{said} commands of {scripts} scripts in {}, {accounts} accounts as over RESP\n  {:?}",
        D::PROTOCOL,
        counts.said
    );
    for (why, count) in &counts.unsaid {
        write!(told, "\n  {count} commands not: {why}").expect("memory");
    }
    for (why, count) in &counts.others {
        write!(told, "\n  {count} x {why}").expect("memory");
    }
    println!("{told}");
    let failures = &counts.failures;
    assert!(failures.is_empty(), "{} differ:\n{}\n{told}", failures.len(), failures.join("\n"));
    assert!(said >= said_min && scripts >= scripts_min, "{told}");
}
