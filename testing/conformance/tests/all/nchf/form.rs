//! What of the commands has a form in Nchf, and what its answer shows of the expected result.

use super::client::{Answer, Client};
use crate::charging::{
    ChargingDoor, Kind, Named, Request, Said, ScriptCommand, Why, changes, code_of, is,
    names_transaction, shows,
};
use scurry_conformance::{Pattern, Script};
use scurry_ledger::Code;
use std::collections::BTreeMap;

/// Lowest number of a consumer that is not taken as it is.
const NUMBERS_END: u32 = 1 << 24;
/// Most units that a container can report.
const USED_MAX: u64 = 1 << 49;
/// Validity of a session whose service has no row in the table: a store must allow it.
const VALIDITY_MS: i64 = 600_000;

impl ChargingDoor for Client {
    const PROTOCOL: &'static str = "Nchf";
    const OPTION: &'static str = "--http-listen";
    const SETTINGS: &'static str = "";

    fn refuses(script: &Script) -> Option<Why> {
        let has_time = script.limits.tcc_ms_max >= VALIDITY_MS;
        (!has_time).then_some("script whose limits are below the standard validity of a service")
    }

    fn restrict(said: &mut [Said], commands: &[ScriptCommand<'_>]) {
        let (mut sessions, mut transactions) = (Places::new(), Places::new());
        for (at, (said, command)) in said.iter_mut().zip(commands).enumerate() {
            if let Ok(request) = said
                && let Some(why) = without_form(request, command.expected)
            {
                *said = Err(Some(why));
            }
            let words = &command.words;
            let names = ["RESERVE", "UPDATE", "TERMINATE", "RELEASE", "SESSION"];
            let is_of_session = names.iter().any(|name| is(words, &format!("SCUR.{name}")));
            if is_of_session && words.len() > 2 {
                sessions.entry((words[1].clone(), words[2].clone())).or_default().push(at);
            }
            // A refund names its debit too.
            let named = words.iter().take(4).skip(2).filter(|_| names_transaction(words));
            for name in named {
                transactions.entry((words[1].clone(), name.clone())).or_default().push(at);
            }
        }
        sessions.values().for_each(|places| restrict_session(said, commands, places));
        for places in transactions.values() {
            let goes_on = places.iter().any(|at| said[*at].is_err());
            let is_denied = |at: &&usize| is_denied(commands[**at].expected);
            for at in places.iter().filter(is_denied).filter(|_| goes_on) {
                refuse(&mut said[*at], "an event that is denied: its name is not told");
            }
        }
    }

    fn connect(port: u16) -> Client {
        Client::open(port)
    }

    fn ask(&mut self, request: &Request, expected: &Pattern) -> Result<(), String> {
        compare(request, expected, &self.send(request))
    }

    fn name(&mut self, what: Named, account: &[u8], name: &[u8]) -> Option<Vec<u8>> {
        Some(self.name_of(what, account, name))
    }

    fn name_of_script(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.name_in_script(name)
    }
}

/// Indices of the commands that name something, by account and name.
type Places = BTreeMap<(Vec<u8>, Vec<u8>), Vec<usize>>;

/// Returns why a request has no form in Nchf.
fn without_form(request: &Request, expected: &Pattern) -> Option<Why> {
    let code = code_of(expected);
    match request.kind {
        Kind::Check => return Some("CHECK: Nchf debits or grants"),
        Kind::Refund => return Some("REFUND: Nchf takes nothing back"),
        _ => {}
    }
    if request.items.iter().any(|item| item.rating_group.is_none()) {
        return Some("an item without a rating group");
    }
    if request.items.iter().any(|item| item.used.is_some_and(|used| used > USED_MAX)) {
        return Some("use above 2^49");
    }
    if request.number >= NUMBERS_END {
        return Some("a number from 2^24 on: such requests are numbered by time");
    }
    let is_later = matches!(request.kind, Kind::Update | Kind::Terminate);
    match (request.kind, code) {
        (_, Some(Code::RequestMismatch)) if is_later => {
            Some("a number with another body: the request is numbered by time")
        }
        (Kind::Terminate, Some(Code::OutOfWindow)) => {
            Some("a Release that the window has passed: it ends an open session")
        }
        _ => None,
    }
}

fn refuse(said: &mut Said, why: Why) {
    if said.is_ok() {
        *said = Err(Some(why));
    }
}

/// Takes from the commands of a session those that a consumer could not go on with.
fn restrict_session(said: &mut [Said], commands: &[ScriptCommand<'_>], places: &[usize]) {
    let words = |at: &usize| &commands[*at].words;
    let changes = |at: &usize| changes(commands[*at].expected);
    let reserves: Vec<usize> =
        places.iter().copied().filter(|at| is(words(at), "SCUR.RESERVE")).collect();
    let Some(first) = places.iter().copied().find(changes) else { return };
    if reserves.is_empty() {
        restrict_event(said, commands, places, first);
        return;
    }
    let has_other = |at: &usize| places.iter().any(|other| words(other) != words(at));
    // Without a form, it has another body, which may be the one that the door writes.
    let is_mismatch = |at: &usize| code_of(commands[*at].expected) == Some(Code::RequestMismatch);
    let is_other = |at: &usize| said[*at].is_err() && (changes(at) || is_mismatch(at));
    let why = if reserves.iter().any(is_other) {
        Some("another RESERVE of its session has no form")
    } else if !reserves.contains(&first) {
        Some("a RESERVE after use of its session: a Create has another name")
    } else if reserves
        .iter()
        .any(|at| changes(at) && is_closed(commands[*at].expected) && has_other(at))
    {
        Some("a Create that is denied: later requests have no reference")
    } else {
        None
    };
    if let Some(why) = why {
        reserves.iter().for_each(|at| refuse(&mut said[*at], why));
        return;
    }
    let Ok(created) = said[first].as_ref().map(|create| create.number) else { return };
    for at in places {
        let is_same =
            said[*at].as_ref().is_ok_and(|it| it.kind != Kind::Reserve && it.number == created);
        if is_same {
            refuse(&mut said[*at], "the number of the Create: the request is numbered by time");
        }
    }
}

/// Makes a PEC event of the end of a session that nothing opens, if all of it is use.
fn restrict_event(
    said: &mut [Said],
    commands: &[ScriptCommand<'_>],
    places: &[usize],
    first: usize,
) {
    let is_use = |request: &Request| {
        request.kind == Kind::Terminate
            && !request.items.is_empty()
            && request.items.iter().all(|item| item.used.is_some_and(|used| used > 0))
    };
    if !said[first].as_ref().is_ok_and(is_use) {
        return;
    }
    for at in places.iter().filter(|at| **at >= first) {
        let is_copy = commands[*at].words == commands[first].words;
        match &mut said[*at] {
            Ok(request) if is_copy => request.kind = Kind::Settle,
            other => refuse(other, "the session of an event: it has no reference"),
        }
    }
}

fn is_denied(expected: &Pattern) -> bool {
    changes(expected) && code_of(expected).is_some_and(|code| code != Code::Ok)
}

/// Reports whether the session is not open after the command.
fn is_closed(expected: &Pattern) -> bool {
    matches!(expected, Pattern::Array(parts, _) if matches!(parts.get(2), Some(Pattern::Int(0))))
}

/// Compares an answer with the expected result of the command.
fn compare(request: &Request, expected: &Pattern, answer: &Answer) -> Result<(), String> {
    let code = code_of(expected).ok_or("no code")?;
    let wrong = |what: &str| Err(format!("{what}: {answer:?}"));
    // The status, and the code of a problem.
    let (status, problem) = match (request.kind, code) {
        _ if !changes(expected) => (None, Some(code)),
        (Kind::Terminate, _) => (Some(204), None),
        (Kind::Settle, _) => (Some(201), None),
        (Kind::Update, Code::ServiceDenied) => (Some(403), Some(code)),
        (Kind::Update, _) if is_closed(expected) => (Some(404), Some(Code::UnknownSession)),
        (Kind::Update, _) => (Some(200), None),
        (Kind::Reserve, _) if is_closed(expected) => (Some(403), Some(code)),
        (Kind::Debit, code) if code != Code::Ok => (Some(403), Some(code)),
        _ => (Some(201), None),
    };
    let is_status = match status {
        Some(status) => answer.status == status,
        None => answer.status >= 400,
    };
    if !is_status || answer.code.as_deref() != problem.map(Code::name) {
        return wrong("status or code");
    }
    let Pattern::Array(parts, _) = expected else { return Ok(()) };
    if problem.is_some() {
        return Ok(());
    }
    if matches!(parts.get(1), Some(Pattern::Int(replayed)) if answer.is_replayed != (*replayed == 1))
    {
        return wrong("Idempotency-Replayed");
    }
    if request.kind == Kind::Debit {
        let asked = request.items.iter().map(|item| item.requested);
        let granted = answer.groups.iter().map(|(_, granted, _)| Some(*granted));
        return if asked.eq(granted) { Ok(()) } else { wrong("debited units") };
    }
    let Some(Pattern::Array(items, _)) = parts.get(3) else { return Ok(()) };
    if matches!(request.kind, Kind::Terminate | Kind::Settle) {
        return Ok(());
    }
    let shows = |(item, (result, granted, is_final)): (&Pattern, &(String, u64, bool))| {
        let is_result = |code: Code| result_code(code) == result;
        shows(item, is_result, *granted, *is_final)
    };
    let is_right =
        items.len() == answer.groups.len() && items.iter().zip(&answer.groups).all(shows);
    if is_right { Ok(()) } else { wrong("multipleUnitInformation") }
}

/// Returns resultCode of an item.
fn result_code(code: Code) -> &'static str {
    code.nchf()
}
