//! What the event loop does for RDMA in a build without the feature `rdma`: nothing.

use super::Core;
use crate::mail::message::Message;
use crate::net::rdma::{Rdma, RdmaReport, Welcome};
use crate::net::socket::Socket;
use mio::Token;
use std::io;

/// Tokens that the poller never gives.
pub(super) const TOKENS: [Token; 3] =
    [Token(usize::MAX - 5), Token(usize::MAX - 6), Token(usize::MAX - 7)];

// Two variants that nothing makes in this build.
const _: fn(Box<Rdma>) -> Socket = Socket::Rdma;
const _: fn(Box<Welcome>) -> Message = Message::WelcomeRdma;

impl Core {
    pub(super) fn notice_rdma(&mut self, _: Token) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn take_completions(&mut self) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn rdma_may_wait(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    pub(super) fn tick_rdma(&mut self) {}

    pub(super) fn welcome_rdma(&mut self, welcome: Welcome) {
        match welcome {}
    }

    pub(super) fn rdma_report(&self) -> RdmaReport {
        RdmaReport::default()
    }
}
