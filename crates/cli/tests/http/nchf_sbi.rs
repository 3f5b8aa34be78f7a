//! What TS 29.500 asks of requests of Nchf: access tokens of the NRF, and headers.

use crate::charging_nchf::{RESOURCES, SUPI, post, request};
use crate::nchf_notices::wait_until;
use crate::node::{Node, forgetting};
use crate::stand_in::StandIn;
use crate::support::Door;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nix::sys::signal::Signal;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, SigningKey};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

#[expect(clippy::disallowed_methods, reason = "tokens expire by the clock of the door")]
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

/// Returns a signature in DER as two numbers of 32 bytes.
fn fixed(der: &[u8]) -> Vec<u8> {
    let mut rest = &der[2..];
    let mut fixed = Vec::new();
    for _ in 0..2 {
        let (number, more) = rest[2..].split_at(usize::from(rest[1]));
        let number = number.strip_prefix(&[0]).unwrap_or(number);
        fixed.extend(std::iter::repeat_n(0, 32 - number.len()));
        fixed.extend_from_slice(number);
        rest = more;
    }
    fixed
}

/// Returns a token of an NRF with this key.
fn token(key: &KeyPair, claims: &Value) -> String {
    let encode = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
    let header = json!({"alg": "ES256", "typ": "JWT"}).to_string();
    let signed = format!("{}.{}", encode(header.as_bytes()), encode(claims.to_string().as_bytes()));
    let signature = fixed(&key.sign(signed.as_bytes()).expect("a signature"));
    format!("Bearer {signed}.{}", encode(&signature))
}

fn claims() -> Value {
    json!({"iss": "nrf-1", "sub": "smf-1", "aud": "CHF", "scope": "nchf-convergedcharging", "exp": now_s() + 600})
}

fn write_key(path: &Path, key: &KeyPair) {
    std::fs::write(path, key.public_key_pem()).expect("it is written");
}

fn open_with(settings: &str, directory: &Path) -> (Vec<Node>, Door) {
    let nodes = forgetting(1);
    let config = directory.join("scurry.toml");
    std::fs::write(&config, settings).expect("it is written");
    let config = config.to_str().expect("text");
    let door = Door::charging(&nodes[0].address(), &["--config", config]);
    let body = r#"{"buckets":[{"bucket":"data","unit":"octet","amount":5000}]}"#;
    assert_eq!(door.ask(&format!("PUT /v1/accounts/{SUPI}"), &[], body).status, 201);
    (nodes, door)
}

#[test]
fn a_token_of_the_nrf_opens_the_door_and_no_other() {
    let files = tempfile::tempdir().expect("a directory");
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key");
    let path = files.path().join("nrf.pem");
    write_key(&path, &key);
    let settings = format!(
        "[nchf.oauth2]\nkeys = ['{}']\nissuers = ['nrf-1']\naudiences = ['CHF', 'chf-1']\n",
        path.display()
    );
    let (_nodes, door) = open_with(&settings, files.path());
    let body = request(0, 0, &json!([])).to_string();
    let ask = |token: &str| door.ask(RESOURCES, &[("Authorization", token)], &body);
    let good = token(&key, &claims());
    assert_eq!(ask(&good).status, 201);
    let with = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        token(&key, &claims)
    };
    assert_eq!(ask(&with("aud", json!(["other", "chf-1"]))).status, 201);
    let stranger = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key");
    for (wrong, status) in [
        (with("aud", json!("SMF")), 401),
        (with("aud", json!([])), 401),
        (with("iss", json!("nrf-2")), 401),
        (with("exp", json!(now_s() - 600)), 401),
        (with("scope", json!("nchf-offlineonlycharging")), 403),
        (token(&stranger, &claims()), 401),
        ("Basic eDp5".to_owned(), 401),
    ] {
        let reply = ask(&wrong);
        assert_eq!(reply.status, status, "{}", reply.body);
        assert!(reply.header("WWW-Authenticate").starts_with("Bearer"), "{}", reply.body);
        assert!(reply.body["detail"].as_str().is_some_and(|why| !why.is_empty()));
    }
    let none = post(&door, "/nchf-convergedcharging/v2/chargingdata", &request(0, 0, &json!([])));
    assert_eq!((none.status, none.header("WWW-Authenticate")), (401, "Bearer realm=\"3gpp-sbi\""));
    // The NRF has another key now.
    write_key(&path, &stranger);
    door.signal(Signal::SIGHUP);
    let is_taken = || ask(&token(&stranger, &claims())).status != 401;
    wait_until("the new key is read", is_taken);
    assert_eq!(ask(&good).status, 401);
    let page = String::from_utf8(door.get("/metrics").1).expect("text");
    let refused =
        page.lines().find_map(|line| line.strip_prefix("scurry_nchf_refused_tokens_total "));
    assert!(refused.is_some_and(|count| count.parse::<u64>().expect("a count") >= 9), "{page}");
}

