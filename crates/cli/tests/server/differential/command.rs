//! Random plain commands, most of them in a form that Valkey accepts.
//!
//! Clocks: keys that begin with `r` expire at times relative to now. Each uses its own number of seconds, a hundred
//! apart from all others, so that no condition depends on milliseconds. Other keys expire only at absolute times, which
//! are the same in both servers.

use super::compare::Check;
use crate::random::Random;
use crate::support::array;

/// A command, and how its replies are compared.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    words: Vec<Vec<u8>>,
    pub(crate) check: Check,
}

impl Request {
    pub(crate) fn exact(words: &[&str]) -> Request {
        let words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Request { words, check: Check::Exact }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let words: Vec<&[u8]> = self.words.iter().map(Vec::as_slice).collect();
        array(&words)
    }

    /// Formats the command for people, with long values shortened.
    pub(crate) fn shown(&self) -> String {
        let short = |word: &Vec<u8>| word[..word.len().min(60)].escape_ascii().to_string();
        self.words.iter().map(short).collect::<Vec<_>>().join(" ")
    }

    /// Reports whether both commands name a common key.
    pub(crate) fn shares_a_word(&self, other: &Request) -> bool {
        self.words[1..].iter().any(|word| word.len() < 5 && other.words[1..].contains(word))
    }
}

/// Distance between two times, s, that no difference of clocks can swap.
const APART_S: i64 = 100;
/// Absolute times: the year 2100 and later.
const FAR_S: i64 = 4_102_444_800;
/// Tolerance between times from two clocks, s.
const NEAR_S: i64 = 30;

/// Number of threads of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cores {
    One,
    /// With several threads MSETNX over their keys is refused, and SCAN takes several steps.
    Several,
}

pub(crate) struct Generator {
    random: Random,
    cores: Cores,
    relatives: i64,
}

impl Generator {
    pub(crate) fn new(random: Random, cores: Cores) -> Generator {
        Generator { random, cores, relatives: 0 }
    }

    /// Returns the next command.
    pub(crate) fn request(&mut self) -> Request {
        if self.random.one_in(40) {
            return Request::exact(FIXED[self.random.below(FIXED.len())]);
        }
        let shape = loop {
            let shape = self.random.of(SHAPES);
            let needs_one = shape.starts_with("MSETNX") || shape.starts_with("SCAN");
            if self.cores == Cores::One || !needs_one {
                break shape;
            }
        };
        let asks_for = |times: [&str; 2]| shape.split(' ').any(|word| times.contains(&word));
        let relative = asks_for(["R", "RM"]) || (!asks_for(["A", "AM"]) && self.random.one_in(2));
        let mut words = Vec::new();
        for word in shape.split(' ') {
            words.extend(self.word(word, relative));
        }
        let check = check(&words, relative);
        let check = if self.random.one_in(12) { self.spoil(&mut words, check) } else { check };
        self.random_case(&mut words[0]);
        Request { words, check }
    }

    /// Makes a command that is probably wrong. Its reply is an error or compared exactly.
    fn spoil(&mut self, words: &mut Vec<Vec<u8>>, check: Check) -> Check {
        // A long value would become a key, and keys longer than 65,535 bytes are refused here.
        let stays = words.iter().any(|word| word.len() > 65_535);
        match self.random.below(4) {
            0 if words.len() > 1 && !stays => {
                let at = 1 + self.random.below(words.len() - 1);
                words.remove(at);
            }
            1 if !stays => {
                let (from, to) = (self.random.below(words.len()), self.random.below(words.len()));
                words.swap(from, to);
            }
            2 => {
                let more = self.value();
                words.push(more);
            }
            _ => {
                let more = self.random.of(&["NX", "XX", "GET", "EX", "PERSIST", "GT", "10"]);
                words.push(more.as_bytes().to_vec());
            }
        }
        check
    }

    fn random_case(&mut self, word: &mut [u8]) {
        if self.random.one_in(8) {
            word.make_ascii_lowercase();
        }
    }

