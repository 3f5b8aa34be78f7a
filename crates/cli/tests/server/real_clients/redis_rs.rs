//! redis-rs, whose session is part of this program.

use super::peer::Peer;
use crate::support::Server;
use redis::cluster::{ClusterClient, ClusterConnection, cluster_pipe};
use redis::cluster_routing::{RoutingInfo, SingleNodeRoutingInfo};
use redis::{Cmd, ConnectionInfo, ConnectionLike, IntoConnectionInfo, ProtocolVersion, Value};

const BYTES: &[u8] = b"\x00\r\n\xff$*";

/// Hash tags of accounts in chains. They belong to different nodes.
const GROUPS: [&str; 4] = ["north", "south", "east", "west"];

/// Bound of attempts until a key of one millisecond must have expired. Each is a round trip.
const TRIES_MAX: usize = 1_000_000;

/// Formats a reply on one line. Maps of RESP3 look like the flat arrays of RESP2.
fn shown(reply: &Value) -> String {
    let list = |elements: Vec<String>| format!("[{}]", elements.join(" "));
    match reply {
        Value::Nil => "nil".to_owned(),
        Value::Okay => "OK".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => bytes.escape_ascii().to_string(),
        Value::Array(elements) => list(elements.iter().map(shown).collect()),
        Value::Map(pairs) => list(pairs.iter().flat_map(|(k, v)| [shown(k), shown(v)]).collect()),
        other => format!("{other:?}"),
    }
}

/// Returns the reply, or `-` and the first word of the error.
fn ask(client: &mut impl ConnectionLike, words: &[&[u8]]) -> String {
    match command(words).query::<Value>(client) {
        Ok(reply) => shown(&reply),
        Err(error) => format!("-{}", error.code().unwrap_or("no code")),
    }
}

fn command(words: &[&[u8]]) -> Cmd {
    let mut command = Cmd::new();
    command.arg(words);
    command
}

/// Sends a line of words and compares the reply.
fn expect(client: &mut impl ConnectionLike, line: &str, expected: &str) {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    assert_eq!(ask(client, &words), expected, "{line}");
}

fn charging(client: &mut impl ConnectionLike, account: &str) {
    let mut run = |name: &str, rest: &str, expected: &str| {
        let line = format!("SCUR.{name} {account} {rest}");
        expect(client, line.trim_end(), expected);
    };
    let buckets = "BUCKET main cent 1000 FLOOR -50 BUCKET gift cent 100 PRIORITY -1";
    run("CREATE", buckets, "[OK 1]");
    run("CREATE", buckets, "-ACCOUNT_EXISTS");
    run("TOPUP", "t1 main 500", "[OK 0 2 1500]");
    run("TOPUP", "t1 main 500", "[OK 1 2 1500]");
    run("TOPUP", "t1 main 501", "-REQUEST_MISMATCH");
    run("RESERVE", "s1 0 ITEM 1 cent REQUESTED 300", "[OK 0 1 [[1 OK 300 0 0]]]");
    let update = "s1 1 ITEM 1 cent USED 250 REQUESTED 5000";
    run("UPDATE", update, "[OK 0 2 [[1 OK 1400 1 0]]]");
    run("UPDATE", update, "[OK 1 2 [[1 OK 1400 1 0]]]");
    run("CHECK", "cent 1", "[CREDIT_LIMIT_REACHED 0 balance]");
    run("TERMINATE", "s1 2 ITEM 1 cent USED 350", "[OK 0 0 [[1 OK 0 0 0]]]");
    run("SESSION", "s1", "-UNKNOWN_SESSION");
    run(
        "GET",
        "",
        "[status active version 5 identities [] buckets [[main cent 1000 0 -50 0 0 nil] \
         [gift cent 0 0 0 -1 0 nil]] counters [] limits [] sessions []]",
    );
    expect(client, "SCUR.GET nobody", "-UNKNOWN_ACCOUNT");
    expect(client, &format!("GET {account}"), "-WRONGTYPE");
}

