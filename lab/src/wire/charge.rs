//! A charging request of the load as a door to networks takes it: one item of a session.

use std::io::Write;
use std::str::from_utf8;

use scurry_service::SessionStep;

use crate::resp::words;

/// Request about a session with one item.
#[derive(Debug, PartialEq)]
pub(super) struct Charge<'a> {
    pub(super) step: SessionStep,
    pub(super) account: &'a str,
    pub(super) session: &'a str,
    /// Request number.
    pub(super) number: u32,
    /// Key of the item.
    pub(super) rating_group: u32,
    pub(super) used: Option<u64>,
    pub(super) requested: Option<u64>,
}

impl<'a> Charge<'a> {
    /// Reads a command with one item. None for any other command.
    pub(super) fn read(request: &'a [u8]) -> Option<Charge<'a>> {
        let mut words = words(request).map(|word| from_utf8(word).unwrap_or_default());
        let step = match words.next()? {
            "SCUR.RESERVE" => SessionStep::Reserve,
            "SCUR.UPDATE" => SessionStep::Update,
            "SCUR.TERMINATE" => SessionStep::Terminate,
            _ => return None,
        };
        let (account, session) = (words.next()?, words.next()?);
        let number = words.next()?.parse().ok()?;
        let (_item, rating_group, _unit) =
            (words.next()?, words.next()?.parse().ok()?, words.next()?);
        let mut charge =
            Charge { step, account, session, number, rating_group, used: None, requested: None };
        while let Some(option) = words.next() {
            let amount = words.next()?.parse().ok();
            match option {
                "USED" => charge.used = amount,
                "REQUESTED" => charge.requested = amount,
                _ => return None,
            }
        }
        Some(charge)
    }
}

/// Writes the reply to a request about one item, in RESP as the workload reads it. `code` is that of the session and of
/// the item.
pub(super) fn write_reply(out: &mut Vec<u8>, code: &str, is_replayed: bool, granted: u64) {
    let replayed = u8::from(is_replayed);
    write!(
        out,
        "*4\r\n+{code}\r\n:{replayed}\r\n:0\r\n*1\r\n*5\r\n:1\r\n+{code}\r\n:{granted}\r\n:0\r\n:0\r\n"
    )
    .expect("a vector takes every byte");
}
