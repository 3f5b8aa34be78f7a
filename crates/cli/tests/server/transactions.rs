//! MULTI, EXEC and WATCH: one step for all other clients and for the log, with one thread and several.

use crate::access::{CHEAP, settings};
use crate::random::Random;
use crate::store::{Directory, kill};
use crate::support::{Client, Server, array, connect};
use crate::valkey::Valkey;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const NOT_ALLOWED: &str = "-ERR Command not allowed inside a transaction\r\n";
const SPOILT: &str = "-EXECABORT Transaction discarded because of previous errors.\r\n";
const CROSS_CORE: &str = "-CROSSSLOT Keys of a transaction have to be on one thread: give them one \
                          hash tag, or serve with --threads 1\r\n";

const PATIENCE: Duration = Duration::from_secs(20);
/// Bound of attempts until 40 ms must have passed. Each is a round trip.
const TRIES_MAX: usize = 1_000_000;

fn talk(client: &mut Client, said: &[(&str, &str)]) {
    for (request, reply) in said {
        client.ask(request, reply);
    }
}

/// Checks two numbers that are only ever changed together, and returns one.
fn pair_is_even(client: &mut Client) -> i64 {
    client.send("MGET {t}a {t}b\r\n");
    client.expect("*2\r\n");
    let (a, b) = (client.bulk(), client.bulk());
    assert_eq!(a, b, "some of a transaction was seen");
    a.parse().expect("a number")
}

#[test]
fn nobody_sees_some_of_a_transaction() {
    for threads in ["1", "4"] {
        let server = Server::start(&["--threads", threads]);
        server.connect().ask("MSET {t}a 0 {t}b 0", "+OK\r\n");
        let (stop, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut client = server.connect();
                        for _ in 0..300 {
                            client.send(
                                "MULTI\r\nINCR {t}a\r\nECHO between\r\nINCR {t}b\r\nEXEC\r\n",
                            );
                            client.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n");
                            let a = client.line();
                            client.expect("$7\r\nbetween\r\n");
                            assert_eq!(a, client.line());
                        }
                    })
                })
                .collect();
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut client = server.connect();
                    while !stop.load(Ordering::Relaxed) {
                        pair_is_even(&mut client);
                        seen.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for writer in writers {
                writer.join().expect("it succeeds");
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(pair_is_even(&mut server.connect()), 1_200, "{threads} threads");
        assert!(seen.into_inner() > 0);
    }
}

/// Read, change, write back, and retry when another client was faster: no change is lost.
#[test]
fn watched_keys_make_read_and_write_one_step() {
    for threads in ["1", "4"] {
        let server = Server::start(&["--threads", threads]);
        server.connect().ask("SET {t}n 0", "+OK\r\n");
        let refused = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut client = server.connect();
                    let mut left = 100;
                    while left > 0 {
                        client.send("WATCH {t}n {t}other\r\nGET {t}n\r\n");
                        client.expect("+OK\r\n");
                        let number: i64 = client.bulk().parse().expect("a number");
                        client.send(format!("MULTI\r\nSET {{t}}n {}\r\nEXEC\r\n", number + 1));
                        client.expect("+OK\r\n+QUEUED\r\n");
                        match client.line().as_str() {
                            "*1" => {
                                client.expect("+OK\r\n");
                                left -= 1;
                            }
                            "*-1" => drop(refused.fetch_add(1, Ordering::Relaxed)),
                            line => panic!("{line}"),
                        }
                    }
                });
            }
        });
        server.connect().ask("GET {t}n", "$3\r\n400\r\n");
        assert!(refused.into_inner() > 0, "nobody was ever faster");
    }
}

