//! Packets, which nodes send after the greeting: a message of a shard's replica with the frames of its entries, a part
//! of a snapshot, a clock, a health, a digest of memory, or a commit. docs/formats/between-nodes.md has the bytes.

use super::bytes::{FRONT_LEN, Front, check_sum, malformed, put_len};
use scurry_codec::ByteCount;
use scurry_engine::checksum;
use std::io::{self, IoSlice, Read, Write};
use std::sync::Arc;

/// Greatest length of a packet without its header: one frame with the longest transaction, and some more.
pub(super) const PACKET_LEN_MAX: ByteCount = ByteCount(80 << 20);
/// Most frames in a packet.
pub(super) const BODIES_MAX: usize = 4096;
/// What a packet is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A message of a replica, with frames.
    Replica,
    /// A message about a snapshot, with bytes of it.
    CatchUp,
    /// The time of the sender's wall clock.
    Clock,
    /// The sender's health.
    Health,
    /// The sum of a part of the sender's memory.
    Digest,
    /// What the sender has committed as the leader.
    Committed,
}

impl Subject {
    pub(super) fn number(self) -> u8 {
        match self {
            Subject::Replica => 1,
            Subject::CatchUp => 2,
            Subject::Clock => 3,
            Subject::Health => 4,
            Subject::Digest => 5,
            Subject::Committed => 6,
        }
    }

    fn from_number(number: u8) -> Option<Subject> {
        use Subject::{CatchUp, Clock, Committed, Digest, Health, Replica};
        let all = [Replica, CatchUp, Clock, Health, Digest, Committed];
        all.into_iter().find(|subject| subject.number() == number)
    }
}
/// Bytes between the header and the lengths of the bodies: kind u8, shard u16, length of the message u32, number of
/// bodies u32.
const FIXED_LEN: ByteCount = ByteCount(1 + 2 + 4 + 4);
/// Bytes of the length of a body.
const BODY_LEN_LEN: usize = 4;

/// A message, with the frames that it describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) subject: Subject,
    /// The shard that the message is about.
    pub(crate) shard: u16,
    /// The encoded message: one of `scurry_consensus::replica`, a [`CatchUp`](super::CatchUp), a time, a health, a
    /// digest, or a commit.
    pub(crate) message: Vec<u8>,
    /// The frames of the message's entries, in their order, or bytes of a snapshot.
    pub(crate) bodies: Vec<Arc<Vec<u8>>>,
}

impl Packet {
    /// Returns its length on the wire, without the header.
    pub(super) fn len(&self) -> ByteCount {
        self.head_len() + self.bodies.iter().map(|body| ByteCount::of(body)).sum()
    }

    /// Returns the length of what is sent between the header and the bodies.
    fn head_len(&self) -> ByteCount {
        let lens = ByteCount((BODY_LEN_LEN * self.bodies.len()) as u64);
        FIXED_LEN + lens + ByteCount::of(&self.message)
    }

    /// Reports whether it is within the limits, so that the other side accepts it.
    pub(super) fn is_sendable(&self) -> bool {
        self.bodies.len() <= BODIES_MAX && self.len() <= PACKET_LEN_MAX
    }

