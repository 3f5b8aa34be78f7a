//! Malformed, oversized and slow input, half-closed connections, and replies that are never read.

use crate::support::{Client, Server, array};
use nix::sys::signal::Signal;
use std::io::Write;
use std::net::Shutdown;

const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

#[test]
fn protocol_errors_answer_what_came_before_and_close() {
    let server = Server::start(&[]);
    for (input, error) in [
        (&b"*x\r\n"[..], "invalid multibulk length"),
        (b"*1048577\r\n", "invalid multibulk length"),
        (b"*1\r\n:4\r\n", "expected '$', got ':'"),
        (b"*2\r\n$3\r\nGET\r\nfoo\r\n", "expected '$', got 'f'"),
        (b"*1\r\n$-4\r\nPING\r\n", "invalid bulk length"),
        (b"*1\r\n$3\r\nPING\r\n", "invalid CRLF in request"),
        (b"set a \"b\r\n", "unbalanced quotes in request"),
        (&[b'a'; 70_000], "too big inline request"),
    ] {
        let mut client = server.connect();
        client.send([PING, input].concat());
        client.expect(&format!("+PONG\r\n-ERR Protocol error: {error}\r\n"));
        assert_eq!(client.rest(), "", "{error}");
    }
    server.connect().ask("PING", "+PONG\r\n");
}

#[test]
fn a_request_may_not_be_longer_than_the_bound() {
    let server = Server::start(&["--max-request", "64kb", "--max-argument", "40kb"]);
    let mut client = server.connect();
    let value = vec![b'v'; 40 * 1024];
    client.send(array(&[b"SET", b"k", &value]));
    client.expect("+OK\r\n");
    client.send(array(&[b"MSET", b"k", &value, b"l", &value]));
    client.expect(
        "-ERR Protocol error: too big request: longer than 65536 bytes (--max-request)\r\n",
    );
    assert_eq!(client.rest(), "");
}

#[test]
fn a_value_that_is_too_long_is_taken_in_and_refused_by_the_name_of_the_setting() {
    let server = Server::start(&["--max-argument", "1mb"]);
    server.connect().ask("SET before x", "+OK\r\n");
    // The last one is much longer than socket buffers.
    for len in [1024 * 1024 + 1, 5_000_000, 64_000_000] {
        let mut client = server.connect();
        client.send(array(&[b"SET", b"k", &vec![b'v'; len]]));
        client.expect(&format!(
            "-ERR Protocol error: invalid bulk length: an argument of {len} bytes is longer than \
             1048576 (--max-argument)\r\n"
        ));
        assert_eq!(client.rest(), "");
    }
    server.connect().ask("GET before", "$1\r\nx\r\n");
    server.signal(Signal::SIGTERM);
    let (_, said) = server.wait();
    assert!(said.contains("an argument of ") && said.contains("(--max-argument)"), "{said}");
}

#[test]
fn values_are_as_long_as_the_bound_that_is_shown() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.ask(
        "CONFIG GET proto-max-bulk-len",
        "*2\r\n$18\r\nproto-max-bulk-len\r\n$7\r\n8388608\r\n",
    );
    let value = vec![b'v'; 8 * 1024 * 1024];
    client.send(array(&[b"SET", b"k", &value]));
    client.expect("+OK\r\n");
    client.ask("STRLEN k", ":8388608\r\n");
    client.send("GET k\r\n");
    client.expect("$8388608\r\n");
    assert!(client.bytes(value.len() + 2).starts_with(&value));
}

