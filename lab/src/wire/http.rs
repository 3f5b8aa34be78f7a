//! The HTTP door to entities: SET, GET and DEL become PUT, GET and DELETE of an entity, and PING asks whether all
//! servers of the door are ready. For a lower bound, every request may become GET /healthz, which the door answers
//! without a node.

use std::collections::VecDeque;
use std::io::Write;

use anyhow::{Context, Result, ensure};

use super::{Sink, Step, Translator};
use crate::resp::{Stop, words};

/// Most headers of an answer.
const HEADERS_MAX: usize = 32;

/// Most nodes of a quorum: the lab starts no more.
const QUORUM_NODES: u8 = 3;

/// Answers to wait for, out of how many copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorum {
    /// Nodes that must have answered.
    pub ack: u8,
    /// Nodes that store an entity.
    pub from: u8,
}

impl Quorum {
    /// Parses `ack/from`.
    ///
    /// # Errors
    /// When the text has another form, or the numbers are out of range.
    pub fn parse(text: &str) -> Result<Quorum> {
        let wrong = || format!("the quorum `{text}` is not ack/from, as in 2/3");
        let (ack, from) = text.split_once('/').with_context(wrong)?;
        let number = |text: &str| text.parse::<u8>().ok();
        let (ack, from) = (number(ack).with_context(wrong)?, number(from).with_context(wrong)?);
        ensure!(
            1 <= ack && ack <= from && from <= QUORUM_NODES,
            "the quorum `{text}` must be 1 <= ack <= from <= {QUORUM_NODES}"
        );
        Ok(Quorum { ack, from })
    }
}

/// State of a connection.
#[derive(Debug)]
pub(super) struct Http {
    target: HttpTarget,
    /// Requests without an answer, oldest first: answers arrive in that order.
    pending: VecDeque<(u32, RequestKind)>,
}

/// Form of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpTarget {
    /// Requests for entities, with `replicas=ack/from` if given.
    Entities(Option<Quorum>),
    /// GET /healthz for every request.
    Healthz,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestKind {
    Ping,
    Get,
    Put,
    Delete,
    /// Request that the door does not support.
    Unknown,
}

impl Http {
    pub(super) fn new(target: HttpTarget) -> Http {
        Http { target, pending: VecDeque::new() }
    }

    fn quorum(&self) -> String {
        match self.target {
            HttpTarget::Entities(Some(Quorum { ack, from })) => format!("&replicas={ack}/{from}"),
            _ => String::new(),
        }
    }
}

impl Translator for Http {
    fn request(&mut self, session: u32, request: &[u8], out: &mut Vec<u8>) {
        let mut arguments = words(request);
        let asked = match arguments.next().unwrap_or_default() {
            b"PING" => RequestKind::Ping,
            b"GET" => RequestKind::Get,
            b"SET" => RequestKind::Put,
            b"DEL" => RequestKind::Delete,
            _ => RequestKind::Unknown,
        };
        let key = String::from_utf8_lossy(arguments.next().unwrap_or_default());
        let quorum = self.quorum();
        let entity = |method: &str| format!("{method} /v0/entity?id={key}{quorum}");
        let line = match asked {
            RequestKind::Ping => "GET /v0/status".to_owned(),
            RequestKind::Unknown => "GET /v0/nothing".to_owned(),
            _ if self.target == HttpTarget::Healthz => "GET /healthz".to_owned(),
            RequestKind::Get => entity("GET"),
            RequestKind::Put => entity("PUT"),
            RequestKind::Delete => entity("DELETE"),
        };
        write!(out, "{line} HTTP/1.1\r\nHost: localhost\r\n").expect("a vector takes every byte");
        match arguments.next().filter(|_| line.starts_with("PUT")) {
            Some(value) => {
                write!(out, "Content-Length: {}\r\n\r\n", value.len())
                    .expect("a vector takes every byte");
                out.extend_from_slice(value);
            }
            None => out.extend_from_slice(b"\r\n"),
        }
        self.pending.push_back((session, asked));
    }

