//! Types and numbers of `infiniband/verbs.h`, as far as they are used.

use libc::{c_int, c_uint, c_void};

/// A work request that has succeeded.
pub const IBV_WC_SUCCESS: c_uint = 0;
/// The connection had broken before: the work request was given back undone.
pub const IBV_WC_WR_FLUSH_ERR: c_uint = 5;
/// A receive entry was used by the peer's SEND. The opcodes of all receive completions have this bit.
pub const IBV_WC_RECV: c_uint = 1 << 7;
/// A receive entry was used by the peer's WRITE_WITH_IMM.
pub const IBV_WC_RECV_RDMA_WITH_IMM: c_uint = IBV_WC_RECV + 1;

/// Write into the peer's memory.
pub const IBV_WR_RDMA_WRITE: c_uint = 0;
/// Write into the peer's memory, then use one of its receive entries.
pub const IBV_WR_RDMA_WRITE_WITH_IMM: c_uint = 1;
/// A message into the peer's receive entry.
pub const IBV_WR_SEND: c_uint = 2;

/// A completion follows the end of this work request.
pub const IBV_SEND_SIGNALED: c_uint = 1 << 1;
/// The bytes are copied as the work request is posted.
pub const IBV_SEND_INLINE: c_uint = 1 << 3;

/// The device may write into the memory.
pub const IBV_ACCESS_LOCAL_WRITE: c_int = 1;
/// The peer may write into the memory.
pub const IBV_ACCESS_REMOTE_WRITE: c_int = 1 << 1;

/// A reliable connection.
pub const IBV_QPT_RC: c_uint = 2;

/// Types that only the libraries look into.
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

/// `struct ibv_context_ops`: the driver's functions. Those that are not used are pointers.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_context_ops {
    _before_poll: [*mut c_void; 11],
    /// Takes completions.
    // SAFETY: called by `inline::ibv_poll_cq` alone, which says what must hold.
    pub poll_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int>,
    /// Asks for one event at the next completion.
    // SAFETY: called by `inline::ibv_req_notify_cq` alone, which says what must hold.
    pub req_notify_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int) -> c_int>,
    _between: [*mut c_void; 12],
    /// Posts a chain of work requests.
    // SAFETY: called by `inline::ibv_post_send` alone, which says what must hold.
    pub post_send:
        Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int>,
    /// Posts a chain of receive entries.
    // SAFETY: called by `inline::ibv_post_recv` alone, which says what must hold.
    pub post_recv:
        Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int>,
    _after: [*mut c_void; 5],
}

/// `struct ibv_context`, its beginning: a device that is open.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_context {
    /// The device.
    pub device: *mut ibv_device,
    /// Functions of the driver.
    pub ops: ibv_context_ops,
}

/// `struct ibv_device_attr`: what a device can do.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ibv_device_attr {
    _firmware: [u8; 64],
    _guids: [u64; 2],
    /// The longest registration, bytes.
    pub max_mr_size: u64,
    _page_size_cap: u64,
    _vendor: [u32; 3],
    /// Queue pairs.
    pub max_qp: c_int,
    /// Work requests of a queue.
    pub max_qp_wr: c_int,
    _flags: c_uint,
    _sge: [c_int; 2],
    /// Completion queues.
    pub max_cq: c_int,
    /// Entries of a completion queue.
    pub max_cqe: c_int,
    /// Registrations.
    pub max_mr: c_int,
    /// Protection domains.
    pub max_pd: c_int,
    _after: [c_int; 20],
    _max_pkeys: u16,
    _ack_delay: u8,
    _ports: u8,
}

/// `struct ibv_pd`: what belongs together; keys of another domain are refused.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_pd {
    /// Device of the domain.
    pub context: *mut ibv_context,
    _handle: u32,
}

/// `struct ibv_mr`: memory that is registered.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_mr {
    /// Device of the region.
    pub context: *mut ibv_context,
    /// Domain of the region.
    pub pd: *mut ibv_pd,
    /// First byte of the region.
    pub addr: *mut c_void,
    /// Bytes.
    pub length: usize,
    _handle: u32,
    /// The key for work requests of this side.
    pub lkey: u32,
    /// The key for those of the peer.
    pub rkey: u32,
}

/// `struct ibv_comp_channel`: where events of completion queues arrive.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_comp_channel {
    /// Device of the channel.
    pub context: *mut ibv_context,
    /// Readable when there is an event.
    pub fd: c_int,
    _refcnt: c_int,
}

/// `struct ibv_cq`, its beginning: a completion queue.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_cq {
    /// Device of the queue.
    pub context: *mut ibv_context,
    /// Where its events arrive.
    pub channel: *mut ibv_comp_channel,
    _cq_context: *mut c_void,
    _handle: u32,
    /// How many completions it has room for.
    pub cqe: c_int,
}

/// `struct ibv_qp`, its beginning: a queue pair.
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

/// `struct ibv_qp_cap`: how much a queue pair has room for.
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

/// `struct ibv_qp_init_attr`: a queue pair to be made.
#[derive(Debug)]
#[repr(C)]
pub struct ibv_qp_init_attr {
    /// Anything.
    pub qp_context: *mut c_void,
    /// Where ends of work requests are told.
    pub send_cq: *mut ibv_cq,
    /// Where uses of receive entries are told.
    pub recv_cq: *mut ibv_cq,
    /// None.
    pub srq: *mut ibv_srq,
    /// Asked for; afterwards what it is.
    pub cap: ibv_qp_cap,
    /// [`IBV_QPT_RC`].
    pub qp_type: c_uint,
    /// Not 0 when every work request is signalled.
    pub sq_sig_all: c_int,
}

/// `struct ibv_sge`: a part of registered memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ibv_sge {
    /// First byte of the part.
    pub addr: u64,
    /// Bytes.
    pub length: u32,
    /// The key of the registration.
    pub lkey: u32,
}

/// `struct ibv_send_wr`: a work request. What other kinds of requests have in the last 72 bytes is not
/// named.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ibv_send_wr {
    /// Told with its completion.
    pub wr_id: u64,
    /// The next one of the chain.
    pub next: *mut ibv_send_wr,
    /// Parts of the request.
    pub sg_list: *mut ibv_sge,
    /// How many.
    pub num_sge: c_int,
    /// Operation of the request.
    pub opcode: c_uint,
    /// How.
    pub send_flags: c_uint,
    /// The immediate, big-endian.
    pub imm_data: u32,
    /// Where it writes to: an address of the peer.
    pub remote_addr: u64,
    /// The peer's key.
    pub rkey: u32,
    _rest: [u64; 9],
}

impl ibv_send_wr {
    /// A request that is all zero.
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
    /// Told with its completion.
    pub wr_id: u64,
    /// The next one of the chain.
    pub next: *mut ibv_recv_wr,
    /// Parts of the entry.
    pub sg_list: *mut ibv_sge,
    /// How many.
    pub num_sge: c_int,
}

/// `struct ibv_wc`: a completion.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ibv_wc {
    /// Of its work request.
    pub wr_id: u64,
    /// [`IBV_WC_SUCCESS`] or why it failed. With an error only `wr_id`, `qp_num` and this are right.
    pub status: c_uint,
    /// Operation that has ended.
    pub opcode: c_uint,
    /// For the maker of the device.
    pub vendor_err: u32,
    /// Bytes that were received.
    pub byte_len: u32,
    /// The immediate, big-endian.
    pub imm_data: u32,
    /// The queue pair.
    pub qp_num: u32,
    _src_qp: u32,
    /// Whether there is an immediate.
    pub wc_flags: c_uint,
    _keys: [u16; 2],
    _path: [u8; 2],
}
