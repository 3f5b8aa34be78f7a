//! SHUTDOWN: what it may be told, before the loop stops.

use super::SYNTAX_ERROR;
use crate::dispatch::Effect;
use scurry_resp::{Args, Reply};

const NOTHING_TO_SAVE_TO: &str =
    "ERR durability is none, so there is nothing to save to: use SHUTDOWN NOSAVE";

pub(crate) fn shutdown(args: Args<'_>, reply: &mut Reply<'_>) -> Effect {
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
            reply.error(SYNTAX_ERROR);
            return Effect::None;
        }
    }
    if (save && no_save) || (abort && (save || no_save || others)) {
        reply.error(SYNTAX_ERROR);
    } else if abort {
        reply.error("ERR No shutdown in progress.");
    } else if save {
        reply.error(NOTHING_TO_SAVE_TO);
    } else {
        return Effect::Shutdown;
    }
    Effect::None
}
