//! What a connection is told by others: replies that it waits for, and what it follows as a monitor or by
//! tracking.

use super::{Connection, Doing};
use crate::connection::memory::Pool;
use crate::execute::dispatch;
use crate::execute::node::Node;
use crate::mail::bundle::Bundle;
use crate::mail::report::Answer;
use crate::net::transport::Transport;
use crate::ticket::Sender;
use crate::users::User;
use scurry_resp::Protocol;
use std::sync::Arc;

impl<T: Transport> Connection<T> {
    /// Where answers to this connection go.
    pub(crate) fn sender(&self, core: u16) -> Sender {
        Sender { core, connection: self.key, client: self.client.id }
    }

    /// A core has executed requests of this connection.
    pub(crate) fn returned(&mut self, core: u16, bundle: Box<Bundle>) {
        if let Doing::Gathering { gather, .. } = &mut self.doing {
            gather.returned(core, bundle);
        }
    }

    /// So many cores will be asked; answers come with [`Connection::told`].
    pub(crate) fn asks(&mut self, cores: usize) {
        self.doing = Doing::Asking { missing: cores, told: Vec::with_capacity(cores) };
    }

    /// A core has answered the question. True when it was the last one.
    pub(crate) fn told(&mut self, answer: Answer) -> bool {
        let Doing::Asking { missing, told } = &mut self.doing else { return false };
        told.push(answer);
        *missing = missing.saturating_sub(1);
        if *missing > 0 {
            return false;
        }
        self.client.told = Some(std::mem::take(told));
        self.doing = Doing::Serving;
        true
    }

    /// Answers the AUTH or HELLO that has waited for the verdict, and goes on.
    pub(crate) fn admit(&mut self, node: &mut Node, user: Option<Arc<User>>, pool: &mut Pool) {
        debug_assert!(matches!(self.doing, Doing::Awaiting), "one verdict for each wait");
        let (_, out) = self.transport.parts(&mut pool.buffers);
        dispatch::finish(node, &mut self.client, user, out);
        self.transport.commit();
        self.answered = true;
        self.doing = Doing::Serving;
    }

    /// Takes the reply that it has waited for, and goes on, or closes where it was to end meanwhile.
    pub(crate) fn hand_over(&mut self, reply: &[u8], pool: &mut Pool) {
        debug_assert!(matches!(self.doing, Doing::Awaiting), "one reply for each wait");
        let (_, out) = self.transport.parts(&mut pool.buffers);
        out.extend_from_slice(reply);
        self.transport.commit();
        self.answered = true;
        self.client.following = None;
        self.client.wishes = false;
        self.doing = if self.ends_after_reply { Doing::Closing } else { Doing::Serving };
    }

    /// Takes what a monitoring client gets, for its next turn. False when it does not read fast enough.
    pub(crate) fn show(&mut self, lines: &[u8], node: &Node) -> bool {
        if self.lines.len() + lines.len() > node.settings.unsent_len_max {
            return false;
        }
        self.lines.extend_from_slice(lines);
        true
    }

    /// Takes what a client that tracks is told: a key has changed, or none for all of them. Its next
    /// turn writes it. RESP2 has no pushes.
    pub(crate) fn tell(&mut self, key: Option<&[u8]>, node: &Node) {
        if let Some(mode) = &mut self.client.tracking
            && self.client.protocol == Protocol::Resp3
        {
            mode.tell(key, node.settings.unsent_len_max);
        }
    }

    /// Writes what it was told and shown, between replies: never while some wait to be merged, and
    /// behind those that were executed before, and not within a long one.
    pub(super) fn push(&mut self, node: &Node, pool: &mut Pool) {
        if self.client.tracking.is_none() && self.lines.is_empty()
            || self.is_gathering()
            || self.begun > 0
            || !self.may_go_on(node)
        {
            return;
        }
        let pushes = self.client.tracking.as_mut().and_then(|mode| mode.take());
        if pushes.is_none() && self.lines.is_empty() {
            return;
        }
        let (_, out) = self.transport.parts(&mut pool.buffers);
        out.extend_from_slice(&pushes.unwrap_or_default());
        out.extend_from_slice(&std::mem::take(&mut self.lines));
        self.transport.commit();
    }
}