    /// Returns the words for a placeholder of a shape. Empty for an option that is left out.
    fn word(&mut self, word: &str, relative: bool) -> Vec<Vec<u8>> {
        let one = |text: String| vec![text.into_bytes()];
        match word {
            "K" => vec![self.key(relative)],
            "K+" => (0..1 + self.random.below(4)).map(|_| self.key(relative)).collect(),
            "K=V" => {
                let pairs = 1 + self.random.below(3);
                (0..pairs).flat_map(|_| [self.key(relative), self.value()]).collect()
            }
            "V" => vec![self.value()],
            "N" => one(self.number()),
            "I" => one(self.random.of(PLACES).to_owned()),
            "O" => one(self.random.of(OFFSETS).to_owned()),
            // Seconds or milliseconds from now; the latter are whole seconds too.
            "R" => one(self.relative(1)),
            "RM" => one(self.relative(1000)),
            "A" => one(self.at(1)),
            "AM" => one(self.at(1000)),
            "SET?" => self.set_options(relative),
            "GETEX?" => self.get_ex_options(relative),
            "EXPIRE?" => {
                let some = self.random.below(3);
                (0..some)
                    .flat_map(|_| self.option(&["NX", "XX", "GT", "LT", "gt", "what"]))
                    .collect()
            }
            "SCAN?" => self.scan_options(),
            "P" => self.option(PATTERNS),
            "SAMPLES?" if self.random.one_in(3) => {
                vec![b"SAMPLES".to_vec(), self.random.of(&["0", "5", "-1", "x"]).into()]
            }
            "SAMPLES?" => Vec::new(),
            fixed => one(fixed.to_owned()),
        }
    }

    fn option(&mut self, words: &[&str]) -> Vec<Vec<u8>> {
        vec![self.random.of(words).as_bytes().to_vec()]
    }

    fn key(&mut self, relative: bool) -> Vec<u8> {
        if relative {
            self.random.of(&["r1", "r2", "r3", "r4"]).into()
        } else {
            match self.random.below(9) {
                0 => Vec::new(),
                1 => b"\x00\xff\r\n\xc3".to_vec(),
                _ => self.random.of(&["k1", "k2", "k3", "K1"]).into(),
            }
        }
    }

    fn value(&mut self) -> Vec<u8> {
        match self.random.below(12) {
            0 => Vec::new(),
            1 => vec![b'x'; [1, 43, 44, 45, 127, 128, 5_000][self.random.below(7)]],
            2 => b"\x00\x01\xff\r\n\x80".to_vec(),
            3 if self.random.one_in(20) => vec![b'y'; [100_000, 1 << 20][self.random.below(2)]],
            3..=7 => self.number().into_bytes(),
            _ => {
                self.random.of(&["abc", "a b", "1.5", "007", "+1", " 1", "1 ", "-0", "1e3"]).into()
            }
        }
    }

    fn number(&mut self) -> String {
        let small = self.random.below(2_000);
        match self.random.below(4) {
            0 | 1 => (i64::try_from(small).expect("small") - 1_000).to_string(),
            _ => self.random.of(NUMBERS).to_owned(),
        }
    }

    /// Returns a time from now that no other command of this run has used.
    fn relative(&mut self, factor: i64) -> String {
        if self.random.one_in(6) {
            return self.random.of(BAD_TIMES).to_owned();
        }
        self.relatives += 1;
        // Scattered, so that a later command does not always have the later deadline.
        let place = self.relatives * 7_919 % 100_003;
        ((APART_S * (1_000 + place)) * factor).to_string()
    }

    fn at(&mut self, factor: i64) -> String {
        if self.random.one_in(6) {
            return self.random.of(BAD_TIMES).to_owned();
        }
        let place = i64::try_from(self.random.below(6)).expect("small");
        let within = [0, 0, 499, 500, 501][self.random.below(5)];
        let within = if factor == 1 { 0 } else { within };
        ((FAR_S + APART_S * place) * factor + within).to_string()
    }

