//! What commands work with, one after the other: the settings, and room that is used again.

use crate::options::Options;
use crate::server::{Context, Exclusive};
use scurry_engine::{ChainRoom, Slate};
use scurry_resp::{ChainScratch, Scratch};

/// One of them works for all of the node's commands: the server runs one at a time.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) options: Options,
    /// The server sets a flag for the client that imports slots, and it means that.
    pub(crate) knows_slot_import: bool,
    /// The account that a command works on.
    pub(crate) slate: Slate,
    /// Room of chains, and the accounts that one works on beside that on the slate.
    pub(crate) chain_room: ChainRoom,
    pub(crate) chain_slates: Vec<Slate>,
    pub(crate) chain_scratch: ChainScratch<'static>,
    /// Where the lists of a command are.
    pub(crate) scratch: Scratch<'static>,
    /// The bytes of a Change.
    pub(crate) bytes: Vec<u8>,
}

static DESK: Exclusive<Desk> = Exclusive::new();

/// Lays out a desk for these settings.
pub(crate) fn lay_out(context: &Context, options: Options, knows_slot_import: bool) {
    let slate = options.slate();
    at(context, |desk| *desk = Desk { options, knows_slot_import, slate, ..Desk::default() });
}

/// Works at the desk; none while somebody does already.
pub(crate) fn at<R>(context: &Context, work: impl FnOnce(&mut Desk) -> R) -> Option<R> {
    DESK.with(context, work)
}
