//! Types and constants of `rdma/rdma_cma.h` that are used here.

use crate::verbs::{ibv_context, ibv_pd, ibv_qp};
use libc::{c_int, c_uint, c_void, sockaddr_storage};

/// The peer's address was resolved.
pub const RDMA_CM_EVENT_ADDR_RESOLVED: c_uint = 0;
/// The route to the peer was resolved.
pub const RDMA_CM_EVENT_ROUTE_RESOLVED: c_uint = 2;
/// A peer requests a connection.
pub const RDMA_CM_EVENT_CONNECT_REQUEST: c_uint = 4;
/// The connection is established.
pub const RDMA_CM_EVENT_ESTABLISHED: c_uint = 9;
/// The peer has ended the connection, or is gone.
pub const RDMA_CM_EVENT_DISCONNECTED: c_uint = 10;
/// The path may have changed; no action is needed.
pub const RDMA_CM_EVENT_ADDR_CHANGE: c_uint = 14;
/// The remaining state of an ended connection was removed.
pub const RDMA_CM_EVENT_TIMEWAIT_EXIT: c_uint = 15;

/// Port space of reliable connections.
pub const RDMA_PS_TCP: c_uint = 0x0106;

/// Level of the options of an id.
pub const RDMA_OPTION_ID: c_int = 0;
/// Reuse of local addresses, an `int` as for `SO_REUSEADDR`.
pub const RDMA_OPTION_ID_REUSEADDR: c_int = 1;

/// `struct rdma_event_channel`: a channel for events of ids.
#[derive(Debug)]
#[repr(C)]
pub struct rdma_event_channel {
    /// Descriptor that is readable when an event is pending.
    pub fd: c_int,
}

/// The two addresses of `struct rdma_addr`.
#[repr(C)]
pub struct rdma_addr {
    /// Local address.
    pub src: sockaddr_storage,
    /// Address of the peer.
    pub dst: sockaddr_storage,
    _infiniband: [u64; 5],
}

/// `struct rdma_route`
#[repr(C)]
pub struct rdma_route {
    /// Addresses of both ends.
    pub addr: rdma_addr,
    _paths: *mut c_void,
    _count: c_int,
}

/// The start of `struct rdma_cm_id`: one end of a connection, comparable to a socket.
#[repr(C)]
pub struct rdma_cm_id {
    /// Device of the id; null before the id is bound to one.
    pub verbs: *mut ibv_context,
    /// Channel for its events.
    pub channel: *mut rdma_event_channel,
    /// Arbitrary value of the owner.
    pub context: *mut c_void,
    /// Queue pair of the id; null before it is created.
    pub qp: *mut ibv_qp,
    /// Addresses of both ends.
    pub route: rdma_route,
    /// Port space: [`RDMA_PS_TCP`].
    pub ps: c_uint,
    /// Port of the device.
    pub port_num: u8,
    _event: *mut c_void,
    _queues: [*mut c_void; 5],
    /// Protection domain of its queue pair.
    pub pd: *mut ibv_pd,
}

/// `struct rdma_conn_param`: parameters of a connection.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct rdma_conn_param {
    /// Always null: no data is passed.
    pub private_data: *const c_void,
    /// Always 0.
    pub private_data_len: u8,
    /// Maximum number of reads and atomics that this side serves at a time.
    pub responder_resources: u8,
    /// Maximum number of reads and atomics that this side starts at a time.
    pub initiator_depth: u8,
    /// Nonzero when the peer is informed about free receive entries.
    pub flow_control: u8,
    /// How often a lost message is sent again; the connecting side's value is used.
    pub retry_count: u8,
    /// How often a message is sent again when no receive entry is free; 7 means for ever.
    pub rnr_retry_count: u8,
    /// Unused with a queue pair.
    pub srq: u8,
    /// Unused with a queue pair.
    pub qp_num: u32,
}

/// `struct rdma_cm_event` with the parameters of a connection.
#[repr(C)]
pub struct rdma_cm_event {
    /// Id that the event is about.
    pub id: *mut rdma_cm_id,
    /// Id of the listener, for a connection request.
    pub listen_id: *mut rdma_cm_id,
    /// Kind of the event.
    pub event: c_uint,
    /// 0, or the reason: a negative error number, or the peer's reason for a rejection.
    pub status: c_int,
    /// Parameters that the peer requests.
    pub conn: rdma_conn_param,
}
