//! The same sessions here and with a real valkey-server give the same replies and the same pushes.

use super::value;
use crate::support::{Client, Server};
use crate::valkey::Valkey;
use std::io::{Read, Write};

/// Steps with their client: `r` may track, `w` does not. A word that begins with a dot is a key. Commands separated by
/// bars are sent together.
const SESSION: &[&str] = &[
    // Replies of the commands about tracking.
    "r CLIENT TRACKINGINFO",
    "r CLIENT GETREDIR",
    "r CLIENT TRACKING ON OPTIN OPTOUT",
    "r CLIENT TRACKING ON OPTIN BCAST",
    "r CLIENT TRACKING ON BCAST OPTOUT",
    "r CLIENT TRACKING ON PREFIX foo",
    "r CLIENT TRACKING ON PREFIX",
    "r CLIENT TRACKING ON REDIRECT abc",
    "r CLIENT TRACKING ON REDIRECT",
    "r CLIENT TRACKING ON FOO",
    "r CLIENT TRACKING foo",
    "r CLIENT TRACKING foo bar",
    "r CLIENT TRACKING off bar",
    "r CLIENT TRACKING off OPTIN OPTOUT",
    "r CLIENT TRACKING off BCAST",
    "r CLIENT TRACKING",
    "r CLIENT TRACKINGINFO x",
    "r CLIENT GETREDIR x",
    "r CLIENT CACHING",
    "r CLIENT CACHING YES NO",
    "r CLIENT CACHING YES",
    "r CLIENT CACHING foo",
    "r CLIENT TRACKING on",
    "r CLIENT TRACKINGINFO",
    "r CLIENT GETREDIR",
    "r CLIENT TRACKING ON BCAST",
    "r CLIENT CACHING YES",
    "r CLIENT CACHING NO",
    "r CLIENT CACHING foo",
    "r CLIENT TRACKING ON NOLOOP",
    "r CLIENT TRACKINGINFO",
    "r CLIENT TRACKING ON OPTIN",
    "r CLIENT CACHING NO",
    "r CLIENT CACHING yes",
    "r CLIENT TRACKINGINFO",
    "r CLIENT TRACKING ON NOLOOP OPTIN",
    "r CLIENT TRACKINGINFO",
    "r CLIENT TRACKING ON OPTOUT",
    "r CLIENT TRACKING ON",
    "r CLIENT TRACKING ON OPTOUT",
    "r CLIENT TRACKING ON OPTIN",
    "r CLIENT CACHING YES",
    "r CLIENT CACHING NO",
    "r CLIENT TRACKINGINFO",
    "r PING",
    "r CLIENT TRACKINGINFO",
    "r CLIENT TRACKING OFF",
    "r CLIENT TRACKINGINFO",
    // RESP2 has no pushes.
    "r CLIENT TRACKING ON",
    "r GET .k",
    "w SET .k 0",
    "r HELLO 3",
    "w SET .k 1",
    // A key that was read is notified once.
    "r GET .k",
    "r GET .k",
    "w SET .k 2",
    "w SET .k 3",
    "r GET .k",
    "r SET .k 4",
    "r SET .k 5",
    "r GET .k | SET .k 1 | GET .k | SET .k 2 | GET .k",
    "w SET .k 6",
    "r MGET .x .y .z .x",
    "w MSET .x 1 .y 2",
    "w SET .z 1",
    "r MGET .x .y .z",
    "w DEL .x .y .q",
    "r GET .z | GET .none | PING",
    "w DEL .none",
    "w GETDEL .none",
    "w SET .none 1",
    // Commands that change nothing cause no push.
    "r GET .k",
    "w SETNX .k 1",
    "w SET .k 1 NX",
    "w EXPIRE .nokey 10",
    "w PERSIST .k",
    "w GETEX .k",
    "w GET .k",
    "w SETRANGE .k 0 \"\"",
    "w MSETNX .k 1 .l 2",
    "w INCR .k",
    "r GET .k",
    "w EXPIRE .k 100",
    "r EXPIRETIME .nokey",
    "r PTTL .nokey",
    "w SET .nokey 1",
    "r TYPE .k",
    "w PERSIST .k",
    "r EXISTS .k",
    "w GETEX .k EX 100",
    "r STRLEN .k",
    "w APPEND .k x",
    "r GETRANGE .k 0 1",
    "w APPEND .k \"\"",
    "r TOUCH .k",
    "w SETRANGE .k 0 ab",
    "r OBJECT REFCOUNT .k",
    "w GETSET .k 1",
    "r GET .k",
    "w SET .k x KEEPTTL",
    "r GET .k",
    "w INCR .k",
    "w UNLINK .k .k",
    "r GET .k",
    "w SET .k 1 EXAT 1",
    "w MSETNX .k 1 .l 2",
    "r GET .k",
    "w EXPIRE .k -1",
    "w SET .k 1",
    "r GET .k",
    "w PEXPIREAT .k 1",
    // Commands that are not plain reads are not tracked.
    "r GETEX .k",
    "r INCR .k",
    "r GETSET .k 1",
    "w SET .k 1",
    // Tracking turned off.
    "r GET .k",
    "r CLIENT TRACKING OFF",
    "w SET .k 1",
    "r GET .k",
    "w SET .k 1",
    // NOLOOP: no pushes about the client's own changes.
    "r CLIENT TRACKING ON NOLOOP",
    "r MGET .k .l",
    "r MSET .k 1 .l 2",
    "w MSET .k 1 .l 2",
    "r MGET .k .l",
    "w SET .l 2",
    "r SET .k 1 | GET .k",
    "w SET .k 1",
    "r CLIENT TRACKING OFF",
    // OPTIN: only keys that the client asks for.
    "r CLIENT TRACKING ON OPTIN",
    "r GET .k",
    "w SET .k 1",
    "r CLIENT CACHING YES",
    "r GET .k",
    "r GET .l",
    "w MSET .k 1 .l 2",
    "r CLIENT CACHING YES | GET .k | GET .l",
    "w MSET .k 1 .l 2",
    "r CLIENT CACHING YES | MGET .k .l | GET .m | GET .n",
    "w MSET .k 1 .l 2 .m 3 .n 4",
    "r GET .m | CLIENT CACHING YES | GET .k | GET .l | CLIENT CACHING YES | GET .n",
    "w MSET .k 1 .l 2 .m 3 .n 4",
    "r CLIENT CACHING YES",
    "r PING",
    "r GET .k",
    "w SET .k 1",
    "r CLIENT CACHING YES",
    "r CLIENT TRACKINGINFO",
    "r GET .k",
    "w SET .k 1",
    "r CLIENT CACHING YES",
    "r NOSUCH",
    "r GET .k",
    "w SET .k 1",
    "r CLIENT CACHING YES",
    "r GET",
    "r GET .k",
    "w SET .k 1",
    "r CLIENT TRACKING OFF",
    // OPTOUT: all keys except those that the client excludes.
    "r CLIENT TRACKING ON OPTOUT",
    "r GET .k",
    "w SET .k 1",
    "r CLIENT CACHING NO",
    "r GET .k",
    "r GET .l",
    "w MSET .k 1 .l 2",
    "r GET .m | CLIENT CACHING NO | GET .k | GET .l | CLIENT CACHING NO | GET .n",
    "w MSET .k 1 .l 2 .m 3 .n 4",
    "r CLIENT CACHING NO",
    "r SET .k 1",
    "r GET .k",
    "w SET .k 1",
    "r CLIENT TRACKING OFF",
    // Reads and changes in a transaction.
    "r CLIENT TRACKING ON",
    "r MULTI | GET .k | GET .l | EXEC",
    "w MSET .k 1 .l 2",
    "r GET .k",
    "r MULTI | SET .k 1 | GET .k | EXEC",
    "w SET .k 2",
    "r MULTI | GET .k | DISCARD",
    "w SET .k 3",
    "r GET .k",
    "w MULTI | SET .k 4 | SET .k 5 | EXEC",
    "r WATCH .k",
    "w SET .k 6",
    "r MULTI | GET .k | EXEC",
    "w SET .k 7",
    "r CLIENT TRACKING OFF",
    "r CLIENT TRACKING ON OPTIN",
    "r CLIENT CACHING YES | MULTI | GET .k | GET .l | EXEC",
    "w MSET .k 1 .l 2",
    "r MULTI | GET .k | EXEC",
    "w SET .k 1",
    "r CLIENT TRACKING OFF",
    "r CLIENT TRACKING ON OPTOUT",
    // Changes of protocol, and the end of the session.
    "r GET .k",
    "r HELLO 2",
    "w SET .k 3",
    "r CLIENT TRACKINGINFO",
    "r GET .k",
    "w SET .k 4",
    "r HELLO 3",
    "w SET .k 5",
    "r CLIENT TRACKINGINFO",
    "r GET .k",
    "w SET .k 6",
    "r GET .k",
    "r RESET",
    "w SET .k 7",
    "r CLIENT TRACKINGINFO",
    "r HELLO 3",
    "w SET .k 8",
];

