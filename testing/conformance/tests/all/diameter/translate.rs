//! Commands as credit-control requests. RESERVE is CCR-I, UPDATE CCR-U, TERMINATE CCR-T; DEBIT, REFUND and CHECK of items are
//! CCR-E.

use super::client::Answer;
use scurry_conformance::Pattern;
use scurry_diameter::ccr::{
    RequestType, RequestWriter, RequestedAction, Service, Units, UsedUnits,
};
use scurry_ledger::{Code, Id, Name};
use std::collections::BTreeSet;

/// Why a command has no form in Diameter.
pub(super) type Why = &'static str;

/// An item of a command.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) rating_group: Option<u32>,
    pub(super) unit: String,
    used: Option<u64>,
    requested: Option<u64>,
    pub(super) min: u64,
}

/// A command in Diameter.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) account: String,
    pub(super) session: String,
    pub(super) kind: RequestType,
    pub(super) number: u32,
    pub(super) context: String,
    action: Option<RequestedAction>,
    /// Debit that is refunded.
    pub(super) debit: Vec<u8>,
    pub(super) keeps_open: bool,
    pub(super) items: Vec<Item>,
}

pub(super) fn is(words: &[Vec<u8>], name: &str) -> bool {
    words.first().is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
}

fn code_of(expected: &Pattern) -> Option<Code> {
    let name = expected.code()?;
    Code::ALL.iter().copied().find(|code| code.name() == name)
}

/// Reports whether the command changes the account, or is remembered.
pub(super) fn changes(expected: &Pattern) -> bool {
    matches!(expected, Pattern::Array(..))
}

/// Returns a command as a request. An error without a reason is a command that is not of charging, or is refused for its
/// grammar.
pub(super) fn said(words: &[Vec<u8>], expected: &Pattern) -> Result<Request, Option<Why>> {
    let kind = [
        ("SCUR.RESERVE", RequestType::Initial),
        ("SCUR.UPDATE", RequestType::Update),
        ("SCUR.TERMINATE", RequestType::Termination),
        ("SCUR.DEBIT", RequestType::Event),
        ("SCUR.REFUND", RequestType::Event),
        ("SCUR.CHECK", RequestType::Event),
    ];
    let kind = kind.iter().find(|(name, _)| is(words, name)).ok_or(None)?.1;
    if matches!(code_of(expected), None | Some(Code::Invalid)) {
        return Err(None);
    }
    let text = |at: usize| -> Result<String, Option<Why>> {
        let word = words.get(at).ok_or(None)?;
        String::from_utf8(word.clone()).map_err(|_| Some("an id that is no text"))
    };
    let mut request = Request {
        account: text(1)?,
        session: text(2)?,
        kind,
        number: 0,
        context: String::new(),
        action: None,
        debit: Vec::new(),
        keeps_open: false,
        items: Vec::new(),
    };
    if kind == RequestType::Event {
        event(&mut request, words)?;
    } else {
        if !Id::is_id(request.session.as_bytes()) {
            return Err(Some("an id that is none of Diameter"));
        }
        request.number = text(3)?.parse().map_err(|_| Some("a number above 32 bits"))?;
        session(&mut request, words.get(4..).unwrap_or_default(), expected)?;
    }
    let greatest = i64::MAX.unsigned_abs();
    if request.items.iter().any(|item| item.used.is_some_and(|used| used >= greatest)) {
        return Err(Some("use of 2^63 - 1"));
    }
    let mut groups = BTreeSet::new();
    if !request.items.iter().all(|item| groups.insert(item.rating_group)) {
        return Err(Some("one key in two units"));
    }
    Ok(request)
}

