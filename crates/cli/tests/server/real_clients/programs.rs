//! The client libraries of other languages: runs the programs of testing/clients with our server, and with a foreign
//! one to show that they notice.

use super::peer::Peer;
use super::{libraries, text};
use crate::support::{Server, tool};
use std::sync::LazyLock;

/// Task of a program: the arguments described in testing/clients/README.md.
pub(super) struct Session<'a> {
    pub(super) address: &'a str,
    /// `single` or `cluster`.
    pub(super) mode: &'static str,
    /// 2 or 3.
    pub(super) protocol: u8,
    /// `-` for none.
    pub(super) password: &'a str,
    /// Names separated by commas.
    pub(super) parts: &'a str,
}

/// A client program, ready to run.
pub(super) struct Program {
    /// Command line before the arguments.
    words: Vec<String>,
}

impl Program {
    /// Runs the program. Returns whether every reply was right, and its output.
    pub(super) fn run(&self, session: &Session<'_>) -> (bool, String) {
        let protocol = session.protocol.to_string();
        let mut words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        words.extend([session.address, session.mode, &protocol, session.password, session.parts]);
        let output = tool(words[0], &words[1..]);
        (output.status.success(), text(&output))
    }
}

/// Programs, compiled when the first test needs them.
pub(super) static REDIS_PY: LazyLock<Program> =
    LazyLock::new(|| Program { words: libraries::python("venv", "redis", "session.py") });

pub(super) static GLIDE: LazyLock<Program> =
    LazyLock::new(|| Program { words: libraries::python("glide", "glide", "glide_session.py") });

pub(super) static GO_REDIS: LazyLock<Program> =
    LazyLock::new(|| Program { words: libraries::go(".", "go-session") });

pub(super) static IOREDIS: LazyLock<Program> =
    LazyLock::new(|| Program { words: libraries::node("session.js") });

pub(super) static JEDIS: LazyLock<Program> =
    LazyLock::new(|| Program { words: libraries::java("Session", "java-session") });

/// The programs whose library supports our cluster mode, with the names of the libraries.
pub(super) const ALL: [(&str, &LazyLock<Program>); 4] =
    [("redis-py", &REDIS_PY), ("go-redis", &GO_REDIS), ("ioredis", &IOREDIS), ("jedis", &JEDIS)];

fn sessions_in_both_protocols(program: &Program, own_parts: &str) {
    for protocol in [2, 3] {
        let server = Server::start(&["--requirepass", "secret"]);
        let (right, shown) = program.run(&Session {
            address: &format!("127.0.0.1:{}", server.port),
            mode: "single",
            protocol,
            password: "secret",
            parts: &format!("auth,charging,plain,transactions,expiry{own_parts},chains"),
        });
        assert!(right, "protocol {protocol}: {shown}");
    }
}

#[test]
fn redis_py_in_both_protocols() {
    sessions_in_both_protocols(&REDIS_PY, ",totals,connection");
}

/// GLIDE connects only to a server that reports itself as a primary.
#[test]
fn valkey_glide_in_both_protocols() {
    sessions_in_both_protocols(&GLIDE, "");
}

#[test]
fn go_redis_in_both_protocols() {
    sessions_in_both_protocols(&GO_REDIS, "");
}

#[test]
fn ioredis_in_both_protocols() {
    sessions_in_both_protocols(&IOREDIS, "");
}

#[test]
fn jedis_in_both_protocols() {
    sessions_in_both_protocols(&JEDIS, "");
}

/// Valkey answers the plain commands correctly and knows none of ours.
#[test]
fn every_program_notices_a_server_that_is_not_ours() {
    let valkey = Peer::single();
    for (name, program) in ALL.into_iter().chain([("valkey-glide", &GLIDE)]) {
        let session = |parts| Session {
            address: valkey.address(),
            mode: "single",
            protocol: 3,
            password: "-",
            parts,
        };
        let (right, shown) = program.run(&session("plain,transactions,expiry"));
        assert!(right, "{name}: {shown}");
        let (right, shown) = program.run(&session("plain,charging"));
        assert!(!right && shown.contains("unknown command"), "{name} did not notice: {shown}");
        assert!(shown.contains("SCUR.CREATE"), "{name}: {shown}");
    }
}