struct Stage<S> {
    reader: Client<S>,
    writer: Client<S>,
    /// A connection on the reader's core: a push to it comes after the pushes to the reader.
    marker: Client<S>,
}

impl<S: Read + Write> Stage<S> {
    /// Connects `clients` to one core after another.
    fn new(mut clients: Vec<Client<S>>) -> Stage<S> {
        let mut marker = clients.pop().expect("the last");
        clients.truncate(2);
        let (writer, reader) = (clients.pop().expect("two"), clients.pop().expect("two"));
        marker.send("HELLO 3\r\n");
        value(&mut marker);
        marker.ask("CLIENT TRACKING ON", "+OK\r\n");
        Stage { reader, writer, marker }
    }

    /// Returns the messages that the reader gets because of a step, in order.
    fn step(&mut self, line: &str) -> Vec<String> {
        let (who, commands) = line.split_once(' ').expect("who says what");
        let commands: Vec<&str> = commands.split(" | ").collect();
        let mut bytes = String::new();
        for command in &commands {
            for (at, word) in command.split(' ').enumerate() {
                bytes += if at == 0 { "" } else { " " };
                match word.strip_prefix('.') {
                    // All keys on one core, whose pushes keep their order.
                    Some(key) => bytes += &format!("{{t}}{key}"),
                    None => bytes += word,
                }
            }
            bytes += "\r\n";
        }
        let mut got = Vec::new();
        let mut replies = 0;
        if who == "w" {
            self.writer.send(bytes);
            got.extend(commands.iter().map(|_| value(&mut self.writer)));
        } else {
            self.reader.send(bytes);
            replies = commands.len();
        }
        while replies > 0 {
            got.push(value(&mut self.reader));
            replies -= usize::from(!got[got.len() - 1].starts_with('>'));
        }
        // When this push arrives, all earlier ones have arrived. It is no read or change of the clients under test, and
        // CLIENT commands do not affect CLIENT CACHING.
        self.marker.send("GET {t}mark\r\n");
        value(&mut self.marker);
        self.writer.ask("SET {t}mark 1", "+OK\r\n");
        value(&mut self.marker);
        self.reader.send("CLIENT ID\r\n");
        loop {
            let next = value(&mut self.reader);
            if !next.starts_with('>') {
                assert!(next.starts_with(':'), "{next}");
                return got;
            }
            got.push(next);
        }
    }
}

