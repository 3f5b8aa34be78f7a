//! Channels that a connection has subscribed to on a node of a group. There is one kind of message: clients of Redis
//! Sentinel learn about a new leader on `+switch-master`.

use crate::glob::{self, Budget};
use scurry_resp::{Protocol, Reply};
use std::net::SocketAddr;

/// The name of the group in replies and messages to clients of Sentinel.
pub(crate) const GROUP_NAME: &str = "scurry";
/// The only channel with messages.
const SWITCH: &str = "+switch-master";

/// Channels and patterns that a connection has subscribed to.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    channels: Vec<Vec<u8>>,
    patterns: Vec<Vec<u8>>,
}

/// A way of naming channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    Exact,
    Pattern,
}

impl Naming {
    /// Returns the words for the confirmation, for the confirmation of its end, and for a message.
    pub(crate) fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Naming::Exact => ("subscribe", "unsubscribe", "message"),
            Naming::Pattern => ("psubscribe", "punsubscribe", "pmessage"),
        }
    }
}

impl Subscriptions {
    pub(crate) fn len(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn of(&mut self, naming: Naming) -> &mut Vec<Vec<u8>> {
        match naming {
            Naming::Exact => &mut self.channels,
            Naming::Pattern => &mut self.patterns,
        }
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let names = self.channels.iter().chain(&self.patterns);
        names.map(|name| (size_of::<Vec<u8>>() + name.capacity()) as u64).sum()
    }

    /// Returns the messages about a new leader; empty for a connection that has not subscribed to them.
    pub(crate) fn switched(
        &self,
        protocol: Protocol,
        (old, new): (SocketAddr, SocketAddr),
    ) -> Vec<u8> {
        let text =
            format!("{} {} {} {} {}", GROUP_NAME, old.ip(), old.port(), new.ip(), new.port());
        let mut out = Vec::new();
        let mut reply = Reply::new(&mut out, protocol);
        if self.channels.iter().any(|channel| channel == SWITCH.as_bytes()) {
            head(3, &mut reply);
            [Naming::Exact.words().2, SWITCH, &text].into_iter().for_each(|part| reply.text(part));
        }
        for pattern in &self.patterns {
            // The budget is never exhausted: both are short.
            let mut budget = Budget::of_a_command();
            if glob::matches_exactly(pattern, SWITCH.as_bytes(), &mut budget) == Ok(true) {
                head(4, &mut reply);
                reply.text(Naming::Pattern.words().2);
                reply.bulk(pattern);
                [SWITCH, &text].into_iter().for_each(|part| reply.text(part));
            }
        }
        out
    }
}

/// Writes the head of a message that is not a reply; in RESP2 it looks like one.
pub(crate) fn head(len: usize, reply: &mut Reply<'_>) {
    if reply.is_resp3() { reply.push(len) } else { reply.array(len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(channels: &[&str], patterns: &[&str]) -> Subscriptions {
        let names = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect();
        Subscriptions { channels: names(channels), patterns: names(patterns) }
    }

    fn told(subscriptions: &Subscriptions, protocol: Protocol) -> String {
        let place = |last| SocketAddr::from(([10, 0, 0, last], 6389));
        let bytes = subscriptions.switched(protocol, (place(1), place(2)));
        String::from_utf8(bytes).expect("text").replace("\r\n", " ")
    }

    #[test]
    fn who_has_asked_for_the_channel_is_told_of_it_in_the_form_of_the_protocol() {
        let both = of(&["+sdown", "+switch-master"], &["+switch*", "-*"]);
        let text = "$34 scurry 10.0.0.1 6389 10.0.0.2 6389";
        let expected = format!(
            "*3 $7 message $14 +switch-master {text} \
             *4 $8 pmessage $8 +switch* $14 +switch-master {text} "
        );
        assert_eq!(told(&both, Protocol::Resp2), expected);
        let pushed = expected.replace("*3", ">3").replace("*4", ">4");
        assert_eq!(told(&both, Protocol::Resp3), pushed);
        for other in [of(&["+sdown", "+SWITCH-MASTER"], &["-*"]), Subscriptions::default()] {
            assert_eq!(told(&other, Protocol::Resp2), "");
        }
    }
}
