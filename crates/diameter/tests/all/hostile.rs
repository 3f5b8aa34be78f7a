//! Bytes that no client should send: every prefix, lengths that lie, and valid messages with changed bytes.

use crate::support::{
    HEAD, avp, origin, refused, request_of, text, update, with_avp, with_len, with_request,
};
use scurry_diameter::ccr::{
    CreditControlRequest, Money, RequestedAction, Scratch, Service, SubscriptionId,
    SubscriptionKind, Triggers, Units, UsedUnits,
};
use scurry_diameter::{
    Attribute, ClientAnswer, Frame, FrameFault, Message, ServerRequest, frame, write_refusal,
};

/// Writes a request with everything that is read.
fn full() -> Vec<u8> {
    let mut bytes = request_of(&HEAD, |request| {
        request.action(RequestedAction::CheckBalance);
        request.event_time(1_764_460_800);
        let id = |kind, data| SubscriptionId { kind, data };
        request.subscription(&id(SubscriptionKind::E164, "15550100"));
        request.subscription(&id(SubscriptionKind::Other(9), "x"));
        let writer = request.writer();
        writer.u32(Attribute::base(455), 1);
        writer.u32(Attribute::base(295), 1);
        writer.u64(Attribute::base(419), 1 << 40);
        writer.bytes(Attribute::base(411), b"id");
        let mut triggers = Triggers::default();
        triggers.add(3);
        triggers.add(127);
        let units = Units {
            money: Some(Money { digits: i64::MIN, exponent: i32::MAX, currency: Some(1) }),
            total_octets: Some(i64::MAX.unsigned_abs()),
            ..Units::default()
        };
        let used =
            [UsedUnits { units, tariff_change_usage: Some(1), reporting_reason: Some(2) }; 3];
        for count in 0..=3 {
            let service = Service {
                requested: Some(units),
                used: &used[..count],
                identifiers: &[1, 2, 3][..count],
                rating_group: Some(8),
                triggers,
                refund_information: &b"refund"[..count],
                ..Service::default()
            };
            request.service(&service);
            if count == 1 {
                request.outside(&service);
            }
        }
    });
    for attribute in [Attribute::base(284), Attribute::base(282), Attribute::base(284)] {
        bytes = with_avp(&bytes, &avp(attribute, &avp(Attribute::base(33), b"s")));
    }
    with_avp(&bytes, &avp(Attribute::tgpp(873), &avp(Attribute::tgpp(874), &[])))
}

/// Reads bytes in every way. If they are a request, it is the same after it was written and read again.
fn try_all(bytes: &[u8], scratch: &mut Scratch) -> Option<String> {
    let message = Message::read(bytes).ok()?;
    let _ = ClientAnswer::read(&message);
    let _ = ServerRequest::read(&message);
    match CreditControlRequest::read(&message, scratch) {
        Ok(mut request) => {
            // Reserved flags are not written.
            request.header.flags.0 &= 0xf0;
            let mut written = Vec::new();
            request.write(&mut written);
            let message = Message::read(&written).expect("a message");
            let mut own = Scratch::default();
            let again = CreditControlRequest::read(&message, &mut own).expect("a request");
            // Pools are not written either.
            let text = format!("{request:?}").replace("is_pooled: true", "is_pooled: false");
            assert_eq!(format!("{again:?}"), text);
            Some(text)
        }
        Err(refusal) => {
            let mut out = Vec::new();
            write_refusal(&mut out, &message, &origin(), &refusal);
            let answer = Message::read(&out).expect("an answer is a message");
            assert!(answer.avps().all(|avp| avp.is_ok()), "{refusal}");
            None
        }
    }
}

#[test]
fn a_full_request_is_written_as_it_was_read() {
    let text = try_all(&full(), &mut Scratch::default()).expect("a request");
    for part in ["CheckBalance", "15550100", "Other(9)", "used: [UsedUnits", "1764460800"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn every_prefix_is_cut_or_refused() {
    for bytes in [full(), update(2)] {
        for len in 0..bytes.len() {
            let prefix = &bytes[..len];
            assert!(matches!(frame(prefix, 65_536), Ok(Frame::Needs(_))), "{len}");
            let fault = Message::read(prefix).expect_err("it is cut");
            assert_eq!(fault, FrameFault::Cut(len));
            // The same prefix with a header that fits.
            if len >= 20 && len.is_multiple_of(4) {
                try_all(&with_len(prefix.to_vec()), &mut Scratch::default());
            }
        }
        with_request(&bytes, |read| assert!(read.is_ok()));
        let longer = [&bytes[..], &[0]].concat();
        let fault = Message::read(&longer).expect_err("a byte too many");
        assert_eq!(fault, FrameFault::Cut(longer.len()));
    }
}

#[test]
fn an_avp_that_claims_16_mib_is_refused() {
    let huge = [0, 0, 1, 0xc8, 0x40, 0xff, 0xff, 0xff];
    assert_eq!(refused(&with_avp(&update(1), &huge)), (5014, Some((456, 0))));
    let group = avp(Attribute::base(456), &huge);
    assert_eq!(refused(&with_avp(&update(1), &group)), (5014, Some((456, 0))));
}

#[test]
fn the_failed_avp_of_a_lie_is_an_example() {
    let bytes = with_avp(&update(0), &[0, 0, 1, 0xb0, 0x40, 0, 0, 99]);
    let mut out = Vec::new();
    with_request(&bytes, |read| {
        let refusal = read.expect_err("it is refused");
        write_refusal(&mut out, &Message::read(&bytes).expect("a message"), &origin(), &refusal);
    });
    assert!(text(&out).ends_with("Failed-AVP={ Rating-Group=0 }"), "{}", text(&out));
}

#[test]
fn groups_a_hundred_deep_are_refused_where_they_are_read() {
    let mut nested = Vec::new();
    for _ in 0..100 {
        nested = avp(Attribute::base(456), &nested);
    }
    // A service within a service is not read, so it is passed over.
    with_request(&with_avp(&update(0), &nested), |read| assert!(read.is_ok()));
    assert_eq!(
        refused(&with_avp(&update(0), &avp(Attribute::base(437), &avp(Attribute::base(413), &[])))),
        (5005, Some((445, 0)))
    );
}

/// A generator (xorshift) whose seed is one number.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end.max(1)
    }
}

#[test]
fn changed_messages_are_read_the_same_again_or_refused() {
    let mut random = Random(0x5eed);
    let seeds = [full(), update(1), update(3)];
    let mut scratch = Scratch::default();
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..60_000 {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = u8::try_from(random.below(256)).expect("a byte"),
                1 => bytes[at] ^= 1 << random.below(8),
                2 => drop(bytes.drain(at..bytes.len().min(at + 4))),
                _ => {
                    let end = bytes.len().min(at + 4 * random.below(8));
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
            }
        }
        if random.below(8) > 0 && bytes.len() >= 20 {
            bytes = with_len(bytes);
        }
        match try_all(&bytes, &mut scratch) {
            Some(_) => accepted += 1,
            None => refused += 1,
        }
    }
    assert!(accepted > 5_000 && refused > 5_000, "{accepted} accepted, {refused} refused");
}