#[test]
fn a_request_whose_sender_does_not_wait_gets_no_answer() {
    let files = tempfile::tempdir().expect("a directory");
    let (_nodes, door) = open_with("", files.path());
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 10},
        "usedUnitContainer": [{"localSequenceNumber": 0, "totalVolume": 7}]}]);
    let info = ("3gpp-Sbi-Correlation-Info", "imsi-001010000000001");
    let in_time = [info, ("3gpp-Sbi-Max-Rsp-Time", "99999"), ("3gpp-Sbi-Message-Priority", "5")];
    let late = [
        info,
        ("3gpp-Sbi-Max-Rsp-Time", "10"),
        ("3gpp-Sbi-Sender-Timestamp", "Sun, 04 Aug 2019 08:49:37.845 GMT"),
    ];
    let create = request(0, 0, &json!([])).to_string();
    let refused = door.ask(RESOURCES, &late, &create);
    assert_eq!((refused.status, &refused.body["cause"]), (504, &json!("TIMED_OUT_REQUEST")));
    assert_eq!(refused.header(info.0), info.1);
    let first = door.ask(RESOURCES, &in_time, &create);
    assert_eq!(
        (first.status, first.header("Idempotency-Replayed")),
        (201, ""),
        "the late one did nothing"
    );
    assert_eq!(first.header(info.0), info.1);
    // The use of an open session is debited all the same, once.
    let update = format!("POST {}/update", first.header("Location"));
    let body = request(1, 1, &usage).to_string();
    let reply = door.ask(&update, &late, &body);
    assert_eq!((reply.status, &reply.body["cause"]), (504, &json!("TIMED_OUT_REQUEST")));
    let again = door.ask(&update, &in_time, &body);
    assert_eq!((again.status, again.header("Idempotency-Replayed")), (200, "true"));
    let page = String::from_utf8(door.get("/metrics").1).expect("text");
    assert!(page.contains("\nscurry_nchf_late_total 2\n"), "{page}");
}

#[test]
fn the_door_is_registered_at_an_nrf_while_it_serves() {
    let nrf = StandIn::start(&[201]);
    let files = tempfile::tempdir().expect("a directory");
    let id = "0b3c2d3e-0000-4000-8000-000000000002";
    let settings = format!(
        "[nchf.nrf]\nuri = ['http://127.0.0.1:{}']\ninstance_id = '{id}'\naddresses = ['127.0.0.1']\nheartbeat_s = 1\n\
         supi_ranges = [{{ start = '001010000000001', end = '001010000000999' }}]\n",
        nrf.port
    );
    let (_nodes, door) = open_with(&settings, files.path());
    let uri = format!("/nnrf-nfm/v1/nf-instances/{id}");
    let first = nrf.next();
    assert_eq!(first.request, format!("PUT {uri}"));
    assert_eq!(
        (&first.body["nfType"], &first.body["nfStatus"]),
        (&json!("CHF"), &json!("REGISTERED"))
    );
    let service = &first.body["nfServices"][0];
    assert_eq!(service["serviceName"], "nchf-convergedcharging");
    assert_eq!(service["ipEndPoints"][0]["port"], door.port());
    assert_eq!(first.body["chfInfo"]["supiRangeList"][0]["start"], "001010000000001");
    let beat = nrf.next();
    assert_eq!(beat.request, format!("PATCH {uri}"));
    wait_until("it is registered", || {
        let page = String::from_utf8(door.get("/metrics").1).expect("text");
        page.contains("scurry_nchf_nrf_state{state=\"registered\"} 1")
    });
    door.signal(Signal::SIGTERM);
    while nrf.next().request != format!("DELETE {uri}") {}
}

#[test]
fn wrong_settings_of_5g_are_told_at_the_start() {
    for (settings, words) in [
        ("[nchf]\nint32 = true\n", "int32"),
        (
            "[nchf.oauth2]\nkeys = ['/none.pem']\nissuers = ['a']\naudiences = ['CHF']\n",
            "/none.pem",
        ),
        ("[nchf.oauth2]\nkeys = []\nissuers = ['a']\naudiences = ['CHF']\n", "`keys` is empty"),
        ("[nchf.notify]\nallowed = ['10.0.0.0/99']\n", "10.0.0.0/99"),
        ("[nchf.notify]\nallowed = []\ncert = 'a.pem'\n", "[nchf.notify]"),
        ("[nchf.nrf]\nuri = ['http://127.0.0.1:1']\n", "instance_id"),
    ] {
        let files = tempfile::tempdir().expect("a directory");
        let config = files.path().join("scurry.toml");
        std::fs::write(&config, settings).expect("it is written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["http", "--listen", "127.0.0.1:0", "--store", "127.0.0.1:1", "--config"]);
        let said = command.arg(&config).output().expect("it runs");
        assert!(!said.status.success(), "{settings}");
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains(words), "{settings}: {said}");
    }
}
