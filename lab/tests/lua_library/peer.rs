//! Redis with the library, and Tarantool with the procedures, with a clock that the test sets.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use scurry_lab::client::Client;
use scurry_lab::resp::Value;
use scurry_lab::wire::Wire;
use scurry_ledger::Limits;
use tempfile::TempDir;

use super::ACCOUNT;

/// Server that runs the rules in Lua.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Redis,
    Tarantool,
}

impl Peer {
    /// Returns the limits, in the text of the library, up to which a record stores lists itself.
    pub(crate) fn listed(self) -> &'static str {
        match self {
            Peer::Redis => "= 8, 16, 16",
            Peer::Tarantool => "= 8, 32",
        }
    }

    /// Returns the text of the rules with these limits in place of the defaults, and with the test's clock.
    fn text(self, listed: &str, limits: &Limits) -> String {
        let (text, clock, timed) = match self {
            Peer::Redis => (
                include_str!("../../peers/scur.lua"),
                "call('TIME')",
                "call('LRANGE', 'clock', 0, 1)",
            ),
            Peer::Tarantool => (
                include_str!("../../peers/scur.tarantool.lua"),
                "floor(time() * 1000)",
                "test_time",
            ),
        };
        let timed = text.replace(clock, timed);
        assert_ne!(timed, text);
        let bounds = |limits: &Limits| {
            let Limits { sessions_max, session_ids_max, transactions_max, .. } = limits;
            let Limits { answers_max, transaction_ms, .. } = limits;
            [
                format!("ANSWERS_MAX = {sessions_max}, {session_ids_max}, {answers_max}"),
                format!("TRANSACTION_MS = {transactions_max}, {transaction_ms}"),
            ]
        };
        let (own, [sessions, transactions]) = (bounds(&Limits::default()), bounds(limits));
        let changes = [(own[0].as_str(), sessions.as_str()), (&own[1], &transactions)];
        let mut text = timed;
        for (old, new) in changes.into_iter().chain([(self.listed(), listed)]) {
            assert!(text.contains(old), "{self:?} has no {old}");
            text = text.replace(old, new);
        }
        text
    }
}

/// Extra procedures for the test.
const TARANTOOL_TEST: &str = "
function set_time(now) test_time = tonumber(now) return 'OK' end
function busy(key)
  local a = read_account(key)
  local kept = is_busy(a) and a[SESSIONS] + a[TOMBSTONES] or 0
  if times:count({ key }) ~= kept then error('the space of times has others than the account') end
  return { is_busy(a) and 1 or 0 }
end
io.stdout:write('Ready to accept\\n') io.stdout:flush()
";

/// Server with the rules in Lua.
pub(crate) struct Library {
    peer: Peer,
    server: Child,
    client: Client,
    _directory: TempDir,
}

impl Library {
    /// Starts a server with records that list this much themselves, and these bounds of an account.
    pub(crate) fn start(peer: Peer, listed: &str, limits: &Limits) -> Library {
        let text = peer.text(listed, limits);
        let directory = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let port = address.port().to_string();
        let (mut command, wire) = match peer {
            Peer::Redis => {
                let mut command = Command::new("redis-server");
                command.args(["--bind", "127.0.0.1", "--save", "", "--port", &port]);
                (command, Wire::Resp)
            }
            Peer::Tarantool => {
                let mut command = Command::new("tarantool");
                let settings = format!(
                    "settings = {{ host = '127.0.0.1', port = {port}, wal_mode = 'none' }}"
                );
                command.args(["-e", &settings, "-e", &(text.clone() + TARANTOOL_TEST)]);
                (command, Wire::Iproto)
            }
        };
        let command = command.current_dir(directory.path()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("install it: run scripts/install-tools.sh");
        let mut said = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(said.any(|line| line.contains("Ready to accept")), "{peer:?} does not start");
        let client = Client::connect_over(wire, address).unwrap();
        let mut library = Library { peer, server, client, _directory: directory };
        if peer == Peer::Redis {
            library.call(&["FUNCTION", "LOAD", &text]);
        }
        library
    }

    fn call(&mut self, words: &[&str]) -> Value {
        self.client.call(words).unwrap()
    }

    pub(crate) fn set_time(&mut self, now: i64) {
        match self.peer {
            Peer::Redis => {
                let (seconds, rest) = ((now / 1000).to_string(), (now % 1000 * 1000).to_string());
                self.call(&["DEL", "clock"]);
                self.call(&["RPUSH", "clock", &seconds, &rest]);
            }
            Peer::Tarantool => {
                self.call(&["FCALL", "set_time", "1", &now.to_string()]);
            }
        }
    }

    pub(crate) fn charge(&mut self, command: &str, rest: &[&str]) -> Value {
        let name = format!("scur_{}", command.to_lowercase());
        self.call(&[&["FCALL", &name, "1", ACCOUNT], rest].concat())
    }

    /// Reports whether sessions and tombstones, and whether refills are stored apart from the record.
    pub(crate) fn is_busy(&mut self) -> (bool, bool) {
        match self.peer {
            Peer::Redis => {
                let Value::Bulk(account) = self.call(&["HGET", ACCOUNT, ""]) else {
                    panic!("the library has no record of the account")
                };
                let refills = self.call(&["HGET", ACCOUNT, "\u{2}"]);
                let is_counted = matches!(refills, Value::Bulk(bytes) if bytes.first() == Some(&0));
                (account[1] == 255, is_counted)
            }
            Peer::Tarantool => {
                let busy = self.call(&["FCALL", "busy", "1", ACCOUNT]);
                (busy.elements()[0] == Value::Integer(1), false)
            }
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
