//! Functions that `infiniband/verbs.h` defines inline: they call the device's driver through a table in
//! the context, and no library exports them.

use crate::verbs::{ibv_cq, ibv_qp, ibv_recv_wr, ibv_send_wr, ibv_wc};
use libc::c_int;

/// Error number when a driver lacks a function.
const ENOSYS: c_int = libc::ENOSYS;

/// `ibv_poll_cq`: takes up to `room` completions. Returns their number, or a negative error number.
///
/// # Safety
/// The queue must be alive, and `wc` must have room for that many completions.
pub unsafe fn ibv_poll_cq(cq: *mut ibv_cq, room: c_int, wc: *mut ibv_wc) -> c_int {
    // SAFETY: a live queue has a context, which holds its driver's table.
    match unsafe { (*(*cq).context).ops.poll_cq } {
        // SAFETY: the caller's promise.
        Some(poll) => unsafe { poll(cq, room, wc) },
        None => -ENOSYS,
    }
}

/// `ibv_req_notify_cq`: requests one event at the next completion. Returns 0 or an error number.
///
/// # Safety
/// The queue must be alive.
pub unsafe fn ibv_req_notify_cq(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    // SAFETY: a live queue has a context, which holds its driver's table.
    match unsafe { (*(*cq).context).ops.req_notify_cq } {
        // SAFETY: the caller's promise.
        Some(request) => unsafe { request(cq, solicited_only) },
        None => ENOSYS,
    }
}

/// `ibv_post_send`: posts a linked list of work requests. Returns 0, or an error number with the refused
/// request in `bad`.
///
/// # Safety
/// The queue pair, the list and all that it points to must be alive; the memory must stay valid until
/// the requests complete.
pub unsafe fn ibv_post_send(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad: *mut *mut ibv_send_wr,
) -> c_int {
    // SAFETY: a live queue pair has a context, which holds its driver's table.
    match unsafe { (*(*qp).context).ops.post_send } {
        // SAFETY: the caller's promise.
        Some(post) => unsafe { post(qp, wr, bad) },
        None => ENOSYS,
    }
}

/// `ibv_post_recv`: posts a linked list of receive entries. Returns 0, or an error number with the
/// refused entry in `bad`.
///
/// # Safety
/// The queue pair, the list and all that it points to must be alive; the memory must stay valid until
/// the entries are used.
pub unsafe fn ibv_post_recv(
    qp: *mut ibv_qp,
    wr: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: a live queue pair has a context, which holds its driver's table.
    match unsafe { (*(*qp).context).ops.post_recv } {
        // SAFETY: the caller's promise.
        Some(post) => unsafe { post(qp, wr, bad) },
        None => ENOSYS,
    }
}
