//! What is refused in words, and what may pass. In both cases no event is left out.

use crate::hand::{Hand, STORE, ask, refused, unavailable};
use crate::peer::{Peer, free_port};
use scurry_ship::{Sink, StoreId};
use scurry_sink_redis::{RedisSink, RedisTarget};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Says in words what is wrong with the keys that a line of commands makes.
#[track_caller]
fn refuses(lines: &[&str], words: &str) {
    let peer = Peer::valkey(&[]);
    lines.iter().for_each(|line| _ = ask(&peer, line));
    let said = refused(Hand::new(&peer.address()).resume());
    assert!(said.contains(words), "{said}");
}

#[test]
fn keys_of_other_programs_are_refused() {
    let entry = "XADD events:0 1-1 id 1.0:1 store 00c0ffee00c0ffee";
    let foreign = "is not of a shipper: another program writes to it";
    refuses(&["SET events x"], "WRONGTYPE");
    refuses(&["SET events:0 x"], "WRONGTYPE");
    refuses(&["HSET events name x"], "was not written by a shipper");
    refuses(&["HSET events store x"], "was not written by a shipper");
    refuses(&["XADD events:0 * name x"], foreign);
    refuses(&[entry], foreign);
    refuses(&["HSET events store 00c0ffee00c0ffee", "XADD events:0 * name x"], foreign);
    refuses(
        &["XADD events:0 * name x", "XTRIM events:0 MAXLEN 0"],
        "the hash events that says how far it was",
    );
}

#[test]
fn events_of_another_store_are_refused() {
    let peer = Peer::valkey(&[]);
    let mut hand = Hand::new(&peer.address());
    hand.resume().expect("streams");
    hand.ship(&["1.0:1"]).expect("an event");
    let mut other =
        RedisSink::new(RedisTarget::parse(&peer.address(), "events").expect("a target"));
    let words = format!(
        "have events of store {STORE}, and these are of store 0000000000000007: choose another --stream"
    );
    assert!(refused(other.resume(StoreId(7))).contains(&words));
    // The hash is gone: the last entry says it.
    ask(&peer, "DEL events");
    assert!(refused(other.resume(StoreId(7))).contains(&words));
    assert_eq!(hand.resume(), Ok("1.0:1-1".to_owned()));
}

#[test]
fn an_entry_of_another_program_stops_the_shipper() {
    let peer = Peer::valkey(&[]);
    let mut hand = Hand::new(&peer.address());
    hand.resume().expect("streams");
    hand.ship(&["1.0:1"]).expect("an event");
    ask(&peer, "XADD events:0 * name x");
    assert!(refused(hand.ship(&["1.0:2"])).contains("another program"));
    assert!(refused(hand.resume()).contains("another program"));
}

#[test]
fn an_entry_with_the_id_of_an_event_must_be_that_event() {
    for fields in ["name x", "id 1.0:1 store 0000000000000007"] {
        let peer = Peer::valkey(&[]);
        let mut hand = Hand::new(&peer.address());
        hand.resume().expect("streams");
        ask(&peer, &format!("XADD events:0 4294967296-4294967297 {fields}"));
        let said = refused(hand.ship(&["1.0:1"]));
        assert!(said.contains("writes to it"), "{said}");
    }
}

#[test]
fn full_memory_leaves_no_event_out() {
    let peer = Peer::valkey(&[]);
    let mut hand = Hand::new(&peer.address());
    hand.resume().expect("streams");
    hand.ship(&["1.0:1"]).expect("an event");
    ask(&peer, "CONFIG SET maxmemory 1");
    let said = unavailable(hand.ship(&["1.0:2", "1.0:3"]));
    assert!(said.contains("OOM") && said.contains("--max-len"), "{said}");
    unavailable(hand.resume());
    ask(&peer, "CONFIG SET maxmemory 0");
    assert_eq!(hand.resume(), Ok("1.0:1-1".to_owned()));
    hand.ship(&["1.0:2", "1.0:3"]).expect("events");
    assert_eq!(peer.events("events:0"), ["1.0:1", "1.0:2", "1.0:3"]);
}

#[test]
fn a_disk_that_fails_passes() {
    let peer = Peer::valkey(&["--min-replicas-to-write", "1"]);
    let mut hand = Hand::new(&peer.address());
    assert!(unavailable(hand.resume()).contains("NOREPLICAS"));
    ask(&peer, "CONFIG SET min-replicas-to-write 0");
    assert_eq!(hand.resume(), Ok(String::new()));
}