    fn reply(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(usize, Step), Stop> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let head = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Err(Stop::Incomplete),
            Err(_) => return Err(Stop::Malformed),
        };
        let length = response
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case("content-length"))
            .map_or(Some(0), |header| str::from_utf8(header.value).ok()?.trim().parse().ok())
            .ok_or(Stop::Malformed)?;
        let end = head.checked_add(length).ok_or(Stop::Malformed)?;
        let body = bytes.get(head..end).ok_or(Stop::Incomplete)?;
        let status = response.code.ok_or(Stop::Malformed)?;
        let (session, asked) = self.pending.pop_front().ok_or(Stop::Malformed)?;
        let is_static = self.target == HttpTarget::Healthz && status == 200;
        match (asked, status) {
            (RequestKind::Ping, 200) if all_are_ready(body) => {
                sink.reply.extend_from_slice(b"+PONG\r\n");
            }
            (RequestKind::Get | RequestKind::Put | RequestKind::Delete, _) if is_static => {
                sink.reply.extend_from_slice(b"+OK\r\n");
            }
            (RequestKind::Get, 200) => {
                write!(sink.reply, "${length}\r\n").expect("a vector takes every byte");
                sink.reply.extend_from_slice(body);
                sink.reply.extend_from_slice(b"\r\n");
            }
            (RequestKind::Get, 404) => sink.reply.extend_from_slice(b"$-1\r\n"),
            (RequestKind::Put, 201) => sink.reply.extend_from_slice(b"+OK\r\n"),
            (RequestKind::Delete, 202) => sink.reply.extend_from_slice(b":1\r\n"),
            _ => {
                write!(sink.reply, "-HTTP {status} ").expect("a vector takes every byte");
                sink.reply.extend(body.iter().map(|&byte| if byte < b' ' { b' ' } else { byte }));
                sink.reply.extend_from_slice(b"\r\n");
            }
        }
        Ok((end, Step::Answer(session)))
    }
}

/// Reports whether all servers are ready, and not only a majority, from the answer to /v0/status.
fn all_are_ready(body: &[u8]) -> bool {
    let status: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let nodes = status.as_ref().and_then(|status| status["nodes"].as_array());
    nodes.is_some_and(|nodes| nodes.iter().all(|node| node["state"] == "ready"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::encode;

    fn asked(http: &mut Http, words: &[&str]) -> String {
        let mut out = Vec::new();
        http.request(7, &encode(words), &mut out);
        String::from_utf8(out).unwrap()
    }

    fn answered(http: &mut Http, text: &str) -> Result<String, Stop> {
        let (mut reply, mut again) = (Vec::new(), Vec::new());
        let mut sink = Sink { reply: &mut reply, again: &mut again };
        let (length, step) = http.reply(text.as_bytes(), &mut sink)?;
        assert_eq!((length, step), (text.len(), Step::Answer(7)));
        Ok(String::from_utf8(reply).unwrap())
    }

    #[test]
    fn entities_are_put_got_and_deleted() {
        let quorum = Quorum { ack: 2, from: 3 };
        let mut http = Http::new(HttpTarget::Entities(Some(quorum)));
        let line = "PUT /v0/entity?id=k&replicas=2/3 HTTP/1.1\r\nHost: localhost\r\n";
        assert_eq!(
            asked(&mut http, &["SET", "k", "blue"]),
            format!("{line}Content-Length: 4\r\n\r\nblue")
        );
        let created = "HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(answered(&mut http, created).unwrap(), "+OK\r\n");
        assert!(asked(&mut http, &["GET", "k"]).starts_with("GET /v0/entity?id=k&replicas=2/3 "));
        let found = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nblue";
        for split in 0..found.len() {
            assert_eq!(answered(&mut http, &found[..split]), Err(Stop::Incomplete));
        }
        assert_eq!(answered(&mut http, found).unwrap(), "$4\r\nblue\r\n");
        asked(&mut http, &["GET", "k"]);
        let none = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(answered(&mut http, none).unwrap(), "$-1\r\n");
        asked(&mut http, &["DEL", "k"]);
        let deleted = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(answered(&mut http, deleted).unwrap(), ":1\r\n");
    }

    #[test]
    fn what_is_not_enough_is_an_error() {
        let mut http = Http::new(HttpTarget::Entities(None));
        asked(&mut http, &["SET", "k", "v"]);
        let short = "HTTP/1.1 504 Gateway Timeout\r\ncontent-length: 8\r\n\r\n1 of\r\n 2";
        assert_eq!(answered(&mut http, short).unwrap(), "-HTTP 504 1 of   2\r\n");
        for (state, expected) in [("ready", "+PONG"), ("not ready", "-HTTP 200")] {
            asked(&mut http, &["PING"]);
            let body = format!(r#"{{"nodes":[{{"state":"ready"}},{{"state":"{state}"}}]}}"#);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            assert!(answered(&mut http, &(head + &body)).unwrap().starts_with(expected));
        }
        let unasked = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(answered(&mut http, unasked), Err(Stop::Malformed));
    }

    #[test]
    fn the_rung_below_asks_for_the_same_page_whatever_is_asked() {
        let mut http = Http::new(HttpTarget::Healthz);
        assert!(asked(&mut http, &["SET", "k", "v"]).starts_with("GET /healthz HTTP/1.1\r\n"));
        let ok = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok\n";
        assert_eq!(answered(&mut http, ok).unwrap(), "+OK\r\n");
    }
}
