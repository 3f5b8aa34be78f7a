//! A consumer of Nchf: curl over HTTP/2, and the names that sessions and events have.

use crate::charging::{Kind, Named, PATIENCE, Request};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const RESOURCES: &str = "/nchf-convergedcharging/v3/chargingdata";
/// Times of a Create and of an event, and of the later requests of a session.
const CREATED: &str = "2026-01-01T12:00:00Z";
const CREATED_MS: u64 = 1_767_268_800_000;
const LATER: &str = "2026-01-01T12:00:01Z";
/// Number of the Create in references to sessions that were opened over RESP: no script has it.
const NO_CREATE: u32 = (1 << 24) - 1;

/// What is named in a script: session or transaction, account, name.
type Key = (Named, Vec<u8>, Vec<u8>);

/// Name of a session or an event in the store.
#[derive(Clone, Debug)]
struct StoreName {
    /// chargingId.
    charging_id: usize,
    id: String,
    /// Path of the resource. Of an event, the same.
    path: String,
}

pub(super) struct Client {
    port: u16,
    names: BTreeMap<Key, StoreName>,
}

/// What an answer says.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// `code` of a problem.
    pub(super) code: Option<String>,
    pub(super) is_replayed: bool,
    /// resultCode, granted units and whether they are the last, of each rating group.
    pub(super) groups: Vec<(String, u64, bool)>,
    /// The answer, for messages.
    #[expect(dead_code, reason = "messages show it")]
    text: String,
}

impl Client {
    pub(super) fn open(port: u16) -> Client {
        Client { port, names: BTreeMap::new() }
    }

    /// Returns the name in the store: until a Create or an event has got one, that of a session which is opened over RESP.
    fn known(&mut self, key: Key) -> &mut StoreName {
        let charging_id = self.names.len() + 1;
        self.names.entry(key).or_insert_with_key(|(_, account, _)| {
            let id = format!("nchf-{charging_id:032x}-{CREATED_MS:x}");
            let path = format!("{RESOURCES}/{}.{id}.s.{NO_CREATE}", escaped(account));
            StoreName { charging_id, id, path }
        })
    }

    pub(super) fn name_of(&mut self, what: Named, account: &[u8], name: &[u8]) -> Vec<u8> {
        self.known((what, account.to_vec(), name.to_vec())).id.clone().into_bytes()
    }

    pub(super) fn name_in_script(&self, id: &[u8]) -> Option<Vec<u8>> {
        let mut all = self.names.iter();
        all.find(|(_, known)| known.id.as_bytes() == id).map(|((_, _, name), _)| name.clone())
    }

    /// Sends a request, and returns its answer.
    pub(super) fn send(&mut self, request: &Request) -> Answer {
        let what = if request.kind == Kind::Debit { Named::Transaction } else { Named::Session };
        let (account, name) = (request.account.clone(), request.name.clone());
        let key = (what, account.into_bytes(), name.into_bytes());
        let known = self.known(key.clone()).clone();
        let path = match request.kind {
            Kind::Update => format!("{}/update", known.path),
            Kind::Terminate => format!("{}/release", known.path),
            _ => RESOURCES.to_owned(),
        };
        let (location, answer) = self.post(&path, &body(request, known.charging_id));
        if let Some(path) = location {
            let segment = path.rsplit('/').next().unwrap_or_default();
            // Of a session `account.session.kind.number`, of an event its own name.
            let id = match request.is_event() {
                true => segment,
                false => segment.rsplit('.').nth(2).expect("a reference"),
            };
            let id = id.to_owned();
            self.names.insert(key, StoreName { id, path, ..known });
        }
        answer
    }

    fn post(&self, path: &str, body: &Value) -> (Option<String>, Answer) {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--include", "--http2-prior-knowledge"]);
        curl.args(["--max-time", &PATIENCE.as_secs().to_string()]);
        curl.args(["--header", "Content-Type: application/json", "--data-binary", "@-"]);
        curl.arg(format!("http://127.0.0.1:{}{path}", self.port));
        curl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = curl.spawn().expect("curl is missing");
        let mut input = child.stdin.take().expect("it is piped");
        input.write_all(body.to_string().as_bytes()).expect("it is sent");
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{path} {body}: {said}");
        read(&String::from_utf8(output.stdout).expect("text"))
    }
}

/// Returns ChargingDataRequest.
fn body(request: &Request, charging_id: usize) -> Value {
    let units = |amount: u64| json!({ "serviceSpecificUnits": amount });
    let usages = request.items.iter().map(|item| {
        let mut usage = Map::new();
        usage.insert("ratingGroup".to_owned(), json!(item.rating_group));
        if let Some(amount) = item.requested {
            usage.insert("requestedUnit".to_owned(), units(amount));
        }
        if let Some(amount) = item.used {
            let mut container = units(amount);
            container["localSequenceNumber"] = json!(request.number);
            usage.insert("usedUnitContainer".to_owned(), json!([container]));
        }
        Value::Object(usage)
    });
    let usages: Vec<Value> = usages.collect();
    let is_later = matches!(request.kind, Kind::Update | Kind::Terminate);
    let mut body = json!({
        "subscriberIdentifier": request.account,
        "nfConsumerIdentification": {"nodeFunctionality": "SMF", "nFName": "smf-1"},
        "invocationTimeStamp": if is_later { LATER } else { CREATED },
        "invocationSequenceNumber": request.number,
        "chargingId": charging_id,
        "serviceSpecificationInfo": request.context,
        "multipleUnitUsage": usages,
    });
    if request.is_event() {
        body["oneTimeEvent"] = json!(true);
        body["oneTimeEventType"] = json!(if request.kind == Kind::Debit { "IEC" } else { "PEC" });
    }
    body
}

/// Reads what curl has written. Returns Location too.
fn read(text: &str) -> (Option<String>, Answer) {
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.strip_prefix("HTTP/2 ").expect("HTTP/2").trim().parse().expect("a status");
    let headers: BTreeMap<String, &str> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .collect();
    let told: Value = match body {
        "" => Value::Null,
        body => serde_json::from_str(body).expect("JSON"),
    };
    let groups = told["multipleUnitInformation"].as_array();
    let answer = Answer {
        status,
        code: told["code"].as_str().map(str::to_owned),
        is_replayed: headers.get("idempotency-replayed") == Some(&"true"),
        groups: groups.into_iter().flatten().map(group).collect(),
        text: text.to_owned(),
    };
    (headers.get("location").map(|path| (*path).to_owned()), answer)
}

fn group(information: &Value) -> (String, u64, bool) {
    let granted = &information["grantedUnit"];
    let amount = match granted {
        Value::Null => 0,
        granted => granted["serviceSpecificUnits"].as_u64().expect("units"),
    };
    assert!(granted.is_null() || amount > 0, "a grant of nothing");
    let result = information["resultCode"].as_str().expect("a code").to_owned();
    (result, amount, information.get("finalUnitIndication").is_some())
}

/// Returns a text as a part of a path.
fn escaped(text: &[u8]) -> String {
    let mut out = String::new();
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(*byte));
            }
            other => write!(out, "%{other:02X}").expect("memory"),
        }
    }
    out
}
