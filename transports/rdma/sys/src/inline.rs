//! The functions that `infiniband/verbs.h` defines in itself: they go through the table of the device's
//! driver in the context, and are in no library.

use crate::verbs::{ibv_cq, ibv_qp, ibv_recv_wr, ibv_send_wr, ibv_wc};
use libc::c_int;

/// Error number of a driver that lacks a function.
const ENOSYS: c_int = libc::ENOSYS;

/// `ibv_poll_cq`: takes up to `room` completions; their number, or less than 0 for an error.
///
/// # Safety
/// The queue is alive, and there is room for so many completions.
pub unsafe fn ibv_poll_cq(cq: *mut ibv_cq, room: c_int, wc: *mut ibv_wc) -> c_int {
    // SAFETY: a queue that is alive has a context, and that its driver's table.
    match unsafe { (*(*cq).context).ops.poll_cq } {
        // SAFETY: as the caller promises.
        Some(poll) => unsafe { poll(cq, room, wc) },
        None => -ENOSYS,
    }
}

/// `ibv_req_notify_cq`: asks for one event at the next completion; 0 or an error number.
///
/// # Safety
/// The queue is alive.
pub unsafe fn ibv_req_notify_cq(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    // SAFETY: a queue that is alive has a context, and that its driver's table.
    match unsafe { (*(*cq).context).ops.req_notify_cq } {
        // SAFETY: as the caller promises.
        Some(request) => unsafe { request(cq, solicited_only) },
        None => ENOSYS,
    }
}

/// `ibv_post_send`: posts a chain of work requests; 0 or an error number, with the one that was refused.
///
/// # Safety
/// The queue pair, the chain and what it refers to are alive; the memory stays so until it is done.
pub unsafe fn ibv_post_send(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad: *mut *mut ibv_send_wr,
) -> c_int {
    // SAFETY: a queue pair that is alive has a context, and that its driver's table.
    match unsafe { (*(*qp).context).ops.post_send } {
        // SAFETY: as the caller promises.
        Some(post) => unsafe { post(qp, wr, bad) },
        None => ENOSYS,
    }
}

/// `ibv_post_recv`: posts a chain of receive entries; 0 or an error number, with the one that was
/// refused.
///
/// # Safety
/// The queue pair, the chain and what it refers to are alive; the memory stays so until it is used.
pub unsafe fn ibv_post_recv(
    qp: *mut ibv_qp,
    wr: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: a queue pair that is alive has a context, and that its driver's table.
    match unsafe { (*(*qp).context).ops.post_recv } {
        // SAFETY: as the caller promises.
        Some(post) => unsafe { post(qp, wr, bad) },
        None => ENOSYS,
    }
}
