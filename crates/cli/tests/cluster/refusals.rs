//! Error messages of `up`, `down`, `export` and `import`.

use crate::said::scurry;
use crate::support::{Server, ask, store};
use std::fs;
use std::net::TcpListener;
use std::process::Command;
use tempfile::TempDir;

#[test]
fn up_says_what_is_missing_and_leaves_nothing() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("cluster");
    let path = path.to_str().expect("text");
    let up = |more: &[&str]| scurry(&[&["cluster", "up", "--dir", path], more].concat());
    up(&["--server", "/none/valkey-server"]).refused(&["install Valkey 8", "--server"]);
    up(&["--server", "redis-server"]).refused(&["is no Valkey server"]);
    up(&["--module", "/none/libscurry.so"]).refused(&["no module is at /none/libscurry.so"]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it has one").port().to_string();
    up(&["--module", "/bin/true", "--port", &port]).refused(&[&format!("port {port} is taken")]);
    scurry(&["cluster", "down", "--dir", path]).refused(&["holds no cluster"]);
    // Not a module: the servers end at once, and their logs say why.
    up(&["--module", "/bin/true"]).refused(&["has ended", "its nodes are stopped again"]);
    assert_eq!(fs::read_dir(path).expect("it is there").count(), 0, "nothing is left");
    fs::write(dir.path().join("cluster/other"), "").expect("it is written");
    up(&["--module", "/bin/true"]).refused(&["holds other things"]);
    up(&["--primaries", "2"]).refused(&["3..=16"]);
}

#[test]
fn a_copy_needs_an_empty_target_and_keys_that_it_knows() {
    let (from, to) = (Server::start("1"), Server::start("1"));
    ask(&mut store(&from.address()), "SCUR.CREATE alice BUCKET main cent 100");
    ask(&mut store(&to.address()), "SET other value");
    let (from, to) = (from.address(), to.address());
    scurry(&["export", "--from", &from, "--to", &to]).refused(&["has 1 keys", "--replace"]);
    scurry(&["export", "--from", &from, "--to", &to, "--replace"])
        .refused(&["1 keys were copied, and the target has 2"]);
    scurry(&["export", "--from", "nowhere", "--to", &to]).refused(&["write HOST:PORT"]);
    scurry(&["export", "--from", "127.0.0.1:1", "--to", &to]).refused(&["no server answers"]);
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("file");
    let file = file.to_str().expect("text");
    fs::write(file, "something else").expect("it is written");
    scurry(&["export", "--from", &from, "--out", file]).refused(&["choose a new name"]);
    scurry(&["import", "--to", &to, "--in", file]).refused(&["is no whole export"]);
}

#[test]
fn an_account_in_a_transfer_is_not_exported() {
    let dir = TempDir::new().expect("a directory");
    let config = dir.path().join("limits.toml");
    fs::write(&config, "[limits]\ntransactions_max = 1\n").expect("it is written");
    let from = Server::start_with("1", &["--config", config.to_str().expect("text")]);
    let mut client = store(&from.address());
    ask(&mut client, "SCUR.CREATE alice BUCKET main cent 100");
    ask(&mut client, "SCUR.CREATE bob BUCKET main cent 0");
    // An account that remembers as many ids as it may takes no transfer now.
    ask(&mut client, "SCUR.TOPUP bob full main 1");
    ask(&mut client, "SCUR.TRANSFER alice gift cent 5 bob main");
    let file = dir.path().join("file");
    let file = file.to_str().expect("text");
    scurry(&["export", "--from", &from.address(), "--out", file])
        .refused(&["alice", "a transfer of or to the account is under way"]);
}

#[test]
fn down_leaves_a_process_alone_that_has_got_the_number_of_a_node() {
    let dir = TempDir::new().expect("a directory");
    let mut other = Command::new("sleep").arg("60").spawn().expect("it starts");
    let text = format!(
        "server = \"valkey-server\"\nmodule = \"libscurry.so\"\nprimaries = 3\nreplicas = 0\n\n\
         [[nodes]]\nport = 1\nbus_port = 2\n\n[nodes.process]\npid = {}\nbegan = 1\n",
        other.id()
    );
    fs::write(dir.path().join("cluster.toml"), text).expect("it is written");
    let path = dir.path().to_str().expect("text");
    let status = scurry(&["cluster", "status", "--dir", path]).well();
    assert!(status.contains("down"), "{status}");
    let said = scurry(&["cluster", "down", "--dir", path]).well();
    assert!(said.contains("no node was running"), "{said}");
    assert_eq!(other.try_wait().expect("its state"), None, "it goes on");
    other.kill().and_then(|()| other.wait()).expect("it ends");
}