    fn deadline(&mut self, relative: bool) -> Vec<Vec<u8>> {
        let milliseconds = self.random.one_in(2);
        let factor = if milliseconds { 1000 } else { 1 };
        let (word, number) = match (relative, milliseconds) {
            (true, false) => ("EX", self.relative(factor)),
            (true, true) => ("px", self.relative(factor)),
            (false, false) => ("EXAT", self.at(factor)),
            (false, true) => ("PXAT", self.at(factor)),
        };
        vec![word.into(), number.into_bytes()]
    }

    fn set_options(&mut self, relative: bool) -> Vec<Vec<u8>> {
        let some = self.random.below(4);
        (0..some)
            .flat_map(|_| match self.random.below(8) {
                0..=2 => self.deadline(relative),
                3 => self.option(&["KEEPTTL", "keepttl"]),
                4 => self.option(&["GET", "get"]),
                5 => self.option(&["EX", "PERSIST", "", "NX1", "PXAT"]),
                _ => self.option(&["NX", "XX", "nx", "Xx"]),
            })
            .collect()
    }

    fn get_ex_options(&mut self, relative: bool) -> Vec<Vec<u8>> {
        let some = self.random.below(3);
        (0..some)
            .flat_map(|_| match self.random.below(6) {
                0..=3 => self.deadline(relative),
                4 => self.option(&["PERSIST", "persist"]),
                _ => self.option(&["KEEPTTL", "NX", "GET", "EX"]),
            })
            .collect()
    }

    fn scan_options(&mut self) -> Vec<Vec<u8>> {
        // Enough for all keys, so that one step returns them all and the cursor is 0.
        let mut words = vec![b"COUNT".to_vec(), b"10000".to_vec()];
        for _ in 0..self.random.below(3) {
            let (word, value) = match self.random.below(4) {
                0 => ("type", self.random.of(&["string", "STRING", "list", "hash", "what"])),
                1 => ("COUNT", self.random.of(&["10000", "0", "-1", "x", ""])),
                _ => ("MATCH", self.random.of(PATTERNS)),
            };
            words.extend([word.into(), value.into()]);
        }
        // An option without its value.
        words.extend(self.random.one_in(20).then(|| b"MATCH".to_vec()));
        words
    }
}

/// Returns how the replies to a command can be compared.
fn check(words: &[Vec<u8>], relative: bool) -> Check {
    match &words[0][..] {
        b"TTL" => Check::Near(NEAR_S),
        b"PTTL" => Check::Near(NEAR_S * 1000),
        b"EXPIRETIME" if relative => Check::Near(NEAR_S),
        b"PEXPIRETIME" if relative => Check::Near(NEAR_S * 1000),
        b"SCAN" => Check::AnyOrder,
        b"KEYS" => Check::Keys,
        b"MEMORY" => Check::Size,
        b"OBJECT" if words[1] == b"ENCODING" => Check::Encoding,
        b"OBJECT" if words[1] == b"REFCOUNT" => Check::References,
        _ => Check::Exact,
    }
}

/// Shapes of commands with placeholders. R stands for keys that expire relative to now, A for the others.
const SHAPES: &[&str] = &[
    "GET K",
    "GET K",
    "SET K V",
    "SET K V SET?",
    "SET K V SET?",
    "SET K V SET?",
    "SETNX K V",
    "SETEX K R V",
    "PSETEX K RM V",
    "GETSET K V",
    "GETDEL K",
    "GETEX K GETEX?",
    "GETEX K GETEX?",
    "MGET K+",
    "MSET K=V",
    "MSETNX K=V",
    "INCR K",
    "DECR K",
    "INCRBY K N",
    "DECRBY K N",
    "APPEND K V",
    "STRLEN K",
    "GETRANGE K I I",
    "SETRANGE K O V",
    "DEL K+",
    "UNLINK K+",
    "EXISTS K+",
    "TOUCH K+",
    "TYPE K",
    "EXPIRE K R EXPIRE?",
    "PEXPIRE K RM EXPIRE?",
    "EXPIREAT K A EXPIRE?",
    "PEXPIREAT K AM EXPIRE?",
    "TTL K",
    "PTTL K",
    "EXPIRETIME K",
    "PEXPIRETIME K",
    "PERSIST K",
    "SCAN 0 SCAN?",
    "KEYS P",
    "OBJECT ENCODING K",
    "OBJECT REFCOUNT K",
    "OBJECT FREQ K",
    "MEMORY USAGE K SAMPLES?",
    "DBSIZE",
    "PING",
    "PING V",
    "ECHO V",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775806",
    "-9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "99999999999999999999999",
    "01",
    "+1",
    "-0",
    " 1",
    "1.0",
    "",
    "x",
];

