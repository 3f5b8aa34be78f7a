//! The log of one thread fails while the others continue: no client waits for ever, no reply shows a change that is in
//! no log, and memory of clients is freed. The device fails as in reality: strace injects EIO into the sync of the
//! segment. Or the next segment cannot be created because its directory is gone, which is not a lack of space.

use super::restarts::Directory;
use super::{MISCONF, remove_all, under};
use crate::random::Random;
use crate::support::{Client, Server, connect, tool};
use nix::sys::signal::Signal;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Keys of the first of two threads, and of the second, whose log fails.
const HEALTHY: [&str; 3] = ["b", "{b}1", "bar"];
const FAILING: [&str; 3] = ["a", "{a}1", "foo"];
/// Value of writes that no log has accepted. No reply may show it.
const NEVER: &str = "in-no-log";
/// Longer than the place of a client that may have left is kept, and shorter than the longest wait.
const PATIENCE: Duration = Duration::from_secs(40);

/// Segment of the second thread that begins after the two Changes of [`start`].
const NEXT_SEGMENT: &str = "g1/1/log-00000000000000000003";

/// Reason why the log of the second thread fails.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// Every sync of the segment gives EIO.
    Sync,
    /// The segment cannot be created.
    Segment,
}

impl Trouble {
    /// Panics unless the server's log has the error. If the mark of an idle log has begun the segment before its
    /// directory was removed, the loss is noticed at the sync.
    fn is_told_in(self, log: &str) {
        let is_told = match self {
            Trouble::Sync => {
                log.contains("not synced: cannot sync") && log.contains("(os error 5)")
            }
            Trouble::Segment => {
                log.contains("(os error 2)") || log.contains("was removed while this server runs")
            }
        };
        assert!(is_told && log.contains("cannot"), "{self:?}: {log}");
    }
}

/// Starts a server with two threads that keeps an account and two values, and whose second log accepts no more writes.
fn start(directory: &Directory, mode: &str, trouble: Trouble) -> Server {
    let server = directory.serve(mode, "2");
    let mut client = server.connect();
    client.ask("MSET a old b old", "+OK\r\n");
    client.ask("SCUR.CREATE foo BUCKET m cent 1000", "*2\r\n+OK\r\n:1\r\n");
    server.signal(Signal::SIGTERM);
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");
    // A restarted server begins a new segment with its first write.
    let server = match trouble {
        Trouble::Sync => serve_without_sync(directory, mode),
        Trouble::Segment => directory.serve(mode, "2"),
    };
    if matches!(trouble, Trouble::Segment) {
        remove_all(&Path::new(directory.path()).join("g1/1"));
    }
    server
}

