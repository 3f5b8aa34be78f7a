//! CloudEvents over HTTP.

use crate::compare::{same, wait_until};
use crate::load::Load;
use crate::receiver::Receiver;
use crate::shipper::{Shipper, once};
use crate::store::{Store, THREADS};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver as Lines, channel};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Rounds of faults in a test.
const ROUNDS: u32 = 3;
/// How long a line of a program may take.
const PATIENCE: Duration = Duration::from_secs(60);
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Makes rounds of a fault under load, and compares what a consumer has in the end that leaves out repeats.
#[track_caller]
fn survives(options: &[&str], mut fault: impl FnMut(&mut Receiver, &mut Shipper)) {
    let directory = TempDir::new().expect("a directory");
    let position = directory.path().join("position");
    let mut receiver = Receiver::start();
    let url = receiver.url();
    let mut to = vec!["http", &url, "--position", position.to_str().expect("UTF-8")];
    to.extend(options);
    let store = Store::start();
    let mut load = Load::start(&store);
    let mut shipper = Shipper::start(&store, &to);
    for _ in 0..ROUNDS {
        let before = receiver.count();
        load.go_on();
        wait_until("more events", || receiver.count() > before + 100);
        fault(&mut receiver, &mut shipper);
    }
    let debits = load.end();
    shipper.kill();
    receiver.fail_every(0);
    let last = once(&store, &to);
    assert!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));
    let expected = store.events();
    same(&expected, &receiver.once(THREADS));
    assert!(expected.iter().all(|events| events.len() > 100), "both threads had a part");
    assert!(expected.concat().len() as u64 >= debits);
    let repeats = receiver.count() - expected.concat().len();
    println!("{repeats} repeats of {}", expected.concat().len());
    // All is delivered: nothing more comes.
    let before = receiver.count();
    assert!(once(&store, &to).status.success());
    assert_eq!(receiver.count(), before);
}

#[test]
fn no_event_is_lost_though_the_shipper_is_killed() {
    survives(&[], |_, shipper| {
        shipper.kill();
        shipper.begin();
    });
}

#[test]
fn no_event_is_lost_though_the_receiver_is_killed() {
    survives(&["--batch", "20"], |receiver, _| {
        receiver.kill();
        receiver.begin();
    });
}

#[test]
fn no_event_is_lost_though_connections_are_cut_and_requests_fail() {
    survives(&["--batch", "7"], |receiver, _| {
        receiver.fail_every(71);
        receiver.cut();
    });
}

