//! Nchf over HTTP/1.1. Requests in flight on a connection are pipelined, so answers arrive in their order.

use std::collections::VecDeque;

use super::{AnswerHead, BODY_LEN_MAX, Consumer, write};
use crate::resp::Stop;
use crate::wire::{Sink, Step, Translator};

/// Most headers of an answer.
const HEADERS_MAX: usize = 32;

/// State of a connection.
#[derive(Debug, Default)]
pub(in crate::wire) struct NchfHttp1 {
    consumer: Consumer,
    /// Sessions of the requests without an answer, oldest first.
    pending: VecDeque<u32>,
    path: Vec<u8>,
    body: Vec<u8>,
}

impl Translator for NchfHttp1 {
    fn request(&mut self, session: u32, request: &[u8], out: &mut Vec<u8>) {
        self.consumer.request(session, request, &mut self.path, &mut self.body);
        out.extend_from_slice(b"POST ");
        out.extend_from_slice(&self.path);
        out.extend_from_slice(
            b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ",
        );
        write(out, format_args!("{}\r\n\r\n", self.body.len()));
        out.extend_from_slice(&self.body);
        self.pending.push_back(session);
    }

    fn reply(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(usize, Step), Stop> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let start = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Err(Stop::Incomplete),
            Err(_) => return Err(Stop::Malformed),
        };
        let status = response.code.ok_or(Stop::Malformed)?;
        let mut head = AnswerHead { status, ..AnswerHead::default() };
        let mut length = 0;
        for header in response.headers.iter() {
            if header.name.eq_ignore_ascii_case("content-length") {
                let text = str::from_utf8(header.value).map_err(|_| Stop::Malformed)?;
                length = text.trim().parse().map_err(|_| Stop::Malformed)?;
            } else {
                head.field(header.name.to_ascii_lowercase().as_bytes(), header.value);
            }
        }
        if length > BODY_LEN_MAX {
            return Err(Stop::Malformed);
        }
        let body = bytes.get(start..start + length).ok_or(Stop::Incomplete)?;
        let session = self.pending.pop_front().ok_or(Stop::Malformed)?;
        self.consumer.answer(session, &head, body, sink.reply);
        Ok((start + length, Step::Answer(session)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::encode;

    #[test]
    fn answers_belong_to_the_requests_in_their_order() {
        let mut wire = NchfHttp1::default();
        let mut out = Vec::new();
        for session in [3, 9] {
            let words =
                ["SCUR.TERMINATE", "acc:1", "s0000001", "6", "ITEM", "1", "octet", "USED", "7"];
            wire.request(session, &encode(&words), &mut out);
        }
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text.matches("POST /nchf-convergedcharging/v3/chargingdata/none/release HTTP/1.1\r\n")
                .count(),
            2
        );
        let answers = b"HTTP/1.1 204 No Content\r\nDate: x\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}";
        let (mut reply, mut again) = (Vec::new(), Vec::new());
        let mut sink = Sink { reply: &mut reply, again: &mut again };
        assert_eq!(wire.reply(&answers[..20], &mut sink), Err(Stop::Incomplete));
        let first = wire.reply(answers, &mut sink).unwrap();
        assert_eq!(first, (36, Step::Answer(3)));
        assert_eq!(wire.reply(&answers[36..answers.len() - 1], &mut sink), Err(Stop::Incomplete));
        let second = wire.reply(&answers[36..], &mut sink).unwrap();
        assert_eq!(second, (answers.len() - 36, Step::Answer(9)));
        assert!(String::from_utf8(reply).unwrap().ends_with("-NCHF 404 {}\r\n"));
        assert_eq!(
            wire.reply(answers, &mut Sink { reply: &mut vec![], again: &mut again }),
            Err(Stop::Malformed)
        );
    }
}
