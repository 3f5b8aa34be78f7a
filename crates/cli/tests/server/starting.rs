//! What a server says when it starts, and that it says so only when every port is open.

use crate::access::{CHEAP, settings};
use crate::support::{Server, serve};
use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;

#[test]
fn a_start_says_what_starts_and_who_may_come_in() {
    let version = env!("CARGO_PKG_VERSION");
    let server = Server::start(&[]);
    let expected = format!(
        "scurry {version}, durability none: nothing survives a restart\n\
         clients come in without a password, with every role\nlistening on 127.0.0.1:{}\n",
        server.port
    );
    assert!(server.said.ends_with(&expected), "{}", server.said);
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("starting");
    let _ = std::fs::remove_dir_all(&directory);
    let path = settings("starting", "", &[("alice", CHEAP, "'read'"), ("bob", CHEAP, "'read'")]);
    let directory = directory.to_str().expect("UTF-8");
    let path = path.to_str().expect("UTF-8");
    let server = Server::start(&["--dir", directory, "--durability", "write", "--config", path]);
    let expected = format!("scurry {version}, durability write in {directory}\n");
    assert!(server.said.contains(&expected), "{}", server.said);
    let expected = "\nclients come in with the password or token of one of 2 users\n";
    assert!(server.said.contains(expected), "{}", server.said);
    let server = Server::start(&["--requirepass", "secret"]);
    let expected = "\nclients come in with the password or token of default\n";
    assert!(server.said.contains(expected), "{}", server.said);
    assert!(!server.said.contains("secret"), "{}", server.said);
}

#[test]
fn nothing_listens_when_a_port_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    let mut child = serve(&["--log", "off", "--http-listen", &taken]).spawn().expect("it starts");
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("stderr is piped");
    stderr.read_to_string(&mut said).expect("it ends");
    assert!(!child.wait().expect("it ends").success());
    assert!(!said.contains("listening on "), "{said}");
    assert!(said.contains(&taken), "{said}");
}