/// Starts a server under strace, which returns EIO when [`NEXT_SEGMENT`] is synced.
fn serve_without_sync(directory: &Directory, mode: &str) -> Server {
    let may = tool("strace", &["-f", "-qq", "--seccomp-bpf", "-e", "trace=fdatasync", "true"]);
    let said = String::from_utf8_lossy(&may.stderr);
    assert!(may.status.success(), "allow ptrace here (of a container: SYS_PTRACE): {said}");
    // strace compares the path that the descriptor links to.
    let path = Path::new(directory.path()).canonicalize().expect("it is there");
    let segment = path.join(NEXT_SEGMENT);
    let segment = segment.to_str().expect("a path of text");
    // The server is our own child (-D), and stops only at these calls.
    let strace = ["strace", "-D", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-P", segment];
    let calls = ["-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:error=EIO"];
    Server::run(under(&[&strace[..], &calls].concat(), &path, mode).args(["--threads", "2"]))
}

/// Makes the log of the second thread fail, and with it the client's request, unless the mark of the idle log has
/// failed before.
fn fail(server: &Server) {
    let mut client = server.connect();
    client.send(format!("SET a {NEVER}\r\n"));
    let said = client.line();
    assert!(said.is_empty() || said.starts_with(MISCONF), "{said} is answered, and in no log");
}

/// Returns a line of INFO.
fn info(client: &mut Client, name: &str) -> String {
    client.send("INFO\r\n");
    let text = client.bulk();
    let mut found = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found.next().unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
}

/// Waits until this many clients are left.
#[expect(clippy::disallowed_methods, reason = "how long a test waits for what must come")]
fn until_clients(client: &mut Client, count: &str) {
    let begun = Instant::now();
    loop {
        let said = info(client, "connected_clients");
        if said == count {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{said} clients are left, and not {count}");
    }
}

/// Stops the server with SIGTERM and returns its log.
fn stop(server: Server) -> String {
    server.signal(Signal::SIGTERM);
    let (_, log) = server.wait();
    assert!(log.contains("stopped: every client has its replies"), "{log}");
    log
}

#[test]
fn a_failed_log_is_told_by_every_thread_and_the_others_go_on() {
    told_by_every_thread(Trouble::Segment);
}

#[test]
fn a_failed_sync_is_told_by_every_thread_and_the_others_go_on() {
    told_by_every_thread(Trouble::Sync);
}

fn told_by_every_thread(trouble: Trouble) {
    let directory = Directory::make();
    let server = start(&directory, "fsync", trouble);
    fail(&server);
    // One client of each thread.
    let mut clients = [server.connect(), server.connect()];
    for client in &mut clients {
        for request in ["GET a", "SET a in-no-log", "SCUR.DEBIT foo t cent 1", "DEL a b", "DBSIZE"]
        {
            client.send(format!("{request}\r\n"));
            let line = client.line();
            assert!(line.starts_with(MISCONF), "{request}: {line}");
        }
        // A client on the failed thread can still use the keys of the other.
        client.ask("SET b kept", "+OK\r\n");
        client.ask("MGET b {b}1", "*2\r\n$4\r\nkept\r\n$-1\r\n");
        client.send("SCUR.TOTALS\r\nFLUSHALL\r\n");
        for _ in 0..2 {
            let line = client.line();
            assert!(line.starts_with("-MISCONF the log"), "{line}");
        }
        client.send("SET a x\r\nPING\r\nMGET a {a}1\r\nPING\r\n");
        assert!(client.line().starts_with(MISCONF));
        client.expect("+PONG\r\n");
        // One error, or one for each key.
        let refused = (0..4).map(|_| client.line()).take_while(|line| line != "+PONG");
        assert!(refused.filter(|line| line.starts_with(MISCONF)).count() > 0);
        assert_eq!(info(client, "log_status"), "err");
        until_clients(client, "2");
        client.send("CLIENT LIST\r\n");
        assert_eq!(client.bulk().lines().count(), 2);
    }
    let [_, mut healthy] = clients;
    healthy.send("SET b new\r\nGET b\r\nMULTI\r\nSET b newer\r\nGET b\r\nEXEC\r\n");
    healthy.expect("+OK\r\n$3\r\nnew\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n$5\r\nnewer\r\n");
    healthy.send("MULTI\r\nSET a x\r\nGET a\r\nEXEC\r\n");
    healthy.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n");
    for _ in 0..2 {
        assert!(healthy.line().starts_with(MISCONF));
    }
    healthy.send("WATCH a\r\n");
    assert!(healthy.line().starts_with(MISCONF));
    drop(healthy);
    let log = stop(server);
    trouble.is_told_in(&log);
}

#[test]
fn who_leaves_while_a_reply_is_waited_for_gives_its_place_back() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "2");
    let mut client = server.connect();
    // Each uses the longest possible wait, here or on the other thread, and disconnects.
    for thread in ["0", "1"] {
        for _ in 0..10 {
            let mut gone = server.connect();
            gone.send(format!("SCUR.WATCH $ THREAD {thread} BLOCK 60000\r\n"));
            drop(gone);
            // It closes the sending side and still waits for a reply.
            let mut half = server.connect();
            half.send("PING\r\n");
            half.send(format!("SCUR.WATCH 0 THREAD {thread} COUNT 1\r\n"));
            half.stream().shutdown(Shutdown::Write).expect("it is open");
            assert!(half.rest().starts_with("+PONG\r\n*10\r\n"));
        }
    }
    until_clients(&mut client, "1");
    stop(server);
}