#[test]
fn a_replica_is_left_for_the_primary() {
    let primary = Peer::valkey(&[]);
    let replica = Peer::valkey(&["--replicaof", "127.0.0.1", &primary.port.to_string()]);
    let alone = unavailable(Hand::new(&replica.address()).resume());
    // Until it has copied its primary it says that instead.
    assert!(
        ["READONLY", "MASTERDOWN", "LOADING"].iter().any(|code| alone.contains(code)),
        "{alone}"
    );
    let mut hand = Hand::new(&format!("{},{}", replica.address(), primary.address()));
    assert_eq!(hand.resume(), Ok(String::new()));
    hand.ship(&["1.0:1"]).expect("an event");
    assert_eq!(primary.events("events:0"), ["1.0:1"]);
}

#[test]
fn users_and_passwords_are_refused_in_words() {
    let peer = Peer::start("redis-server", &["--requirepass", "secret"]);
    let target = |user: Option<&str>, password: Option<&str>| {
        let mut target = RedisTarget::parse(&peer.address(), "events").expect("a target");
        target.user = user.map(str::to_owned);
        target.password = password.map(str::to_owned);
        Hand::to(target)
    };
    assert!(refused(target(None, None).resume()).contains("SCURRY_TO_PASSWORD"));
    assert!(refused(target(None, Some("wrong")).resume()).contains("WRONGPASS"));
    assert!(refused(target(Some("somebody"), Some("secret")).resume()).contains("--to-user"));
    let mut hand = target(None, Some("secret"));
    assert_eq!(hand.resume(), Ok(String::new()));
    let connection =
        redis::Client::open(format!("redis://:secret@{}", peer.address())).expect("an address");
    let mut connection = connection.get_connection().expect("it listens");
    let mut set_user = |rules: &str| {
        let mut command = redis::cmd("ACL");
        command.arg("SETUSER").arg("ship").arg("reset").arg("on").arg(">pw");
        rules.split(' ').for_each(|rule| _ = command.arg(rule));
        command.query::<()>(&mut connection).expect("a user");
    };
    set_user("~events:* +xadd");
    let mut limited = target(Some("ship"), Some("pw"));
    let said = refused(limited.resume());
    assert!(said.contains("NOPERM"), "{said}");
    // The rights that the message names are enough.
    let named = said.split("the user needs ").nth(1).expect("rights");
    let named = named.replace(" (with --to-db +select)", "");
    let (rights, keys) = named.split_once(" on the keys ").expect("keys");
    assert_eq!(keys, "events and events:*");
    set_user(&format!("~events ~events:* {rights}"));
    limited.resume().expect("streams");
    limited.ship(&["1.0:1"]).expect("an event");
    assert_eq!(limited.resume(), Ok("1.0:1-1".to_owned()));
    hand.resume().expect("streams");
    hand.ship(&["1.0:1"]).expect("the same event");
}

#[test]
fn a_server_without_a_password_says_so() {
    let peer = Peer::valkey(&[]);
    let mut target = RedisTarget::parse(&peer.address(), "events").expect("a target");
    target.password = Some("secret".to_owned());
    let said = refused(Hand::to(target).resume());
    assert!(said.contains("unset SCURRY_TO_PASSWORD"), "{said}");
}

#[test]
fn no_server_is_worth_waiting_for() {
    let said = unavailable(Hand::new(&format!("127.0.0.1:{}", free_port())).resume());
    assert!(said.contains("no connection to 127.0.0.1:"), "{said}");
}

/// Returns the address of a server that replies to everything with these bytes, and then closes.
fn nonsense(reply: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let answer = move |mut stream: TcpStream| {
        let mut bytes = [0; 1024];
        while stream.read(&mut bytes).is_ok_and(|len| len > 0) {
            if stream.write_all(reply).is_err() {
                return;
            }
        }
    };
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    address
}

#[test]
fn a_server_that_answers_nonsense_is_refused() {
    for reply in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"+OK\r\n",
        b":1\r\n",
        b"$-1\r\n",
        b"*2\r\n$5\r\nstore\r\n$1\r\nx\r\n",
        b"*1\r\n*-1\r\n",
        b"-ERR unknown command 'HGETALL'\r\n",
    ] {
        let said = refused(Hand::new(&nonsense(reply)).resume());
        assert!(said.starts_with("127.0.0.1:") || said.contains("on 127.0.0.1:"), "{said}");
    }
}
