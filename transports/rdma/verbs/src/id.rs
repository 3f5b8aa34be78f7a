//! An id of librdmacm, which is one end of a connection: a listener's, or one with a queue pair.

use crate::address::{self, Address};
use crate::channel::EventChannel;
use crate::completions::CompletionQueue;
use crate::device::{Device, Unavailable};
use crate::domain::Domain;
use crate::os_errors::{check, last};
use crate::raw::Raw;
use libc::c_void;
use scurry_rdma_sys::Library;
use scurry_rdma_sys::cm::{
    RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, RDMA_PS_TCP, rdma_cm_id, rdma_conn_param,
};
use scurry_rdma_sys::verbs::{IBV_QPT_RC, ibv_qp, ibv_qp_cap, ibv_qp_init_attr};
use std::io;
use std::net::SocketAddr;
use std::ptr;
use std::sync::Arc;

/// How often a lost message is sent again before the connection breaks. Not 7, which means for ever
/// on some devices, so that a peer that is gone is noticed.
const RETRY_COUNT: u8 = 6;

/// How often a message is sent again when the peer has no free receive entry. 7 means for ever,
/// because a slow peer is still alive.
const RNR_RETRY_COUNT: u8 = 7;

/// An id. Its queue pair is destroyed before the id, and the objects that the queue pair uses after
/// it.
#[derive(Debug)]
pub(crate) struct Id {
    raw: Raw<rdma_cm_id>,
    library: &'static Library,
    /// Objects that the queue pair uses; `None` without a queue pair.
    queue: Option<(Arc<Domain>, Arc<CompletionQueue>)>,
    channel: Arc<EventChannel>,
}

impl Id {
    /// Creates an id. Its events arrive on this channel with this number.
    pub(crate) fn new(channel: &Arc<EventChannel>, number: u32) -> io::Result<Id> {
        let library = channel.library;
        let mut raw = ptr::null_mut();
        let context = number as usize as *mut c_void;
        // SAFETY: the channel is alive, and outlives the id; `raw` has room for the pointer.
        let status =
            unsafe { (library.rdma_create_id)(channel.get(), &raw mut raw, context, RDMA_PS_TCP) };
        check("cannot make an end of a connection", status)?;
        let raw = Raw::new(raw).ok_or_else(|| last("cannot make an end of a connection"))?;
        Ok(Id { raw, library, queue: None, channel: Arc::clone(channel) })
    }

    /// Wraps the id of a connection request that arrived on this channel.
    ///
    /// # Safety
    /// No other owner of the id may exist.
    pub(crate) unsafe fn of_request(raw: Raw<rdma_cm_id>, channel: &Arc<EventChannel>) -> Id {
        Id { raw, library: channel.library, queue: None, channel: Arc::clone(channel) }
    }

    /// Returns the device of the id, once it is bound to one.
    pub(crate) fn device(&self) -> Option<Device> {
        // SAFETY: the id is alive.
        let context = Raw::new(unsafe { (*self.raw.get()).verbs })?;
        Some(Device { library: self.library, context })
    }