#[test]
fn whatever_a_watched_key_holds_is_watched() {
    let server = Server::start(&[]);
    let (mut one, mut other) = (server.connect(), server.connect());
    talk(
        &mut one,
        &[("SCUR.CREATE a BUCKET m cent 100", "*2\r\n+OK\r\n:1\r\n"), ("SET p x", "+OK\r\n")],
    );
    other.send("ENTITY.PUT e 1\r\n");
    other.line();
    other.line();
    other.line();
    // The watched key, a command of another client between WATCH and EXEC, and whether EXEC executes.
    let cases = [
        ("a", "SCUR.TOPUP a t1 m 5", false),
        ("a", "SCUR.GET a", true),
        // Neither a duplicate nor a refused request changes anything.
        ("a", "SCUR.TOPUP a t1 m 5", true),
        ("a", "SCUR.RELEASE a nosuch", true),
        ("a", "SET a x", true),
        // A denial is remembered, which is a change.
        ("a", "SCUR.DEBIT a t2 cent 1000000", false),
        ("p", "GET p", true),
        ("p", "EXPIRE p 1000", false),
        ("p", "PERSIST p", false),
        ("p", "APPEND p y", false),
        ("p", "SET p xy", true),
        ("p", "DEL p", false),
        ("p", "DEL p", true),
        ("p", "SET p z", false),
        ("e", "ENTITY.GET e", true),
        ("e", "ENTITY.PUT e 2", false),
        ("e", "ENTITY.DEL e", false),
        ("p e a", "SET q 1", true),
        ("q p", "FLUSHALL FORCE", false),
    ];
    for (keys, meanwhile, goes_on) in cases {
        one.ask(&format!("WATCH {keys}"), "+OK\r\n");
        other.send(format!("{meanwhile}\r\nECHO done\r\n"));
        other.until("$4\r\ndone\r\n");
        talk(&mut one, &[("MULTI", "+OK\r\n"), ("PING", "+QUEUED\r\n")]);
        one.ask("EXEC", if goes_on { "*1\r\n+PONG\r\n" } else { "*-1\r\n" });
        // EXEC ends the watch.
        talk(&mut one, &[("MULTI", "+OK\r\n"), ("EXEC", "*0\r\n")]);
    }
    // Also without queued commands, EXEC reports that a watched key has changed.
    for unwatch in ["PING", "UNWATCH", "DISCARD"] {
        talk(&mut one, &[("WATCH p", "+OK\r\n"), ("INCR p", ":1\r\n"), ("MULTI", "+OK\r\n")]);
        match unwatch {
            "PING" => one.ask("EXEC", "*-1\r\n"),
            "DISCARD" => {
                one.ask("DISCARD", "+OK\r\n");
                talk(&mut one, &[("MULTI", "+OK\r\n"), ("EXEC", "*0\r\n")]);
            }
            _ => {
                talk(&mut one, &[("UNWATCH", "+QUEUED\r\n"), ("EXEC", "*-1\r\n")]);
                talk(&mut one, &[("WATCH p", "+OK\r\n"), ("DEL p", ":1\r\n")]);
                talk(&mut one, &[("UNWATCH", "+OK\r\n"), ("MULTI", "+OK\r\n"), ("EXEC", "*0\r\n")]);
            }
        }
        one.send("DEL p\r\n");
        one.line();
    }
}

#[test]
fn what_runs_out_while_it_is_watched_has_changed() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let mut others: Vec<Client> = (0..2).map(|_| server.connect()).collect();
    client.ask("SCUR.CREATE a BUCKET m cent 100", "*2\r\n+OK\r\n:1\r\n");
    // On a stalled machine they may expire before they are watched: then again with a longer time.
    let session = (5..15).map(|power| (power, 1 << power)).find_map(|(session, ms)| {
        client.ask(&format!("SET p x PX {ms}"), "+OK\r\n");
        client.ask(
            &format!(
                "SCUR.RESERVE a s{session} 0 TCC {ms}ms VALIDITY {ms}ms ITEM 1 cent REQUESTED 5"
            ),
            "*4\r\n+OK\r\n:0\r\n:1\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:5\r\n:0\r\n:0\r\n",
        );
        for (client, key) in others.iter_mut().zip(["p", "a"]) {
            client.ask("UNWATCH", "+OK\r\n");
            client.ask(&format!("WATCH {key}"), "+OK\r\n");
        }
        client.send(format!("EXISTS p\r\nSCUR.SESSION a s{session}\r\nECHO done\r\n"));
        let said = client.until("$4\r\ndone\r\n");
        (said.starts_with(":1") && !said.contains("UNKNOWN_SESSION")).then_some(session)
    });
    let session = format!("SCUR.SESSION a s{}", session.expect("they were watched in time"));
    for (line, gone) in [("EXISTS p", ":0"), (&*session, "-UNKNOWN_SESSION")] {
        let is_gone = (0..TRIES_MAX).any(|_| {
            client.send(format!("{line}\r\nECHO done\r\n"));
            client.until("$4\r\ndone\r\n").starts_with(gone)
        });
        assert!(is_gone, "{line}: it is still there");
    }
    for client in &mut others {
        talk(client, &[("MULTI", "+OK\r\n"), ("PING", "+QUEUED\r\n"), ("EXEC", "*-1\r\n")]);
        // A key that had expired before stays unchanged.
        talk(client, &[("WATCH p", "+OK\r\n"), ("MULTI", "+OK\r\n"), ("EXEC", "*0\r\n")]);
    }
}

