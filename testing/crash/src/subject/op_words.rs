//! Converts commands of the model to requests.

use crate::wire::RequestWords;
use scurry_model::{ChainOp, Op, with_links};
use scurry_service::{Arguments, encode, encode_chain};

/// Returns the request of a command.
pub fn words_of(account: &str, op: &Op) -> RequestWords {
    owned(&op.with(|command| encode(account.as_bytes(), command)))
}

/// Returns the request of a chain.
pub(crate) fn words_of_chain(chain: &ChainOp) -> RequestWords {
    owned(&with_links(chain, encode_chain).unwrap_or_default())
}

fn owned(arguments: &Arguments) -> RequestWords {
    arguments.iter().map(<[u8]>::to_vec).collect()
}
