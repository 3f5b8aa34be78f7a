//! State that commands share: the settings, and buffers that are reused.

use crate::options::Options;
use crate::server::{Context, Exclusive};
use scurry_engine::{ChainRoom, WorkingAccount};
use scurry_resp::{ChainScratch, Scratch};

/// Shared state of all commands of the node. The server runs one command at a time.
#[derive(Default)]
pub(crate) struct CommandState {
    pub(crate) options: Options,
    /// True if the server marks the client that imports slots.
    pub(crate) knows_slot_import: bool,
    /// Account that the current command works on.
    pub(crate) working: WorkingAccount,
    /// Buffers of chains, and the working accounts of a chain's other links.
    pub(crate) chain_room: ChainRoom,
    pub(crate) chain_accounts: Vec<WorkingAccount>,
    pub(crate) chain_scratch: ChainScratch<'static>,
    /// Buffers for the lists of a command.
    pub(crate) scratch: Scratch<'static>,
    /// Bytes of a Change.
    pub(crate) bytes: Vec<u8>,
}

static COMMAND_STATE: Exclusive<CommandState> = Exclusive::new();

/// Initializes the shared state with these settings.
pub(crate) fn init(context: &Context, options: Options, knows_slot_import: bool) {
    let working = options.working();
    with(context, |state| {
        *state = CommandState { options, knows_slot_import, working, ..CommandState::default() }
    });
}

/// Runs `work` with the shared state. Returns None if it is already in use.
pub(crate) fn with<R>(context: &Context, work: impl FnOnce(&mut CommandState) -> R) -> Option<R> {
    COMMAND_STATE.with(context, work)
}