#[test]
fn before_auth_requests_are_small_and_few() {
    let server = Server::start(&["--requirepass", "secret"]);
    for (input, error) in [
        ("*11\r\n", "unauthenticated multibulk length"),
        ("*1\r\n$16385\r\n", "unauthenticated bulk length"),
    ] {
        let mut client = server.connect();
        client.send(input);
        client.expect(&format!("-ERR Protocol error: {error}\r\n"));
        assert_eq!(client.rest(), "");
    }
    let mut client = server.connect();
    client.ask("PING", "-NOAUTH Authentication required.\r\n");
    client.ask("SCUR.TOTALS", "-NOAUTH Authentication required.\r\n");
    client.ask("AUTH wrong", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    client.ask(
        "AUTH other secret",
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
    );
    client.ask("AUTH a b c", "-ERR syntax error\r\n");
    client.ask(
        "HELLO 3 AUTH default wrong",
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
    );
    client.send("HELLO 3\r\n");
    assert!(client.line().starts_with("-NOAUTH HELLO must be called"));
    client.ask("AUTH secret", "+OK\r\n");
    client.ask("PING", "+PONG\r\n");
    client.ask("CONFIG GET requirepass", "*0\r\n");
    for (name, why) in [("requirepass", "immutable"), ("DIR", "protected"), ("save", "immutable")] {
        client.ask(
            &format!("CONFIG SET {name} x"),
            &format!("-ERR CONFIG SET failed (possibly related to argument '{name}') - can't set {why} config\r\n"),
        );
    }
    client.ask(
        "CONFIG SET durability none",
        "-ERR Unknown option or number of arguments for CONFIG SET - 'durability'\r\n",
    );
    client.ask("RESET", "+RESET\r\n");
    client.ask("PING", "-NOAUTH Authentication required.\r\n");
    client.ask("AUTH default secret", "+OK\r\n");
    client.ask("QUIT", "+OK\r\n");
    assert_eq!(client.rest(), "");
}

#[test]
fn one_byte_at_a_time() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let input = [
        PING,
        b"echo \"a b\"\r\n",
        &array(&[b"SET", b"k", b"\r\n$5"]),
        b"\r\n",
        b"*0\r\n",
        &array(&[b"GET", b"k"]),
    ]
    .concat();
    for byte in input {
        client.send([byte]);
    }
    client.expect("+PONG\r\n$3\r\na b\r\n+OK\r\n$4\r\n\r\n$5\r\n");
}

#[test]
fn errors_in_the_words_of_redis() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for (line, reply) in [
        ("FOO", "-ERR unknown command 'FOO', with args beginning with: "),
        ("foo bar 'b z'", "-ERR unknown command 'foo', with args beginning with: 'bar' 'b z' "),
        (r#""f\r\n-o""#, "-ERR unknown command 'f  -o', with args beginning with: "),
        (
            "SCUR.CREAT a",
            "-ERR unknown command 'SCUR.CREAT', with args beginning with: 'a' (did you mean SCUR.CREATE?)",
        ),
        (
            "HSET h f v",
            "-ERR unknown command 'HSET', with args beginning with: 'h' 'f' 'v' (Scurry has no hashes: use \
             Valkey beside it, see docs/clients.md)",
        ),
        (
            "BGSAVE",
            "-ERR unknown command 'BGSAVE', with args beginning with: (SCUR.SNAPSHOT writes a snapshot; \
             changes are in the log already)",
        ),
        ("GET", "-ERR wrong number of arguments for 'get' command"),
        (
            "SCUR.CHECK a",
            "-ERR wrong number of arguments for 'scur.check' command: SCUR.CHECK account unit amount [ITEM key]",
        ),
        ("SCUR.TOTALS a", "-ERR wrong number of arguments for 'scur.totals' command: SCUR.TOTALS"),
        ("PING a b", "-ERR wrong number of arguments for 'ping' command"),
        ("MSET a 1 b", "-ERR wrong number of arguments for 'mset' command"),
        ("CLIENT", "-ERR wrong number of arguments for 'client' command"),
        ("CLIENT ID x", "-ERR wrong number of arguments for 'client|id' command"),
        ("CLIENT FOO", "-ERR unknown subcommand 'FOO'. Try CLIENT HELP."),
        ("SET a b EX", "-ERR syntax error"),
        ("SET a b EX 0", "-ERR invalid expire time in 'set' command"),
        ("SELECT 1", "-ERR DB index is out of range"),
        ("SELECT x", "-ERR value is not an integer or out of range"),
        ("HELLO 4", "-NOPROTO unsupported protocol version"),
        ("HELLO x", "-ERR Protocol version is not an integer or out of range"),
        ("HELLO 3 FOO", "-ERR Syntax error in HELLO option 'FOO'"),
        (
            "CLIENT SETNAME 'a b'",
            "-ERR Client names cannot contain spaces, newlines or special characters.",
        ),
        ("COMMAND GETKEYS PING", "-ERR The command has no key arguments"),
        ("COMMAND GETKEYS FOO a", "-ERR Invalid command specified"),
        ("FLUSHALL NOW", "-ERR syntax error"),
        (
            "AUTH x",
            "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
        ),
    ] {
        client.ask(line, &format!("{reply}\r\n"));
    }
}

