//! Types and constants of `infiniband/verbs.h` that are used here.

use libc::{c_int, c_uint, c_void};

/// The work request succeeded.
pub const IBV_WC_SUCCESS: c_uint = 0;
/// The connection broke earlier, so the work request was returned without being executed.
pub const IBV_WC_WR_FLUSH_ERR: c_uint = 5;
/// The peer's SEND used a receive entry. The opcodes of all receive completions have this bit.
pub const IBV_WC_RECV: c_uint = 1 << 7;
/// The peer's WRITE_WITH_IMM used a receive entry.
pub const IBV_WC_RECV_RDMA_WITH_IMM: c_uint = IBV_WC_RECV + 1;

/// Writes into the peer's memory.
pub const IBV_WR_RDMA_WRITE: c_uint = 0;
/// Writes into the peer's memory, then uses one of its receive entries.
pub const IBV_WR_RDMA_WRITE_WITH_IMM: c_uint = 1;
/// Sends a message into the peer's receive entry.
pub const IBV_WR_SEND: c_uint = 2;

/// Requests a completion for the work request.
pub const IBV_SEND_SIGNALED: c_uint = 1 << 1;
/// Copies the bytes when the work request is posted.
pub const IBV_SEND_INLINE: c_uint = 1 << 3;

/// The device may write into the memory.
pub const IBV_ACCESS_LOCAL_WRITE: c_int = 1;
/// The peer may write into the memory.
pub const IBV_ACCESS_REMOTE_WRITE: c_int = 1 << 1;

/// A reliable connection.
pub const IBV_QPT_RC: c_uint = 2;

/// Types that only the libraries access.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            #[repr(C)]
            pub struct $name {
                _private: [u8; 0],
            }
        )*
    };
}

opaque!(
    /// `struct ibv_device`
    ibv_device,
    /// `struct ibv_srq`
    ibv_srq,
);

/// `struct ibv_context_ops`: the driver's functions. Unused ones are plain pointers.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_context_ops {
    _before_poll: [*mut c_void; 11],
    /// Takes completions.
    // SAFETY: only `inline::ibv_poll_cq` calls it, which documents the conditions.
    pub poll_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int>,
    /// Requests one event at the next completion.
    // SAFETY: only `inline::ibv_req_notify_cq` calls it, which documents the conditions.
    pub req_notify_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int) -> c_int>,
    _between: [*mut c_void; 12],
    /// Posts a linked list of work requests.
    // SAFETY: only `inline::ibv_post_send` calls it, which documents the conditions.
    pub post_send:
        Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int>,
    /// Posts a linked list of receive entries.
    // SAFETY: only `inline::ibv_post_recv` calls it, which documents the conditions.
    pub post_recv:
        Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int>,
    _after: [*mut c_void; 5],
}

/// The start of `struct ibv_context`: an open device.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_context {
    /// The device.
    pub device: *mut ibv_device,
    /// Functions of the driver.
    pub ops: ibv_context_ops,
}

/// `struct ibv_device_attr`: limits of a device.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ibv_device_attr {
    _firmware: [u8; 64],
    _guids: [u64; 2],
    /// Maximum length of a registration, bytes.
    pub max_mr_size: u64,
    _page_size_cap: u64,
    _vendor: [u32; 3],
    /// Maximum number of queue pairs.
    pub max_qp: c_int,
    /// Maximum number of work requests in a queue.
    pub max_qp_wr: c_int,
    _flags: c_uint,
    _sge: [c_int; 2],
    /// Maximum number of completion queues.
    pub max_cq: c_int,
    /// Maximum number of entries in a completion queue.
    pub max_cqe: c_int,
    /// Maximum number of registrations.
    pub max_mr: c_int,
    /// Maximum number of protection domains.
    pub max_pd: c_int,
    _after: [c_int; 20],
    _max_pkeys: u16,
    _ack_delay: u8,
    _ports: u8,
}

/// `struct ibv_pd`: a protection domain. Keys of another domain are refused.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_pd {
    /// Device of the domain.
    pub context: *mut ibv_context,
    _handle: u32,
}

/// `struct ibv_mr`: a registered memory region.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_mr {
    /// Device of the region.
    pub context: *mut ibv_context,
    /// Domain of the region.
    pub pd: *mut ibv_pd,
    /// First byte of the region.
    pub addr: *mut c_void,
    /// Length in bytes.
    pub length: usize,
    _handle: u32,
    /// Key for local work requests.
    pub lkey: u32,
    /// Key for the peer's work requests.
    pub rkey: u32,
}