#[test]
fn null_is_said_in_the_protocol_of_the_connection() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send("HELLO 3\r\nECHO hi\r\n");
    client.until("$2\r\nhi\r\n");
    talk(&mut client, &[("WATCH k", "+OK\r\n"), ("SET k 1", "+OK\r\n"), ("MULTI", "+OK\r\n")]);
    talk(&mut client, &[("GET k", "+QUEUED\r\n"), ("EXEC", "_\r\n")]);
    talk(&mut client, &[("MULTI", "+OK\r\n"), ("GET no", "+QUEUED\r\n"), ("EXEC", "*1\r\n_\r\n")]);
}

#[test]
fn keys_of_several_threads_are_refused_before_anything_is_done() {
    let server = Server::start(&["--threads", "4"]);
    let mut client = server.connect();
    // At least two keys are on different threads: 32 keys do not all fall to one of four threads.
    let keys: Vec<String> = (0..32).map(|number| format!("k{number}")).collect();
    client.ask("MULTI", "+OK\r\n");
    let mut refused = 0;
    for key in &keys {
        client.send(format!("SET {key} 1\r\n"));
        match client.line().as_str() {
            "+QUEUED" => {}
            line => {
                assert_eq!(line, CROSS_CORE.trim_end());
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && refused < keys.len(), "{refused} refused");
    talk(&mut client, &[("EXEC", SPOILT), ("DBSIZE", ":0\r\n")]);
    // Several keys of one command, and watched keys.
    client.ask("MULTI", "+OK\r\n");
    client.ask(&format!("MGET {}", keys.join(" ")), CROSS_CORE);
    client.ask("EXEC", SPOILT);
    client.ask(&format!("WATCH {}", keys.join(" ")), CROSS_CORE);
    let mut apart = 0;
    for key in &keys {
        client.ask("WATCH k0", "+OK\r\n");
        client.send(format!("MULTI\r\nGET {key}\r\nEXEC\r\n"));
        client.expect("+OK\r\n");
        match client.line().as_str() {
            "+QUEUED" => client.expect("*1\r\n$-1\r\n"),
            line => {
                assert_eq!(line, CROSS_CORE.trim_end());
                client.expect(SPOILT);
                apart += 1;
            }
        }
    }
    assert!(apart > 0 && apart < keys.len(), "{apart} apart");
}

#[test]
fn a_transaction_keeps_its_place_among_other_requests() {
    for threads in ["1", "5"] {
        let server = Server::start(&["--threads", threads]);
        let mut client = server.connect();
        let (mut random, mut bytes, mut expected) = (Random::new(7), Vec::new(), String::new());
        for number in 0..2_000 {
            let key = format!("k{}", random.below(50));
            let words: &[&str] = &["SET", &key, &number.to_string()];
            match random.below(4) {
                0 => {
                    let tagged = format!("{{{key}}}b");
                    for words in [
                        &["WATCH", &key][..],
                        &["MULTI"],
                        words,
                        &["GET", &key],
                        &["EXISTS", &key, &tagged],
                        &["EXEC"],
                    ] {
                        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
                        bytes.extend(array(&words));
                    }
                    let shown = number.to_string();
                    expected += "+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n";
                    expected += &format!("*3\r\n+OK\r\n${}\r\n{shown}\r\n:1\r\n", shown.len());
                }
                1 => {
                    bytes.extend(array(&[b"ECHO", key.as_bytes()]));
                    expected += &format!("${}\r\n{key}\r\n", key.len());
                }
                _ => {
                    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
                    bytes.extend(array(&words));
                    expected += "+OK\r\n";
                }
            }
        }
        client.send(bytes);
        client.expect(&expected);
    }
}

#[test]
fn what_is_not_for_transactions_is_refused_and_ends_them() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for line in
        ["INFO", "MULTI", "WATCH k", "DBSIZE", "AUTH x", "HELLO 3", "FLUSHALL", "SCAN 0", "KEYS *"]
    {
        talk(&mut client, &[("MULTI", "+OK\r\n"), ("SET k 1", "+QUEUED\r\n")]);
        talk(&mut client, &[(line, NOT_ALLOWED), ("EXEC", SPOILT), ("GET k", "$-1\r\n")]);
    }
    // These end it at once.
    talk(&mut client, &[("MULTI", "+OK\r\n"), ("SET k 1", "+QUEUED\r\n"), ("RESET", "+RESET\r\n")]);
    talk(&mut client, &[("GET k", "$-1\r\n"), ("EXEC", "-ERR EXEC without MULTI\r\n")]);
    talk(&mut client, &[("MULTI", "+OK\r\n"), ("SET k 1", "+QUEUED\r\n"), ("QUIT", "+OK\r\n")]);
    assert_eq!(client.rest(), "");
    let mut client = server.connect();
    talk(&mut client, &[("MULTI", "+OK\r\n"), ("SET k 1", "+QUEUED\r\n")]);
    drop(client);
    server.connect().ask("GET k", "$-1\r\n");
}

#[test]
fn a_queued_command_needs_its_role() {
    let path = settings("transactions", "", &[("default", CHEAP, "\"read\"")]);
    let server = Server::start(&["--config", path.to_str().expect("text")]);
    let mut client = server.connect();
    talk(
        &mut client,
        &[("MULTI", "-NOAUTH Authentication required.\r\n"), ("AUTH password", "+OK\r\n")],
    );
    let refusal = "-NOPERM User default has no permissions to run the 'set' command: it needs the role charge, and \
                   default has read\r\n";
    talk(&mut client, &[("MULTI", "+OK\r\n"), ("GET k", "+QUEUED\r\n"), ("SET k 1", refusal)]);
    talk(&mut client, &[("EXEC", SPOILT), ("MULTI", "+OK\r\n"), ("GET k", "+QUEUED\r\n")]);
    client.ask("EXEC", "*1\r\n$-1\r\n");
}

/// A user who may not read a key must not learn that it has changed.
#[test]
fn to_watch_a_key_needs_the_role_to_read_it() {
    for (roles, reply) in [
        ("\"read\"", "+OK\r\n"),
        (
            "\"charge\"",
            "-NOPERM User default has no permissions to run the 'watch' command: it needs the role read, and default \
             has charge\r\n",
        ),
    ] {
        let path = settings("watching", "", &[("default", CHEAP, roles)]);
        let server = Server::start(&["--config", path.to_str().expect("text")]);
        let mut client = server.connect();
        talk(&mut client, &[("AUTH password", "+OK\r\n"), ("WATCH k", reply)]);
        client.ask("UNWATCH", "+OK\r\n");
    }
}

#[test]
fn what_is_queued_and_what_is_answered_is_bounded() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let value = vec![b'v'; 1 << 20];
    let too_long = "-ERR a transaction has at most 16777216 bytes of commands and watched keys\r\n";
    client.ask("MULTI", "+OK\r\n");
    for step in 0..16 {
        client.send(array(&[b"SET", b"k", &value]));
        client.expect(if step < 15 { "+QUEUED\r\n" } else { too_long });
    }
    client.ask("EXEC", SPOILT);
    // 80 reads of 1 MiB: after 64 MiB they are refused, and writes are not.
    client.send(array(&[b"SET", b"k", &value]));
    client.expect("+OK\r\n");
    client.ask("MULTI", "+OK\r\n");
    for _ in 0..80 {
        client.send("GET k\r\nINCR n\r\n");
        client.expect("+QUEUED\r\n+QUEUED\r\n");
    }
    client.send("EXEC\r\n");
    client.expect("*160\r\n");
    let refusal = "-ERR the replies of this transaction are too long to read more";
    let (mut read, mut refused) = (0, 0);
    for step in 1..=80 {
        match client.line().as_str() {
            "$1048576" => {
                read += 1;
                assert!(client.bytes(value.len() + 2).starts_with(&value));
            }
            line => {
                refused += 1;
                assert_eq!(line, refusal);
            }
        }
        client.expect(&format!(":{step}\r\n"));
    }
    assert_eq!((read, refused), (64, 16));
    // Watched keys count as well.
    let key = vec![b'k'; 60_000];
    let keys: Vec<&[u8]> =
        std::iter::once(&b"WATCH"[..]).chain((0..250).map(|_| &key[..])).collect();
    client.send(array(&keys));
    client.expect("+OK\r\n");
    client.send(array(&keys));
    client.expect(too_long);
}

