//! Types and numbers of `rdma/rdma_cma.h`, as far as they are used.

use crate::verbs::{ibv_context, ibv_pd, ibv_qp};
use libc::{c_int, c_uint, c_void, sockaddr_storage};

/// The peer's address is known.
pub const RDMA_CM_EVENT_ADDR_RESOLVED: c_uint = 0;
/// The way to the peer is known.
pub const RDMA_CM_EVENT_ROUTE_RESOLVED: c_uint = 2;
/// Somebody wants to connect.
pub const RDMA_CM_EVENT_CONNECT_REQUEST: c_uint = 4;
/// The connection is made.
pub const RDMA_CM_EVENT_ESTABLISHED: c_uint = 9;
/// The peer has ended the connection, or has gone.
pub const RDMA_CM_EVENT_DISCONNECTED: c_uint = 10;
/// The path may have changed; nothing needs to be done.
pub const RDMA_CM_EVENT_ADDR_CHANGE: c_uint = 14;
/// The rest of an ended connection is gone.
pub const RDMA_CM_EVENT_TIMEWAIT_EXIT: c_uint = 15;

/// Reliable connections with ports of their own.
pub const RDMA_PS_TCP: c_uint = 0x0106;

/// Options of an id.
pub const RDMA_OPTION_ID: c_int = 0;
/// `int`, as `SO_REUSEADDR`.
pub const RDMA_OPTION_ID_REUSEADDR: c_int = 1;

/// `struct rdma_event_channel`: where events of ids arrive.
#[derive(Debug)]
#[repr(C)]
pub struct rdma_event_channel {
    /// Readable when there is an event.
    pub fd: c_int,
}

/// `struct rdma_addr`, its two addresses.
#[repr(C)]
pub struct rdma_addr {
    /// Of this side.
    pub src: sockaddr_storage,
    /// Of the peer.
    pub dst: sockaddr_storage,
    _infiniband: [u64; 5],
}

/// `struct rdma_route`
#[repr(C)]
pub struct rdma_route {
    /// Both ends.
    pub addr: rdma_addr,
    _paths: *mut c_void,
    _count: c_int,
}

/// `struct rdma_cm_id`, its beginning: a socket of sorts.
#[repr(C)]
pub struct rdma_cm_id {
    /// Device of the id; none before it is bound to one.
    pub verbs: *mut ibv_context,
    /// Where its events arrive.
    pub channel: *mut rdma_event_channel,
    /// Anything.
    pub context: *mut c_void,
    /// Queue pair of the id, once it has one.
    pub qp: *mut ibv_qp,
    /// Both ends.
    pub route: rdma_route,
    /// [`RDMA_PS_TCP`].
    pub ps: c_uint,
    /// Port of the device.
    pub port_num: u8,
    _event: *mut c_void,
    _queues: [*mut c_void; 5],
    /// The domain of its queue pair.
    pub pd: *mut ibv_pd,
}

/// `struct rdma_conn_param`: how two connect.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct rdma_conn_param {
    /// None.
    pub private_data: *const c_void,
    /// 0.
    pub private_data_len: u8,
    /// How many reads and atomics this side serves at a time.
    pub responder_resources: u8,
    /// How many reads and atomics this side begins at a time.
    pub initiator_depth: u8,
    /// Whether receive entries are counted for the peer.
    pub flow_control: u8,
    /// How often a lost message is sent again; what the connecting side says counts.
    pub retry_count: u8,
    /// How often a message is sent again that found no receive entry; 7 is for ever.
    pub rnr_retry_count: u8,
    /// Unused with a queue pair.
    pub srq: u8,
    /// Unused with a queue pair.
    pub qp_num: u32,
}

/// `struct rdma_cm_event`, as for connections.
#[repr(C)]
pub struct rdma_cm_event {
    /// Id that the event is about.
    pub id: *mut rdma_cm_id,
    /// Id that listened, for a connect request.
    pub listen_id: *mut rdma_cm_id,
    /// Kind of the event.
    pub event: c_uint,
    /// 0, or the reason: an error number below 0, or the peer's reason of a rejection.
    pub status: c_int,
    /// Parameters that the peer asks for.
    pub conn: rdma_conn_param,
}
