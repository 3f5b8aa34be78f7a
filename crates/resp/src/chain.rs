//! The grammar of `SCUR.CHAIN`: commands on several accounts. Each command comes after its account and its word count,
//! so the first account is the first argument: clients that do not know the command still send it to the right node of
//! a cluster.

use crate::grammar::parse_command;
use crate::options::{Options, is};
use crate::table::{CommandId, Memory, SCUR, ScurWriteId, Spec, chain_link_end};
use crate::{Args, CHAIN_CROSS_SLOT, Fault, Scratch, parse_integer, slot};
use scurry_ledger::{CHAIN_MAX, Code, Link};
use std::fmt;

/// A parsed chain for an engine to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain<'a> {
    /// Commands with their accounts, all of one hash slot.
    pub links: Vec<Link<'a>>,
    /// Rule for when no memory is left: that of a command which may need memory, [`Memory::Free`] if none does.
    pub memory: Memory,
}

/// Reasons why the grammar does not allow a chain. `Display` writes a whole RESP error text without `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainFault<'a> {
    /// A fault in one of its commands.
    InLink {
        /// Number of the command, from 1.
        number: usize,
        /// Word in the position of the command's account.
        account: &'a [u8],
        /// Fault of the command.
        fault: Fault<'a>,
    },
    /// A fault of the chain as a whole.
    InChain(Fault<'a>),
    /// The accounts are in several hash slots.
    CrossSlot,
}

/// Longest quotation of an account in an error, bytes: the longest valid account id.
const QUOTE_LEN_MAX: usize = scurry_ledger::ACCOUNT_ID_LEN_MAX;

impl fmt::Display for ChainFault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChainFault::InLink { number, account, fault } => {
                let (code, shown) = (Code::Invalid, &account[..account.len().min(QUOTE_LEN_MAX)]);
                let (name, shown) = (code.name(), shown.escape_ascii());
                write!(f, "{name} {} command {number}, account {shown}: ", code as u8)?;
                fault.explain(f)
            }
            ChainFault::InChain(fault) => fault.fmt(f),
            ChainFault::CrossSlot => f.write_str(CHAIN_CROSS_SLOT),
        }
    }
}

/// Reusable room for the lists within the commands of a chain.
#[derive(Debug, Default)]
pub struct ChainScratch<'a> {
    each: Vec<Scratch<'a>>,
}

impl ChainScratch<'_> {
    /// Clears the contents for input of another lifetime; the room stays.
    pub fn reuse<'b>(self) -> ChainScratch<'b> {
        ChainScratch { each: self.each.into_iter().map(Scratch::reuse).collect() }
    }
}

/// Iterates over the commands that a chain names, up to the first invalid word count.
pub fn chained(args: Args<'_>) -> impl Iterator<Item = &'static Spec> + use<'_> {
    let mut position = 1;
    std::iter::from_fn(move || {
        let named = args.get(position + 2)?;
        position = chain_link_end(args.get(position + 1), position, args.len())?;
        Some(named)
    })
    .filter_map(|word| spec_of(id_of(word)?))
}

fn spec_of(id: ScurWriteId) -> Option<&'static Spec> {
    SCUR.iter().find(|spec| spec.id == CommandId::ScurWrite(id))
}

/// Returns the command of this name, with or without the prefix `SCUR.`.
fn id_of(word: &[u8]) -> Option<ScurWriteId> {
    let short = match word.split_first_chunk::<5>() {
        Some((prefix, short)) if prefix.eq_ignore_ascii_case(b"SCUR.") => short,
        _ => word,
    };
    Some(match short {
        _ if is(short, b"reserve") => ScurWriteId::Reserve,
        _ if is(short, b"update") => ScurWriteId::Update,
        _ if is(short, b"terminate") => ScurWriteId::Terminate,
        _ if is(short, b"debit") => ScurWriteId::Debit,
        _ if is(short, b"topup") => ScurWriteId::TopUp,
        _ if is(short, b"refund") => ScurWriteId::Refund,
        _ => return None,
    })
}

/// Parses the arguments of a chain. The lists of its commands are stored in `scratch`.
pub fn parse_chain<'s, 'a: 's>(
    args: Args<'a>,
    scratch: &'s mut ChainScratch<'a>,
) -> Result<Chain<'s>, ChainFault<'a>> {
    let each = &mut scratch.each;
    let mut chain = Chain { links: Vec::with_capacity(each.len()), memory: Memory::Free };
    let mut positions = Vec::with_capacity(each.len());
    let mut position = 1;
    while position < args.len() {
        if positions.len() == CHAIN_MAX {
            let fault = Fault::TooMany { field: "commands", max: CHAIN_MAX };
            return Err(ChainFault::InChain(fault));
        }
        positions.push(position);
        let number = positions.len();
        position = link_end(args, position).map_err(|fault| {
            let account = args.at(position);
            ChainFault::InLink { number, account, fault }
        })?;
    }
    // All commands are located before the first is parsed: `each` must not grow while its entries are borrowed.
    each.resize_with(each.len().max(positions.len()), Scratch::default);
    for (at, (&position, scratch)) in positions.iter().zip(each).enumerate() {
        let account = args.at(position);
        let (link, memory) = parse_link(args, position, scratch)
            .map_err(|fault| ChainFault::InLink { number: at + 1, account, fault })?;
        if memory != Memory::Free {
            chain.memory = memory;
        }
        chain.links.push(link);
    }
    let mut slots = chain.links.iter().map(|link| slot(link.account));
    let first = slots.next();
    if slots.any(|slot| Some(slot) != first) {
        return Err(ChainFault::CrossSlot);
    }
    Ok(chain)
}

/// Returns the position after a command of the chain.
fn link_end<'a>(args: Args<'a>, position: usize) -> Result<usize, Fault<'a>> {
    let count = args.get(position + 1).ok_or(Fault::Missing("count of words"))?;
    let count = parse_integer(count).ok_or(Fault::NotAnInteger("count of words"))?;
    if count < 1 {
        return Err(Fault::NotPositive("count of words"));
    }
    chain_link_end(args.get(position + 1), position, args.len())
        .ok_or(Fault::Missing("a word that the count of words tells of"))
}

fn parse_link<'s, 'a: 's>(
    args: Args<'a>,
    position: usize,
    scratch: &'s mut Scratch<'a>,
) -> Result<(Link<'s>, Memory), Fault<'a>> {
    let account = Options::at(args, position).account()?;
    let end = link_end(args, position)?;
    let words = args.part(position + 2, end - position - 2).ok_or(Fault::Missing("command"))?;
    let id = id_of(words.at(0)).ok_or(Fault::NotOneOf {
        field: "command",
        words: "RESERVE, UPDATE, TERMINATE, DEBIT, TOPUP or REFUND",
    })?;
    let command = parse_command(id, Options::new(words), scratch)?;
    let memory = spec_of(id).map_or(Memory::Free, |spec| spec.memory);
    Ok((Link { account, command }, memory))
}
