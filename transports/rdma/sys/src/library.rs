//! Opening the libraries, and the table of their functions.

use crate::cm::{rdma_cm_event, rdma_cm_id, rdma_conn_param, rdma_event_channel};
use crate::verbs::{
    ibv_comp_channel, ibv_context, ibv_cq, ibv_device, ibv_device_attr, ibv_mr, ibv_pd,
    ibv_qp_init_attr,
};
use libc::{c_char, c_int, c_uint, c_void, sockaddr};
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// The libraries' file names, with the versions that have the known layout.
const LIBRARIES: [&CStr; 2] = [c"libibverbs.so.1", c"librdmacm.so.1"];

/// A library that is missing, or lacks a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no RDMA here: {what}; install rdma-core's libibverbs1, librdmacm1 and ibverbs-providers")]
pub struct LibraryMissing {
    /// Message of the dynamic linker.
    pub what: String,
}

macro_rules! library {
    ($($(#[$doc:meta])* $name:ident: fn($($type:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions, by their names in C. They stay valid, because the libraries are never closed.
        #[derive(Clone, Copy, Debug)]
        pub struct Library {
            // SAFETY: the caller of a function must meet the conditions in its manual page.
            $($(#[$doc])* pub $name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Library {
            fn load(find: &impl Fn(&str) -> Result<*mut c_void, LibraryMissing>) -> Result<Library, LibraryMissing> {
                Ok(Library {
                    $($name: {
                        let pointer = find(stringify!($name))?;
                        // SAFETY: the library's public header declares the function with this type, and
                        // the version in the library's name promises that this does not change.
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
    /// Returns the devices: a list to be freed, and its length.
    ibv_get_device_list: fn(*mut c_int) -> *mut *mut ibv_device;
    /// Frees the list.
    ibv_free_device_list: fn(*mut *mut ibv_device);
    /// Returns the name of a device.
    ibv_get_device_name: fn(*mut ibv_device) -> *const c_char;
    /// Reads the limits of a device. Returns 0 or an error number.
    ibv_query_device: fn(*mut ibv_context, *mut ibv_device_attr) -> c_int;
    /// Allocates a protection domain. Returns null on failure.
    ibv_alloc_pd: fn(*mut ibv_context) -> *mut ibv_pd;
    /// Frees it. Returns 0 or an error number.
    ibv_dealloc_pd: fn(*mut ibv_pd) -> c_int;
    /// Registers memory. Returns null on failure.
    ibv_reg_mr: fn(*mut ibv_pd, *mut c_void, usize, c_int) -> *mut ibv_mr;
    /// Ends a registration. Returns 0 or an error number.
    ibv_dereg_mr: fn(*mut ibv_mr) -> c_int;
    /// Creates a channel for events of completion queues. Returns null on failure.
    ibv_create_comp_channel: fn(*mut ibv_context) -> *mut ibv_comp_channel;
    /// Destroys it. Returns 0 or an error number.
    ibv_destroy_comp_channel: fn(*mut ibv_comp_channel) -> c_int;
    /// Creates a completion queue with at least the given number of entries. Returns null on failure.
    ibv_create_cq:
        fn(*mut ibv_context, c_int, *mut c_void, *mut ibv_comp_channel, c_int) -> *mut ibv_cq;
    /// Destroys it. Returns 0 or an error number.
    ibv_destroy_cq: fn(*mut ibv_cq) -> c_int;
    /// Reads an event. Returns 0, or -1 and sets `errno`.
    ibv_get_cq_event: fn(*mut ibv_comp_channel, *mut *mut ibv_cq, *mut *mut c_void) -> c_int;
    /// Acknowledges a number of events. A queue cannot be destroyed before all its events are
    /// acknowledged.
    ibv_ack_cq_events: fn(*mut ibv_cq, c_uint);
    /// Returns the text for a status of a completion.
    ibv_wc_status_str: fn(c_uint) -> *const c_char;
    /// Opens the devices that ids can be bound to. Returns a list to be freed, and its length.
    rdma_get_devices: fn(*mut c_int) -> *mut *mut ibv_context;
    /// Frees the list.
    rdma_free_devices: fn(*mut *mut ibv_context);
    /// Creates a channel for events of ids. Returns null on failure.
    rdma_create_event_channel: fn() -> *mut rdma_event_channel;
    /// Destroys it.
    rdma_destroy_event_channel: fn(*mut rdma_event_channel);
    /// Creates an id. Returns 0, or -1 and sets `errno`.
    rdma_create_id: fn(*mut rdma_event_channel, *mut *mut rdma_cm_id, *mut c_void, c_uint) -> c_int;
    /// Destroys it after all its events are acknowledged. Returns 0, or -1 and sets `errno`.
    rdma_destroy_id: fn(*mut rdma_cm_id) -> c_int;
    /// Binds an id to a local address. Returns 0, or -1 and sets `errno`.
    rdma_bind_addr: fn(*mut rdma_cm_id, *mut sockaddr) -> c_int;
    /// Listens for connection requests. Returns 0, or -1 and sets `errno`.
    rdma_listen: fn(*mut rdma_cm_id, c_int) -> c_int;
    /// Finds the device that leads to an address, within a time in milliseconds. Returns 0, or -1 and
    /// sets `errno`.
    rdma_resolve_addr: fn(*mut rdma_cm_id, *mut sockaddr, *mut sockaddr, c_int) -> c_int;
    /// Finds the route to it, within a time in milliseconds. Returns 0, or -1 and sets `errno`.
    rdma_resolve_route: fn(*mut rdma_cm_id, c_int) -> c_int;
    /// Creates the id's queue pair. Returns 0, or -1 and sets `errno`.
    rdma_create_qp: fn(*mut rdma_cm_id, *mut ibv_pd, *mut ibv_qp_init_attr) -> c_int;
    /// Destroys it.
    rdma_destroy_qp: fn(*mut rdma_cm_id);
    /// Requests a connection from the peer. Returns 0, or -1 and sets `errno`.
    rdma_connect: fn(*mut rdma_cm_id, *mut rdma_conn_param) -> c_int;
    /// Accepts a connection request. Returns 0, or -1 and sets `errno`.
    rdma_accept: fn(*mut rdma_cm_id, *mut rdma_conn_param) -> c_int;
    /// Refuses a connection request, with data for the peer. Returns 0, or -1 and sets `errno`.
    rdma_reject: fn(*mut rdma_cm_id, *const c_void, u8) -> c_int;
    /// Ends a connection. Returns 0, or -1 and sets `errno`.
    rdma_disconnect: fn(*mut rdma_cm_id) -> c_int;
    /// Reads an event. Returns 0, or -1 and sets `errno`.
    rdma_get_cm_event: fn(*mut rdma_event_channel, *mut *mut rdma_cm_event) -> c_int;
    /// Acknowledges and frees it. Returns 0, or -1 and sets `errno`.
    rdma_ack_cm_event: fn(*mut rdma_cm_event) -> c_int;
    /// Returns the text for a kind of event.
    rdma_event_str: fn(c_uint) -> *const c_char;
    /// Moves an id to another channel. Returns 0, or -1 and sets `errno`.
    rdma_migrate_id: fn(*mut rdma_cm_id, *mut rdma_event_channel) -> c_int;
    /// Sets an option of an id. Returns 0, or -1 and sets `errno`.
    rdma_set_option: fn(*mut rdma_cm_id, c_int, c_int, *mut c_void, usize) -> c_int;
    /// Returns the local port, big-endian.
    rdma_get_src_port: fn(*mut rdma_cm_id) -> u16;
}

impl Library {
    /// Opens both libraries, once per process.
    ///
    /// # Errors
    /// When one of them is missing or lacks a function.
    pub fn open() -> Result<&'static Library, LibraryMissing> {
        static LIBRARY: OnceLock<Result<Library, LibraryMissing>> = OnceLock::new();
        LIBRARY.get_or_init(|| Library::open_named(&LIBRARIES)).as_ref().map_err(Clone::clone)
    }

    fn open_named(names: &[&CStr]) -> Result<Library, LibraryMissing> {
        let handles = names.iter().map(|name| open(name)).collect::<Result<Vec<_>, _>>()?;
        Library::load(&|name| {
            let symbol = CString::new(name).expect("a name has no NUL");
            let found = handles.iter().find_map(|&handle| {
                // SAFETY: the handle is that of an open library, and the name ends with NUL.
                let pointer = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
                (!pointer.is_null()).then_some(pointer)
            });
            found.ok_or_else(|| LibraryMissing { what: format!("the libraries lack {name}") })
        })
    }
}

/// Opens a library, which is never closed.
fn open(name: &CStr) -> Result<*mut c_void, LibraryMissing> {
    // SAFETY: the name ends with NUL; the libraries' initialization is trusted.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: after a failure it returns null or a string that is valid until the next call of this
    // thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return Err(LibraryMissing { what: format!("{} does not open", name.to_string_lossy()) });
    }
    // SAFETY: the pointer is not null, so it is a string that ends with NUL.
    Err(LibraryMissing { what: unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() })
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
