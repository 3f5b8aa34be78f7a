//! Numbers, addresses and texts as bytes, little-endian, read with every length checked; and sheets: bytes
//! with their length and checksum in front, as which all that is not a packet travels.

use crate::group::view::Addresses;
use scurry_engine::checksum;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of a sheet at most, without what is in front of it.
const SHEET_LEN_MAX: usize = 256 << 10;
/// Bytes in front of a sheet, and of a packet: length u32, checksum u32.
pub(super) const FRONT_LEN: usize = 8;

/// A reader of what is left.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// So many bytes.
    pub(super) fn slice(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Bytes behind their length.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()?;
        self.slice(usize::try_from(len).ok()?)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        self.bytes().and_then(|bytes| str::from_utf8(bytes).ok()).map(str::to_owned)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn ip(&mut self) -> Option<IpAddr> {
        match self.u8()? {
            4 => self.array::<4>().map(|bytes| Ipv4Addr::from(bytes).into()),
            6 => self.array::<16>().map(|bytes| Ipv6Addr::from(bytes).into()),
            _ => None,
        }
    }

    pub(super) fn address(&mut self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.ip()?, self.u16()?))
    }

    pub(super) fn addresses(&mut self) -> Option<Addresses> {
        let (peer, ip, main) = (self.address()?, self.ip()?, self.u16()?);
        let count = self.u16()?;
        let cores = (0..count).map(|_| self.u16()).collect::<Option<_>>()?;
        Some(Addresses { peer, ip, main, cores })
    }
}

/// A length; what is longer than 4 GiB is refused before it gets here.
pub(super) fn put_len(out: &mut Vec<u8>, len: usize) {
    out.extend(u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
}

/// Bytes behind their length.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.extend(bytes);
}

fn put_ip(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(6);
            out.extend(ip.octets());
        }
    }
}

pub(super) fn put_address(out: &mut Vec<u8>, address: SocketAddr) {
    put_ip(out, address.ip());
    out.extend(address.port().to_le_bytes());
}

pub(super) fn put_addresses(out: &mut Vec<u8>, addresses: &Addresses) {
    put_address(out, addresses.peer);
    put_ip(out, addresses.ip);
    out.extend(addresses.main.to_le_bytes());
    // A node has no more threads than a u16 counts.
    out.extend(u16::try_from(addresses.cores.len()).unwrap_or(u16::MAX).to_le_bytes());
    addresses.cores.iter().for_each(|port| out.extend(port.to_le_bytes()));
}

/// Appends a sheet.
pub(super) fn put_sheet(out: &mut Vec<u8>, sheet: &[u8]) {
    put_len(out, sheet.len());
    out.extend(checksum(0, sheet).to_le_bytes());
    out.extend(sheet);
}

/// The bytes of the next sheet. Memory is taken as they arrive.
pub(super) fn read_sheet(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut front = [0; FRONT_LEN];
    from.read_exact(&mut front)?;
    let (len, sum) = front_of(front);
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    if len > SHEET_LEN_MAX {
        return Err(malformed(format!("{len} bytes, where at most {SHEET_LEN_MAX} can be")));
    }
    let mut sheet = Vec::new();
    from.take(len as u64).read_to_end(&mut sheet)?;
    if sheet.len() < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    check_sum(sum, checksum(0, &sheet))?;
    Ok(sheet)
}

/// Length and checksum.
pub(super) fn front_of(front: [u8; FRONT_LEN]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = front;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

pub(super) fn check_sum(stored: u32, computed: u32) -> io::Result<()> {
    if stored == computed {
        return Ok(());
    }
    Err(malformed(format!("its checksum is {stored:08x} and that of its bytes {computed:08x}")))
}

/// Bytes that are not what they should be: the connection is to be closed.
pub(super) fn malformed(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}