    /// Returns its bytes before the bodies, including the header. The bodies are not copied.
    fn head(&self) -> Vec<u8> {
        let mut head = Vec::with_capacity(FRONT_LEN + self.head_len().in_memory());
        put_len(&mut head, self.len());
        head.extend([0; 4]);
        head.push(self.subject.number());
        head.extend(self.shard.to_le_bytes());
        put_len(&mut head, ByteCount::of(&self.message));
        head.extend(u32::try_from(self.bodies.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.bodies.iter().for_each(|body| put_len(&mut head, ByteCount::of(body)));
        head.extend(&self.message);
        let sum = checksum(0, &head[FRONT_LEN..]);
        let sum = self.bodies.iter().fold(sum, |sum, body| checksum(sum, body));
        head[4..FRONT_LEN].copy_from_slice(&sum.to_le_bytes());
        head
    }
}

/// Writes packets in order, with as few system calls as possible.
pub(super) fn write_packets(packets: &[Packet], to: &mut impl Write) -> io::Result<()> {
    let heads: Vec<Vec<u8>> = packets.iter().map(Packet::head).collect();
    let mut slices = Vec::new();
    for (packet, head) in packets.iter().zip(&heads) {
        slices.push(IoSlice::new(head));
        slices.extend(packet.bodies.iter().map(|body| IoSlice::new(body)));
    }
    let mut slices = &mut slices[..];
    // This skips empty slices at the beginning. Writing only those would return 0, which looks like the end of the
    // connection.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match to.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(len) => IoSlice::advance_slices(&mut slices, len),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    to.flush()
}

/// Reads the next packet. None if the connection ends before one begins.
pub(super) fn read_packet(from: &mut impl Read) -> io::Result<Option<Packet>> {
    let mut front = [0; FRONT_LEN];
    let mut had = 0;
    while had < FRONT_LEN {
        match from.read(&mut front[had..]) {
            Ok(0) if had == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => had += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let Front { len, sum: stored } = Front::decode(front);
    let mut part = PacketPart { from, left: len, sum: 0 };
    if !(FIXED_LEN..=PACKET_LEN_MAX).contains(&part.left) {
        return Err(malformed(format!(
            "a packet of {len} bytes, where {FIXED_LEN} to {PACKET_LEN_MAX} can be"
        )));
    }
    let kind = part.array::<1>()?[0];
    let subject = Subject::from_number(kind).ok_or_else(|| {
        malformed(format!("a packet of kind {kind}, which this release does not know"))
    })?;
    let shard = u16::from_le_bytes(part.array()?);
    let (message_len, count) = (part.length()?, part.count()?);
    if count > BODIES_MAX {
        return Err(malformed(format!(
            "a packet of {count} frames, where at most {BODIES_MAX} can be"
        )));
    }
    let lens: Vec<ByteCount> = (0..count).map(|_| part.length()).collect::<io::Result<_>>()?;
    let message = part.bytes(message_len)?;
    let bodies = lens.into_iter().map(|len| part.bytes(len).map(Arc::new));
    let bodies = bodies.collect::<io::Result<_>>()?;
    if part.left > ByteCount(0) {
        return Err(malformed(format!("a packet with {} bytes behind its last frame", part.left)));
    }
    check_sum(stored, part.sum)?;
    Ok(Some(Packet { subject, shard, message, bodies }))
}

/// The rest of a packet that is being read.
struct PacketPart<'a, R> {
    from: &'a mut R,
    left: ByteCount,
    /// Checksum of the bytes that were read.
    sum: u32,
}

impl<R: Read> PacketPart<'_, R> {
    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.from.read_exact(bytes)?;
        self.left -= ByteCount::of(bytes);
        self.sum = checksum(self.sum, bytes);
        Ok(())
    }

    /// Returns an error if fewer bytes are left than `len`.
    fn need(&self, len: ByteCount) -> io::Result<()> {
        if len <= self.left {
            return Ok(());
        }
        Err(malformed(format!("{len} bytes in a packet that has only {} more", self.left)))
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.need(ByteCount::of(&bytes))?;
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn length(&mut self) -> io::Result<ByteCount> {
        Ok(ByteCount(u32::from_le_bytes(self.array()?).into()))
    }

    /// Reads a number of bodies, which is checked before anything is allocated for them.
    fn count(&mut self) -> io::Result<usize> {
        Ok(usize::try_from(u32::from_le_bytes(self.array()?)).unwrap_or(usize::MAX))
    }

    fn bytes(&mut self, len: ByteCount) -> io::Result<Vec<u8>> {
        self.need(len)?;
        let mut bytes = vec![0; len.in_memory()];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets() -> Vec<Packet> {
        let body = |byte, len| Arc::new(vec![byte; len]);
        vec![
            Packet { subject: Subject::Replica, shard: 0, message: Vec::new(), bodies: Vec::new() },
            Packet {
                subject: Subject::Replica,
                shard: 7,
                message: vec![1; 40],
                bodies: vec![body(2, 70_000), body(3, 0)],
            },
            Packet {
                subject: Subject::Replica,
                shard: u16::MAX,
                message: vec![4],
                bodies: vec![body(5, 1); BODIES_MAX],
            },
        ]
    }

    fn bytes_of(packets: &[Packet]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_packets(packets, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn packets_come_back_one_behind_another() {
        let bytes = bytes_of(&packets());
        let mut from = &bytes[..];
        for packet in packets() {
            assert!(packet.is_sendable());
            assert_eq!(read_packet(&mut from).unwrap(), Some(packet));
        }
        assert_eq!(read_packet(&mut from).unwrap(), None, "the end in front of a packet");
    }

    /// A writer that accepts few bytes at a time, as a socket does whose buffer is nearly full.
    struct NarrowWriter(Vec<u8>);

    impl Write for NarrowWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let len = bytes.len().min(5);
            self.0.extend(&bytes[..len]);
            Ok(len)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_sink_that_takes_little_gets_all() {
        let mut sink = NarrowWriter(Vec::new());
        write_packets(&packets(), &mut sink).unwrap();
        assert_eq!(sink.0, bytes_of(&packets()));
    }

    #[test]
    fn no_part_of_a_packet_is_one_and_no_byte_may_change() {
        let packet = Packet {
            subject: Subject::Replica,
            shard: 3,
            message: vec![9; 20],
            bodies: vec![Arc::new(vec![8; 30])],
        };
        let bytes = bytes_of(std::slice::from_ref(&packet));
        for len in 1..bytes.len() {
            let error = read_packet(&mut &bytes[..len]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{len} bytes");
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0x41;
            assert!(read_packet(&mut &other[..]).is_err(), "the byte at {at}");
        }
    }

    /// Returns the error of a packet in which these bytes were replaced.
    fn error_with(at: usize, bytes: &[u8]) -> String {
        let mut all = bytes_of(&[Packet {
            subject: Subject::Replica,
            shard: 3,
            message: vec![9; 20],
            bodies: Vec::new(),
        }]);
        all[at..at + bytes.len()].copy_from_slice(bytes);
        let error = read_packet(&mut &all[..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        error.to_string()
    }

    #[test]
    fn what_cannot_be_is_refused_before_it_is_read() {
        for (at, value, words) in [
            (0, u32::MAX, "4294967295 bytes"),
            (0, 3, "a packet of 3 bytes"),
            (8, 0x0203_0307, "kind 7"),
            (11, u32::MAX, "4294967295 bytes in a packet that has only"),
            (15, 4097, "4097 frames"),
            (11, 19, "1 bytes behind its last frame"),
        ] {
            let error = error_with(at, &u32::to_le_bytes(value));
            assert!(error.contains(words), "{error}");
        }
        let long = Arc::new(vec![0; PACKET_LEN_MAX.in_memory()]);
        let packet =
            Packet { subject: Subject::Replica, shard: 0, message: Vec::new(), bodies: vec![long] };
        assert!(!packet.is_sendable(), "nobody would take it");
    }
}
