//! The 20 bytes that begin a message: RFC 6733, 3.

/// Length of the header, bytes.
pub const HEADER_LEN: usize = 20;
/// The one version of Diameter.
pub(crate) const VERSION: u8 = 1;

/// Command codes that this crate knows.
pub mod command {
    /// Capabilities-Exchange.
    pub const CAPABILITIES_EXCHANGE: u32 = 257;
    /// Re-Auth.
    pub const RE_AUTH: u32 = 258;
    /// Credit-Control (RFC 8506).
    pub const CREDIT_CONTROL: u32 = 272;
    /// Abort-Session.
    pub const ABORT_SESSION: u32 = 274;
    /// Device-Watchdog.
    pub const DEVICE_WATCHDOG: u32 = 280;
    /// Disconnect-Peer.
    pub const DISCONNECT_PEER: u32 = 282;
}

/// Application ids that this crate knows.
pub mod application {
    /// The commands between peers.
    pub const BASE: u32 = 0;
    /// Credit control (RFC 8506), which Ro and Gy use.
    pub const CREDIT_CONTROL: u32 = 4;
    /// A relay, which forwards any application.
    pub const RELAY: u32 = 0xffff_ffff;
}

/// Flags of a message. Reserved bits are kept as they were received, and are written as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// R: the message is a request.
    pub const REQUEST: u8 = 0x80;
    /// P: the message may be proxied.
    pub const PROXIABLE: u8 = 0x40;
    /// E: the message is an answer with a protocol error.
    pub const ERROR: u8 = 0x20;
    /// T: the message may have been sent before.
    pub const RETRANSMITTED: u8 = 0x10;

    /// Flags of a request of an application.
    pub const PROXIABLE_REQUEST: Flags = Flags(0xc0);

    /// Reports whether the message is a request.
    #[must_use]
    pub const fn is_request(self) -> bool {
        self.0 & Flags::REQUEST != 0
    }

    /// Reports whether the message may be proxied.
    #[must_use]
    pub const fn is_proxiable(self) -> bool {
        self.0 & Flags::PROXIABLE != 0
    }

    /// Reports whether the message is an answer with a protocol error.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0 & Flags::ERROR != 0
    }

    /// Reports whether the message may have been sent before, over another connection.
    #[must_use]
    pub const fn is_retransmitted(self) -> bool {
        self.0 & Flags::RETRANSMITTED != 0
    }

    /// Returns the flags of an answer to a request with these flags.
    #[must_use]
    pub const fn of_answer(self, protocol_error: bool) -> Flags {
        let error = if protocol_error { Flags::ERROR } else { 0 };
        Flags(self.0 & Flags::PROXIABLE | error)
    }
}

/// The two numbers that identify a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageIds {
    /// The number by which one hop matches an answer with its request.
    pub hop_by_hop: u32,
    /// The number by which the receiver finds a request that was sent twice.
    pub end_to_end: u32,
}

/// The header of a message, without its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Flags.
    pub flags: Flags,
    /// Command code, 24 bits.
    pub command: u32,
    /// Application id.
    pub application: u32,
    /// The number by which one hop matches an answer with its request.
    pub hop_by_hop: u32,
    /// The number by which the receiver finds a request that was sent twice.
    pub end_to_end: u32,
}

impl Header {
    /// Reads a header. Version and length are not looked at: [`crate::frame()`] has checked them.
    #[must_use]
    pub fn read(bytes: &[u8; HEADER_LEN]) -> Header {
        let word = |at: usize| u32::from_be_bytes(std::array::from_fn(|i| bytes[at + i]));
        Header {
            flags: Flags(bytes[4]),
            command: word(4) & 0x00ff_ffff,
            application: word(8),
            hop_by_hop: word(12),
            end_to_end: word(16),
        }
    }

    /// Returns the bytes of the header of a message of `len` bytes. Reserved flags are 0.
    #[must_use]
    pub fn encode(&self, len: u32) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(&(len & 0x00ff_ffff).to_be_bytes());
        bytes[0] = VERSION;
        bytes[4..8].copy_from_slice(&(self.command & 0x00ff_ffff).to_be_bytes());
        bytes[4] = self.flags.0 & 0xf0;
        bytes[8..12].copy_from_slice(&self.application.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.hop_by_hop.to_be_bytes());
        bytes[16..].copy_from_slice(&self.end_to_end.to_be_bytes());
        bytes
    }

    /// Returns the header of the answer to this request.
    #[must_use]
    pub const fn answer(&self, protocol_error: bool) -> Header {
        Header { flags: self.flags.of_answer(protocol_error), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; HEADER_LEN] = [
        1, 0, 1, 0x2c, 0xd0, 0, 1, 0x10, 0, 0, 0, 4, 0x11, 0x22, 0x33, 0x44, 0xaa, 0xbb, 0xcc, 0xdd,
    ];

    #[test]
    fn a_header_has_the_bytes_of_the_standard() {
        let header = Header::read(&BYTES);
        assert_eq!(
            header,
            Header {
                flags: Flags(0xd0),
                command: command::CREDIT_CONTROL,
                application: application::CREDIT_CONTROL,
                hop_by_hop: 0x1122_3344,
                end_to_end: 0xaabb_ccdd,
            }
        );
        assert_eq!(header.encode(300), BYTES);
    }

    #[test]
    fn an_answer_keeps_the_p_flag_and_loses_the_t_flag() {
        for (flags, error, expected) in
            [(0xd0, false, 0x40), (0xd0, true, 0x60), (0x80, false, 0), (0x8f, true, 0x20)]
        {
            assert_eq!(Flags(flags).of_answer(error), Flags(expected));
        }
    }

    #[test]
    fn reserved_flags_are_read_and_not_written() {
        let mut bytes = BYTES;
        bytes[4] = 0xcf;
        let header = Header::read(&bytes);
        assert!(header.flags.is_request() && header.flags.is_proxiable());
        assert!(!header.flags.is_error() && !header.flags.is_retransmitted());
        assert_eq!(header.encode(300)[4], 0xc0);
    }
}
