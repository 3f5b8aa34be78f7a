//! Encodes and decodes numbers, addresses and texts in little-endian bytes, with every length checked; and sheets,
//! which are bytes after their length and checksum. Everything between nodes that is not a packet is sent as a sheet.

use crate::view::Addresses;
use scurry_codec::ByteCount;
use scurry_engine::checksum;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Greatest length of a sheet without its header.
const SHEET_LEN_MAX: ByteCount = ByteCount(256 << 10);
/// Bytes of the header of a sheet or a packet: length u32, checksum u32.
pub(super) const FRONT_LEN: usize = 8;

/// A reader that holds the bytes which were not read yet. Its methods return None if too few are left or their value is
/// not valid.
pub(super) struct PacketReader<'a>(pub(super) &'a [u8]);

impl<'a> PacketReader<'a> {
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

    /// Reads an amount of bytes in 64 bits.
    pub(super) fn byte_count(&mut self) -> Option<ByteCount> {
        self.u64().map(ByteCount)
    }

    /// Reads as many bytes as `len` says.
    pub(super) fn slice(&mut self, len: ByteCount) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len.in_memory())?;
        self.0 = rest;
        Some(bytes)
    }

    /// Reads a length and that many bytes.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = ByteCount(self.u32()?.into());
        self.slice(len)
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

/// Appends a length. Callers refuse anything longer than 4 GiB before this.
pub(super) fn put_len(out: &mut Vec<u8>, len: ByteCount) {
    out.extend(u32::try_from(len.get()).unwrap_or(u32::MAX).to_le_bytes());
}

/// Appends the length of these bytes, then the bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, ByteCount::of(bytes));
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
    // A node has at most `u16::MAX` threads.
    out.extend(u16::try_from(addresses.cores.len()).unwrap_or(u16::MAX).to_le_bytes());
    addresses.cores.iter().for_each(|port| out.extend(port.to_le_bytes()));
}

/// Appends a sheet with its header.
pub(super) fn put_sheet(out: &mut Vec<u8>, sheet: &[u8]) {
    put_len(out, ByteCount::of(sheet));
    out.extend(checksum(0, sheet).to_le_bytes());
    out.extend(sheet);
}

/// Reads the next sheet, without its header. Memory grows only as the bytes arrive, so that a false length costs
/// nothing.
pub(super) fn read_sheet(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut front = [0; FRONT_LEN];
    from.read_exact(&mut front)?;
    let Front { len, sum } = Front::decode(front);
    if len > SHEET_LEN_MAX {
        return Err(malformed(format!("{len} bytes, where at most {SHEET_LEN_MAX} can be")));
    }
    let mut sheet = Vec::new();
    from.take(len.get()).read_to_end(&mut sheet)?;
    if ByteCount::of(&sheet) < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    check_sum(sum, checksum(0, &sheet))?;
    Ok(sheet)
}

/// The header of a sheet or a packet.
pub(super) struct Front {
    /// Length of the bytes after the header.
    pub(super) len: ByteCount,
    /// Checksum of these bytes.
    pub(super) sum: u32,
}

impl Front {
    /// Decodes a header.
    pub(super) fn decode(front: [u8; FRONT_LEN]) -> Front {
        let [a, b, c, d, e, f, g, h] = front;
        let len = ByteCount(u32::from_le_bytes([a, b, c, d]).into());
        Front { len, sum: u32::from_le_bytes([e, f, g, h]) }
    }
}

pub(super) fn check_sum(stored: u32, computed: u32) -> io::Result<()> {
    if stored == computed {
        return Ok(());
    }
    Err(malformed(format!("its checksum is {stored:08x} and that of its bytes {computed:08x}")))
}

/// Returns the error for bytes that are not valid. The connection has to be closed.
pub(super) fn malformed(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}
