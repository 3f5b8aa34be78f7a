//! The HTTP door before a cluster: requests go to the owners of their keys, and the door survives the death of a
//! primary.

use crate::support::Cluster;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use ureq::Agent;

const ACCOUNTS: usize = 12;

struct Door {
    child: Child,
    root: String,
    agent: Agent,
}

impl Door {
    fn open(store: &str) -> Door {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
        command.args(["http", "--listen", "127.0.0.1:0", "--log", "off", "--store", store]);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = String::new();
        let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
        log.read_line(&mut said).expect("a line");
        let address = said.trim().strip_prefix("listening on ").expect("an address");
        let config = Agent::config_builder().http_status_as_error(false);
        let agent = config.timeout_global(Some(Duration::from_secs(20))).build().into();
        Door { root: format!("http://{address}/v1/accounts/"), child, agent }
    }

    fn post(&self, path: &str, key: &str, body: &str) -> (u16, String) {
        let request = self.agent.post(format!("{}{path}", self.root));
        let request = request.header("Content-Type", "application/json");
        let mut answer = request.header("Idempotency-Key", key).send(body).expect("an answer");
        (answer.status().as_u16(), answer.body_mut().read_to_string().expect("text"))
    }

    fn put(&self, path: &str, body: &str) -> u16 {
        let request = self.agent.put(format!("{}{path}", self.root));
        let request = request.header("Content-Type", "application/json");
        request.send(body).expect("an answer").status().as_u16()
    }

    fn get(&self, path: &str) -> String {
        let answer = self.agent.get(format!("{}{path}", self.root)).call();
        answer.expect("an answer").body_mut().read_to_string().expect("text")
    }

    fn totals(&self) -> String {
        let answer = self.agent.get(self.root.replace("accounts/", "totals")).call();
        answer.expect("an answer").body_mut().read_to_string().expect("text")
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn charging_goes_on_when_a_primary_dies() {
    let cluster = Cluster::up();
    let door = Door::open(&cluster.address());
    let body = r#"{"buckets":[{"bucket":"main","unit":"cent","amount":1000}]}"#;
    let debit = r#"{"unit":"cent","amount":10}"#;
    let session = r#"{"request":0,"items":[{"key":1,"unit":"cent","requested":100}]}"#;
    for number in 0..ACCOUNTS {
        assert_eq!(door.put(&format!("a{number}"), body), 201);
        for replayed in [false, true] {
            let (status, answer) = door.post(&format!("a{number}/debits"), "before", debit);
            assert_eq!(status, 200, "{answer}");
            assert!(answer.contains(&format!("\"replayed\":{replayed}")), "{answer}");
        }
        assert_eq!(door.post(&format!("a{number}/sessions/s"), "-", session).0, 201);
    }
    // The totals are sums over all primaries, each of which has some of the accounts.
    let totals = door.totals();
    assert!(
        totals.contains(&format!("\"accounts\":{ACCOUNTS},\"sessions\":{ACCOUNTS}")),
        "{totals}"
    );
    assert!(
        totals.starts_with("{\"ok\":true") && totals.contains("\"credited\":12000"),
        "{totals}"
    );
    cluster.wait_for_replicas();
    // The node that the door was given.
    kill(Pid::from_raw(cluster.processes()[0]), Signal::SIGKILL).expect("it runs");
    for number in 0..ACCOUNTS {
        let path = format!("a{number}/debits");
        let mut last = (0, String::new());
        for _ in 0..200 {
            last = door.post(&path, "after", debit);
            if last.0 == 200 {
                break;
            }
            assert!([503, 504].contains(&last.0), "{last:?}");
            thread::sleep(Duration::from_millis(200)); // tidy: allow (a replica has to take over)
        }
        assert_eq!(last.0, 200, "{last:?}");
        assert!(door.get(&format!("a{number}/audit")).contains("\"ok\":true"));
    }
}