/// A command may write a longer record than the command itself, and a transaction must still fit one frame of the log.
/// Without a log there is no bound.
#[test]
fn what_a_transaction_writes_into_the_log_is_bounded() {
    let value = vec![b'v'; 1_000_000];
    let refusal = "-ERR this transaction has written too much into the log to write more\r\n";
    for threads in ["1", "3"] {
        let directory = Directory::make();
        let server = directory.serve("write", threads);
        for _ in 0..threads.parse().expect("a number") {
            let mut client = server.connect();
            client.send(array(&[b"SET", b"k", &value]));
            client.expect("+OK\r\n");
            client.ask("MULTI", "+OK\r\n");
            for step in 0..1_200 {
                client.send(format!("SETRANGE k {step} x\r\n"));
                client.expect("+QUEUED\r\n");
            }
            client.send("STRLEN k\r\nEXEC\r\n");
            client.expect("+QUEUED\r\n*1201\r\n");
            let done = (0..1_200).take_while(|_| {
                let line = client.line();
                assert!(line == ":1000000" || format!("{line}\r\n") == refusal, "{line}");
                line == ":1000000"
            });
            // 16 MiB, and the bytes that the frame contained before.
            let done = done.count();
            assert!((17..=21).contains(&done), "{done}");
            client.expect(&refusal.repeat(1_200 - done - 1));
            client.expect(":1000000\r\n");
            // The total length of the commands themselves fits.
            client.ask("MULTI", "+OK\r\n");
            for _ in 0..16 {
                client.send(array(&[b"SET", b"{k}l", &value]));
                client.expect("+QUEUED\r\n");
            }
            client.send("EXEC\r\n");
            client.expect(&format!("*16\r\n{}", "+OK\r\n".repeat(16)));
            let head = format!("GETRANGE k {} {}\r\n", done - 1, done);
            client.send(&head);
            client.expect("$2\r\nxv\r\n");
            client.ask("DEL k", ":1\r\n");
        }
        kill(server);
        let server = directory.serve("write", threads);
        server.connect().ask("EXISTS k {k}l", ":1\r\n");
    }
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send(array(&[b"SET", b"k", &value]));
    client.expect("+OK\r\n");
    let changes = "SETRANGE k 0 x\r\n".repeat(40);
    client.send(format!("MULTI\r\n{changes}EXEC\r\n"));
    client.expect(&format!("+OK\r\n{}*40\r\n", "+QUEUED\r\n".repeat(40)));
    client.expect(&":1000000\r\n".repeat(40));
}

