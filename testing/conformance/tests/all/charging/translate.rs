//! Commands as requests of charging protocols: RESERVE, UPDATE and TERMINATE of a session, DEBIT, REFUND and CHECK of items.

use super::Said;
use scurry_conformance::Pattern;
use scurry_ledger::{Code, Name};
use std::collections::BTreeSet;

/// Why a command has no form in a protocol.
pub(crate) type Why = &'static str;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Reserve,
    Update,
    Terminate,
    /// Use of a session that nothing has opened, as an event of its own.
    Settle,
    Debit,
    Refund,
    Check,
}

/// An item of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) rating_group: Option<u32>,
    pub(crate) unit: String,
    pub(crate) used: Option<u64>,
    pub(crate) requested: Option<u64>,
    pub(crate) min: u64,
}

/// A command as a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) account: String,
    /// Session, or transaction.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) number: u32,
    /// Context in the table of services.
    pub(crate) context: String,
    /// Debit that is refunded.
    pub(crate) debit: Vec<u8>,
    pub(crate) keeps_open: bool,
    pub(crate) items: Vec<Item>,
}

pub(crate) fn is(words: &[Vec<u8>], name: &str) -> bool {
    words.first().is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
}

pub(crate) fn code_of(expected: &Pattern) -> Option<Code> {
    let name = expected.code()?;
    Code::ALL.iter().copied().find(|code| code.name() == name)
}

/// Reports whether the command changes the account, or is remembered.
pub(crate) fn changes(expected: &Pattern) -> bool {
    matches!(expected, Pattern::Array(..))
}

/// Returns a command as a request, as far as any protocol could say it.
pub(super) fn said(words: &[Vec<u8>], expected: &Pattern) -> Said {
    let kind = [
        ("SCUR.RESERVE", Kind::Reserve),
        ("SCUR.UPDATE", Kind::Update),
        ("SCUR.TERMINATE", Kind::Terminate),
        ("SCUR.DEBIT", Kind::Debit),
        ("SCUR.REFUND", Kind::Refund),
        ("SCUR.CHECK", Kind::Check),
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
        name: text(2)?,
        kind,
        number: 0,
        context: String::new(),
        debit: Vec::new(),
        keeps_open: false,
        items: Vec::new(),
    };
    if request.is_event() {
        event(&mut request, words)?;
    } else {
        request.number = text(3)?.parse().map_err(|_| Some("a number above 32 bits"))?;
        session(&mut request, words.get(4..).unwrap_or_default(), expected)?;
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
            b"KEEPOPEN" if request.kind == Kind::Reserve => {
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
        return Err(Some("no LATEUSE: what is late is always settled"));
    }
    for item in &request.items {
        let allowed = match request.kind {
            Kind::Reserve => item.used.is_none_or(|used| used == 0),
            Kind::Terminate => item.requested.is_none(),
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
        "check".clone_into(&mut request.name);
        request.items.push(item(&words)?.0);
        return Ok(());
    }
    let (mut rest, without) = if is(words, "SCUR.DEBIT") {
        (&words[3..], "DEBIT without items")
    } else {
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
    /// Reports whether it belongs to no session.
    pub(crate) fn is_event(&self) -> bool {
        matches!(self.kind, Kind::Debit | Kind::Refund | Kind::Check | Kind::Settle)
    }
}

/// Reports whether an answer shows the expected result of an item, [key, code, granted, last, uncollected]. `code` is the
/// answer's.
pub(crate) fn shows(
    item: &Pattern,
    code: impl Fn(Code) -> bool,
    granted: u64,
    is_final: bool,
) -> bool {
    let Pattern::Array(parts, _) = item else { return false };
    let [_, Pattern::Word(name), expected, last, ..] = &parts[..] else { return false };
    let expected_code = Code::ALL.iter().find(|code| code.name().as_bytes() == name.as_slice());
    let is_granted = match expected {
        Pattern::Int(expected) => *expected == i128::from(granted),
        other => *other == Pattern::Any,
    };
    // An answer marks the last units; where there are none, the code says so.
    let is_last = match last {
        Pattern::Int(last) => is_final == (*last == 1 && granted > 0),
        other => *other == Pattern::Any,
    };
    expected_code.is_some_and(|expected| code(*expected)) && is_granted && is_last
}