fn session(
    request: &mut Request,
    words: &[Vec<u8>],
    expected: &Pattern,
) -> Result<(), Option<Why>> {
    let mut has_late_use = false;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += match word.to_ascii_uppercase().as_slice() {
            b"LATEUSE" => {
                has_late_use = true;
                1
            }
            b"KEEPOPEN" if request.kind == RequestType::Initial => {
                request.keeps_open = true;
                1
            }
            b"ITEM" => {
                let (item, len) = item(&words[at + 1..])?;
                request.items.push(item);
                1 + len
            }
            b"IFVERSION" => return Err(Some("IFVERSION")),
            b"VALIDITY" | b"TCC" => return Err(Some("VALIDITY or TCC of a request")),
            b"DATA" => return Err(Some("DATA")),
            b"OVERRUN" => return Err(Some("OVERRUN")),
            _ => return Err(Some("another option")),
        };
    }
    if request.keeps_open && request.items.is_empty() {
        return Err(Some("KEEPOPEN without items"));
    }
    if !has_late_use && code_of(expected) == Some(Code::UnknownSession) {
        return Err(Some("no LATEUSE: Diameter always settles what is late"));
    }
    for item in &request.items {
        let allowed = match request.kind {
            RequestType::Initial => item.used.is_none_or(|used| used == 0),
            RequestType::Termination => item.requested.is_none(),
            _ => true,
        };
        if !allowed || (item.used.is_none() && item.requested.is_none()) {
            return Err(Some("an item that requests or has used nothing, or may not"));
        }
    }
    Ok(())
}

/// Reads an item after ITEM. Returns it, and how many words it has.
fn item(words: &[Vec<u8>]) -> Result<(Item, usize), Option<Why>> {
    let [key, unit, rest @ ..] = words else { return Err(None) };
    let (rating_group, unit) = (rating_group(key)?, unit_of(unit)?);
    let mut item = Item { rating_group, unit, used: None, requested: None, min: 1 };
    let mut len = 2;
    for pair in rest.chunks(2) {
        let [name, amount] = pair else { break };
        let amount = std::str::from_utf8(amount).ok().and_then(|text| text.parse().ok());
        let field = match name.to_ascii_uppercase().as_slice() {
            b"USED" => &mut item.used,
            // Nothing requested is no request.
            b"REQUESTED" if amount == Some(0) => &mut None,
            b"REQUESTED" => &mut item.requested,
            b"MIN" => {
                item.min = amount.ok_or(Some("an amount"))?.max(1);
                &mut None
            }
            _ => break,
        };
        *field = Some(amount.ok_or(Some("an amount"))?);
        len += 2;
    }
    Ok((item, len))
}

fn event(request: &mut Request, words: &[Vec<u8>]) -> Result<(), Option<Why>> {
    if is(words, "SCUR.CHECK") {
        // CHECK account unit amount [ITEM key]: without an item it is of no rating group.
        let (unit, amount, key) = match words {
            [_, _, unit, amount] => (unit, amount, &b"-"[..]),
            [_, _, unit, amount, word, key] if word.eq_ignore_ascii_case(b"ITEM") => {
                (unit, amount, &key[..])
            }
            _ => return Err(None),
        };
        let words = [key.to_vec(), unit.clone(), b"REQUESTED".to_vec(), amount.clone()];
        "check".clone_into(&mut request.session);
        request.action = Some(RequestedAction::CheckBalance);
        request.items.push(item(&words)?.0);
        return Ok(());
    }
    let (mut rest, without) = if is(words, "SCUR.DEBIT") {
        request.action = Some(RequestedAction::DirectDebiting);
        (&words[3..], "DEBIT without items")
    } else {
        request.action = Some(RequestedAction::RefundAccount);
        request.debit.clone_from(words.get(3).ok_or(None)?);
        if words.len() == 4 {
            return Ok(());
        }
        (&words[4..], "REFUND of an amount without items")
    };
    while let [word, key, unit_or_amount, after @ ..] = rest {
        if !word.eq_ignore_ascii_case(b"ITEM") {
            return Err(Some(without));
        }
        let [amount, after @ ..] = after else { return Err(Some(without)) };
        let words = [key.clone(), unit_or_amount.clone(), b"REQUESTED".to_vec(), amount.clone()];
        request.items.push(item(&words)?.0);
        rest = after;
    }
    if rest.is_empty() && !request.items.is_empty() { Ok(()) } else { Err(Some(without)) }
}

