//! Replies and notifications that a connection receives from other cores and threads: replies that it waits for, and
//! messages for monitoring and tracking clients.

use super::{Connection, ConnectionState};
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
    /// Returns the address for answers to this connection.
    pub(crate) fn sender(&self, core: u16) -> Sender {
        Sender { core, connection: self.key, client: self.client.id }
    }

    /// Stores a bundle that a core has executed.
    pub(crate) fn returned(&mut self, core: u16, bundle: Box<Bundle>) {
        if let ConnectionState::Gathering { gather, .. } = &mut self.doing {
            gather.returned(core, bundle);
        }
    }

    /// Starts waiting for the answers of this many cores; they arrive through [`Connection::on_answer`].
    pub(crate) fn asks(&mut self, cores: usize) {
        self.doing = ConnectionState::Asking { missing: cores, told: Vec::with_capacity(cores) };
    }

    /// Stores a core's answer to the question. Returns true when it was the last one.
    pub(crate) fn on_answer(&mut self, answer: Answer) -> bool {
        let ConnectionState::Asking { missing, told } = &mut self.doing else { return false };
        told.push(answer);
        *missing = missing.saturating_sub(1);
        if *missing > 0 {
            return false;
        }
        self.client.told = Some(std::mem::take(told));
        self.doing = ConnectionState::Serving;
        true
    }

    /// Answers the AUTH or HELLO that waited for the verdict, and goes on.
    pub(crate) fn admit(&mut self, node: &mut Node, user: Option<Arc<User>>, pool: &mut Pool) {
        debug_assert!(matches!(self.doing, ConnectionState::Awaiting), "one verdict for each wait");
        let (_, out) = self.transport.parts(&mut pool.buffers);
        dispatch::finish(node, &mut self.client, user, out);
        self.transport.commit();
        self.answered = true;
        self.doing = ConnectionState::Serving;
    }

    /// Writes the reply that the connection waited for, and goes on, or closes if it was told to end meanwhile.
    pub(crate) fn hand_over(&mut self, reply: &[u8], pool: &mut Pool) {
        debug_assert!(matches!(self.doing, ConnectionState::Awaiting), "one reply for each wait");
        let (_, out) = self.transport.parts(&mut pool.buffers);
        out.extend_from_slice(reply);
        self.transport.commit();
        self.answered = true;
        self.client.following = None;
        self.client.awaits_group = false;
        self.doing =
            if self.ends_after_reply { ConnectionState::Closing } else { ConnectionState::Serving };
    }

    /// Queues lines for a monitoring client until its next turn. False when the client reads too slowly.
    pub(crate) fn show(&mut self, lines: &[u8], node: &Node) -> bool {
        if self.lines.len() + lines.len() > node.settings.unsent_len_max {
            return false;
        }
        self.lines.extend_from_slice(lines);
        true
    }

    /// Queues an invalidation for a tracking client until its next turn: of one key, or of all when None. RESP2 has no
    /// push messages, so such clients get none.
    pub(crate) fn tell(&mut self, key: Option<&[u8]>, node: &Node) {
        if let Some(mode) = &mut self.client.tracking
            && self.client.protocol == Protocol::Resp3
        {
            mode.tell(key, node.settings.unsent_len_max);
        }
    }

    /// Writes queued notifications between replies: after the replies of executed requests, never while some wait to be
    /// merged, and never within a long reply.
    pub(super) fn push(&mut self, node: &Node, pool: &mut Pool) {
        if self.client.tracking.is_none() && self.lines.is_empty()
            || self.is_gathering()
            || self.begun > 0
            || !self.may_go_on(node)
        {
            return;
        }
        let pushes = self.client.tracking.as_mut().and_then(|mode| mode.take_pushes());
        if pushes.is_none() && self.lines.is_empty() {
            return;
        }
        let (_, out) = self.transport.parts(&mut pool.buffers);
        out.extend_from_slice(&pushes.unwrap_or_default());
        out.extend_from_slice(&std::mem::take(&mut self.lines));
        self.transport.commit();
    }
}
