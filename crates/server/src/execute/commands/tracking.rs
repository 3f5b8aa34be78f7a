//! CLIENT TRACKING and related commands, with Redis's texts.

use super::{NOT_AN_INTEGER, SYNTAX_ERROR};
use crate::execute::client::Client;
use crate::execute::node::Node;
use crate::execute::tracking::{Choice, Mode};
use scurry_resp::{Args, Reply, parse_integer};
use std::sync::atomic::Ordering;

const NO_REDIRECT: &str =
    "ERR REDIRECT is not supported: there is no publish/subscribe to redirect to";
const NO_BCAST: &str = "ERR BCAST is not supported: keys are tracked one by one";
const PREFIX_WITHOUT_BCAST: &str = "ERR PREFIX option requires BCAST mode to be enabled";
const SWITCHED_BCAST: &str = "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.";
const CHOICE_WITH_BCAST: &str = "ERR OPTIN and OPTOUT are not compatible with BCAST";
const TWO_CHOICES: &str = "ERR You can't specify both OPTIN mode and OPTOUT mode";
const SWITCHED_CHOICE: &str = "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.";
const NO_CHOICE: &str = "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled";
const NOT_OPTIN: &str =
    "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.";
const NOT_OPTOUT: &str =
    "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.";

/// Options after ON or OFF.
#[derive(Default)]
struct Options {
    optin: bool,
    optout: bool,
    noloop: bool,
    bcast: bool,
    prefix: bool,
}

pub(crate) fn tracking(
    node: &mut Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) {
    let is = |word: &[u8]| args.at(2).eq_ignore_ascii_case(word);
    let done = read(args).and_then(|options| match () {
        () if is(b"ON") => start(node, client, &options),
        () if is(b"OFF") => {
            stop(node, client);
            Ok(())
        }
        () => Err(SYNTAX_ERROR),
    });
    match done {
        Ok(()) => reply.ok(),
        Err(text) => reply.error(text),
    }
}

fn read(args: Args<'_>) -> Result<Options, &'static str> {
    let mut options = Options::default();
    let mut at = 3;
    while let Some(option) = args.get(at) {
        let (is, next) = (|word: &[u8]| option.eq_ignore_ascii_case(word), args.get(at + 1));
        match next {
            Some(id) if is(b"REDIRECT") => {
                return Err(parse_integer(id).map_or(NOT_AN_INTEGER, |_| NO_REDIRECT));
            }
            Some(_) if is(b"PREFIX") => {
                options.prefix = true;
                at += 1;
            }
            _ if is(b"OPTIN") => options.optin = true,
            _ if is(b"OPTOUT") => options.optout = true,
            _ if is(b"NOLOOP") => options.noloop = true,
            _ if is(b"BCAST") => options.bcast = true,
            _ => return Err(SYNTAX_ERROR),
        }
        at += 1;
    }
    Ok(options)
}

fn start(node: &mut Node, client: &mut Client, options: &Options) -> Result<(), &'static str> {
    if options.prefix && !options.bcast {
        return Err(PREFIX_WITHOUT_BCAST);
    }
    if options.bcast {
        return Err(match () {
            () if client.tracking.is_some() => SWITCHED_BCAST,
            () if options.optin || options.optout => CHOICE_WITH_BCAST,
            () => NO_BCAST,
        });
    }
    let choice = match (options.optin, options.optout) {
        (true, true) => return Err(TWO_CHOICES),
        (true, false) => Choice::OptIn,
        (false, true) => Choice::OptOut,
        (false, false) => Choice::All,
    };
    let mode = client.tracking.get_or_insert_with(|| {
        node.shared.trackers.fetch_add(1, Ordering::Relaxed);
        Box::new(Mode::default())
    });
    let switched = [(Choice::OptIn, Choice::OptOut), (Choice::OptOut, Choice::OptIn)];
    if switched.contains(&(mode.choice, choice)) {
        return Err(SWITCHED_CHOICE);
    }
    (mode.choice, mode.noloop) = (choice, options.noloop);
    node.begin_tracking();
    Ok(())
}

/// Ends the tracking of a client. The keys that it has read are dropped when they change.
pub(crate) fn stop(node: &Node, client: &mut Client) {
    if client.tracking.take().is_some() {
        node.shared.trackers.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) fn caching(client: &mut Client, args: Args<'_>, reply: &mut Reply<'_>) {
    let Some(mode) = &mut client.tracking else { return reply.error(NO_CHOICE) };
    let is = |word: &[u8]| args.at(2).eq_ignore_ascii_case(word);
    match mode.choice {
        Choice::OptIn if is(b"YES") => mode.caching = true,
        Choice::OptOut if is(b"NO") => mode.caching = true,
        _ if is(b"YES") => return reply.error(NOT_OPTIN),
        _ if is(b"NO") => return reply.error(NOT_OPTOUT),
        _ => return reply.error(SYNTAX_ERROR),
    }
    reply.ok();
}

pub(crate) fn info(client: &Client, reply: &mut Reply<'_>) {
    let mut flags = Vec::with_capacity(4);
    if let Some(mode) = &client.tracking {
        flags.push("on");
        match mode.choice {
            Choice::All => {}
            Choice::OptIn => flags.extend(["optin"].into_iter().chain(said(mode, "caching-yes"))),
            Choice::OptOut => flags.extend(["optout"].into_iter().chain(said(mode, "caching-no"))),
        }
        flags.extend(mode.noloop.then_some("noloop"));
    } else {
        flags.push("off");
    }
    reply.map(3);
    reply.text("flags");
    reply.set(flags.len());
    flags.into_iter().for_each(|flag| reply.text(flag));
    reply.text("redirect");
    get_redirection(client, reply);
    reply.text("prefixes");
    reply.array(0);
}

fn said(mode: &Mode, flag: &'static str) -> Option<&'static str> {
    mode.caching.then_some(flag)
}

pub(crate) fn get_redirection(client: &Client, reply: &mut Reply<'_>) {
    reply.integer(if client.tracking.is_some() { 0 } else { -1 });
}
