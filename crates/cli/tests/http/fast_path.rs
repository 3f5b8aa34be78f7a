//! Charging operations take a fast path, and the router handles paths with escapes: both give the same answers.

use crate::charging::{create, open};
use crate::support::Door;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The path of the account, plain and with an equivalent escape.
const PLAIN: &str = "/v1/accounts/alice";
const ESCAPED: &str = "/v1/accounts/%61lice";

/// Returns an answer without its Date and with its headers sorted, because their order has no meaning.
fn say(door: &Door, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", door.port())).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a time-out is set");
    stream.write_all(request.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it ends");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let mut lines: Vec<&str> =
        head.split("\r\n").filter(|line| !line.starts_with("date: ")).collect();
    lines[1..].sort_unstable();
    format!("{}\r\n\r\n{body}", lines.join("\r\n"))
}

/// A request, and the status that both paths must give.
struct Case {
    line: &'static str,
    headers: &'static str,
    body: &'static str,
    status: u16,
}

const JSON: &str = "Host: localhost\r\nContent-Type: application/json\r\n";
const KEYED: &str =
    "Host: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: once\r\n";
const DEBIT: &str = r#"{"unit":"cent","amount":1}"#;

const CASES: &[Case] = &[
    Case { line: "GET {}", headers: "Host: localhost\r\n", body: "", status: 200 },
    Case { line: "HEAD {}", headers: "Host: localhost\r\n", body: "", status: 200 },
    // Method names are case-sensitive (RFC 9110 section 9.1).
    Case { line: "get {}", headers: "Host: localhost\r\n", body: "", status: 405 },
    Case { line: "Delete {}?force=true", headers: "Host: localhost\r\n", body: "", status: 405 },
    Case { line: "post {}/debits", headers: KEYED, body: DEBIT, status: 405 },
    Case { line: "GET {}/audit", headers: "Host: localhost\r\n", body: "", status: 200 },
    Case { line: "GET {}?more=1", headers: "Host: localhost\r\n", body: "", status: 400 },
    Case { line: "GET {}/sessions/none", headers: "Host: localhost\r\n", body: "", status: 404 },
    Case { line: "GET {}/nothing", headers: "Host: localhost\r\n", body: "", status: 404 },
    Case { line: "GET {}/debits", headers: "Host: localhost\r\n", body: "", status: 405 },
    Case {
        line: "GET {}",
        headers: "Host: localhost\r\nHost: localhost\r\n",
        body: "",
        status: 400,
    },
    Case { line: "GET {}", headers: "Host: of.others\r\n", body: "", status: 421 },
    Case {
        line: "GET {}",
        headers: "Host: localhost\r\nOrigin: http://of.others\r\n",
        body: "",
        status: 403,
    },
    Case {
        line: "GET {}",
        headers: "Host: localhost\r\nAuthorization: Bearer x\r\n",
        body: "",
        status: 401,
    },
    Case { line: "POST {}/debits", headers: KEYED, body: DEBIT, status: 200 },
    Case { line: "POST {}/debits", headers: JSON, body: DEBIT, status: 400 },
    Case { line: "POST {}/debits", headers: KEYED, body: r#"{"unit":"cent"}"#, status: 400 },
    Case {
        line: "POST {}/debits",
        headers: KEYED,
        body: r#"{"unit":"cent","amount":2}"#,
        status: 422,
    },
    Case {
        line: "POST {}/debits",
        headers: "Host: localhost\r\nIdempotency-Key: once\r\n",
        body: DEBIT,
        status: 415,
    },
    Case {
        line: "POST {}/debits",
        headers: "Host: localhost\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n",
        body: DEBIT,
        status: 415,
    },
    Case {
        line: "POST {}/debits",
        headers: "Host: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n",
        body: "",
        status: 501,
    },
];

#[test]
fn an_operation_has_one_answer_whichever_way_it_goes() {
    let (_nodes, door) = open();
    create(&door, "alice");
    assert_eq!(door.ask_once("POST /v1/accounts/alice/debits", "once", DEBIT).status, 200);
    for Case { line, headers, body, status } in CASES {
        let length = match headers.contains("Transfer-Encoding") {
            true => String::new(),
            false => format!("Content-Length: {}\r\n", body.len()),
        };
        let ask = |path: &str| {
            let line = line.replace("{}", path);
            say(
                &door,
                &format!("{line} HTTP/1.1\r\n{headers}{length}Connection: close\r\n\r\n{body}"),
            )
        };
        let (plain, escaped) = (ask(PLAIN), ask(ESCAPED));
        assert!(plain.starts_with(&format!("HTTP/1.1 {status} ")), "{line} {headers}: {plain}");
        assert_eq!(plain, escaped, "{line} {headers}");
    }
    // Both are counted under the path template.
    let (_, page) = door.get("/metrics");
    let page = String::from_utf8(page).expect("text");
    let counted = |count: u64, method: &str, status: u16, route: &str| {
        let labels = format!("route=\"{route}\",method=\"{method}\",status=\"{status}\"");
        let sample = format!("scurry_http_requests_total{{{labels}}} {count}\n");
        assert!(page.contains(&sample), "{sample}: {page}");
    };
    counted(2, "GET", 421, "/v1/accounts/{account}");
    counted(2, "POST", 422, "/v1/accounts/{account}/debits");
    counted(2, "HEAD", 200, "/v1/accounts/{account}");
}

#[test]
fn no_operation_is_found_by_another_word_than_its_method() {
    let (_nodes, door) = open();
    create(&door, "alice");
    let (_, document) = door.get("/v1/openapi.json");
    let document: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "alice" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        let words = methods.as_object().expect("methods").keys();
        // The lowercase methods of OpenAPI are not methods of HTTP.
        for word in words.filter(|word| *word != "parameters") {
            let answer = say(
                &door,
                &format!(
                    "{word} {path} HTTP/1.1\r\n{KEYED}Connection: close\r\nContent-Length: 2\r\n\r\n{{}}"
                ),
            );
            assert!(answer.starts_with("HTTP/1.1 405 "), "{word} {path}: {answer}");
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
}
