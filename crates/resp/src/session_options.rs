//! The options of SCUR.RESERVE, SCUR.UPDATE and SCUR.TERMINATE. The command table says which command takes which option;
//! a test compares it with this parser.

use crate::Fault;
use crate::options::{Options, is, once};
use crate::table::{CommandId, SCUR, ScurWriteId};
use scurry_ledger::{Overrun, SessionOptions};

/// Kinds of session requests, which differ in their options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Reserve,
    Update,
    Terminate,
}

/// Parses an option of a session request other than DATA; returns false if `word` is none that this kind of request
/// takes.
#[inline(always)]
pub(crate) fn session_option<'a>(
    kind: RequestKind,
    word: &'a [u8],
    args: &mut Options<'a>,
    options: &mut SessionOptions,
) -> Result<bool, Fault<'a>> {
    use RequestKind::{Reserve, Terminate, Update};
    if is(word, b"overrun") {
        once(&mut options.overrun, "overrun", overrun_policy(args)?)?;
    } else if kind != Reserve && is(word, b"ifversion") {
        once(&mut options.if_version, "ifversion", args.narrow("ifversion")?)?;
    } else if kind != Reserve && is(word, b"lateuse") {
        raise(&mut options.late_use, "lateuse")?;
    } else if kind != Terminate && is(word, b"validity") {
        once(&mut options.validity_ms, "validity", args.duration("validity")?)?;
    } else if kind != Terminate && is(word, b"tcc") {
        once(&mut options.tcc_ms, "tcc", args.duration("tcc")?)?;
    } else if kind != Terminate && is(word, b"closeondenial") {
        raise(&mut options.close_on_denial, "closeondenial")?;
    } else if kind == Terminate && is(word, b"cancel") {
        raise(&mut options.cancel, "cancel")?;
    } else if kind == Update && is(word, b"keephold") {
        raise(&mut options.keep_hold, "keephold")?;
    } else if kind == Reserve && is(word, b"keepopen") {
        raise(&mut options.keep_open, "keepopen")?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Sets an option without a value, which may be given once.
fn raise(flag: &mut bool, field: &'static str) -> Result<(), Fault<'static>> {
    if *flag {
        return Err(Fault::Repeated(field));
    }
    *flag = true;
    Ok(())
}

fn overrun_policy<'a>(args: &mut Options<'a>) -> Result<Overrun, Fault<'a>> {
    let fault = Fault::NotOneOf { field: "overrun", words: Overrun::WORDS };
    Overrun::named(args.bytes("overrun")?).ok_or(fault)
}

/// Returns the fault of an argument that a session request does not allow in its position.
#[cold]
pub(crate) fn misplaced(kind: RequestKind, argument: &[u8], has_item: bool) -> Fault<'_> {
    use RequestKind::{Reserve, Terminate, Update};
    let [reserve, update, terminate] =
        [Reserve, Update, Terminate].map(|kind| has_word(kind, argument));
    let is_own = match kind {
        Reserve => reserve,
        Update => update,
        Terminate => terminate,
    };
    let place = match (is_own, reserve, update, terminate) {
        (true, ..) if !has_item => "it belongs behind an ITEM",
        (false, true, false, false) => "it is for SCUR.RESERVE",
        (false, false, true, false) => "it is for SCUR.UPDATE",
        (false, false, false, true) => "it is for SCUR.TERMINATE",
        (false, true, true, false) => "it is for SCUR.RESERVE and SCUR.UPDATE",
        (false, true, false, true) => "it is for SCUR.RESERVE and SCUR.TERMINATE",
        (false, false, true, true) => "it is for SCUR.UPDATE and SCUR.TERMINATE",
        _ if argument.first().is_some_and(u8::is_ascii_digit) => {
            "a number has its word before it, as REQUESTED or USED"
        }
        _ => return Fault::Unexpected(argument),
    };
    Fault::Misplaced { argument, place }
}

/// Reports whether the grammar of the command in the table has this word.
fn has_word(kind: RequestKind, word: &[u8]) -> bool {
    let id = match kind {
        RequestKind::Reserve => ScurWriteId::Reserve,
        RequestKind::Update => ScurWriteId::Update,
        RequestKind::Terminate => ScurWriteId::Terminate,
    };
    let id = CommandId::ScurWrite(id);
    SCUR.iter().filter(|spec| spec.id == id).any(|spec| {
        // Placeholders are in lower case.
        let mut keywords = spec.grammar.split(|c: char| !c.is_ascii_uppercase());
        keywords.any(|keyword| keyword.as_bytes().eq_ignore_ascii_case(word))
    })
}