/// `struct ibv_comp_channel`: a channel for events of completion queues.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_comp_channel {
    /// Device of the channel.
    pub context: *mut ibv_context,
    /// Descriptor that is readable when an event is pending.
    pub fd: c_int,
    _refcnt: c_int,
}

/// The start of `struct ibv_cq`: a completion queue.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_cq {
    /// Device of the queue.
    pub context: *mut ibv_context,
    /// Channel for its events.
    pub channel: *mut ibv_comp_channel,
    _cq_context: *mut c_void,
    _handle: u32,
    /// Capacity in completions.
    pub cqe: c_int,
}

/// The start of `struct ibv_qp`: a queue pair.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_qp {
    /// Device of the queue pair.
    pub context: *mut ibv_context,
    _qp_context: *mut c_void,
    /// Domain of the queue pair.
    pub pd: *mut ibv_pd,
    _queues: [*mut c_void; 3],
    _handle: u32,
    /// Number of the queue pair, unique on the device.
    pub qp_num: u32,
}

/// `struct ibv_qp_cap`: capacities of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ibv_qp_cap {
    /// Work requests.
    pub max_send_wr: u32,
    /// Receive entries.
    pub max_recv_wr: u32,
    /// Parts of a work request.
    pub max_send_sge: u32,
    /// Parts of a receive entry.
    pub max_recv_sge: u32,
    /// Bytes of an inline work request.
    pub max_inline_data: u32,
}

/// `struct ibv_qp_init_attr`: the properties of a new queue pair.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_qp_init_attr {
    /// Arbitrary value of the owner.
    pub qp_context: *mut c_void,
    /// Completion queue for work requests.
    pub send_cq: *mut ibv_cq,
    /// Completion queue for receive entries.
    pub recv_cq: *mut ibv_cq,
    /// Always null: no shared receive queue.
    pub srq: *mut ibv_srq,
    /// Requested capacities; the actual ones after the call.
    pub cap: ibv_qp_cap,
    /// [`IBV_QPT_RC`].
    pub qp_type: c_uint,
    /// Nonzero when every work request is signalled.
    pub sq_sig_all: c_int,
}

/// `struct ibv_sge`: a part of registered memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ibv_sge {
    /// First byte of the part.
    pub addr: u64,
    /// Length in bytes.
    pub length: u32,
    /// The key of the registration.
    pub lkey: u32,
}

/// `struct ibv_send_wr`: a work request. The last 72 bytes, which other kinds of requests use, have no
/// fields here.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ibv_send_wr {
    /// Number that its completion carries.
    pub wr_id: u64,
    /// The next request of the list.
    pub next: *mut ibv_send_wr,
    /// Parts of the request.
    pub sg_list: *mut ibv_sge,
    /// Number of parts.
    pub num_sge: c_int,
    /// Operation of the request.
    pub opcode: c_uint,
    /// Flags, such as [`IBV_SEND_SIGNALED`].
    pub send_flags: c_uint,
    /// The immediate, big-endian.
    pub imm_data: u32,
    /// Address in the peer's memory to write to.
    pub remote_addr: u64,
    /// The peer's key.
    pub rkey: u32,
    _rest: [u64; 9],
}

impl ibv_send_wr {
    /// Returns a request of all zeros.
    pub const fn zeroed() -> ibv_send_wr {
        ibv_send_wr {
            wr_id: 0,
            next: std::ptr::null_mut(),
            sg_list: std::ptr::null_mut(),
            num_sge: 0,
            opcode: 0,
            send_flags: 0,
            imm_data: 0,
            remote_addr: 0,
            rkey: 0,
            _rest: [0; 9],
        }
    }
}

/// `struct ibv_recv_wr`: a receive entry.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ibv_recv_wr {
    /// Number that its completion carries.
    pub wr_id: u64,
    /// The next entry of the list.
    pub next: *mut ibv_recv_wr,
    /// Parts of the entry.
    pub sg_list: *mut ibv_sge,
    /// Number of parts.
    pub num_sge: c_int,
}

/// `struct ibv_wc`: a completion.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ibv_wc {
    /// Number of the work request.
    pub wr_id: u64,
    /// [`IBV_WC_SUCCESS`] or the error. With an error only `wr_id`, `qp_num` and this field are valid.
    pub status: c_uint,
    /// The completed operation.
    pub opcode: c_uint,
    /// Error code of the device's vendor.
    pub vendor_err: u32,
    /// Number of bytes received.
    pub byte_len: u32,
    /// The immediate, big-endian.
    pub imm_data: u32,
    /// Number of the queue pair.
    pub qp_num: u32,
    _src_qp: u32,
    /// Flags, which tell whether there is an immediate.
    pub wc_flags: c_uint,
    _keys: [u16; 2],
    _path: [u8; 2],
}