/// Commands that run scripts are unknown, and the error names the commands that replace scripts. The error is not
/// NOSCRIPT, because clients then send the script.
#[test]
fn scripts_are_refused_with_what_does_their_job() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for line in [
        "EVAL 'return 1' 0",
        "evalsha e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
        "EVAL_RO x 0",
        "EVALSHA_RO x 0",
        "SCRIPT LOAD 'return 1'",
        "SCRIPT EXISTS x",
        "FUNCTION LIST",
        "FCALL f 0",
        "FCALL_RO f 0",
        "EVAL",
    ] {
        client.send(format!("{line}\r\n"));
        let said = client.line();
        let name = line.split(' ').next().unwrap_or_default();
        let begin = format!(
            "-ERR Scurry runs no scripts, and does not know '{name}'. A lock is SET with NX"
        );
        assert!(said.starts_with(&begin), "{said}");
        for cure in ["IFEQ", "DELIFEQ", "INCREX", "SCUR.RESERVE", "docs/commands.md"] {
            assert!(said.contains(cure), "{said}");
        }
    }
    client.ask("MULTI", "+OK\r\n");
    client.send("EVAL x 0\r\n");
    assert!(client.line().starts_with("-ERR Scurry runs no scripts, and does not know 'EVAL'."));
    client.ask("EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n");
    client.ask("COMMAND INFO EVALSHA", "*1\r\n$-1\r\n");
}

/// Clients subscribe for messages, so the error does not speak of groups.
#[test]
fn subscriptions_are_refused_with_what_there_is_instead() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for line in ["SUBSCRIBE news", "PSUBSCRIBE n*"] {
        client.send(format!("{line}\r\n"));
        let said = client.line();
        assert!(said.starts_with("-ERR there is no publish/subscribe: "), "{said}");
        assert!(said.contains("SCUR.WATCH") && said.contains("--replicate"), "{said}");
    }
    client.ask("PING", "+PONG\r\n");
}

#[test]
fn commands_are_listed_by_category_and_their_keys_told_with_flags() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send("COMMAND LIST FILTERBY ACLCAT transaction\r\n");
    let mut names: Vec<String> = lines_of_bulks(&mut client);
    names.sort_unstable();
    assert_eq!(names, ["discard", "exec", "multi", "unwatch", "watch"]);
    client.send("COMMAND LIST FILTERBY ACLCAT SCUR\r\n");
    let names = lines_of_bulks(&mut client);
    assert!(names.len() > 10 && names.iter().all(|name| name.starts_with("scur.")), "{names:?}");
    client.ask("COMMAND LIST FILTERBY MODULE scurry", "*0\r\n");
    client.ask(
        "COMMAND GETKEYSANDFLAGS MSET a 1 b 2",
        "*2\r\n*2\r\n$1\r\na\r\n*2\r\n+OW\r\n+update\r\n*2\r\n$1\r\nb\r\n*2\r\n+OW\r\n+update\r\n",
    );
    client.ask(
        "COMMAND GETKEYSANDFLAGS SCUR.GET alice",
        "*1\r\n*2\r\n$5\r\nalice\r\n*2\r\n+RO\r\n+access\r\n",
    );
}

/// Reads an array of bulk strings.
fn lines_of_bulks(client: &mut Client) -> Vec<String> {
    let len: usize = client.line().trim_start_matches('*').parse().expect("an array");
    (0..len).map(|_| client.bulk()).collect()
}

