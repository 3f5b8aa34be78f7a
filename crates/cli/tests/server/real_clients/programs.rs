//! The client libraries of other languages: the programs of testing/clients, run against a
//! server of ours, and against one that is not ours to show that they notice.

use super::peer::Peer;
use super::text;
use crate::support::{Server, python, tool, tool_within};
use std::path::PathBuf;
use std::sync::LazyLock;

/// Task of a program: the arguments that testing/clients/README.md describes.
pub(super) struct Session<'a> {
    pub(super) address: &'a str,
    /// `single` or `cluster`.
    pub(super) mode: &'static str,
    /// 2 or 3.
    pub(super) protocol: u8,
    /// `-` for none.
    pub(super) password: &'a str,
    /// Names with commas between them.
    pub(super) parts: &'a str,
}

/// A client program, ready to run.
pub(super) struct Program {
    /// Command line before the arguments.
    words: Vec<String>,
}

impl Program {
    /// True when every reply was right; and everything it printed.
    pub(super) fn run(&self, session: &Session<'_>) -> (bool, String) {
        let protocol = session.protocol.to_string();
        let mut words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        words.extend([session.address, session.mode, &protocol, session.password, session.parts]);
        let output = tool(words[0], &words[1..]);
        (output.status.success(), text(&output))
    }
}

/// The programs, prepared when the first test needs them.
pub(super) static REDIS_PY: LazyLock<Program> = LazyLock::new(|| {
    let has_redis = tool(&python(), &["-c", "import redis"]);
    assert!(has_redis.status.success(), "no redis package: run scripts/install-tools.sh");
    Program { words: vec![python(), source("python/session.py")] }
});

pub(super) static GLIDE: LazyLock<Program> = LazyLock::new(|| {
    let python = format!("{}/../../.cache/glide/bin/python", env!("CARGO_MANIFEST_DIR"));
    let has_glide = tool(&python, &["-c", "import glide"]);
    assert!(has_glide.status.success(), "no valkey-glide package: run scripts/install-tools.sh");
    Program { words: vec![python, source("python/glide_session.py")] }
});

pub(super) static GO_REDIS: LazyLock<Program> = LazyLock::new(|| {
    let binary = built("go-session");
    let cache = format!("{}/go", cache());
    build(&[
        "env",
        &format!("GOMODCACHE={cache}/mod"),
        &format!("GOCACHE={cache}/build"),
        "GOPROXY=off",
        "GOTOOLCHAIN=local",
        "GOFLAGS=-mod=readonly",
        "go",
        "-C",
        &source("go"),
        "build",
        "-buildvcs=false",
        "-o",
        &binary,
        ".",
    ]);
    Program { words: vec![binary] }
});

pub(super) static IOREDIS: LazyLock<Program> = LazyLock::new(|| {
    let modules = format!("{}/node/node_modules", cache());
    assert!(PathBuf::from(&modules).is_dir(), "no {modules}: run scripts/install-tools.sh");
    let words = ["env", &format!("NODE_PATH={modules}"), "node", &source("node/session.js")];
    Program { words: words.map(str::to_owned).to_vec() }
});

pub(super) static JEDIS: LazyLock<Program> = LazyLock::new(|| {
    let jars = format!("{}/java/jars/*", cache());
    let classes = built("java-session");
    build(&[
        "javac",
        "-encoding",
        "UTF-8",
        "-d",
        &classes,
        "-cp",
        &jars,
        &source("java/Session.java"),
    ]);
    let path = format!("{jars}:{classes}");
    // A short run gains nothing from the second compiler.
    let words = ["java", "-XX:TieredStopAtLevel=1", "-cp", &path, "Session"];
    Program { words: words.map(str::to_owned).to_vec() }
});

/// Every program whose library knows clusters here, by the name of that.
pub(super) const ALL: [(&str, &LazyLock<Program>); 4] =
    [("redis-py", &REDIS_PY), ("go-redis", &GO_REDIS), ("ioredis", &IOREDIS), ("jedis", &JEDIS)];

fn source(path: &str) -> String {
    format!("{}/../../testing/clients/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Where scripts/install-tools.sh puts the libraries.
fn cache() -> String {
    format!("{}/../../.cache/clients", env!("CARGO_MANIFEST_DIR"))
}

fn built(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

/// A compiler that has nothing in its cache takes its time on a busy machine.
fn build(words: &[&str]) {
    let output = tool_within("300", words[0], &words[1..]);
    assert!(output.status.success(), "{}: run scripts/install-tools.sh", text(&output));
}

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

/// GLIDE does not connect to a server that does not say that it is a primary.
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

/// Valkey answers the plain commands as it should and knows none of ours.
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
