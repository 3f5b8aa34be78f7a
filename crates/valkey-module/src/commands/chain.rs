//! SCUR.CHAIN: commands on the accounts of several keys in one slot.

use super::Call;
use crate::account::APPLY;
use crate::account_key::AccountKey;
use crate::command_state::CommandState;
use crate::server::{Context, Mode, Name, OpenKey, tell_keys};
use scurry_engine::{AccountSlot, AccountSlots, ChainOutcome, WorkingAccount};
use scurry_ledger::Link;
use scurry_resp::table::{Memory, chain_link_end};
use scurry_resp::{
    Chain, ChainScratch, OUT_OF_MEMORY, Reply, chain_answers, chain_rejection, chain_wrong_type,
    chained, parse_chain,
};
use std::mem;

/// Answers the server if it asks for the positions of a request's keys. Returns false if it did not ask.
pub(super) fn tells_keys(context: &Context, names: &[Name<'_>]) -> bool {
    tell_keys(context, || key_positions(names))
}

fn key_positions(names: &[Name<'_>]) -> impl Iterator<Item = usize> {
    let word = |position: usize| names.get(position).map(|name| name.bytes());
    let mut next = (names.len() > 1).then_some(1);
    std::iter::from_fn(move || {
        let position = next?;
        next = chain_link_end(word(position + 1), position, names.len())
            .filter(|&at| at < names.len());
        Some(position)
    })
}

pub(super) fn run(
    call: &Call<'_>,
    first: OpenKey<'_>,
    state: &mut CommandState,
    reply: &mut Reply<'_>,
) {
    let own = call.spec.role;
    if let Some(other) = chained(call.args).find(|one| one.role != own)
        && !call.context.permits(other, call.names[1])
    {
        return reply.error(no_permission(&other.lower_name()));
    }
    let mut scratch: ChainScratch<'_> = mem::take(&mut state.chain_scratch).reuse();
    match parse_chain(call.args, &mut scratch) {
        Ok(chain) => decide(call, first, &chain, state, reply),
        Err(fault) => reply.error(fault),
    }
    state.chain_scratch = scratch.reuse();
}

fn no_permission(command: &str) -> String {
    format!("NOPERM this user has no permissions to run the '{command}' command")
}

fn decide<'c>(
    call: &Call<'c>,
    first: OpenKey<'c>,
    chain: &Chain<'_>,
    state: &mut CommandState,
    reply: &mut Reply<'_>,
) {
    let Chain { links, memory } = chain;
    let open = |at| OpenKey::new(call.context, call.names[at], Mode::Write);
    let mut keys: Vec<OpenKey<'c>> = Vec::with_capacity(links.len());
    keys.push(first);
    keys.extend(key_positions(call.names).skip(1).map(open));
    let mut room = mem::take(&mut state.chain_room);
    let is_bounded = *memory != Memory::Free;
    let mut slots = Keys::new(state, &mut keys, links, is_bounded);
    match room.run(&mut slots, call.context.now(), links) {
        ChainOutcome::Answers { replayed } => {
            if replayed {
                // Replicated so that a WAIT after this duplicate covers the original.
                call.context.replicate(APPLY, keys[0].name(), b"");
            }
            chain_answers(reply, links, &room.answers, replayed);
        }
        ChainOutcome::Reject(rejection) => chain_rejection(reply, links, &rejection),
        ChainOutcome::WrongType { link } => chain_wrong_type(reply, links, link),
        ChainOutcome::OutOfMemory => reply.error(OUT_OF_MEMORY),
    }
    state.chain_room = room;
    state.chain_accounts.iter_mut().for_each(WorkingAccount::rest);
}

/// Open keys of a chain's accounts. Each has its own working account, which is swapped into the command state
/// for its turn.
struct Keys<'d, 'c> {
    state: &'d mut CommandState,
    keys: &'d mut [OpenKey<'c>],
    /// Link whose working account is in the command state.
    turn: usize,
    is_bounded: bool,
}

impl<'d, 'c> Keys<'d, 'c> {
    fn new(
        state: &'d mut CommandState,
        keys: &'d mut [OpenKey<'c>],
        links: &[Link<'_>],
        is_bounded: bool,
    ) -> Keys<'d, 'c> {
        while state.chain_accounts.len() < links.len() {
            state.chain_accounts.push(state.options.working());
        }
        Keys { state, keys, turn: 0, is_bounded }
    }
}

impl AccountSlots for Keys<'_, '_> {
    fn slot(&mut self, link: usize) -> impl AccountSlot {
        if link != self.turn {
            let CommandState { working, chain_accounts, .. } = &mut *self.state;
            mem::swap(working, &mut chain_accounts[self.turn]);
            mem::swap(working, &mut chain_accounts[link]);
            self.turn = link;
        }
        AccountKey::new(self.state, &mut self.keys[link]).in_bounds(self.is_bounded).resumed()
    }
}