/// Makes chains on three accounts of one hash slot, the second of which has a limit.
fn chains(client: &mut impl ConnectionLike, group: &str) {
    let accounts = ["", ":team", ":key"].map(|rest| format!("{{{group}}}{rest}"));
    let team = &accounts[1];
    let chain = |command: &str| {
        let count = command.split(' ').count();
        let links = accounts.each_ref().map(|account| format!("{account} {count} {command}"));
        format!("SCUR.CHAIN {}", links.join(" "))
    };
    for account in &accounts {
        expect(client, &format!("SCUR.CREATE {account} BUCKET main token 1000"), "[OK 1]");
    }
    let limit = format!("SCUR.LIMIT {team} l1 cap UNIT token AMOUNT 500");
    expect(client, &limit, "[OK 0 2 500]");
    let reserve = chain("RESERVE s1 0 ITEM input token REQUESTED 300");
    for replayed in 0..2 {
        let link = format!("[OK {replayed} 1 [[input OK 300 0 0]]]");
        expect(client, &reserve, &format!("[OK {replayed} 0 [{link} {link} {link}]]"));
    }
    let other = "[CHAIN_DENIED 0 0 [[input CHAIN_DENIED 0 0 0 chain]]]";
    let own = "[CREDIT_LIMIT_REACHED 0 0 [[input CREDIT_LIMIT_REACHED 0 2 0 limit cap]]]";
    expect(
        client,
        &chain("RESERVE s2 0 ITEM input token REQUESTED 300 MIN 300"),
        &format!("[CREDIT_LIMIT_REACHED 0 2 [{other} {own} {other}]]"),
    );
    let ended = "[OK 0 0 [[input OK 0 0 0]]]";
    expect(
        client,
        &chain("TERMINATE s1 1 ITEM input token USED 250"),
        &format!("[OK 0 0 [{ended} {ended} {ended}]]"),
    );
    expect(
        client,
        &format!("SCUR.GET {team}"),
        "[status active version 5 identities [] buckets [[main token 750 0 0 0 0 nil]] counters [] \
         limits [[cap token nil 500 250 0 250 0 none 0 nil]] sessions []]",
    );
    let debit = format!("SCUR.DEBIT {team} d1 token 251");
    expect(client, &debit, "[CREDIT_LIMIT_REACHED 0 6 0 limit cap]");
}

fn plain(client: &mut impl ConnectionLike) {
    assert_eq!(ask(client, &[b"SET", b"k", BYTES]), "OK");
    assert_eq!(ask(client, &[b"GET", b"k"]), BYTES.escape_ascii().to_string());
    expect(client, "GET none", "nil");
    expect(client, "MSET {t}a 1 {t}b 2", "OK");
    expect(client, "MGET {t}a {t}none {t}b", "[1 nil 2]");
    expect(client, "EXISTS {t}a {t}a {t}none", "2");
    expect(client, "DEL {t}a {t}b {t}none", "2");
    expect(client, "PING", "PONG");
}

/// Returns the replies to 500 pairs of SET and GET.
fn pipeline_replies() -> Vec<String> {
    (0..500).flat_map(|number| ["OK".to_owned(), number.to_string()]).collect()
}

fn expiry(client: &mut impl ConnectionLike) {
    expect(client, "SET e v EX 100", "OK");
    let left: i64 = command(&[b"TTL", b"e"]).query(client).expect("a time to live");
    assert!((1..=100).contains(&left), "{left}");
    expect(client, "SET e w KEEPTTL", "OK");
    expect(client, "PERSIST e", "1");
    expect(client, "TTL e", "-1");
    expect(client, "TTL none", "-2");
    expect(client, "SET e x NX", "nil");
    expect(client, "INCRBY n 10", "10");
    expect(client, "DECR n", "9");
    expect(client, "INCR e", "-ERR");
    expect(client, "GETDEL n", "9");
    expect(client, "SET f v PX 1", "OK");
    let expired = (0..TRIES_MAX).any(|_| ask(client, &[b"GET", b"f"]) == "nil");
    assert!(expired, "a key did not expire");
}

/// EXEC returns every reply, and does nothing if another client has changed a watched key.
fn transactions(client: &mut impl ConnectionLike, other: &mut impl ConnectionLike) {
    expect(client, "SET {x}n 1", "OK");
    let mut tries = 0;
    let replies: Vec<i64> = redis::transaction(client, &["{x}n", "{x}none"], |client, pipe| {
        tries += 1;
        if tries == 1 {
            expect(other, "INCR {x}n", "2");
        }
        pipe.incr("{x}n", 2).incr("{x}n", 3).query(client)
    })
    .expect("the second time");
    assert_eq!((replies, tries), (vec![4, 7], 2));
}

fn info(address: &str, password: &str, protocol: ProtocolVersion) -> ConnectionInfo {
    let info = format!("redis://{address}").into_connection_info().expect("an address");
    let mut settings = info.redis_settings().clone().set_protocol(protocol);
    if !password.is_empty() {
        settings = settings.set_password(password);
    }
    info.set_redis_settings(settings)
}

