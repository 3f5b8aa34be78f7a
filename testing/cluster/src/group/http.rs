//! A client that charges over HTTP, through the door of one node after another. A request is repeated with its
//! Idempotency-Key until an answer says what became of it.

use super::client::ClientAddress;
use crate::route::{Answered, Ask, ClientCounts, Signals, TRY_EVERY};
use anyhow::{Context, Result, bail};
use scurry_conformance::Value;
use scurry_crash::wire::RequestWords;
use serde_json::Value as Json;
use std::time::Duration;

/// Doors that have done nothing, and those that do not know the outcome, answer with these.
const UNCLEAR: [u16; 2] = [503, 504];

/// A client of the doors. It knows debits alone.
pub(crate) struct HttpRoute {
    doors: Vec<ClientAddress>,
    next: usize,
    patience: Duration,
    seen: ClientCounts,
}

impl HttpRoute {
    /// Makes a client that begins with the door `first`.
    pub(crate) fn new(doors: Vec<ClientAddress>, first: usize, patience: Duration) -> HttpRoute {
        HttpRoute { doors, next: first, patience, seen: ClientCounts::default() }
    }

    /// Sends a request once. None if its outcome is not known.
    fn send(&self, request: &str) -> Option<HttpAnswer> {
        let door = &self.doors[self.next];
        let mut stream = door.dial(self.patience).ok()?;
        let host = format!("Host: {}\r\n", door.name());
        stream.write_all(request.replacen("\r\n", &format!("\r\n{host}"), 1).as_bytes()).ok()?;
        stream.flush().ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        HttpAnswer::read(&answer).filter(|answer| !UNCLEAR.contains(&answer.status))
    }
}

impl Ask for HttpRoute {
    fn ask(&mut self, _: &str, request: &RequestWords, signals: &Signals) -> Result<Answered> {
        let request = debit(request)?;
        loop {
            if let Some(answer) = self.send(&request) {
                self.seen.answered();
                signals.answered();
                self.seen.replayed += u64::from(answer.is_replayed);
                let reply = answer.into_value()?;
                // The door itself repeats a request when it has lost the leader.
                return Ok(Answered { reply, earlier: Vec::new(), again: true });
            }
            self.next = (self.next + 1) % self.doors.len();
            signals.go_on()?;
            self.seen.resent += 1;
            std::thread::sleep(TRY_EVERY); // tidy: allow (a group says nothing when it is ready again)
        }
    }

    fn seen(&mut self) -> &mut ClientCounts {
        &mut self.seen
    }
}

/// Returns the HTTP request of a SCUR.DEBIT, without the host.
fn debit(request: &RequestWords) -> Result<String> {
    let words: Vec<_> = request.iter().map(|word| String::from_utf8_lossy(word)).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let ["SCUR.DEBIT", account, txn, unit, amount] = words[..] else {
        bail!("it is no debit: {words:?}");
    };
    let body = format!(r#"{{"unit":"{unit}","amount":{amount}}}"#);
    Ok(format!(
        "POST /v1/accounts/{account}/debits HTTP/1.1\r\nConnection: close\r\nIdempotency-Key: {txn}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))
}

/// An answer of a door.
#[derive(Debug)]
struct HttpAnswer {
    status: u16,
    is_replayed: bool,
    body: Json,
}

impl HttpAnswer {
    /// Reads a whole answer. None if a part of it is missing.
    fn read(answer: &str) -> Option<HttpAnswer> {
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let head = head.to_ascii_lowercase();
        let is_replayed = head.contains("\r\nidempotency-replayed: true");
        let body = serde_json::from_str(body).ok()?;
        Some(HttpAnswer { status, is_replayed, body })
    }

    /// Returns the reply that RESP gives to the same request.
    fn into_value(self) -> Result<Value> {
        let HttpAnswer { status, is_replayed, body } = self;
        if status != 200 {
            return Ok(Value::Error(format!("{} {status}: {body}", body["code"])));
        }
        let number = |name: &str| {
            let number = body[name].as_i64().with_context(|| format!("no {name} in {body}"));
            number.map(|number| Value::Int(number.into()))
        };
        let ok = Value::Word(b"OK".to_vec());
        let replayed = Value::Int(is_replayed.into());
        Ok(Value::Array(vec![ok, replayed, number("version")?, number("amount")?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_crash::wire::words;

    #[test]
    fn an_answer_is_what_resp_says() {
        let read = |head: &str, body: &str| {
            let answer = HttpAnswer::read(&format!("HTTP/1.1 {head}\r\n\r\n{body}"))?;
            Some(answer.into_value().expect("an answer").to_string())
        };
        let body = r#"{"version":7,"amount":1}"#;
        assert_eq!(read("200 OK", body).as_deref(), Some("[OK, 0, 7, 1]"));
        let replayed = "200 OK\r\nIdempotency-Replayed: true";
        assert_eq!(read(replayed, body).as_deref(), Some("[OK, 1, 7, 1]"));
        assert!(read("402 Payment Required", r#"{"code":"X"}"#).is_some_and(|it| it.contains('!')));
        assert_eq!(read("200 OK", r#"{"version":7"#), None, "it was cut off");
    }

    #[test]
    fn a_debit_has_its_id_as_the_key() {
        let request = debit(&words("SCUR.DEBIT purse d3 cent 1")).expect("a debit");
        assert!(request.starts_with("POST /v1/accounts/purse/debits HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("Idempotency-Key: d3\r\n"), "{request}");
        assert!(request.ends_with(r#"{"unit":"cent","amount":1}"#), "{request}");
        assert!(debit(&words("SCUR.CREATE purse")).is_err());
    }
}
