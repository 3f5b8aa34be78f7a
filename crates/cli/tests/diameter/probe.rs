//! `scurry diameter probe`, asked of our door and of servers that are none.

use crate::store::Process;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const SUBSCRIBER: [&str; 2] = ["--subscriber", "imsi:001010000000001"];

/// Probes an address. Returns whether every step was ok, and the output.
fn probe(address: &str, words: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["diameter", "probe", address, "--origin-host", "probe.example"]).args(words);
    if !words.contains(&"--timeout") {
        // Longer than any pause of the machine.
        command.args(["--timeout", "120"]);
    }
    let output = command.stdin(Stdio::null()).output().expect("the binary starts");
    let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
    (output.status.success(), said)
}

/// Returns the name and the verdict of each step, and what is said of it, without durations.
fn steps(said: &str) -> Vec<String> {
    let lines = said.lines().filter(|line| !line.starts_with("scurry: "));
    lines
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_duration = |at: &usize| {
                let next = words.get(at + 1);
                words[*at].parse::<f64>().is_ok() && next == Some(&"ms")
            };
            let at = (0..words.len()).find(is_duration);
            let kept = words.iter().enumerate();
            let kept =
                kept.filter(|(index, _)| at.is_none_or(|at| *index != at && *index != at + 1));
            kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

const CER: &str = "CER ok 2001 SUCCESS; scurry.localdomain in the realm localdomain, product Scurry, application 4 (credit control)";
const DWR: &str = "DWR ok 2001 SUCCESS";
const DPR: &str = "DPR ok it has agreed to disconnect";

#[test]
fn all_steps_are_told_in_words() {
    let store = Process::with_settings("");
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
    let address = address(store.diameter);
    let connect = format!("connect ok {address}");
    let none = "CCR-E left out no balance is checked without --subscriber TYPE:ID";
    let (is_ok, said) = probe(&address, &[]);
    assert!(is_ok, "{said}");
    assert_eq!(steps(&said), [&connect, CER, DWR, none, DPR]);
    for (octets, balance) in [("1000", "covers"), ("1001", "does not cover")] {
        let words = ["--octets", octets, "--rating-group", "100"];
        let (is_ok, said) = probe(&address, &[&SUBSCRIBER[..], &words].concat());
        assert!(is_ok, "{said}");
        let balance = format!("CCR-E ok 2001 SUCCESS; the balance {balance} it");
        assert_eq!(steps(&said), [&connect, CER, DWR, &balance, DPR]);
    }
    assert_eq!(store.balance("imsi-001010000000001"), (1000, 0), "nothing is charged");
}

#[test]
fn steps_are_objects_for_programs() {
    let store = Process::with_settings("");
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 100000000");
    let (is_ok, said) = probe(&address(store.diameter), &[&SUBSCRIBER[..], &["--json"]].concat());
    assert!(is_ok, "{said}");
    let steps: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let names: Vec<&str> =
        steps.iter().map(|step| step["step"].as_str().expect("a name")).collect();
    assert_eq!(names, ["connect", "CER", "DWR", "CCR-E", "DPR"]);
    for step in &steps {
        assert_eq!(step["verdict"], "ok", "{step}");
        assert!(step["ms"].as_f64().is_some_and(|ms| ms > 0.0), "{step}");
    }
    assert_eq!((&steps[1]["code"], &steps[3]["code"]), (&Value::from(2001), &Value::from(2001)));
    let server = serde_json::json!({ "host": "scurry.localdomain", "realm": "localdomain", "product": "Scurry", "applications": [4] });
    assert_eq!(steps[1]["server"], server);
}

#[test]
fn a_refusal_is_told_with_its_cure() {
    let store = Process::with_settings("[diameter]\nunknown_peers = 'refuse'\n");
    let (is_ok, said) = probe(&address(store.diameter), &[]);
    assert!(!is_ok, "{said}");
    assert_eq!(
        steps(&said)[1..],
        [
            "CER failed 3010 the peer is not in [[diameter.peers]], or comes from another realm or address \
             (it says: this peer is not known here); scurry.localdomain in the realm localdomain, \
             product Scurry, application 4 (credit control)",
            "cure: add it",
        ]
    );
    assert!(said.contains("scurry: the probe of 127.0.0.1:"), "{said}");
    // Later steps go on after a request was refused.
    let store = Process::with_settings("");
    let (is_ok, said) = probe(&address(store.diameter), &SUBSCRIBER);
    assert!(!is_ok, "{said}");
    let steps = steps(&said);
    assert!(steps[3].starts_with("CCR-E failed 5030 the subscriber has no account"), "{said}");
    assert_eq!(steps[4..], ["cure: [[subscribers]], SCUR.CREATE", DPR]);
}

/// Serves one connection in a thread, and returns its port.
fn server(serve: impl FnOnce(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || serve(listener.accept().expect("a connection").0));
    port
}

/// Asserts that the exchange of capabilities fails with these words, and that nothing is said afterwards.
#[track_caller]
fn fails_at_capabilities(port: u16, timeout: &[&str], words: &str) {
    let (is_ok, said) = probe(&address(port), timeout);
    let steps = steps(&said);
    assert!(!is_ok && steps.len() == 3, "{said}");
    assert_eq!(steps[1], format!("CER failed {words}"));
    assert_eq!(steps[2], "cure: is this a port of Diameter, and one without TLS (--tls)?");
}

#[test]
fn servers_that_speak_no_diameter_are_told_as_such() {
    let http = server(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read(&mut [0; 1024]);
    });
    fails_at_capabilities(
        http,
        &[],
        "it does not speak Diameter (the peer has sent a message of version 72, and not of 1): its answer begins \
         with \"HTTP/1.1 400 Bad Request\\r\\n\\r\\n\"",
    );
    let deaf = server(|mut stream| {
        let _ = stream.read(&mut [0; 1024]);
    });
    fails_at_capabilities(deaf, &[], "it has closed the connection without an answer");
    let brief = ["--timeout", "1"];
    let silent = server(|mut stream| while stream.read(&mut [0; 1024]).is_ok_and(|len| len > 0) {});
    fails_at_capabilities(silent, &brief, "it has not sent an answer within 1 s");
    // Each byte is in time, and the message never.
    let slow = server(|mut stream| {
        for byte in [1, 0, 3].into_iter().chain([0; 1_000]) {
            if stream.write_all(&[byte]).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(50)); // tidy: allow (a pace, not a wait for something)
        }
    });
    fails_at_capabilities(slow, &brief, "it has not sent a whole answer within 1 s");
}

