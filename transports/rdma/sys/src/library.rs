//! Opening the libraries, and the table of their functions.

use crate::cm::{rdma_cm_event, rdma_cm_id, rdma_conn_param, rdma_event_channel};
use crate::verbs::{
    ibv_comp_channel, ibv_context, ibv_cq, ibv_device, ibv_device_attr, ibv_mr, ibv_pd,
    ibv_qp_init_attr,
};
use libc::{c_char, c_int, c_uint, c_void, sockaddr};
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// The libraries, by the names of the versions whose layout is known.
const LIBRARIES: [&CStr; 2] = [c"libibverbs.so.1", c"librdmacm.so.1"];

/// A library that is not there, or is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no RDMA here: {what}; install rdma-core's libibverbs1, librdmacm1 and ibverbs-providers")]
pub struct Absent {
    /// Text of the dynamic linker.
    pub what: String,
}

macro_rules! library {
    ($($(#[$doc:meta])* $name:ident: fn($($type:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions, by their names in C. They stay valid: a library is never closed.
        #[derive(Clone, Copy, Debug)]
        pub struct Library {
            // SAFETY: whoever calls one keeps what the manual page of that name asks for.
            $($(#[$doc])* pub $name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Library {
            fn load(find: &impl Fn(&str) -> Result<*mut c_void, Absent>) -> Result<Library, Absent> {
                Ok(Library {
                    $($name: {
                        let pointer = find(stringify!($name))?;
                        // SAFETY: the library's public header declares the function so, and the
                        // number in the library's name promises that this stays.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                // SAFETY: as above.
                                unsafe extern "C" fn($($type),*) $(-> $result)?,
                            >(pointer)
                        }
                    },)*
                })
            }
        }
    };
}

library! {
    /// The devices; a list to be freed, with its length.
    ibv_get_device_list: fn(*mut c_int) -> *mut *mut ibv_device;
    /// Frees the list.
    ibv_free_device_list: fn(*mut *mut ibv_device);
    /// The name of a device.
    ibv_get_device_name: fn(*mut ibv_device) -> *const c_char;
    /// Reads what a device can do; 0 or an error number.
    ibv_query_device: fn(*mut ibv_context, *mut ibv_device_attr) -> c_int;
    /// A protection domain, or null.
    ibv_alloc_pd: fn(*mut ibv_context) -> *mut ibv_pd;
    /// Ends it; 0 or an error number.
    ibv_dealloc_pd: fn(*mut ibv_pd) -> c_int;
    /// Registers memory, or null.
    ibv_reg_mr: fn(*mut ibv_pd, *mut c_void, usize, c_int) -> *mut ibv_mr;
    /// Ends a registration; 0 or an error number.
    ibv_dereg_mr: fn(*mut ibv_mr) -> c_int;
    /// A channel for events of completion queues, or null.
    ibv_create_comp_channel: fn(*mut ibv_context) -> *mut ibv_comp_channel;
    /// Ends it; 0 or an error number.
    ibv_destroy_comp_channel: fn(*mut ibv_comp_channel) -> c_int;
    /// A completion queue with at least so many entries, or null.
    ibv_create_cq:
        fn(*mut ibv_context, c_int, *mut c_void, *mut ibv_comp_channel, c_int) -> *mut ibv_cq;
    /// Ends it; 0 or an error number.
    ibv_destroy_cq: fn(*mut ibv_cq) -> c_int;
    /// Takes an event; 0, or -1 and `errno`.
    ibv_get_cq_event: fn(*mut ibv_comp_channel, *mut *mut ibv_cq, *mut *mut c_void) -> c_int;
    /// Acknowledges so many events. A queue cannot be ended before all are.
    ibv_ack_cq_events: fn(*mut ibv_cq, c_uint);
    /// The text for a status of a completion.
    ibv_wc_status_str: fn(c_uint) -> *const c_char;
    /// The devices that ids can be bound to, open; a list to be freed, with its length.
    rdma_get_devices: fn(*mut c_int) -> *mut *mut ibv_context;
    /// Frees the list.
    rdma_free_devices: fn(*mut *mut ibv_context);
    /// A channel for events of ids, or null.
    rdma_create_event_channel: fn() -> *mut rdma_event_channel;
    /// Ends it.
    rdma_destroy_event_channel: fn(*mut rdma_event_channel);
    /// An id; 0, or -1 and `errno`.
    rdma_create_id: fn(*mut rdma_event_channel, *mut *mut rdma_cm_id, *mut c_void, c_uint) -> c_int;
    /// Ends it, when all its events are acknowledged; 0, or -1 and `errno`.
    rdma_destroy_id: fn(*mut rdma_cm_id) -> c_int;
    /// Binds to an address of this side; 0, or -1 and `errno`.
    rdma_bind_addr: fn(*mut rdma_cm_id, *mut sockaddr) -> c_int;
    /// Listens; 0, or -1 and `errno`.
    rdma_listen: fn(*mut rdma_cm_id, c_int) -> c_int;
    /// Finds the device that leads to an address, within milliseconds; 0, or -1 and `errno`.
    rdma_resolve_addr: fn(*mut rdma_cm_id, *mut sockaddr, *mut sockaddr, c_int) -> c_int;
    /// Finds the way to it, within milliseconds; 0, or -1 and `errno`.
    rdma_resolve_route: fn(*mut rdma_cm_id, c_int) -> c_int;
    /// Makes the id's queue pair; 0, or -1 and `errno`.
    rdma_create_qp: fn(*mut rdma_cm_id, *mut ibv_pd, *mut ibv_qp_init_attr) -> c_int;
    /// Ends it.
    rdma_destroy_qp: fn(*mut rdma_cm_id);
    /// Asks the peer for a connection; 0, or -1 and `errno`.
    rdma_connect: fn(*mut rdma_cm_id, *mut rdma_conn_param) -> c_int;
    /// Accepts; 0, or -1 and `errno`.
    rdma_accept: fn(*mut rdma_cm_id, *mut rdma_conn_param) -> c_int;
    /// Refuses, with data for the peer; 0, or -1 and `errno`.
    rdma_reject: fn(*mut rdma_cm_id, *const c_void, u8) -> c_int;
    /// Ends a connection; 0, or -1 and `errno`.
    rdma_disconnect: fn(*mut rdma_cm_id) -> c_int;
    /// Takes an event; 0, or -1 and `errno`.
    rdma_get_cm_event: fn(*mut rdma_event_channel, *mut *mut rdma_cm_event) -> c_int;
    /// Acknowledges and frees it; 0, or -1 and `errno`.
    rdma_ack_cm_event: fn(*mut rdma_cm_event) -> c_int;
    /// The text for a kind of event.
    rdma_event_str: fn(c_uint) -> *const c_char;
    /// Moves an id to another channel; 0, or -1 and `errno`.
    rdma_migrate_id: fn(*mut rdma_cm_id, *mut rdma_event_channel) -> c_int;
    /// Sets an option of an id; 0, or -1 and `errno`.
    rdma_set_option: fn(*mut rdma_cm_id, c_int, c_int, *mut c_void, usize) -> c_int;
    /// The port of this side, big-endian.
    rdma_get_src_port: fn(*mut rdma_cm_id) -> u16;
}

impl Library {
    /// Opens both libraries, once in a process.
    ///
    /// # Errors
    /// When one of them is not there or lacks a function.
    pub fn open() -> Result<&'static Library, Absent> {
        static LIBRARY: OnceLock<Result<Library, Absent>> = OnceLock::new();
        LIBRARY.get_or_init(|| Library::open_named(&LIBRARIES)).as_ref().map_err(Clone::clone)
    }

    fn open_named(names: &[&CStr]) -> Result<Library, Absent> {
        let handles = names.iter().map(|name| open(name)).collect::<Result<Vec<_>, _>>()?;
        Library::load(&|name| {
            let symbol = CString::new(name).expect("a name has no NUL");
            let found = handles.iter().find_map(|&handle| {
                // SAFETY: the handle is that of an open library, the name ends with NUL.
                let pointer = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
                (!pointer.is_null()).then_some(pointer)
            });
            found.ok_or_else(|| Absent { what: format!("the libraries lack {name}") })
        })
    }
}

/// Opens a library for good.
fn open(name: &CStr) -> Result<*mut c_void, Absent> {
    // SAFETY: the name ends with NUL; what the libraries do as they are opened is their makers' business.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: after a failure it is a text, valid until the next call of this thread, or null.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return Err(Absent { what: format!("{} does not open", name.to_string_lossy()) });
    }
    // SAFETY: not null, so a text that ends with NUL.
    Err(Absent { what: unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_named_with_the_cure() {
        let text = Library::open_named(&[c"libscurry-is-not-there.so.1"]).unwrap_err().to_string();
        assert!(text.starts_with("no RDMA here: libscurry-is-not-there.so.1: "), "{text}");
        assert!(text.contains("install rdma-core's libibverbs1"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }

    #[test]
    fn a_library_without_a_function_names_it() {
        let text = Library::open_named(&[c"libc.so.6"]).unwrap_err().to_string();
        assert!(text.contains("the libraries lack ibv_get_device_list"), "{text}");
    }
}
