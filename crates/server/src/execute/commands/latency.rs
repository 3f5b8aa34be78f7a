//! LATENCY: what took long, in all cores together.

use crate::execute::client::Client;
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::mail::report::{Answer, Question};
use crate::measures::latency::{Event, Latency};
use scurry_resp::{Args, Reply};
use std::fmt::Write;

const OFF: &str = "Nothing is watched: CONFIG SET latency-monitor-threshold <milliseconds> to keep what takes so long.\n";
const NOTHING: &str = "Nothing took as long as latency-monitor-threshold.\n";

/// Joins the latencies of all cores, if they have answered.
fn told(client: &mut Client) -> Option<Latency> {
    let mut all = Latency::default();
    for answer in client.told.take()? {
        if let Answer::Latency(latency) = answer {
            all.join(&latency);
        }
    }
    Some(all)
}

pub(crate) fn latest(client: &mut Client, reply: &mut Reply<'_>) -> Effect {
    let Some(latency) = told(client) else { return Effect::AskCores(Question::Latency) };
    let known = || {
        Event::ALL.into_iter().filter_map(|event| {
            let history = latency.history(event);
            history.latest().map(|latest| (event, latest, history.longest_ms))
        })
    };
    reply.array(known().count());
    for (event, latest, longest_ms) in known() {
        reply.array(4);
        reply.text(event.name());
        reply.integer(latest.time_s);
        reply.unsigned(latest.ms);
        reply.unsigned(longest_ms);
    }
    Effect::None
}

/// Answers with the history of an event. An unknown event has an empty one, as in Redis.
pub(crate) fn history(client: &mut Client, args: Args<'_>, reply: &mut Reply<'_>) -> Effect {
    let Some(event) = Event::named(args.at(2)) else {
        reply.array(0);
        return Effect::None;
    };
    let Some(latency) = told(client) else { return Effect::AskCores(Question::Latency) };
    let samples = latency.history(event).samples();
    reply.array(samples.len());
    for sample in samples {
        reply.array(2);
        reply.integer(sample.time_s);
        reply.unsigned(sample.ms);
    }
    Effect::None
}

pub(crate) fn reset(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let mut forgotten = 0;
    for event in Event::ALL {
        let wanted =
            args.len() == 2 || args.iter_from(2).any(|name| Event::named(name) == Some(event));
        forgotten += u64::from(wanted && node.slowness.latency.reset(event));
    }
    reply.unsigned(forgotten);
}

pub(crate) fn doctor(client: &mut Client, reply: &mut Reply<'_>) -> Effect {
    let Some(latency) = told(client) else { return Effect::AskCores(Question::Latency) };
    if !latency.is_on() {
        reply.verbatim(OFF);
        return Effect::None;
    }
    let mut text = String::new();
    for event in Event::ALL {
        let history = latency.history(event);
        let Some(latest) = history.latest() else { continue };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}: {} seconds with something of {} ms or more; longest {} ms, latest {} ms.",
            event.name(),
            history.samples().len(),
            latency.threshold_ms,
            history.longest_ms,
            latest.ms,
        );
    }
    if text.is_empty() {
        text.push_str(NOTHING);
    } else {
        text.push_str("SLOWLOG GET shows slow commands with their arguments.\n");
    }
    reply.verbatim(&text);
    Effect::None
}
