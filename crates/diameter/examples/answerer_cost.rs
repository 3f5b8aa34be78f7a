//! Prints what one CCR-U costs, with 1, 4, 8 and 64 services: finding the message, the machine of its connection, reading
//! the request, and writing its answer. Each figure is the median of seven rounds, ns of one core, with the fastest and
//! the slowest round. Run it on an idle machine: `cargo run --release -p scurry-diameter --example answerer_cost`.

use scurry_diameter::ccr::{
    AnswerWriter, CreditControlRequest, RequestHead, RequestType, RequestWriter, Scratch, Service,
    ServiceAnswer, SubscriptionId, SubscriptionKind, Units, UsedUnits,
};
use scurry_diameter::peer::{Admission, Event, Peer, PeerSettings, Start};
use scurry_diameter::{Frame, Message, MessageIds, Origin, ResultCode, command, frame};
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(300);
/// Requests between two looks at the clock.
const BATCH: u32 = 200;
/// Output at which the buffer is emptied, as a door does when it sends, bytes.
const OUT_LEN_MAX: usize = 64 * 1024;

fn main() {
    for services in [1, 4, 8, 64] {
        let request = update(services);
        let mut answerer = Answerer::new();
        let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round(&mut answerer, &request)).collect();
        rounds.sort_by(f64::total_cmp);
        println!(
            "{services:2} services: {:6.0} ns ({:.0} to {:.0}), {} bytes in, {} bytes out",
            rounds[ROUNDS / 2],
            rounds[0],
            rounds[ROUNDS - 1],
            request.len(),
            answerer.answer_len
        );
    }
}

#[expect(clippy::disallowed_methods, reason = "an example that measures reads the clock itself")]
fn round(answerer: &mut Answerer, request: &[u8]) -> f64 {
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < ROUND {
        for _ in 0..BATCH {
            answerer.serve(black_box(request));
        }
        count += BATCH;
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(count)
}

struct Answerer {
    peer: Peer,
    events: Vec<Event>,
    origin: Origin,
    scratch: Scratch,
    out: Vec<u8>,
    answer_len: usize,
}

impl Answerer {
    fn new() -> Answerer {
        let origin = Origin::new("ocs1.charging.example", "charging.example", Some(1));
        let settings = PeerSettings::new(origin.clone()).into_shared();
        let mut capabilities = Vec::new();
        let client = PeerSettings::new(Origin::new("pgw1.core.example", "core.example", None));
        let _ = Peer::connect(client.into_shared(), &Start::default(), &mut capabilities);
        let mut answerer = Answerer {
            peer: Peer::accept(settings, &Start::default()),
            events: Vec::new(),
            origin,
            scratch: Scratch::default(),
            out: Vec::new(),
            answer_len: 0,
        };
        answerer.serve(&capabilities);
        assert!(answerer.peer.is_open(), "capabilities are exchanged");
        answerer
    }

    fn serve(&mut self, bytes: &[u8]) {
        if self.out.len() > OUT_LEN_MAX {
            self.out.clear();
        }
        let Ok(Frame::Message(len)) = frame(bytes, OUT_LEN_MAX) else { return };
        let bytes = &bytes[..len];
        self.events.clear();
        self.peer.on_message(bytes, 0, &mut |_| Admission::Admit, &mut self.out, &mut self.events);
        let [Event::Request(_)] = self.events.as_slice() else { return };
        let Ok(message) = Message::read(bytes) else { return };
        let Ok(request) = CreditControlRequest::read(&message, &mut self.scratch) else { return };
        let head = request.answer_head();
        let mut answer =
            AnswerWriter::begin(&mut self.out, head, &self.origin, ResultCode::SUCCESS);
        for service in request.services.iter() {
            answer.service(&ServiceAnswer {
                granted: Some(Units { total_octets: Some(1_000_000), ..Units::default() }),
                identifiers: service.identifiers,
                rating_group: service.rating_group,
                validity_s: Some(600),
                ..ServiceAnswer::new(ResultCode::SUCCESS)
            });
        }
        self.answer_len = answer.finish();
        self.peer.answer_sent(command::CREDIT_CONTROL);
    }
}

/// Writes a CCR-U as a gateway for packet data sends it.
fn update(services: u32) -> Vec<u8> {
    let head = RequestHead {
        session_id: "pgw1.core.example;1764460800;123456;gy",
        origin_host: "pgw1.core.example",
        origin_realm: "core.example",
        destination_realm: "charging.example",
        service_context_id: "32251@3gpp.org",
        request_type: RequestType::Update,
        request_number: 7,
    };
    let mut out = Vec::new();
    let ids = MessageIds { hop_by_hop: 1, end_to_end: 2 };
    let mut request = RequestWriter::begin(&mut out, ids, &head);
    request.event_time(1_764_460_800);
    for (kind, data) in
        [(SubscriptionKind::Imsi, "001010000000001"), (SubscriptionKind::E164, "15550100")]
    {
        request.subscription(&SubscriptionId { kind, data });
    }
    for rating_group in 1..=services {
        let units = Units {
            total_octets: Some(1_000_000),
            input_octets: Some(400_000),
            output_octets: Some(600_000),
            ..Units::default()
        };
        request.service(&Service {
            requested: Some(Units::default()),
            used: &[UsedUnits { units, ..UsedUnits::default() }],
            rating_group: Some(rating_group),
            reporting_reason: Some(3),
            ..Service::default()
        });
    }
    request.finish();
    out
}