#[test]
fn bad_values_in_scur_commands_are_refused_and_change_nothing() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.ask(
        "SCUR.CREATE a BUCKET m cent 9223372036854775807 BUCKET n cent 5",
        "*2\r\n+OK\r\n:1\r\n",
    );
    client.ask("SET plain x", "+OK\r\n");
    let long = "x".repeat(129);
    for (line, start) in [
        ("SCUR.TOPUP a t m 1", "-OVERFLOW 60 "),
        ("SCUR.TOPUP a t m -1", "-INVALID 10 "),
        ("SCUR.TOPUP a t m 0", "-INVALID 10 "),
        (
            "SCUR.TOPUP a t m 9223372036854775808",
            "-INVALID 10 amount is not an integer or out of range",
        ),
        ("SCUR.DEBIT a t cent -5", "-INVALID 10 "),
        ("SCUR.CREATE b BUCKET m cent -5", "-INVALID 10 "),
        ("SCUR.RESERVE a s 0 ITEM 1 cent REQUESTED -1", "-INVALID 10 "),
        ("SCUR.RESERVE a s 0 ITEM 1 cent MIN 1", "-INVALID 10 "),
        ("SCUR.RESERVE a s 0 ITEM 1 cent REQUESTED 1 ITEM 1 cent REQUESTED 1", "-INVALID 10 "),
        ("SCUR.UPDATE a s 1", "-UNKNOWN_SESSION 30 "),
        (
            r#"SCUR.GET """#,
            "-INVALID 10 account must be 1 to 128 printable ASCII characters without space",
        ),
        (r#"SCUR.GET "a\x00""#, "-INVALID 10 account"),
        (&format!("SCUR.GET {long}"), "-INVALID 10 account"),
        (&format!("SCUR.DEBIT a {long}{long} cent 1"), "-INVALID 10 txn must be 1 to 255 "),
        (
            "SCUR.GET nobody",
            "-UNKNOWN_ACCOUNT 20 no account has this id: create it with SCUR.CREATE",
        ),
        ("SCUR.GET plain", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("SCUR.CREATE plain", "-WRONGTYPE "),
        ("GET a", "-WRONGTYPE "),
        ("SET a 1", "-WRONGTYPE "),
        ("MSET b 1 a 2", "-WRONGTYPE "),
        ("DEL plain a", "-WRONGTYPE "),
    ] {
        client.send(format!("{line}\r\n"));
        let reply = client.line();
        assert!(reply.starts_with(start), "{line}: {reply}");
    }
    client.ask("EXISTS plain a b", ":2\r\n");
    client.ask("FLUSHALL", "-ERR accounts exist: FLUSHALL FORCE deletes balances for good\r\n");
    client.send("SCUR.AUDIT a\r\n");
    let audit: Vec<String> = (0..9).map(|_| client.line()).collect();
    assert_eq!(audit.join(" "), "*8 $2 ok :1 $7 version :1 $7 buckets");
    let mut client = server.connect();
    client.ask("FLUSHDB FORCE", "+OK\r\n");
    client.ask("DBSIZE", ":0\r\n");
}

#[test]
fn out_of_memory_in_the_words_of_redis() {
    let server = Server::start(&["--max-memory", "1mb"]);
    let mut client = server.connect();
    // Small enough that the request needs no larger buffer than the others.
    let value = vec![b'v'; 1_000];
    let mut refused = false;
    for number in 0..1_100 {
        client.send(array(&[b"SET", format!("k{number}").as_bytes(), &value]));
        let reply = client.line();
        refused = reply == "-OOM command not allowed when used memory > 'maxmemory'.";
        assert!(refused || reply == "+OK", "{reply}");
        if refused {
            break;
        }
    }
    assert!(refused, "a megabyte takes fewer than 1,100 values of 1 kB");
    client.ask("SCUR.CREATE a", "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    client.ask("DEL k0 k1 k2", ":3\r\n");
    client.ask("SCUR.CREATE a", "*2\r\n+OK\r\n:1\r\n");
}

#[test]
fn without_memory_what_ends_settles_or_is_known_goes_on() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    let mut ask = |line: &str| {
        client.send(format!("{line}\r\nPING\r\n"));
        client.until("+PONG\r\n")
    };
    ask("SCUR.CREATE a BUCKET main cent 100 BUCKET old cent 0");
    let known = [
        "SCUR.RESERVE a s 0 ITEM 1 cent REQUESTED 10",
        "SCUR.DEBIT a d cent 5",
        "SCUR.TOPUP a t main 5",
        "SCUR.COUNTER a c calls 1",
    ];
    let answers = known.map(&mut ask);
    ask("SCUR.RESERVE a r 0 ITEM 1 cent REQUESTED 10");
    ask("CONFIG SET maxmemory 1");
    for (line, first) in known.iter().zip(answers) {
        let again = ask(line);
        assert_eq!(again, first.replacen(":0\r\n", ":1\r\n", 1), "{line} is replayed");
    }
    for line in [
        "SCUR.CREATE b",
        "SCUR.RESERVE a s2 0 ITEM 1 cent REQUESTED 10",
        "SCUR.DEBIT a d2 cent 5",
        "SCUR.TOPUP a t2 main 5",
        "SCUR.COUNTER a c2 calls 1",
        "SET k v",
        "ENTITY.PUT e v",
        "ENTITY.DEL absent VERSION 9",
    ] {
        assert!(ask(line).starts_with(oom), "{line}");
    }
    // A request that would be refused anyway gets its own error.
    assert!(ask("SCUR.DEBIT a d cent 6").starts_with("-REQUEST_MISMATCH"));
    assert!(ask("SCUR.RESERVE b s 0 ITEM 1 cent REQUESTED 1").starts_with("-UNKNOWN_ACCOUNT"));
    for line in [
        "SCUR.UPDATE a s 1 ITEM 1 cent USED 4 REQUESTED 10",
        "SCUR.TERMINATE a s 2 ITEM 1 cent USED 4",
        "SCUR.RELEASE a r",
        "SCUR.REFUND a f d",
        "SCUR.ADJUST a j main -1",
        "SCUR.BUCKET a k old REMOVE",
        "SCUR.STATUS a closed",
        "SCUR.GET a",
        "DEL k",
        "ENTITY.DEL e",
    ] {
        let said = ask(line);
        assert!(!said.starts_with('-'), "{line}: {said}");
    }
    let flags = |said: String| said.contains("+denyoom\r\n");
    for (name, may_be_refused) in [
        ("SCUR.RESERVE", true),
        ("SCUR.CREATE", true),
        ("SCUR.UPDATE", false),
        ("ENTITY.DEL", true),
    ] {
        assert_eq!(flags(ask(&format!("COMMAND INFO {name}"))), may_be_refused, "{name}");
    }
}

#[test]
fn a_hundred_thousand_commands_in_one_go() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let mut writer = client.stream().try_clone().expect("the socket is shared");
    let count = 100_000;
    let sender = std::thread::spawn(move || {
        let mut input = Vec::new();
        for number in 0..count {
            let number = number.to_string();
            input.extend_from_slice(&array(&[b"ECHO", number.as_bytes()]));
        }
        writer.write_all(&input).expect("the server takes it");
    });
    for number in 0..count {
        assert_eq!(client.line(), format!("${}", number.to_string().len()));
        assert_eq!(client.line(), number.to_string());
    }
    sender.join().expect("everything was sent");
}