/// After a kill, a transaction is there completely or not at all, and acknowledged ones are there.
#[test]
fn the_log_has_all_of_a_transaction_or_nothing() {
    for threads in ["1", "3"] {
        let (directory, mut kept) = (Directory::make(), 0);
        for round in 0..3 {
            let server = directory.serve("fsync", threads);
            if round > 0 {
                assert_eq!(pair_is_even(&mut server.connect()), kept);
            }
            let stream = connect(server.port);
            let (tell, told) = mpsc::channel();
            let writing = thread::spawn(move || increments(stream, &tell));
            let mut answered = 0;
            // Kills the server at some moment within a transaction.
            for _ in 0..40 + 13 * round {
                answered = told.recv_timeout(PATIENCE).expect("it goes on");
            }
            kill(server);
            writing.join().expect("it ends");
            answered = told.try_iter().last().unwrap_or(answered);
            let server = directory.serve("fsync", threads);
            kept = pair_is_even(&mut server.connect());
            assert!(kept >= answered, "{kept} of {answered}");
            kill(server);
        }
    }
}

/// Increments the pair until the server is gone, and reports each acknowledged number.
fn increments(stream: TcpStream, tell: &mpsc::Sender<i64>) {
    let mut reader = BufReader::new(stream);
    while reader.get_mut().write_all(b"MULTI\r\nINCR {t}a\r\nINCR {t}b\r\nEXEC\r\n").is_ok() {
        for _ in 0..6 {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(number) = line.strip_prefix(':') {
                tell.send(number.trim_end().parse().expect("a number")).expect("it is wanted");
            }
        }
    }
}

