//! SIGHUP: users are reloaded, and only connections of removed or changed users are closed.

use crate::access::{CHEAP, NO_AUTH, WRONG_PASS, settings};
use crate::support::{Client, Server, serve};
use nix::sys::signal::Signal;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// Connections of each user, enough for some on every thread.
const EACH: usize = 6;

/// Sends SIGHUP and waits for the log line with this text.
pub(crate) fn reload(server: &mut Server, told: &str) -> String {
    server.signal(Signal::SIGHUP);
    loop {
        let line = server.log_line();
        if line.contains(told) {
            return line;
        }
    }
}

/// Makes connections of this user.
fn come_in(server: &Server, name: &str, password: &str) -> Vec<Client> {
    let come = |_| {
        let mut client = server.connect();
        client.ask(&format!("AUTH {name} {password}"), "+OK\r\n");
        client
    };
    (0..EACH).map(come).collect()
}

/// Reports whether the server has closed the connection without sending anything.
fn is_closed(client: &mut Client) -> bool {
    client.rest().is_empty()
}

#[test]
fn sighup_takes_users_and_ends_connections_of_those_who_have_changed() {
    let dear =
        "$argon2id$v=19$m=256,t=3,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
    let before = [
        ("alice", CHEAP, "\"read\", \"charge\", \"admin\""),
        ("bob", CHEAP, "\"read\""),
        ("carol", CHEAP, "\"read\""),
        ("dave", CHEAP, "\"read\""),
    ];
    let path = settings("sighup", "threads = 2", &before);
    let mut server = Server::start(&["--config", path.to_str().expect("UTF-8")]);
    let users = ["alice", "bob", "carol", "dave"];
    let [mut alices, bobs, carols, daves] = users.map(|name| come_in(&server, name, "password"));
    let mut outside = server.connect();
    outside.ask("GET k", NO_AUTH);
    // One user with another role, one with another password, one removed, and one new.
    let after = [
        ("alice", CHEAP, "\"admin\", \"charge\", \"read\""),
        ("bob", CHEAP, "\"read\", \"charge\""),
        ("carol", dear, "\"read\""),
        ("erin", CHEAP, "\"read\""),
    ];
    settings("sighup", "threads = 2", &after);
    reload(&mut server, "the users in ");
    for client in &mut alices {
        client.ask("SET k v", "+OK\r\n");
    }
    for mut client in bobs.into_iter().chain(carols).chain(daves) {
        assert!(is_closed(&mut client));
    }
    // An unauthenticated client stays so, and can authenticate as one of the new users.
    outside.ask("GET k", NO_AUTH);
    outside.ask("AUTH dave password", WRONG_PASS);
    outside.ask("AUTH carol password", WRONG_PASS);
    outside.ask("AUTH erin password", "+OK\r\n");
    outside.ask("GET k", "$1\r\nv\r\n");
    come_in(&server, "bob", "password")[0].ask("SET k w", "+OK\r\n");
    alices[0].ask(
        "ACL USERS",
        "*5\r\n$7\r\ndefault\r\n$5\r\nalice\r\n$3\r\nbob\r\n$5\r\ncarol\r\n$4\r\nerin\r\n",
    );

    // An error in the file is logged and changes nothing.
    for (text, why) in [
        ("[[users]]\nname = 'erin'\n", "missing field `roles`"),
        ("[[users]]\nname = 'e'\npassword_hash = 'x'\nroles = []\n", "is not an Argon2 hash"),
        ("thread = 2\n", "did you mean `threads`?"),
        ("threads = 2\n", "without users and requirepass everybody would come in"),
    ] {
        std::fs::write(&path, text).expect("it is written");
        let said = reload(&mut server, "the users are not taken: ");
        let mut all = said.clone();
        while !all.contains(why) {
            all += &server.log_line();
        }
        outside.ask("PING", "+PONG\r\n");
    }
    std::fs::remove_file(&path).expect("it was there");
    reload(&mut server, "the users are not taken: cannot read the settings in ");
    come_in(&server, "alice", "password");
    outside.ask("ACL WHOAMI", "$4\r\nerin\r\n");
}

#[test]
fn sighup_takes_another_requirepass_and_leaves_what_the_command_line_says() {
    let path = settings("sighup-word", "requirepass = 'one'", &[]);
    let path = path.to_str().expect("UTF-8");
    let mut server = Server::start(&["--config", path]);
    let mut client = server.connect();
    client.ask("AUTH one", "+OK\r\n");
    std::fs::write(path, "requirepass = 'two'").expect("it is written");
    reload(&mut server, "the users in ");
    assert!(is_closed(&mut client));
    let mut client = server.connect();
    client.ask("AUTH one", WRONG_PASS);
    client.ask("AUTH two", "+OK\r\n");

    let mut server = Server::start(&["--config", path, "--requirepass", "three"]);
    let mut client = server.connect();
    client.ask("AUTH three", "+OK\r\n");
    std::fs::write(path, "requirepass = 'four'").expect("it is written");
    reload(&mut server, "the users in ");
    client.ask("PING", "+PONG\r\n");
    server.connect().ask("AUTH four", WRONG_PASS);
}

/// A server without settings file and certificates has nothing to reload and keeps running. The supervisor gets a
/// message when a reload begins and when it ends.
#[test]
fn sighup_ends_no_server_and_the_supervisor_hears_of_it() {
    let home = tempfile::tempdir().expect("a directory");
    let heard = UnixDatagram::bind(home.path().join("notify")).expect("a socket");
    heard.set_read_timeout(Some(Duration::from_secs(120))).expect("a time-out is set");
    let server = Server::run(serve(&[]).env("NOTIFY_SOCKET", home.path().join("notify")));
    let hear = || {
        let mut word = [0; 64];
        let len = heard.recv(&mut word).expect("a word comes");
        String::from_utf8_lossy(&word[..len]).into_owned()
    };
    assert_eq!(hear(), "READY=1");
    let mut client = server.connect();
    for _ in 0..2 {
        server.signal(Signal::SIGHUP);
        assert_eq!([hear(), hear()], ["RELOADING=1", "READY=1"]);
        client.ask("PING", "+PONG\r\n");
    }
}
