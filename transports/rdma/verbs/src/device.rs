//! The RDMA devices of this host.

use crate::raw::Raw;
use scurry_rdma_sys::verbs::{ibv_context, ibv_device_attr};
use scurry_rdma_sys::{Library, LibraryMissing};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;

/// Why RDMA is unavailable here, and how to fix it.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// The libraries are missing.
    #[error(transparent)]
    Libraries(#[from] LibraryMissing),
    /// No device, or none that supports connections.
    #[error(
        "no RDMA device here: the kernel has none{0}; a device in software is made with: \
         modprobe rdma_rxe rdma_ucm && rdma link add rxe0 type rxe netdev NAME"
    )]
    NoDevice(String),
    /// No device has the address.
    #[error(
        "no RDMA device here has the address {address} ({error}); the devices are {devices}: \
         name an address of the network interface of one of them"
    )]
    Address {
        /// The requested address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
        /// Names of the devices found.
        devices: String,
    },
}

/// An open device. It stays open until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    pub(crate) library: &'static Library,
    pub(crate) context: Raw<ibv_context>,
}

impl Device {
    /// Returns all devices of this host.
    ///
    /// # Errors
    /// When the libraries are missing, or there is no device.
    pub fn all() -> Result<Vec<Device>, Unavailable> {
        let library = Library::open()?;
        let mut count = 0;
        // SAFETY: `count` has room for the result.
        let list = unsafe { (library.rdma_get_devices)(&raw mut count) };
        if list.is_null() {
            let error = io::Error::last_os_error();
            return Err(Unavailable::NoDevice(format!(" ({error})")));
        }
        // SAFETY: the list has `count` entries; the devices in it stay open.
        let all = (0..usize::try_from(count).unwrap_or(0)).map(|at| unsafe { *list.add(at) });
        let devices: Vec<Device> = all
            .filter_map(|context| Some(Device { library, context: Raw::new(context)? }))
            .collect();
        // SAFETY: the list must be freed by the caller, and is not used afterwards.
        unsafe { (library.rdma_free_devices)(list) };
        if devices.is_empty() {
            return Err(Unavailable::NoDevice(String::new()));
        }
        Ok(devices)
    }

    /// Returns the name of the device, such as `mlx5_0`.
    #[must_use]
    pub fn name(&self) -> String {
        // SAFETY: an open context has a device, and the device's name stays valid.
        let name = unsafe {
            CStr::from_ptr((self.library.ibv_get_device_name)((*self.context.get()).device))
        };
        name.to_string_lossy().into_owned()
    }

    /// Returns how many completions a completion queue can hold, and how many work requests a send
    /// or receive queue.
    pub(crate) fn queue_limits(&self) -> io::Result<(u32, u32)> {
        let mut attributes = MaybeUninit::<ibv_device_attr>::zeroed();
        // SAFETY: the context is open, and there is room for the result.
        let status =
            unsafe { (self.library.ibv_query_device)(self.context.get(), attributes.as_mut_ptr()) };
        if status != 0 {
            return Err(crate::os_errors::numbered("cannot ask the device what it can do", status));
        }
        // SAFETY: the value was zeroed and then filled.
        let attributes = unsafe { attributes.assume_init() };
        let positive = |number: i32| u32::try_from(number).unwrap_or(0);
        Ok((positive(attributes.max_cqe), positive(attributes.max_qp_wr)))
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        self.context.get() == other.context.get()
    }
}

impl Eq for Device {}