/// Returns the replies to a transaction without free memory, when it is queued and when it is executed, and the counts
/// of its commands.
fn without_memory<S: Read + Write>(client: &mut Client<S>, other: &mut Client<S>) -> Vec<String> {
    other.ask("CONFIG RESETSTAT", "+OK\r\n");
    other.ask("CONFIG SET maxmemory 1", "+OK\r\n");
    let mut said = Vec::new();
    // Without memory Valkey queues nothing at all; here only commands that need memory are refused.
    for line in ["SET k v", "MULTI", "SET k v", "EXEC", "MULTI", "EXEC"] {
        client.send(format!("{line}\r\n"));
        said.push(client.line());
    }
    other.ask("CONFIG SET maxmemory 0", "+OK\r\n");
    for line in ["MULTI", "SET k v", "INCR {k}n"] {
        client.send(format!("{line}\r\n"));
        said.push(client.line());
    }
    other.ask("CONFIG SET maxmemory 1", "+OK\r\n");
    client.send("EXEC\r\n");
    said.push(client.line());
    other.send("INFO commandstats\r\n");
    let counts = other.bulk();
    let counts = counts.lines().filter(|line| {
        ["cmdstat_set:", "cmdstat_multi:", "cmdstat_exec:"]
            .iter()
            .any(|name| line.starts_with(name))
    });
    let mut counts: Vec<String> = counts
        .map(|line| {
            line.split(',').filter(|part| !part.starts_with("usec")).collect::<Vec<_>>().join(",")
        })
        .collect();
    counts.sort();
    said.extend(counts);
    said
}

#[test]
fn without_memory_a_transaction_is_refused_when_it_is_queued_as_in_valkey() {
    let (server, valkey) = (Server::start(&[]), Valkey::start_9("transaction-oom"));
    let ours = without_memory(&mut server.connect(), &mut server.connect());
    let mut theirs = [Client::over(valkey.connect()), Client::over(valkey.connect())];
    let [client, other] = &mut theirs;
    assert_eq!(ours, without_memory(client, other));
    assert!(ours[2].starts_with("-OOM ") && ours[3].starts_with("-EXECABORT "), "{ours:?}");
    // With several threads each knows the others' memory.
    let server = Server::start(&["--threads", "2"]);
    assert_eq!(ours, without_memory(&mut server.connect(), &mut server.connect()));
    // Commands that need no memory are queued and executed.
    let mut client = server.connect();
    talk(
        &mut client,
        &[
            ("CONFIG SET maxmemory 0", "+OK\r\n"),
            ("SET k v", "+OK\r\n"),
            ("CONFIG SET maxmemory 1", "+OK\r\n"),
            ("MULTI", "+OK\r\n"),
            ("GET k", "+QUEUED\r\n"),
            ("DEL k", "+QUEUED\r\n"),
            ("EXEC", "*2\r\n$1\r\nv\r\n:1\r\n"),
        ],
    );
}
