//! SCUR.CHAIN: commands on several accounts of this core, in one step and one frame of the log.

use crate::execute::node::Node;
use scurry_engine::ChainOutcome;
use scurry_resp::table::Memory;
use scurry_resp::{
    Args, Chain, ChainScratch, OUT_OF_MEMORY, Reply, chain_answers, chain_rejection,
    chain_wrong_type, parse_chain,
};

pub(crate) fn run(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let mut scratch: ChainScratch<'_> = std::mem::take(&mut node.chain_scratch).reuse();
    match parse_chain(args, &mut scratch) {
        Ok(Chain { links, memory }) => {
            let Node { shard, chain_answers: answers, now, .. } = node;
            let outcome = match memory {
                Memory::Free => shard.execute_chain(now.time, &links, answers),
                Memory::ForNew | Memory::ForAbsent | Memory::Taken => {
                    shard.execute_chain_in_bounds(now.time, &links, answers)
                }
            };
            match outcome {
                ChainOutcome::Answers { replayed } => {
                    chain_answers(reply, &links, answers, replayed);
                }
                ChainOutcome::Reject(rejection) => chain_rejection(reply, &links, &rejection),
                ChainOutcome::WrongType { link } => chain_wrong_type(reply, &links, link),
                ChainOutcome::OutOfMemory => reply.error(OUT_OF_MEMORY),
            }
        }
        Err(fault) => reply.error(fault),
    }
    node.chain_scratch = scratch.reuse();
}