#[test]
fn a_position_is_of_one_store_and_one_shipper() {
    let (receiver, directory) = (Receiver::start(), TempDir::new().expect("a directory"));
    let position = directory.path().join("position");
    let (url, position) = (receiver.url(), position.to_str().expect("UTF-8").to_owned());
    let to = ["http", &url, "--position", &position];
    let stores = [Store::start(), Store::start()];
    assert!(once(&stores[0], &to).status.success());
    let said = |store: &Store, to: &[&str]| {
        let output = once(store, to);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    let other = said(&stores[1], &to);
    assert!(
        other.contains("is the position in store") && other.contains("give another"),
        "{other}"
    );
    std::fs::write(&position, "position of scurry ship http, format 1\n00").expect("it is written");
    let damaged = said(&stores[0], &to);
    assert!(damaged.contains("or is damaged"), "{damaged}");
    std::fs::remove_file(&position).expect("it is there");
    let running = Shipper::start(&stores[0], &to);
    wait_until("the position", || Path::new(&position).exists());
    let second = said(&stores[0], &to);
    assert!(second.contains("another shipper uses"), "{second}");
    drop(running);
    for (options, words) in [
        (&["--batch", "0"][..], "1 to 1000"),
        (&["--header", "Bearer"], "a header is a name, a colon and a value"),
        (&["--header", "webhook-id: 1"], "is set by the shipper"),
        (&["--secret", "password"], "make one with"),
        (&["--attempts", "3"], "--dead-letter"),
        (&["--to-cacert", "ca.pem"], "certificates are for TLS: give https://"),
        (&["--format", "protobuf"], "leave out --format"),
    ] {
        let text = said(&stores[0], &[&to[..], options].concat());
        assert!(text.contains(words), "{options:?}: {text}");
        assert!(!text.contains("password"), "a secret is not shown: {text}");
    }
    let nowhere = said(&stores[0], &["http", "nowhere", "--position", &position]);
    assert!(nowhere.contains("is no address of a receiver: give http://"), "{nowhere}");
}

/// A program in Python, killed when dropped.
struct Python {
    child: Child,
    lines: Lines<String>,
}

impl Python {
    /// Starts it, and returns it with its first line.
    fn start(text: &str, directory: &Path, environment: &[(&str, &str)]) -> (Python, String) {
        let mut command = Command::new("python3");
        command.args(["-u", "-c", text]).current_dir(directory).stdout(Stdio::piped());
        command.envs(environment.iter().copied()).stdin(Stdio::null());
        let mut child = command.spawn().expect("python3 is there");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let (tell, lines) = channel();
        thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        let python = Python { child, lines };
        let first = python.line();
        (python, first)
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line")
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the program under a heading of docs/push.md.
fn program(heading: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/push.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).expect(heading);
    let (_, rest) = rest.split_once("```python\n").expect("a program");
    rest.split_once("```").expect("its end").0.to_owned()
}

fn debit(store: &Store, transactions: &[u64], amount: u64) {
    let mut connection = store.connect();
    for transaction in transactions {
        let mut command = redis::cmd("SCUR.DEBIT");
        command.arg("alice").arg(*transaction).arg("cent").arg(amount);
        // A denial is a reply too.
        command.exec(&mut connection).expect("a reply");
    }
}

#[test]
fn the_receiver_of_the_page_checks_signatures_and_takes_each_event_once() {
    let directory = TempDir::new().expect("a directory");
    let store = Store::start();
    let create = ["alice", "BUCKET", "main", "cent", "1000"];
    redis::cmd("SCUR.CREATE").arg(&create).exec(&mut store.connect()).expect("an account");
    let environment = [("SCURRY_WEBHOOK_SECRET", SECRET), ("PORT", "0")];
    let (python, port) = Python::start(&program("Webhooks"), directory.path(), &environment);
    let url = format!("http://127.0.0.1:{port}/hook");
    let position = directory.path().join("position");
    let position = position.to_str().expect("UTF-8");
    let to = ["http", &url, "--position", position, "--event", "denied", "--secret", SECRET];
    debit(&store, &[1, 2], 5_000);
    assert!(once(&store, &to).status.success());
    for transaction in ["1", "2"] {
        assert_eq!(python.line(), format!("alice denied CREDIT_LIMIT_REACHED {transaction}"));
    }
    // Everything once more: the receiver leaves out what it has.
    std::fs::remove_file(position).expect("it is there");
    debit(&store, &[3], 5_000);
    assert!(once(&store, &to).status.success());
    assert_eq!(python.line(), "alice denied CREDIT_LIMIT_REACHED 3");
    let another = [&to[..7], &["whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]].concat();
    debit(&store, &[4], 5_000);
    let output = once(&store, &another);
    let text = String::from_utf8(output.stderr).expect("text");
    assert!(text.contains("answers 401") && text.contains("check the credentials"), "{text}");
    assert!(once(&store, &to).status.success(), "with the right secret it goes on");
    assert_eq!(python.line(), "alice denied CREDIT_LIMIT_REACHED 4");
}

const TLS_RECEIVER: &str = "
import http.server, ssl
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print(self.rfile.read(int(self.headers['content-length'])).decode())
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Hook)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('c.pem', 'k.pem')
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1])
server.serve_forever()
";

#[test]
fn a_receiver_with_tls_is_known_by_its_certificate() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("UTF-8").to_owned();
    std::fs::write(path("c.pem"), cert.pem()).expect("it is written");
    std::fs::write(path("k.pem"), signing_key.serialize_pem()).expect("it is written");
    let (python, port) = Python::start(TLS_RECEIVER, directory.path(), &[]);
    let store = Store::start();
    let create = ["alice", "BUCKET", "main", "cent", "1000"];
    redis::cmd("SCUR.CREATE").arg(&create).exec(&mut store.connect()).expect("an account");
    let (url, position, ca) =
        (format!("https://localhost:{port}/"), path("position"), path("c.pem"));
    let to = ["http", &url, "--position", &position, "--event", "created"];
    let output = once(&store, &to);
    let text = String::from_utf8(output.stderr).expect("text");
    assert!(
        text.contains("no TLS with https://localhost") && text.contains("--to-cacert"),
        "{text}"
    );
    assert!(once(&store, &[&to[..], &["--to-cacert", &ca]].concat()).status.success());
    assert!(python.line().contains("\"type\":\"scurry.created\""));
}