#[test]
fn a_port_without_a_server_and_wrong_words_are_told() {
    let closed =
        TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let (is_ok, said) = probe(&closed.to_string(), &[]);
    assert!(!is_ok && said.starts_with("connect  failed"), "{said}");
    assert!(
        said.contains(&format!("no server listens at {closed}: is it running there")),
        "{said}"
    );
    for (words, told) in [
        (&["--subscriber", "imei:1"][..], "none of imsi, e164, sip_uri, nai and private"),
        (&["--subscriber", "imsi:"], "write TYPE:ID"),
        (&["--tls"], "--tls wants --cacert"),
        (&["--origin-host", "probe"], "has no realm: say --realm"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        let output = command.args(["diameter", "probe", "127.0.0.1"]).args(words).output();
        let output = output.expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(told), "{said}");
    }
}

#[test]
fn over_tls_the_certificate_is_checked() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let files = tempfile::TempDir::new().expect("a directory");
    let (certificate, key) = (files.path().join("cert.pem"), files.path().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).expect("a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    let settings = format!(
        "[diameter]\ntls_listen = '127.0.0.1:0'\ntls_cert = '{}'\ntls_key = '{}'\n",
        certificate.display(),
        key.display()
    );
    let store = Process::with_settings(&settings);
    let line = store.logged("with TLS");
    let port = line.split_once("127.0.0.1:").expect("an address").1;
    let address = address(port.split(' ').next().expect("a port").parse().expect("a port"));
    let ca = certificate.to_str().expect("UTF-8");
    let (is_ok, said) = probe(&address, &["--tls", "--cacert", ca, "--sni", "localhost"]);
    assert!(is_ok, "{said}");
    assert_eq!(steps(&said)[..2], [&format!("connect ok {address} over TLS"), CER]);
    let (is_ok, said) = probe(&address, &["--tls", "--cacert", ca, "--sni", "other"]);
    assert!(!is_ok && said.contains("connect  failed") && said.contains("certificate"), "{said}");
    // The door's port for TLS takes no message without it.
    let (is_ok, said) = probe(&address, &[]);
    assert!(!is_ok && said.contains("without TLS (--tls)?"), "{said}");
}