#[test]
fn a_client_that_never_reads_is_bounded_and_harms_nobody() {
    let server = Server::start(&[]);
    let mut lazy = server.connect();
    let mut other = server.connect();
    lazy.send(array(&[b"SET", b"big", &vec![b'v'; 900_000]]));
    lazy.expect("+OK\r\n");
    // Asks for 1.8 GB with 50 kB of requests and reads nothing.
    let asked = 2_000;
    lazy.send(array(&[b"GET", b"big"]).repeat(asked));
    for number in 0..1_000 {
        other.ask(
            &format!("ECHO {number}"),
            &format!("${}\r\n{number}\r\n", number.to_string().len()),
        );
    }
    other.send("INFO memory\r\n");
    let resident = std::iter::repeat_with(|| other.line())
        .find_map(|line| line.strip_prefix("used_memory_rss:").map(str::to_owned))
        .expect("INFO has it");
    let resident: u64 = resident.parse().expect("a number");
    assert!(resident < 100_000_000, "{resident} bytes are resident");
    // When it finally reads, it gets all its replies in order.
    for _ in 0..20 {
        assert_eq!(lazy.line(), "$900000");
        assert_eq!(lazy.line().len(), 900_000);
    }
    // When it disconnects instead, its memory is freed.
    drop(lazy);
    let alone = (0..1_000_000).any(|_| {
        other.send("INFO clients\r\n");
        let connected = |line: &String| line.starts_with("connected_clients:");
        let line = std::iter::repeat_with(|| other.line()).find(connected);
        line.as_deref() == Some("connected_clients:1")
    });
    assert!(alone, "the connection is still there");
}

#[test]
fn one_reply_is_bounded_too() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send(array(&[b"SET", b"big", &vec![b'v'; 1_000_000]]));
    client.expect("+OK\r\n");
    let keys = [&[&b"MGET"[..]][..], &[&b"big"[..]; 100]].concat();
    client.send(array(&keys));
    client.expect("-ERR the reply is too long: ask for fewer keys at once\r\n");
}

#[test]
fn half_closed_sockets_get_their_replies() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send([PING.repeat(5_000), b"*2\r\n$3\r\nGET\r\n".to_vec()].concat());
    client.stream().shutdown(Shutdown::Write).expect("it is open");
    let rest = client.rest();
    assert!(rest == "+PONG\r\n".repeat(5_000), "{} bytes came", rest.len());
}

#[test]
fn too_many_clients_are_told_so() {
    let server = Server::start(&["--max-clients", "2"]);
    let (mut first, mut second) = (server.connect(), server.connect());
    first.ask("PING", "+PONG\r\n");
    second.ask("PING", "+PONG\r\n");
    assert_eq!(server.connect().rest(), "-ERR max number of clients reached\r\n");
    second.ask("QUIT", "+OK\r\n");
    assert_eq!(second.rest(), "");
    drop(second);
    // The place is free once the server has seen the connection end, which it does before a later event.
    first.ask("PING", "+PONG\r\n");
    server.connect().ask("PING", "+PONG\r\n");
}
