//! The Lua library against the ledger itself: the same commands at the same times must get the same
//! replies, however many sessions, tombstones and refills the account has. Where the library keeps
//! them changes nothing that a client sees.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use scurry_lab::client::Client;
use scurry_lab::random::Random;
use scurry_lab::resp::{Value, encode};
use scurry_ledger::{Account, Decision, Limits, Time, apply, decide, view_in_place};
use scurry_resp::table::{self, CommandId};
use scurry_resp::{
    Args, Parsed, Parser, Protocol, Reply, RequestLimits, Scratch, parse_read, parse_write,
};

const ACCOUNT: &str = "acc";
const EPOCH_MS: i64 = 1_700_000_000_000;
/// The limits up to which the library's record lists things itself.
const LISTED: &str = "= 8, 16, 16";

/// A server with the library, whose time is that of the test.
struct Library {
    server: Child,
    client: Client,
}

impl Library {
    /// Starts one with such limits of what a record lists.
    fn start(listed: &str) -> Library {
        let text = include_str!("../peers/scur.lua");
        let timed = text.replace("call('TIME')", "call('LRANGE', 'clock', 0, 1)");
        assert_ne!(timed, text);
        assert!(timed.contains(LISTED), "the library has other limits");
        let text = timed.replace(LISTED, listed);
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut server = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--port", &address.port().to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("redis-server is not installed: run scripts/install-tools.sh");
        let mut said = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(said.any(|line| line.contains("Ready to accept")), "redis-server does not start");
        let mut library = Library { server, client: Client::connect(address).unwrap() };
        library.call(&["FUNCTION", "LOAD", &text]);
        library
    }

    fn call(&mut self, words: &[&str]) -> Value {
        self.client.call(words).unwrap()
    }

    fn set_time(&mut self, now: i64) {
        let (seconds, rest) = ((now / 1000).to_string(), (now % 1000 * 1000).to_string());
        self.call(&["DEL", "clock"]);
        self.call(&["RPUSH", "clock", &seconds, &rest]);
    }

    fn charge(&mut self, command: &str, rest: &[&str]) -> Value {
        let name = format!("scur_{}", command.to_lowercase());
        self.call(&[&["FCALL", &name, "1", ACCOUNT], rest].concat())
    }

