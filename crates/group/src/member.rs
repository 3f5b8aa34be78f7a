//! A node's part in its group, as its cores and doors see it.

use crate::clock::{Clock, Reading};
use crate::clocks::Clocks;
use crate::device_state::DeviceState;
use crate::forward::Forwarder;
use crate::input::Input;
use crate::membership::OperatorRequest;
use crate::operator_requests::RequestReply;
use crate::peers::Passages;
use crate::view::{CurrentView, View};
use mio::net::TcpStream;
use scurry_ledger::Time;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// A node's part in its group. All cores share it.
pub struct Member {
    pub(crate) inbox: Sender<Input>,
    pub(crate) board: CurrentView,
    pub(crate) clock: Clock,
    /// The other nodes' clocks, to which the time of the ledger is held.
    pub(crate) clocks: Arc<Clocks>,
    /// Forwards connections that arrive on the main port of a follower to the leader.
    pub(crate) forwarder: Forwarder,
    /// Routes from doors of this process to the leader, for use while this node does not lead.
    pub(crate) passages: Arc<Passages>,
    /// State of the device of each shard.
    pub(crate) devices: Vec<Arc<DeviceState>>,
}

impl Member {
    /// Returns the group's state for status and metrics.
    pub fn view(&self) -> Arc<View> {
        self.board.view()
    }

    /// Returns the uptime, ms, to which the times in views refer.
    pub fn uptime_ms(&self) -> i64 {
        self.clock.read().uptime_ms
    }

    /// Returns the time of the group, for the present reading of the leader's wall clock: that reading, held to the
    /// other nodes' clocks.
    #[inline]
    pub fn time(&self, own: Reading) -> Time {
        self.clocks.time(own)
    }

    /// Returns the state of a shard's device. None if there is no such shard.
    pub fn device(&self, shard: u16) -> Option<&DeviceState> {
        self.devices.get(usize::from(shard)).map(Arc::as_ref)
    }

    /// Takes over a client's connection to the main port, and forwards it to the leader.
    pub fn forward(&self, client: TcpStream) {
        self.forwarder.accept_client(client);
    }

    /// Returns the routes from doors of this process to the leader, for use while this node does not lead.
    pub fn passages(&self) -> Arc<Passages> {
        Arc::clone(&self.passages)
    }

    /// Starts an operation of the group; `reply` is called when it has ended. Returns false when this node stops.
    pub fn ask(&self, request: OperatorRequest, reply: RequestReply) -> bool {
        self.inbox.send(Input::Request(request, reply)).is_ok()
    }
}