/// Runs the session in a cluster, with the parts named in testing/clients/README.md.
pub(super) fn in_cluster(address: &str, protocol: ProtocolVersion, password: &str, parts: &str) {
    let password = if password == "-" { "" } else { password };
    let node = info(address, password, protocol);
    let client = ClusterClient::builder([node]).use_protocol(protocol).build();
    let mut client = client.expect("settings").get_connection().expect("it listens");
    for part in parts.split(',') {
        match part {
            "charging" => {
                ["alice", "bob", "carol", "dave"].iter().for_each(|id| charging(&mut client, id));
            }
            "chains" => GROUPS.iter().for_each(|group| chains(&mut client, group)),
            "plain" => {
                plain(&mut client);
                let mut pipe = cluster_pipe();
                for number in 0..500 {
                    pipe.set(format!("p{number}"), number).get(format!("p{number}"));
                }
                let replies: Vec<Value> = pipe.query(&mut client).expect("every reply");
                assert_eq!(replies.iter().map(shown).collect::<Vec<_>>(), pipeline_replies());
            }
            "expiry" => expiry(&mut client),
            "moved" => moved(&mut client, password),
            other => panic!("unknown part {other}"),
        }
    }
}

/// Sends each command to a node that is wrong for most keys: the client must follow MOVED.
fn moved(client: &mut ClusterConnection, password: &str) {
    let slots = client.req_command(&command(&[b"CLUSTER", b"SLOTS"])).expect("the slots");
    let Value::Array(ranges) = slots else { panic!("{slots:?}") };
    assert!(ranges.len() > 1, "one node owns everything");
    let Value::Array(first) = &ranges[0] else { panic!("{ranges:?}") };
    let Value::Array(node) = &first[2] else { panic!("{first:?}") };
    let port = shown(&node[1]).parse().expect("a port");
    let link_fault = || {
        let host = shown(&node[0]);
        RoutingInfo::SingleNode(SingleNodeRoutingInfo::ByAddress { host, port })
    };
    let address = format!("{}:{port}", shown(&node[0]));
    let direct = redis::Client::open(info(&address, password, ProtocolVersion::RESP2));
    let mut direct = direct.expect("settings").get_connection().expect("it listens");
    let mut elsewhere = 0;
    for number in 0..200 {
        let (key, value) = (format!("p{number}"), format!("-{number}"));
        let set = client
            .route_command(&command(&[b"SET", key.as_bytes(), value.as_bytes()]), link_fault());
        assert_eq!(set.expect("MOVED is followed"), Value::Okay);
        expect(client, &format!("GET {key}"), &value);
        match ask(&mut direct, &[b"GET", key.as_bytes()]).as_str() {
            "-MOVED" => elsewhere += 1,
            other => assert_eq!(other, value),
        }
    }
    assert!((1..200).contains(&elsewhere), "{elsewhere} of 200 keys belong to others");
    expect(&mut direct, "MGET p0 p1", "-CROSSSLOT");
}

#[test]
fn redis_rs_in_both_protocols() {
    for protocol in [ProtocolVersion::RESP2, ProtocolVersion::RESP3] {
        let server = Server::start(&["--requirepass", "secret"]);
        let address = format!("127.0.0.1:{}", server.port);
        let connect = |password| {
            let client = redis::Client::open(info(&address, password, protocol));
            client.expect("settings").get_connection()
        };
        assert!(connect("wrong").is_err(), "a wrong password is refused");
        if let Ok(mut unknown) = connect("") {
            expect(&mut unknown, "PING", "-NOAUTH");
        }
        let mut client = connect("secret").expect("it listens");
        ["alice", "bob", "carol", "dave"].iter().for_each(|id| charging(&mut client, id));
        plain(&mut client);
        let mut pipe = redis::pipe();
        for number in 0..500 {
            pipe.set(format!("p{number}"), number).get(format!("p{number}"));
        }
        let replies: Vec<Value> = pipe.query(&mut client).expect("every reply");
        assert_eq!(replies.iter().map(shown).collect::<Vec<_>>(), pipeline_replies());
        transactions(&mut client, &mut connect("secret").expect("it listens"));
        expiry(&mut client);
        GROUPS.iter().for_each(|group| chains(&mut client, group));
    }
}

/// Valkey answers the plain commands correctly and knows none of ours.
#[test]
fn redis_rs_agrees_with_valkey() {
    let valkey = Peer::single();
    let client = redis::Client::open(info(valkey.address(), "", ProtocolVersion::RESP3));
    let client = client.expect("settings");
    let mut other = client.get_connection().expect("it listens");
    let mut client = client.get_connection().expect("it listens");
    plain(&mut client);
    transactions(&mut client, &mut other);
    expiry(&mut client);
    expect(&mut client, "SCUR.CREATE alice", "-ERR");
}