    /// Whether sessions and tombstones, and whether refills have keys of their own.
    fn is_busy(&mut self) -> (bool, bool) {
        let Value::Bulk(account) = self.call(&["HGET", ACCOUNT, ""]) else {
            panic!("the library has no record of the account")
        };
        let refills = self.call(&["HGET", ACCOUNT, "\u{2}"]);
        let is_counted = matches!(refills, Value::Bulk(bytes) if bytes.first() == Some(&0));
        (account[1] == 255, is_counted)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The ledger in this process, with one account.
#[derive(Default)]
struct Ledger {
    account: Option<Account>,
    now: i64,
}

impl Ledger {
    fn charge(&mut self, command: &str, rest: &[&str]) -> Value {
        let name = format!("SCUR.{command}");
        let request = encode(&[&[name.as_str(), ACCOUNT], rest].concat());
        let mut parser = Parser::default();
        let parsed = parser.parse(&request, &RequestLimits::default(), true);
        assert!(matches!(parsed, Parsed::Request(_)), "{command} {rest:?}");
        let mut out = Vec::new();
        self.run(parser.args(&request, 0), &mut Reply::new(&mut out, Protocol::Resp2));
        Value::read(&out).unwrap().1
    }

    fn run(&mut self, args: Args<'_>, reply: &mut Reply<'_>) {
        let (now, limits) = (Time(self.now), Limits::default());
        match table::find(args.at(0)).unwrap().id {
            CommandId::ScurWrite(id) => {
                let mut scratch = Scratch::default();
                let command = parse_write(id, args, &mut scratch).unwrap().command;
                match decide(self.account.as_ref(), &command, now, &limits) {
                    Decision::Replay(answer) => scurry_resp::answer(reply, &command, &answer, true),
                    Decision::Reject(rejection) => scurry_resp::rejection(reply, &rejection),
                    Decision::Commit(change, answer) => {
                        apply(&mut self.account, &change);
                        scurry_resp::answer(reply, &command, &answer, false);
                    }
                }
            }
            CommandId::ScurRead(id) => {
                let mut seen = self.account.clone();
                view_in_place(&mut seen, now, &limits);
                parse_read(id, args).unwrap().answer(reply, seen.as_ref().unwrap(), now);
            }
            other => panic!("{other:?} is no charging command"),
        }
    }
}

/// Whether the library's reply is the ledger's, as far as the library has what stands in it: an
/// error's code, the entries of a map, and the first elements of a row.
fn agrees(library: &Value, ledger: &Value) -> bool {
    let (Value::Array(some), Value::Array(all)) = (library, ledger) else {
        return match (library, ledger) {
            (Value::Error(one), Value::Error(other)) => {
                one.split(' ').take(2).eq(other.split(' ').take(2))
            }
            _ => library.to_string() == ledger.to_string(),
        };
    };
    match some.first() {
        Some(Value::Bulk(key))
            if [&b"status"[..], b"session", b"ok", b"id"].contains(&&key[..]) =>
        {
            some.chunks_exact(2).all(|pair| agrees(&pair[1], ledger.entry(pair[0].text().unwrap())))
        }
        // A list of rows, in any order.
        None | Some(Value::Array(_)) => {
            let (mut some, mut all) = (some.clone(), all.clone());
            let first = |row: &Value| row.elements().first().map(Value::to_string);
            some.sort_by_key(first);
            all.sort_by_key(first);
            some.len() == all.len() && some.iter().zip(&all).all(|(one, other)| agrees(one, other))
        }
        Some(_) => {
            some.len() <= all.len() && some.iter().zip(all).all(|(one, other)| agrees(one, other))
        }
    }
}

/// A request: the command and what follows the account.
#[derive(Clone)]
struct Request {
    command: &'static str,
    rest: Vec<String>,
}

/// A crowd of sessions that comes and leaves, from a seed.
struct Crowd {
    random: Random,
    /// Whether it comes: more sessions begin than end.
    grows: bool,
    ids: u32,
    /// Sessions that may be open, and the next request number of each.
    open: Vec<(String, u32)>,
    sent: Vec<Request>,
}

impl Crowd {
    fn seeded(seed: u64) -> Crowd {
        let random = Random::seeded(seed);
        Crowd { random, grows: true, ids: 0, open: Vec::new(), sent: Vec::new() }
    }

    /// How far the time goes on before the next request, ms: at times to where Tcc ends or something
    /// is forgotten, of some and not yet of others.
    fn pause(&mut self) -> i64 {
        let jumps = if self.grows { 200 } else { 12 };
        match self.random.below(jumps) {
            0 => {
                let ends = [30_000, 240_000, 240_000, 1_200_000, 3_600_000];
                ends[self.random.below(5) as usize] - i64::from(self.random.below(300))
            }
            1 => 1_000,
            _ => i64::from(self.random.below(4)),
        }
    }

    fn next(&mut self) -> Request {
        let kind = self.random.below(100);
        let [reserve, update, terminate, topup] =
            if self.grows { [45, 65, 75, 90] } else { [5, 25, 70, 75] };
        let request = if kind < reserve {
            self.ids += 1;
            self.open.push((format!("s{}", self.ids), 1));
            let id = format!("s{}", self.ids);
            self.of("RESERVE", id, 0)
        } else if kind < terminate && !self.open.is_empty() {
            let at = self.random.below(u32::try_from(self.open.len()).unwrap()) as usize;
            let (id, number) = self.open[at].clone();
            self.open[at].1 += 1;
            if kind >= update {
                self.open.swap_remove(at);
            }
            self.of(if kind < update { "UPDATE" } else { "TERMINATE" }, id, number)
        } else if kind < topup || self.sent.is_empty() {
            self.ids += 1;
            let bucket =
                ["main", "short", "none"][self.random.below(20).saturating_sub(17) as usize];
            let amount = (1 + self.random.below(3_000)).to_string();
            Request {
                command: "TOPUP",
                rest: vec![format!("t{}", self.ids), bucket.into(), amount],
            }
        } else {
            self.again()
        };
        self.sent.push(request.clone());
        request
    }

    /// A request that was sent before, the latest ones most often, or another one of its number.
    fn again(&mut self) -> Request {
        let refills_alone = self.random.below(3) == 0;
        let reach = [3, 30, 300][self.random.below(3) as usize];
        let back = self.random.below(reach) as usize;
        let is_wanted = |request: &&Request| !refills_alone || request.command == "TOPUP";
        let mut wanted = self.sent.iter().rev().filter(is_wanted);
        let mut request = wanted.nth(back).unwrap_or(&self.sent[0]).clone();
        if self.random.below(5) == 0 {
            request.rest.last_mut().unwrap().push('1');
        }
        request
    }

    fn of(&mut self, command: &'static str, id: String, number: u32) -> Request {
        let mut rest = vec![id, number.to_string()];
        for (key, unit) in [("1", "octets"), ("2", "events")] {
            if self.random.below(4) == 0 && (key == "2" || command != "RESERVE") {
                continue;
            }
            rest.extend(["ITEM".into(), key.into(), unit.into()]);
            let mut option = |word: &str, bound: u32| {
                rest.extend([word.into(), (1 + self.random.below(bound)).to_string()]);
            };
            match command {
                "RESERVE" => option("REQUESTED", 1_000),
                "UPDATE" => {
                    option("USED", 900);
                    option("REQUESTED", 1_000);
                }
                _ => option("USED", 900),
            }
        }
        Request { command, rest }
    }
}

/// How often the account went over a threshold, there and back.
#[derive(Debug, Default)]
struct Crossings {
    is_busy: (bool, bool),
    sessions: [u32; 2],
    refills: [u32; 2],
}

impl Crossings {
    fn look(&mut self, now: (bool, bool)) {
        let (sessions, refills) = std::mem::replace(&mut self.is_busy, now);
        self.sessions[usize::from(sessions)] += u32::from(sessions != now.0);
        self.refills[usize::from(refills)] += u32::from(refills != now.1);
    }
}

/// Sends a crowd of this seed to both, and compares every reply and the account after it.
fn compare(seed: u64, listed: &str) -> Crossings {
    let (mut library, mut ledger) = (Library::start(listed), Ledger::default());
    let (mut crowd, mut crossings) = (Crowd::seeded(seed), Crossings::default());
    let mut now = EPOCH_MS;
    let end = (EPOCH_MS + 5_000_000).to_string();
    let create = "BUCKET short octets 30000 PRIORITY -1 TO END BUCKET main octets 60000 FLOOR -500 \
                  BUCKET calls events 9000 TO END";
    let create: Vec<&str> =
        create.split_whitespace().map(|word| if word == "END" { &end } else { word }).collect();
    let step = |library: &mut Library, ledger: &mut Ledger, now, command, rest: &[&str]| {
        library.set_time(now);
        ledger.now = now;
        let (found, expected) = (library.charge(command, rest), ledger.charge(command, rest));
        assert!(
            agrees(&found, &expected),
            "seed {seed}, {listed}, at {}: {command} {rest:?}: {found}, not {expected}",
            now - EPOCH_MS
        );
    };
    step(&mut library, &mut ledger, now, "CREATE", &create);
    for round in 0..2_000 {
        if round % 100 == 0 {
            crowd.grows = round % 200 == 0;
        }
        now += crowd.pause();
        let request = crowd.next();
        let rest: Vec<&str> = request.rest.iter().map(String::as_str).collect();
        step(&mut library, &mut ledger, now, request.command, &rest);
        step(&mut library, &mut ledger, now, "AUDIT", &[]);
        if round % 4 == 0 {
            step(&mut library, &mut ledger, now, "GET", &[]);
            if request.command != "TOPUP" {
                step(&mut library, &mut ledger, now, "SESSION", &rest[..1]);
            }
        }
        crossings.look(library.is_busy());
    }
    crossings
}

#[test]
fn an_account_that_becomes_busy_and_calm_again_answers_as_the_ledger_does() {
    for seed in 0..3 {
        let crossings = compare(seed, LISTED);
        let all = [crossings.sessions, crossings.refills].concat();
        assert!(all.iter().all(|count| *count >= 2), "seed {seed}: {crossings:?}");
    }
}

#[test]
fn an_account_that_is_always_or_never_busy_answers_as_the_ledger_does() {
    for seed in 3..5 {
        for (listed, is_busy) in [("= 0, 0, 0", true), ("= 250, 60000, 60000", false)] {
            let crossings = compare(seed, listed);
            assert_eq!(crossings.sessions[0] > 0, is_busy, "{crossings:?}");
            assert_eq!(crossings.refills[0] > 0, is_busy, "{crossings:?}");
        }
    }
}
