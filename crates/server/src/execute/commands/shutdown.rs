//! SHUTDOWN: stops the loop after this turn, as SIGTERM does.

use super::SYNTAX_ERROR;
use crate::execute::node::Node;
use scurry_engine::Durability;
use scurry_resp::{Args, Reply};

const NOTHING_TO_SAVE_TO: &str =
    "ERR durability is none, so there is nothing to save to: use SHUTDOWN NOSAVE";

pub(crate) fn shutdown(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let (mut save, mut no_save, mut abort, mut others) = (false, false, false, false);
    for word in args.iter_from(1) {
        if word.eq_ignore_ascii_case(b"NOSAVE") {
            no_save = true;
        } else if word.eq_ignore_ascii_case(b"SAVE") {
            save = true;
        } else if word.eq_ignore_ascii_case(b"ABORT") {
            abort = true;
        } else if word.eq_ignore_ascii_case(b"NOW") || word.eq_ignore_ascii_case(b"FORCE") {
            others = true;
        } else {
            return reply.error(SYNTAX_ERROR);
        }
    }
    if (save && no_save) || (abort && (save || no_save || others)) {
        reply.error(SYNTAX_ERROR);
    } else if abort {
        reply.error("ERR No shutdown in progress.");
    } else if save && node.durable.durability() == Durability::None {
        reply.error(NOTHING_TO_SAVE_TO);
    } else {
        node.stop_asked = true;
    }
}
