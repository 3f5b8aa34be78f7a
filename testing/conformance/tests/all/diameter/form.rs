//! What of the commands has a form in Diameter, as a credit-control request and its answer.

use super::client::{Answer, Client};
use crate::charging::{
    ChargingDoor, Kind, Named, Request, Said, ScriptCommand, Why, code_of, is, shows,
};
use scurry_conformance::{Pattern, Script};
use scurry_diameter::ccr::{
    RequestType, RequestWriter, RequestedAction, Service, Units, UsedUnits,
};
use scurry_ledger::{Code, Id};
use std::collections::BTreeSet;

/// Longest DATA that the door gives a session here, bytes.
const DATA_LEN: usize = 64;

impl ChargingDoor for Client {
    const PROTOCOL: &'static str = "Diameter";
    const OPTION: &'static str = "--diameter-listen";
    const SETTINGS: &'static str = "[[subscribers]]\ntype = 'private'\naccount = '{}'\n";

    fn refuses(script: &Script) -> Option<Why> {
        let has_room = script.limits.blob_len_max >= DATA_LEN;
        (!has_room).then_some("script whose sessions have no room for the door's DATA")
    }

    fn restrict(said: &mut [Said], commands: &[ScriptCommand<'_>]) {
        let session = |words: &[Vec<u8>]| (words.get(1).cloned(), words.get(2).cloned());
        let reads = commands
            .iter()
            .filter(|it| is(&it.words, "SCUR.SESSION") && has_key(it.expected, b"data"));
        let read_data: BTreeSet<_> = reads.map(|command| session(&command.words)).collect();
        for (said, command) in said.iter_mut().zip(commands) {
            let Ok(request) = said else { continue };
            let reads_data =
                request.kind == Kind::Reserve && read_data.contains(&session(&command.words));
            if let Some(why) = without_form(request, reads_data) {
                *said = Err(Some(why));
            }
        }
    }

    fn connect(port: u16) -> Client {
        Client::open(port)
    }

    fn ask(&mut self, request: &Request, expected: &Pattern) -> Result<(), String> {
        compare(request, expected, &self.send(request))
    }

    fn name(&mut self, what: Named, _: &[u8], name: &[u8]) -> Option<Vec<u8>> {
        (what == Named::Transaction).then(|| of_transaction(name))
    }

    fn name_of_script(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// Returns why a request has no form in Diameter.
fn without_form(request: &Request, reads_data: bool) -> Option<Why> {
    if !request.is_event() && !Id::is_id(request.name.as_bytes()) {
        return Some("an id that is none of Diameter");
    }
    let greatest = i64::MAX.unsigned_abs();
    if request.items.iter().any(|item| item.used.is_some_and(|used| used >= greatest)) {
        return Some("use of 2^63 - 1");
    }
    // The DATA of a session is the door's.
    reads_data.then_some("the DATA of its session is read")
}

/// Returns the name that the door gives a transaction.
fn of_transaction(name: &[u8]) -> Vec<u8> {
    [name, b"/0"].concat()
}

pub(super) fn request_type(kind: Kind) -> RequestType {
    match kind {
        Kind::Reserve => RequestType::Initial,
        Kind::Update => RequestType::Update,
        Kind::Terminate => RequestType::Termination,
        Kind::Debit | Kind::Refund | Kind::Check | Kind::Settle => RequestType::Event,
    }
}

/// Writes what a request has beside its head.
pub(super) fn write(request: &Request, writer: &mut RequestWriter<'_>) {
    let action = match request.kind {
        Kind::Reserve | Kind::Update | Kind::Terminate => None,
        Kind::Debit | Kind::Settle => Some(RequestedAction::DirectDebiting),
        Kind::Refund => Some(RequestedAction::RefundAccount),
        Kind::Check => Some(RequestedAction::CheckBalance),
    };
    if let Some(action) = action {
        writer.action(action);
    }
    let debit = match request.debit.is_empty() {
        true => Vec::new(),
        false => of_transaction(&request.debit),
    };
    let refund_information = &debit[..];
    let units = |amount| Units { service_specific: Some(amount), ..Units::default() };
    for item in &request.items {
        let used = item.used.map(|used| UsedUnits { units: units(used), ..UsedUnits::default() });
        writer.service(&Service {
            requested: item.requested.map(units),
            used: used.as_slice(),
            rating_group: item.rating_group,
            refund_information,
            ..Service::default()
        });
    }
    if request.items.is_empty() && !debit.is_empty() {
        writer.outside(&Service { refund_information, ..Service::default() });
    }
}

/// Compares an answer with the expected result of the command.
fn compare(request: &Request, expected: &Pattern, answer: &Answer) -> Result<(), String> {
    let code = code_of(expected).ok_or("no code")?;
    let wrong = |what: &str| Err(format!("{what}: {answer:?}"));
    let Pattern::Array(parts, _) = expected else {
        let is_right = answer.result == u32::from(code.diameter());
        return if is_right { Ok(()) } else { wrong("Result-Code") };
    };
    if request.kind == Kind::Check {
        let is_right = answer.check == Some(u32::from(code != Code::Ok));
        return if is_right { Ok(()) } else { wrong("Check-Balance-Result") };
    }
    let is_closed = matches!(parts.get(2), Some(Pattern::Int(0)));
    let result = match (request.kind, code) {
        (Kind::Update, Code::Ok) if is_closed => 5002,
        // A session that is open goes on.
        (Kind::Reserve | Kind::Update, Code::CreditLimitReached) if !is_closed => 2001,
        (_, code) => u32::from(code.diameter()),
    };
    if answer.result != result {
        return wrong("Result-Code");
    }
    let Some(Pattern::Array(items, _)) = parts.get(3) else { return Ok(()) };
    if result == 5002 || request.is_event() {
        return Ok(());
    }
    let shows = |(item, (result, granted, is_final)): (&Pattern, &(u32, u64, bool))| {
        shows(item, |code| u32::from(code.diameter()) == *result, *granted, *is_final)
    };
    let is_right =
        items.len() == answer.services.len() && items.iter().zip(&answer.services).all(shows);
    if is_right { Ok(()) } else { wrong("services") }
}

/// Reports whether the expected result has an entry with this key.
fn has_key(expected: &Pattern, key: &[u8]) -> bool {
    match expected {
        Pattern::Map(entries, _) => {
            entries.iter().any(|(name, value)| name == key || has_key(value, key))
        }
        _ => false,
    }
}