    /// Returns the peer's address.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        // SAFETY: the id is alive.
        address::read(unsafe { &(*self.raw.get()).route.addr.dst })
    }

    /// Returns the local address.
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        // SAFETY: the id is alive.
        let mut local = address::read(unsafe { &(*self.raw.get()).route.addr.src })?;
        // SAFETY: the id is alive.
        local.set_port(u16::from_be(unsafe { (self.library.rdma_get_src_port)(self.raw.get()) }));
        Some(local)
    }

    pub(crate) fn bind(&self, address: &mut Address) -> io::Result<()> {
        // SAFETY: the id is alive, and the address is initialized.
        let status = unsafe { (self.library.rdma_bind_addr)(self.raw.get(), address.as_mut_ptr()) };
        check("cannot bind", status)
    }

    /// Allows binding to a port while earlier connections of it are not completely gone.
    pub(crate) fn reuse_address(&self) -> io::Result<()> {
        let mut yes: libc::c_int = 1;
        // SAFETY: the id is alive, and the option is an `int`.
        let status = unsafe {
            (self.library.rdma_set_option)(
                self.raw.get(),
                RDMA_OPTION_ID,
                RDMA_OPTION_ID_REUSEADDR,
                (&raw mut yes).cast(),
                size_of::<libc::c_int>(),
            )
        };
        check("cannot let the address be used again", status)
    }

    pub(crate) fn listen(&self, backlog: i32) -> io::Result<()> {
        // SAFETY: the id is alive.
        check("cannot listen", unsafe { (self.library.rdma_listen)(self.raw.get(), backlog) })
    }

    pub(crate) fn resolve_address(&self, to: &mut Address, timeout_ms: i32) -> io::Result<()> {
        // SAFETY: the id is alive, and the address is initialized; with a null source the system
        // chooses the local address.
        let status = unsafe {
            let from = ptr::null_mut();
            (self.library.rdma_resolve_addr)(self.raw.get(), from, to.as_mut_ptr(), timeout_ms)
        };
        check("cannot look for the peer's address", status)
    }

    pub(crate) fn resolve_route(&self, timeout_ms: i32) -> io::Result<()> {
        // SAFETY: the id is alive.
        let status = unsafe { (self.library.rdma_resolve_route)(self.raw.get(), timeout_ms) };
        check("cannot look for a way to the peer", status)
    }

    pub(crate) fn connect(&self) -> io::Result<()> {
        let mut how = parameters();
        // SAFETY: the id and the parameters are alive.
        let status = unsafe { (self.library.rdma_connect)(self.raw.get(), &raw mut how) };
        check("cannot connect", status)
    }

    pub(crate) fn accept(&self) -> io::Result<()> {
        let mut how = parameters();
        // SAFETY: as above.
        let status = unsafe { (self.library.rdma_accept)(self.raw.get(), &raw mut how) };
        check("cannot accept", status)
    }

    pub(crate) fn reject(&self) -> io::Result<()> {
        // SAFETY: the id is alive, and no data is passed.
        let status = unsafe { (self.library.rdma_reject)(self.raw.get(), ptr::null(), 0) };
        check("cannot refuse a connection", status)
    }

    pub(crate) fn disconnect(&self) -> io::Result<()> {
        // SAFETY: the id is alive.
        check("cannot disconnect", unsafe { (self.library.rdma_disconnect)(self.raw.get()) })
    }

    /// Sets the number that events of the id carry from now on.
    pub(crate) fn name(&self, number: u32) {
        // SAFETY: the id is alive. Either the hub that reads its events runs in this thread, or the
        // id has no events yet that any thread reads.
        unsafe { (*self.raw.get()).context = number as usize as *mut c_void };
    }

    /// Moves the id to another channel, where its events arrive from now on.
    pub(crate) fn move_to(&mut self, channel: &Arc<EventChannel>) -> io::Result<()> {
        // SAFETY: both are alive. The call waits for unacknowledged events, of which the id has none.
        let status = unsafe { (self.library.rdma_migrate_id)(self.raw.get(), channel.get()) };
        check("cannot move a connection to its thread", status)?;
        self.channel = Arc::clone(channel);
        Ok(())
    }

    /// Creates the id's queue pair. Returns its actual capacities.
    pub(crate) fn make_queue(
        &mut self,
        domain: &Arc<Domain>,
        completions: &Arc<CompletionQueue>,
        room: ibv_qp_cap,
    ) -> io::Result<ibv_qp_cap> {
        let mut attributes = ibv_qp_init_attr {
            qp_context: ptr::null_mut(),
            send_cq: completions.get(),
            recv_cq: completions.get(),
            srq: ptr::null_mut(),
            cap: room,
            qp_type: IBV_QPT_RC,
            sq_sig_all: 0,
        };
        // SAFETY: the id, the domain and the completion queue are alive, and are held until the queue
        // pair is destroyed.
        let status = unsafe {
            (self.library.rdma_create_qp)(self.raw.get(), domain.get(), &raw mut attributes)
        };
        check("cannot make a queue pair", status)?;
        self.queue = Some((Arc::clone(domain), Arc::clone(completions)));
        Ok(attributes.cap)
    }

    /// Returns the queue pair of the id; null when it has none.
    pub(crate) fn queue(&self) -> *mut ibv_qp {
        // SAFETY: the id is alive.
        unsafe { (*self.raw.get()).qp }
    }
}

impl Drop for Id {
    fn drop(&mut self) {
        if self.queue.is_some() {
            // SAFETY: the queue pair is destroyed once, and before the objects that it uses.
            unsafe { (self.library.rdma_destroy_qp)(self.raw.get()) };
        }
        // SAFETY: the id is destroyed once. All events that were read are acknowledged.
        unsafe { (self.library.rdma_destroy_id)(self.raw.get()) };
    }
}

/// Returns the connection parameters of both sides: no reads and no atomics (the protocol has none;
/// the standard says 1).
fn parameters() -> rdma_conn_param {
    rdma_conn_param {
        private_data: ptr::null(),
        private_data_len: 0,
        responder_resources: 1,
        initiator_depth: 1,
        flow_control: 0,
        retry_count: RETRY_COUNT,
        rnr_retry_count: RNR_RETRY_COUNT,
        srq: 0,
        qp_num: 0,
    }
}

impl Device {
    /// Returns the device that has this local address, or the first device for an unspecified
    /// address.
    ///
    /// # Errors
    /// When the libraries are missing, there is no device, or no device has this address.
    pub fn with_address(address: SocketAddr) -> Result<Device, Unavailable> {
        let all = Device::all()?;
        if address.ip().is_unspecified() {
            return Ok(all[0]);
        }
        let bound = bind_any_port(all[0].library, address);
        let bound = bound.and_then(|id| id.device().ok_or_else(|| io::ErrorKind::NotFound.into()));
        bound.map_err(|error| {
            let names: Vec<String> = all.iter().map(Device::name).collect();
            Unavailable::Address { address, error, devices: names.join(", ") }
        })
    }
}

/// Creates an id that is bound to this address and a port that the system chooses.
fn bind_any_port(library: &'static Library, address: SocketAddr) -> io::Result<Id> {
    let id = Id::new(&Arc::new(EventChannel::new(library)?), 0)?;
    id.bind(&mut Address::new(SocketAddr::new(address.ip(), 0)))?;
    Ok(id)
}