/// Returns requests that are sent together.
fn unit(random: &mut Random) -> Vec<String> {
    let key = |random: &mut Random| {
        let all = [HEALTHY, FAILING].concat();
        random.of(&all).to_owned()
    };
    let shape = random.of(&[
        "GET K",
        "SET K V",
        "APPEND K V",
        "INCR K",
        "DEL K K",
        "MGET K K K K",
        "MSET K V K V",
        "EXISTS K K K",
        "DBSIZE",
        "PING",
        "INFO",
        "CLIENT LIST",
        "SCUR.TOTALS",
        "SCUR.GET K",
        "SCUR.DEBIT foo t cent 1",
        "SCUR.CREATE K BUCKET m cent 5",
        "SCUR.WATCH 0 THREAD T COUNT 3 BLOCK 2",
        "SLOWLOG GET",
        "FLUSHALL",
        "CONFIG RESETSTAT",
        "SCAN 0",
        "WATCH K;MULTI;SET X V;GET X;EXEC",
        "MULTI;INCR X;DISCARD",
        "UNWATCH",
    ]);
    // All requests of a transaction use one key, so it has one thread.
    let own = key(random);
    let mut requests = Vec::new();
    for line in shape.split(';') {
        let words = line.split(' ').map(|word| match word {
            "K" => key(random),
            "X" => own.clone(),
            "V" => NEVER.to_owned(),
            "T" => random.of(&["0", "1"]).to_owned(),
            word => word.to_owned(),
        });
        let words: Vec<String> = words.collect();
        // Writes to the healthy log are accepted and may be shown.
        let fails = |word: &String| FAILING.contains(&word.as_str());
        let healthy = words.iter().any(|word| HEALTHY.contains(&word.as_str()));
        let line = words.join(" ");
        requests.push(match healthy && !words.iter().any(fails) {
            true => line.replace(NEVER, "taken"),
            false if healthy => line.replace(NEVER, "either"),
            false => line,
        });
    }
    requests
}

/// Returns one reply as text. An error means the end of the connection or a timeout.
fn reply(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let (kind, rest) = line.split_at(1);
    let count: i64 = rest.trim_end().parse().unwrap_or(0);
    match kind {
        "$" if count >= 0 => {
            let mut bytes = vec![0; usize::try_from(count).expect("a length") + 2];
            reader.read_exact(&mut bytes)?;
            line += &String::from_utf8_lossy(&bytes);
        }
        "*" => {
            for _ in 0..count {
                line += &reply(reader)?;
            }
        }
        _ => {}
    }
    Ok(line)
}

/// Runs one client. The seed determines its requests, but not how they meet the failure.
fn client(port: u16, seed: u64, rounds: usize) -> [usize; 2] {
    let mut random = Random::new(seed);
    let (mut answered, mut closed) = (0, 0);
    let mut connection: Option<BufReader<TcpStream>> = None;
    for round in 0..rounds {
        let mut reader = connection.take().unwrap_or_else(|| BufReader::new(connect(port)));
        let units = 1 + random.below(6);
        let requests: Vec<String> = (0..units).flat_map(|_| unit(&mut random)).collect();
        let text: String = requests.iter().map(|request| format!("{request}\r\n")).collect();
        let sent = reader.get_mut().write_all(text.as_bytes());
        if random.one_in(12) {
            // It disconnects while its requests are under way.
            continue;
        }
        let mut is_open = sent.is_ok();
        for request in &requests {
            match reply(&mut reader) {
                Ok(text) => {
                    assert!(!text.contains(NEVER), "seed {seed}, {round}: {request}: {text}");
                    answered += 1;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    panic!("seed {seed}, round {round}: nothing is said to {request}");
                }
                Err(_) => {
                    is_open = false;
                    break;
                }
            }
        }
        closed += usize::from(!is_open);
        connection = is_open.then_some(reader);
    }
    [answered, closed]
}

#[test]
fn whatever_clients_send_while_a_log_fails_they_are_answered_or_closed() {
    for mode in ["fsync", "write"] {
        answered_or_closed(mode, Trouble::Segment);
    }
}

#[test]
fn whatever_clients_send_while_a_sync_fails_they_are_answered_or_closed() {
    answered_or_closed("fsync", Trouble::Sync);
}

fn answered_or_closed(mode: &str, trouble: Trouble) {
    const SEED: u64 = 0x1055_0F0F_E106;
    const CLIENTS: u64 = 12;
    let directory = Directory::make();
    let server = start(&directory, mode, trouble);
    let (port, total) = (server.port, [AtomicUsize::new(0), AtomicUsize::new(0)]);
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            let total = &total;
            scope.spawn(move || {
                for (sum, count) in total.iter().zip(client(port, SEED + number, 60)) {
                    sum.fetch_add(count, Ordering::Relaxed);
                }
            });
        }
    });
    let [answered, closed] = total.map(AtomicUsize::into_inner);
    // Only clients connected at the time of the failure are disconnected.
    assert!(answered > 1_000 && closed <= CLIENTS as usize, "{answered} replies, {closed} closed");
    let mut client = server.connect();
    assert_eq!(info(&mut client, "log_status"), "err");
    until_clients(&mut client, "1");
    client.ask("PING", "+PONG\r\n");
    let log = stop(server);
    trouble.is_told_in(&log);
}