const PLACES: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "-3",
    "5",
    "-5",
    "43",
    "5000",
    "-5000",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "x",
    "",
];

const OFFSETS: &[&str] = &[
    "0",
    "1",
    "2",
    "5",
    "44",
    "200",
    "5000",
    "-1",
    "8388608",
    "536870912",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "x",
];

/// Times in the past, or invalid ones. None is so near that a clock could matter.
const BAD_TIMES: &[&str] = &[
    "0",
    "-1",
    "-1000",
    "-9223372036854775808",
    "-9223372036854775",
    "9223372036854775808",
    "9223372036854775807",
    "9223372036854775000",
    "9223372036854776",
    "9223372036854775",
    "x",
    "",
    "1.5",
];

const PATTERNS: &[&str] = &[
    "*", "**", "k*", "K?", "[kr]1", "[^k]*", "[j-l]*", "[l-j]2", "r[1-3]", "\\k1", "k\\", "", "[k",
    "?", "??", "*1*", "[\\]k]1", "[]k]1", "*[0-9]", "k[", "[^", "k1",
];

/// Complete commands whose replies do not depend on keys. AUTH with a wrong password is missing, because Valkey does
/// not answer it while earlier replies of a pipeline wait.
const FIXED: &[&[&str]] = &[
    &["SELECT", "0"],
    &["SELECT", "x"],
    &["SELECT", "99"],
    &["WAIT", "0", "0"],
    &["WAIT", "0", "100"],
    &["WAIT", "-1", "5"],
    &["WAIT", "x", "5"],
    &["WAIT", "0", "-5"],
    &["WAIT", "0", "x"],
    &["WAIT", "0", "9223372036854775807"],
    &["WAIT", "0"],
    &["SCAN", "x"],
    &["SCAN", "-1"],
    &["SCAN", ""],
    &["SCAN", "99999999999999999999999"],
    &["SCAN", "0", "TYPE"],
    &["SCAN", "0", "FOO", "1"],
    &["SCAN"],
    &["KEYS"],
    &["OBJECT"],
    &["OBJECT", "WHAT"],
    &["OBJECT", "WHAT", "k1"],
    &["OBJECT", "ENCODING"],
    &["OBJECT", "IDLETIME", "missing"],
    &["MEMORY"],
    &["MEMORY", "WHAT"],
    &["MEMORY", "USAGE"],
    &["MEMORY", "USAGE", "missing", "SAMPLES"],
    &["MEMORY", "USAGE", "missing", "WHAT", "1"],
    &["CONFIG"],
    &["CONFIG", "SET"],
    &["CONFIG", "SET", "maxmemory"],
    &["CONFIG", "SET", "maxmemory", "0"],
    &["CONFIG", "SET", "maxmemory", "0", "maxclients"],
    &["CONFIG", "SET", "maxmemory", "x"],
    &["CONFIG", "SET", "MAXMEMORY", "-1"],
    &["CONFIG", "SET", "maxmemory", "1.5gb"],
    &["CONFIG", "SET", "maxmemory", "0", "maxmemory", "0"],
    &["CONFIG", "SET", "what", "1"],
    &["CONFIG", "SET", "maxmemory", "1", "what", "1"],
    &["CONFIG", "SET", "databases", "1"],
    &["CONFIG", "SET", "databases", "1", "what", "1"],
    &["CONFIG", "SET", "what", "1", "databases", "1"],
    &["CONFIG", "SET", "maxmemory", "1", "maxclients", "0"],
    &["CONFIG", "SET", "maxclients", "x"],
    &["CONFIG", "SET", "slowlog-log-slower-than", "x"],
    &["CONFIG", "SET", "slowlog-log-slower-than", "-2"],
    &["CONFIG", "SET", "slowlog-log-slower-than", "9223372036854775808"],
    &["CONFIG", "SET", "latency-monitor-threshold", "-1"],
    &["CONFIG", "SET", "latency-monitor-threshold", "0", "slowlog-log-slower-than", "1000000"],
    &["CONFIG", "GET", "maxmemory"],
    &["CONFIG", "GET", "latency-monitor-threshold"],
    &["CONFIG", "GET", "what"],
    &["SLOWLOG"],
    &["SLOWLOG", "WHAT"],
    &["SLOWLOG", "GET", "x"],
    &["SLOWLOG", "GET", "-2"],
    &["SLOWLOG", "GET", "1", "2"],
    &["SLOWLOG", "LEN", "1"],
    &["SLOWLOG", "RESET"],
    &["LATENCY"],
    &["LATENCY", "WHAT"],
    &["LATENCY", "LATEST"],
    &["LATENCY", "HISTORY"],
    &["LATENCY", "HISTORY", "what"],
    &["LATENCY", "RESET"],
    &["LATENCY", "RESET", "what", "command"],
    &["SHUTDOWN", "WHAT"],
    &["SHUTDOWN", "SAVE", "NOSAVE"],
    &["SHUTDOWN", "ABORT"],
    &["SHUTDOWN", "ABORT", "NOW"],
    &["CLIENT", "WHAT"],
    &["CLIENT", "SETNAME", "a b"],
    &["CLIENT", "SETNAME", "name"],
    &["CLIENT", "GETNAME"],
    &["CLIENT", "SETINFO", "lib-name", "a b"],
    &["CLIENT", "SETINFO", "what", "x"],
    &["CLIENT", "NO-EVICT", "what"],
    &["CLIENT", "NO-TOUCH", "on"],
    &["COMMAND", "WHAT"],
    &["COMMAND", "INFO", "GET"],
    &["COMMAND", "INFO", "PING", "WHAT"],
    &["COMMAND", "GETKEYS", "MSET", "a", "1", "b", "2"],
    &["COMMAND", "GETKEYS", "GET"],
    &["COMMAND", "GETKEYS", "WHAT", "a"],
    &["COMMAND", "GETKEYS", "PING"],
    &["COMMAND", "GETKEYSANDFLAGS", "GET", "k"],
    &["COMMAND", "GETKEYSANDFLAGS", "MGET", "k", "l"],
    &["COMMAND", "GETKEYSANDFLAGS", "GET"],
    &["COMMAND", "GETKEYSANDFLAGS", "PING"],
    &["COMMAND", "GETKEYSANDFLAGS", "WHAT", "k"],
    &["COMMAND", "LIST", "FILTERBY", "MODULE", "x"],
    &["COMMAND", "LIST", "FILTERBY", "ACLCAT", "what"],
    &["COMMAND", "LIST", "FILTERBY", "ACLCAT"],
    &["COMMAND", "LIST", "FILTERBY", "WHAT", "x"],
    &["COMMAND", "GETKEYS", "OBJECT", "ENCODING", "k"],
    &["FLUSHALL", "WHAT"],
    &["FLUSHALL", "SYNC", "ASYNC"],
    &["FLUSHALL", "ASYNC"],
    &["FLUSHDB", "SYNC"],
    &["ECHO"],
    &["PING", "a", "b"],
    &["WHAT"],
    &["WHAT", "a", "it's", "\"quoted\"", "\\"],
    &["what\r\nnot", "b\r\n"],
    &["AUTH", "a"],
    &["AUTH", "a", "b", "c"],
    &["HELLO", "x"],
    &["HELLO", "4"],
    &["HELLO", "3", "WHAT"],
];
