//! Servers of HTTP/2 that others wrote, as receivers of notifications: Hypercorn (testing/nchf/receiver.py) and nghttpd,
//! by prior knowledge and over TLS.

use crate::charging_nchf::SUPI;
use crate::nchf_notices::{denied_session, logged, metric, wait_until};
use crate::node::{free_port, keeping};
use crate::support::Door;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const STARTS_MAX: usize = 5;

/// A running server, whose output is kept in a file; stopped when dropped.
struct Receiver {
    child: Child,
    log: PathBuf,
    port: u16,
}

impl Receiver {
    fn spawn(command: &mut Command, directory: &TempDir, port: u16) -> Receiver {
        let log = directory.path().join("receiver.log");
        let file = File::create(&log).expect("a file");
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("a file")).stderr(file);
        let child = command.spawn().expect("a tool is missing: run scripts/install-tools.sh tests");
        Receiver { child, log, port }
    }

    fn hypercorn(directory: &TempDir, tls: Option<&Tls>) -> Receiver {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut command = Command::new(root.join(".cache/nchf-peers/bin/hypercorn"));
        // Without processes of its own, which would outlive it.
        command.args(["--workers", "0", "--bind", "127.0.0.1:0", "receiver:app"]);
        command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(root.join("testing/nchf"));
        if let Some(tls) = tls {
            command.arg("--certfile").arg(&tls.certificate).arg("--keyfile").arg(&tls.key);
        }
        let mut receiver = Receiver::spawn(&mut command, directory, 0);
        let port = |said: &str| {
            let (_, rest) = said.split_once("://127.0.0.1:")?;
            rest.split(' ').next()?.parse().ok()
        };
        wait_until("Hypercorn listens", || port(&receiver.said()).is_some());
        receiver.port = port(&receiver.said()).expect("a port");
        receiver
    }

    /// Starts nghttpd on the files of a directory. It does not tell which port it got, so it is given one.
    fn nghttpd(directory: &TempDir, tls: Option<&Tls>) -> Receiver {
        for _ in 0..STARTS_MAX {
            let port = free_port();
            let mut command = Command::new("nghttpd");
            command.args(["--verbose", "--address=127.0.0.1", "--htdocs"]).arg(directory.path());
            match tls {
                None => command.arg("--no-tls").arg(port.to_string()),
                Some(tls) => command.arg(port.to_string()).arg(&tls.key).arg(&tls.certificate),
            };
            let mut receiver = Receiver::spawn(&mut command, directory, port);
            wait_until("nghttpd listens or ends", || {
                receiver.said().contains("listen ")
                    || receiver.child.try_wait().expect("it is ours").is_some()
            });
            if receiver.said().contains("listen ") {
                return receiver;
            }
        }
        panic!("nghttpd does not start");
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Returns the notifications that Hypercorn's application has received.
    fn received(&self) -> Vec<Value> {
        let said = self.said();
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A certificate of 127.0.0.1, and its key.
struct Tls {
    certificate: PathBuf,
    key: PathBuf,
}

impl Tls {
    fn new(directory: &TempDir) -> Tls {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
        let (certificate, key) =
            (directory.path().join("cert.pem"), directory.path().join("key.pem"));
        std::fs::write(&certificate, cert.pem()).expect("a file");
        std::fs::write(&key, signing_key.serialize_pem()).expect("a file");
        Tls { certificate, key }
    }
}

/// Notifies a receiver of a top-up, at this path.
fn notify(directory: &TempDir, receiver: &Receiver, tls: Option<&Tls>, path: &str) {
    let nodes = keeping(1);
    let port = receiver.port;
    let ca = tls.map_or(String::new(), |tls| format!("ca = '{}'\n", tls.certificate.display()));
    let config = directory.path().join("scurry.toml");
    let text = format!("[nchf.notify]\nallowed = ['127.0.0.1:{port}']\n{ca}");
    std::fs::write(&config, text).expect("a file");
    let config = config.to_str().expect("UTF-8");
    let door = Door::charging(&nodes[0].address(), &["--config", config]);
    logged(&door, "clients are asked again after a top-up (Nchf notifications)");
    let account = format!("/v1/accounts/{SUPI}");
    let body = r#"{"buckets":[{"bucket":"data","unit":"octet","amount":100}]}"#;
    assert_eq!(door.ask(&format!("PUT {account}"), &[], body).status, 201);
    let scheme = if tls.is_some() { "https" } else { "http" };
    denied_session(&door, 1, &format!("{scheme}://127.0.0.1:{port}{path}"));
    let top_up = r#"{"bucket":"data","amount":1000}"#;
    assert_eq!(door.ask_once(&format!("POST {account}/top-ups"), "t1", top_up).status, 200);
    wait_until("it is delivered", || metric(&door, "delivered") >= 1);
    assert_eq!(metric(&door, "given_up"), 0, "{}", door.log());
}

/// Notifies Hypercorn, whose application has to read the notification.
fn hypercorn_is_notified(is_tls: bool) {
    let directory = TempDir::new().expect("a directory");
    let tls = is_tls.then(|| Tls::new(&directory));
    let receiver = Receiver::hypercorn(&directory, tls.as_ref());
    notify(&directory, &receiver, tls.as_ref(), "/notify/one");
    let received = receiver.received();
    assert!(!received.is_empty(), "{}", receiver.said());
    // An attempt whose answer comes late is repeated.
    for one in received {
        let expected = json!({
            "version": "2",
            "scheme": if is_tls { "https" } else { "http" },
            "request": "POST /notify/one",
            "content_type": "application/json",
            "callback": "Nchf_ConvergedCharging_Notify",
            "body": {"notificationType": "REAUTHORIZATION", "reauthorizationDetails": [{"ratingGroup": 10}]},
        });
        assert_eq!(one, expected);
    }
}

#[test]
fn hypercorn_is_notified_by_prior_knowledge() {
    hypercorn_is_notified(false);
}

#[test]
fn hypercorn_is_notified_over_tls() {
    hypercorn_is_notified(true);
}

/// Notifies nghttpd at a path, and returns what it has seen. It serves files, whatever the method: 200 where there is one, else
/// 404.
fn nghttpd_is_notified(is_tls: bool, path: &str) -> String {
    let directory = TempDir::new().expect("a directory");
    std::fs::write(directory.path().join("notify"), "").expect("a file");
    let tls = is_tls.then(|| Tls::new(&directory));
    let receiver = Receiver::nghttpd(&directory, tls.as_ref());
    notify(&directory, &receiver, tls.as_ref(), path);
    wait_until("it has told of its answer", || receiver.said().contains(":status: "));
    let said = receiver.said();
    assert!(said.contains(":method: POST") && said.contains(&format!(":path: {path}")), "{said}");
    assert!(said.contains("3gpp-sbi-callback: Nchf_ConvergedCharging_Notify"), "{said}");
    said
}

#[test]
fn nghttpd_is_notified_by_prior_knowledge_and_over_tls() {
    for is_tls in [false, true] {
        let said = nghttpd_is_notified(is_tls, "/notify");
        assert!(said.contains(":status: 200") && !said.contains(":status: 404"), "{said}");
        let scheme = if is_tls { ":scheme: https" } else { ":scheme: http\n" };
        assert!(said.contains(scheme), "{said}");
    }
}

/// A consumer that does not know the session any more is not asked again.
#[test]
fn an_answer_of_404_is_the_end_of_a_notification() {
    let said = nghttpd_is_notified(false, "/unknown");
    assert!(said.contains(":status: 404"), "{said}");
}
