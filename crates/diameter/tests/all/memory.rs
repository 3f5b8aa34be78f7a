//! A request and its answer allocate nothing when the buffers have been used before.

use crate::support::{origin, update};
use scurry_diameter::ccr::{AnswerWriter, CreditControlRequest, Scratch, ServiceAnswer};
use scurry_diameter::{Message, ResultCode};

#[test]
fn a_request_and_its_answer_allocate_nothing() {
    let (request, origin) = (update(8), origin());
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    let mut answered = 0;
    let mut serve = |out: &mut Vec<u8>| {
        let message = Message::read(&request).expect("a message");
        let request = CreditControlRequest::read(&message, &mut scratch).expect("a request");
        let head = request.answer_head();
        let mut answer = AnswerWriter::begin(out, head, &origin, ResultCode::SUCCESS);
        for service in request.services.iter() {
            answer.service(&ServiceAnswer {
                granted: service.used.first().map(|used| used.units),
                rating_group: service.rating_group,
                ..ServiceAnswer::new(ResultCode::SUCCESS)
            });
            answered += 1;
        }
        answer.finish();
        out.clear();
    };
    serve(&mut out);
    let counted = allocation_counter::measure(|| serve(&mut out));
    assert_eq!((counted.count_total, answered), (0, 16));
}
