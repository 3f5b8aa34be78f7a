//! Hop-by-hop and end-to-end identifiers of our own requests: RFC 6733, 3.

use crate::header::MessageIds;

/// What a connection begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The host's time, ms; the same clock as in all later calls.
    pub now_ms: u64,
    /// Jitter of the watchdog, ms, at random from -2,000 to 2,000.
    pub jitter_ms: i64,
    /// Seconds of the wall clock, for end-to-end identifiers.
    pub wall_s: u64,
    /// Random bits, for both kinds of identifiers.
    pub random: u64,
}

/// The identifiers of the next request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    next: MessageIds,
}

impl Ids {
    /// Begins: the hop-by-hop identifier at random, the end-to-end identifier with the low 12 bits of the time above 20
    /// random bits, so that it stays unique over a restart.
    pub(super) fn new(start: &Start) -> Ids {
        let bytes = start.random.to_be_bytes();
        let hop_by_hop = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let low = u32::from_be_bytes([0, bytes[5] & 0x0f, bytes[6], bytes[7]]);
        let wall = start.wall_s.to_be_bytes();
        let high = u32::from_be_bytes([0, 0, wall[6] & 0x0f, wall[7]]) << 20;
        Ids { next: MessageIds { hop_by_hop, end_to_end: high | low } }
    }

    pub(super) fn next(&mut self) -> MessageIds {
        let ids = self.next;
        self.next.hop_by_hop = ids.hop_by_hop.wrapping_add(1);
        self.next.end_to_end = ids.end_to_end.wrapping_add(1);
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_time_and_random_bits_and_count_up() {
        let start =
            Start { wall_s: 0x1234_5678, random: 0xffff_ffff_fff1_2345, ..Start::default() };
        let mut ids = Ids::new(&start);
        let first = MessageIds { hop_by_hop: u32::MAX, end_to_end: 0x6781_2345 };
        assert_eq!(ids.next(), first);
        assert_eq!(ids.next(), MessageIds { hop_by_hop: 0, end_to_end: 0x6781_2346 });
    }
}
