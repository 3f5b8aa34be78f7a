//! Socket addresses in the form of C.

use libc::{sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage};
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A socket address with room for every family.
pub(crate) struct Address(pub(crate) sockaddr_storage);

impl Address {
    /// Converts a socket address.
    pub(crate) fn new(address: SocketAddr) -> Address {
        // SAFETY: all zeros is a valid storage without a family.
        let mut storage: sockaddr_storage = unsafe { mem::zeroed() };
        match address {
            SocketAddr::V4(v4) => {
                let family = libc::AF_INET as libc::sa_family_t;
                let inner = sockaddr_in {
                    sin_family: family,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                // SAFETY: the storage has the size and alignment for every family.
                unsafe { (&raw mut storage).cast::<sockaddr_in>().write(inner) };
            }
            SocketAddr::V6(v6) => {
                let family = libc::AF_INET6 as libc::sa_family_t;
                let inner = sockaddr_in6 {
                    sin6_family: family,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: as above.
                unsafe { (&raw mut storage).cast::<sockaddr_in6>().write(inner) };
            }
        }
        Address(storage)
    }

    /// Returns a pointer for a library call that reads the address.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut sockaddr {
        (&raw mut self.0).cast()
    }
}

/// Returns the address in a storage; `None` when its family is not IPv4 or IPv6.
pub(crate) fn read(storage: &sockaddr_storage) -> Option<SocketAddr> {
    let at: *const sockaddr_storage = storage;
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family tells the type, and the storage has room for it.
            let inner = unsafe { *at.cast::<sockaddr_in>() };
            let ip = Ipv4Addr::from(inner.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(inner.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let inner = unsafe { *at.cast::<sockaddr_in6>() };
            let ip = Ipv6Addr::from(inner.sin6_addr.s6_addr);
            let port = u16::from_be(inner.sin6_port);
            Some(SocketAddrV6::new(ip, port, inner.sin6_flowinfo, inner.sin6_scope_id).into())
        }
        _ => None,
    }
}
