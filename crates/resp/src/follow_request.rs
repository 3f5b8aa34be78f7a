//! The grammar of `SCUR.WATCH`.

use crate::options::{Options, once};
use crate::scratch::{LowRequest, RareLists};
use crate::{Args, Fault, Scratch, WatchStart};
use scurry_ledger::Name;

/// Most thresholds in one command.
pub const LOWS_MAX: usize = 16;
/// Most names of events in one command.
const EVENTS_MAX: usize = 32;
/// Most events in one reply, threshold crossings not counted, and (`COUNT`) the default.
pub const COUNT_MAX: u16 = 1_000;
const COUNT: u16 = 100;
/// Longest wait, ms.
pub const BLOCK_MS_MAX: u16 = 60_000;

/// A parsed `SCUR.WATCH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowRequest<'a> {
    /// Position to begin at.
    pub start: WatchStart,
    /// Thread whose events are read.
    pub thread: Option<u16>,
    /// Most events in the reply.
    pub count: u16,
    /// How long to wait for the first event, ms; 0 for not at all.
    pub block_ms: u16,
    /// Thresholds of available units; an event tells when one is crossed.
    pub lows: &'a [LowRequest],
    /// Names of the events that are read; empty for all.
    pub events: &'a [Name],
    /// Account whose events are read; `None` for all.
    pub account: Option<&'a [u8]>,
}

/// Parses the arguments of `SCUR.WATCH`, whose arity has been checked.
pub fn parse_follow<'s, 'a: 's>(
    args: Args<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<FollowRequest<'s>, Fault<'a>> {
    let mut options = Options::new(args);
    const POSITION: Fault<'_> =
        Fault::NotOneOf { field: "position", words: "0, $ or the next of an earlier reply" };
    let start = WatchStart::parse(options.bytes("position")?).ok_or(POSITION)?;
    let (mut thread, mut count, mut block_ms, mut account) = (None, None, None, None);
    let (_, RareLists { lows, events, .. }) = scratch.rarer();
    lows.clear();
    events.clear();
    while let Some(keyword) = options.next() {
        if keyword.eq_ignore_ascii_case(b"THREAD") {
            once(&mut thread, "thread", options.narrow("thread")?)?;
        } else if keyword.eq_ignore_ascii_case(b"COUNT") {
            once(&mut count, "count", options.between("count", 1, COUNT_MAX)?)?;
        } else if keyword.eq_ignore_ascii_case(b"BLOCK") {
            once(&mut block_ms, "block", options.between("block", 1, BLOCK_MS_MAX)?)?;
        } else if keyword.eq_ignore_ascii_case(b"ACCOUNT") {
            once(&mut account, "account", options.account()?)?;
        } else if keyword.eq_ignore_ascii_case(b"LOW") {
            if lows.len() >= LOWS_MAX {
                return Err(Fault::TooMany { field: "thresholds", max: LOWS_MAX });
            }
            lows.push((options.name("unit")?, options.integer("low")?));
        } else if keyword.eq_ignore_ascii_case(b"EVENT") {
            if events.len() >= EVENTS_MAX {
                return Err(Fault::TooMany { field: "names of events", max: EVENTS_MAX });
            }
            events.push(options.name("event")?);
        } else {
            return Err(Fault::Unexpected(keyword));
        }
    }
    Ok(FollowRequest {
        start,
        thread,
        count: count.unwrap_or(COUNT),
        block_ms: block_ms.unwrap_or(0),
        lows,
        events,
        account,
    })
}
