//! Uses of a store by frameworks and further libraries: caches, web sessions, client-side caches, and locks, which need
//! scripts and are refused. Runs the programs `uses` of testing/clients, and Spring.

use super::peer::Peer;
use super::{libraries, text};
use crate::support::{Server, tool};

/// Runs the program with a new server that has this many threads.
fn is_right(program: &[String], threads: &str) {
    let server = Server::start(&["--threads", threads]);
    let (right, shown) = run(program, &format!("127.0.0.1:{}", server.port));
    assert!(right && shown.contains("right"), "{threads} threads: {shown}");
}

/// Runs the program. Returns whether it succeeded, and its output.
fn run(program: &[String], address: &str) -> (bool, String) {
    let mut words: Vec<&str> = program.iter().map(String::as_str).collect();
    words.push(address);
    let output = tool(words[0], &words[1..]);
    (output.status.success(), text(&output))
}

fn python() -> Vec<String> {
    libraries::python("uses", "django_redis", "uses.py")
}

fn node() -> Vec<String> {
    libraries::node("uses.js")
}

fn go() -> Vec<String> {
    libraries::go("./uses", "go-uses")
}

fn spring() -> Vec<String> {
    libraries::java_with("spring", "Spring", "java-spring")
}

fn redisson() -> Vec<String> {
    libraries::java_with("redisson", "Locks", "java-redisson")
}

/// One thread, because Django writes many keys in one transaction, which is refused with several threads.
#[test]
fn django_flask_and_valkey_py() {
    is_right(&python(), "1");
}

#[test]
fn node_redis_and_web_sessions() {
    is_right(&node(), "1");
    is_right(&node(), "3");
}

#[test]
fn rueidis_and_redsync() {
    is_right(&go(), "1");
    is_right(&go(), "3");
}

#[test]
fn spring_cache_and_nested_replies() {
    is_right(&spring(), "1");
    is_right(&spring(), "3");
}

/// On the error of an unknown command it would repeat EVALSHA for ever.
#[test]
fn redisson_hears_that_there_are_no_scripts() {
    is_right(&redisson(), "1");
}

#[test]
fn each_notices_a_server_that_is_not_ours() {
    let valkey = Peer::single();
    for program in [python(), node(), go(), spring()] {
        let (right, shown) = run(&program, valkey.address());
        assert!(!right && shown.contains("SCUR.CREATE"), "{program:?} did not notice: {shown}");
    }
    let (right, shown) = run(&redisson(), valkey.address());
    assert!(!right && shown.contains("not refused"), "Redisson did not notice: {shown}");
}