/// Removes what depends on the server: HELLO names it.
fn shown(line: &str, got: Vec<String>, in_order: bool) -> Vec<String> {
    let mut got = got;
    if line.contains("HELLO") {
        got[0].truncate(1);
    }
    if !in_order {
        // Pushes come after the replies of a batch; Valkey has no such batches.
        got.sort_by_key(|value| value.starts_with('>'));
    }
    got
}

#[test]
fn replies_and_pushes_are_those_of_valkey() {
    let valkey = Valkey::start("tracking");
    for (threads, in_order) in [("1", true), ("4", false)] {
        let server = Server::start(&["--threads", threads]);
        let connect = |_| {
            let mut client = server.connect();
            client.ask("PING", "+PONG\r\n");
            client
        };
        let mut ours = Stage::new((0..5).map(connect).collect());
        let mut theirs = Stage::new((0..5).map(|_| Client::over(valkey.connect())).collect());
        theirs.writer.ask("FLUSHALL", "+OK\r\n");
        theirs.marker.ask("PING", ">2\r\n$10\r\ninvalidate\r\n_\r\n+PONG\r\n");
        for (at, line) in SESSION.iter().enumerate() {
            let [ours, theirs] = [ours.step(line), theirs.step(line)];
            let [ours, theirs] = [ours, theirs].map(|got| shown(line, got, in_order));
            assert_eq!(ours, theirs, "{threads} threads, step {at}: {line}");
        }
    }
}