fn rating_group(key: &[u8]) -> Result<Option<u32>, Option<Why>> {
    let text = std::str::from_utf8(key).map_err(|_| Some("a key that is no rating group"))?;
    if text == "-" {
        return Ok(None);
    }
    let number = text.parse::<u32>().ok().filter(|number| number.to_string() == text);
    number.map(Some).ok_or(Some("a key that is no rating group"))
}

fn unit_of(unit: &[u8]) -> Result<String, Option<Why>> {
    Name::new(unit).map(|name| name.as_str().to_owned()).ok_or(None)
}

impl Request {
    pub(super) fn is_check(&self) -> bool {
        self.action == Some(RequestedAction::CheckBalance)
    }

    pub(super) fn write(&self, writer: &mut RequestWriter<'_>) {
        if let Some(action) = self.action {
            writer.action(action);
        }
        let units = |amount| Units { service_specific: Some(amount), ..Units::default() };
        for item in &self.items {
            let used =
                item.used.map(|used| UsedUnits { units: units(used), ..UsedUnits::default() });
            writer.service(&Service {
                requested: item.requested.map(units),
                used: used.as_slice(),
                rating_group: item.rating_group,
                refund_information: &self.debit,
                ..Service::default()
            });
        }
        if self.items.is_empty() && !self.debit.is_empty() {
            let refund_information = &self.debit;
            writer.outside(&Service { refund_information, ..Service::default() });
        }
    }

    /// Compares an answer with the expected result of the command.
    pub(super) fn compare(&self, expected: &Pattern, answer: &Answer) -> Result<(), String> {
        let code = code_of(expected).ok_or("no code")?;
        let wrong = |what: &str| Err(format!("{what}: {answer:?}"));
        let Pattern::Array(parts, _) = expected else {
            let is_right = answer.result == u32::from(code.diameter());
            return if is_right { Ok(()) } else { wrong("Result-Code") };
        };
        if self.is_check() {
            let is_right = answer.check == Some(u32::from(code != Code::Ok));
            return if is_right { Ok(()) } else { wrong("Check-Balance-Result") };
        }
        let is_closed = matches!(parts.get(2), Some(Pattern::Int(0)));
        let result = match (self.kind, code) {
            (RequestType::Update, Code::Ok) if is_closed => 5002,
            // A session that is open goes on.
            (RequestType::Initial | RequestType::Update, Code::CreditLimitReached)
                if !is_closed =>
            {
                2001
            }
            (_, code) => u32::from(code.diameter()),
        };
        if answer.result != result {
            return wrong("Result-Code");
        }
        let Some(Pattern::Array(items, _)) = parts.get(3) else { return Ok(()) };
        if result == 5002 || self.kind == RequestType::Event {
            return Ok(());
        }
        let is_right = items.len() == answer.services.len()
            && items.iter().zip(&answer.services).all(|(item, service)| is_of(item, *service));
        if is_right { Ok(()) } else { wrong("services") }
    }
}

/// Reports whether a service has the expected result of its item: [key, code, granted, last, uncollected].
fn is_of(item: &Pattern, (result, granted, is_final): (u32, u64, bool)) -> bool {
    let Pattern::Array(parts, _) = item else { return false };
    let [_, Pattern::Word(name), expected, last, ..] = &parts[..] else { return false };
    let code = Code::ALL.iter().find(|code| code.name().as_bytes() == name.as_slice());
    let is_granted = match expected {
        Pattern::Int(expected) => *expected == i128::from(granted),
        other => *other == Pattern::Any,
    };
    // An answer marks the last units; where there are none, the code says so.
    let is_last = match last {
        Pattern::Int(last) => is_final == (*last == 1 && granted > 0),
        other => *other == Pattern::Any,
    };
    code.is_some_and(|code| u32::from(code.diameter()) == result) && is_granted && is_last
}
