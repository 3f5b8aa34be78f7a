//! Gathers requests of one connection that other cores execute, and restores the order of their replies.

use crate::connection::memory::Spare;
use crate::mail::bundle::{Bundle, Caller, Queue, Tracker, WatchedKey};
use crate::object_pool::MemorySize;
use scurry_resp::table::{Spec, Spread};
use scurry_resp::{Args, FoundAccounts, Protocol, Reply, parse_integer};
use std::collections::VecDeque;

/// Maximum number of output steps in one gathering: a client cannot make its memory grow without limit. The rest goes
/// into the next gathering, even the rest of one long command.
const STEPS_MAX: usize = 4096;

/// The next piece of the connection's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The next reply of this core, unchanged.
    Whole(u16),
    /// The head of an array with this many elements.
    Array(u32),
    /// The next reply of this core is an array of one element: write that element.
    Element(u16),
    /// Adds the next reply of this core to the sum.
    Part(u16),
    /// The next reply of this core is an array: its elements are kept.
    Listed(u16),
    /// The first error among the parts, else the sum.
    Sum,
    /// The first error among the parts, else the accounts of all.
    Found,
    /// The first error among the parts, else the elements of all as one array.
    List,
    /// The first error among the parts, else OK.
    Success,
    /// A core's replies to this many commands as one array; null when the core has refused all of them.
    Transaction(u16, u32),
}

/// Progress of [`GatheredRequests::merge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merged {
    /// Every reply is written.
    Done,
    /// The output has enough replies for now.
    Full,
    /// A core that has to execute more before its next reply is available.
    Cut(u16),
}

/// Requests of a connection that were gathered for their cores, until all their replies are written.
#[derive(Debug, Default)]
pub(crate) struct GatheredRequests {
    steps: VecDeque<Step>,
    /// Bundles by core; None where the core has no request, and while its bundle is away.
    bundles: Vec<Option<Box<Bundle>>>,
    /// Number of bundles that are away.
    pub(crate) away: usize,
    /// Memory of the bundles that are away, measured when they left, bytes.
    away_bytes: usize,
    sum: i64,
    found: FoundAccounts,
    list: List,
    error: Option<Vec<u8>>,
}

/// Distributes the requests of one caller over the cores.
pub(crate) struct RequestDistributor<'n> {
    pub(crate) spare: &'n mut Spare,
    pub(crate) caller: Caller,
    pub(crate) cores: u16,
}

impl RequestDistributor<'_> {
    fn bundle<'g>(&mut self, gather: &'g mut GatheredRequests, core: u16) -> &'g mut Bundle {
        let cores = usize::from(self.cores);
        if gather.bundles.len() < cores {
            gather.bundles.resize_with(cores, || None);
        }
        gather.bundles[usize::from(core)].get_or_insert_with(|| {
            let mut bundle = self.spare.take_object().unwrap_or_default();
            bundle.caller = self.caller;
            bundle
        })
    }

    /// Adds a request for one core.
    pub(crate) fn one(
        &mut self,
        gather: &mut GatheredRequests,
        core: u16,
        spec: &'static Spec,
        args: Args<'_>,
    ) {
        self.bundle(gather, core).push(spec, args.iter_from(0));
        gather.steps.push_back(Step::Whole(core));
    }

    /// Adds a transaction, the only request to its core in this gathering.
    pub(crate) fn transaction(
        &mut self,
        gather: &mut GatheredRequests,
        core: u16,
        queue: Queue,
        guards: Vec<WatchedKey>,
    ) {
        let count = u32::try_from(queue.len()).unwrap_or(u32::MAX);
        self.bundle(gather, core).become_transaction(queue, guards);
        gather.steps.push_back(Step::Transaction(core, count));
    }

    /// Adds a request without keys for every core.
    pub(crate) fn every(
        &mut self,
        gather: &mut GatheredRequests,
        spec: &'static Spec,
        args: Args<'_>,
    ) {
        for core in 0..self.cores {
            self.bundle(gather, core).push(spec, args.iter_from(0));
            gather.steps.push_back(match spec.spread {
                Spread::EveryKeys => Step::Listed(core),
                _ => Step::Part(core),
            });
        }
        gather.steps.push_back(end_of(spec));
    }

    /// Adds a request whose keys lie on several cores; `owner` maps a key to its core. `begun` keys were requested by
    /// earlier gatherings. Returns the number of keys requested so far when this gathering could not take all of them.
    pub(crate) fn keys(
        &mut self,
        gather: &mut GatheredRequests,
        spec: &'static Spec,
        (args, begun): (Args<'_>, usize),
        owner: impl Fn(&[u8]) -> u16,
    ) -> Option<usize> {
        let positions = || spec.key_positions(args);
        let step = usize::try_from(spec.keys.2).unwrap_or(1);
        if spec.spread == Spread::Elements {
            let count = positions().count();
            if begun == 0 {
                gather.steps.push_back(Step::Array(u32::try_from(count).unwrap_or(u32::MAX)));
            }
            let end = count.min(begun + STEPS_MAX);
            for position in positions().skip(begun).take(end - begun) {
                let core = owner(args.at(position));
                let words = [args.at(0), args.at(position)];
                self.bundle(gather, core).push(spec, words.into_iter());
                gather.steps.push_back(Step::Element(core));
            }
            return (end < count).then_some(end);
        }
        // One pass over the keys per core: a command has few keys, or the server few cores.
        for core in 0..self.cores {
            let own = || positions().filter(|&position| owner(args.at(position)) == core);
            if own().next().is_none() {
                continue;
            }
            let words = own().flat_map(|at| (at..at + step).map(|at| args.at(at)));
            let words = std::iter::once(args.at(0)).chain(words);
            self.bundle(gather, core).push(spec, words);
            gather.steps.push_back(Step::Part(core));
        }
        gather.steps.push_back(end_of(spec));
        None
    }
}

fn end_of(spec: &Spec) -> Step {
    match spec.spread {
        Spread::Sum | Spread::EverySum => Step::Sum,
        Spread::EveryFound => Step::Found,
        Spread::EveryKeys => Step::List,
        Spread::One
        | Spread::Elements
        | Spread::Success
        | Spread::EverySuccess
        | Spread::Connection
        | Spread::Log
        | Spread::Special => Step::Success,
    }
}

/// Joined elements of arrays from several cores. Each core's array is bounded.
#[derive(Debug, Default)]
struct List {
    formed: Vec<u8>,
    len: usize,
}

impl List {
    /// Appends the elements of a reply that is an array.
    fn add(&mut self, reply: &[u8]) {
        let end = reply.iter().position(|&byte| byte == b'\n').map_or(reply.len(), |at| at + 1);
        let (head, elements) = reply.split_at(end);
        let len = head.get(1..).unwrap_or_default().trim_ascii_end();
        self.len += parse_integer(len).and_then(|len| usize::try_from(len).ok()).unwrap_or(0);
        self.formed.extend_from_slice(elements);
    }

    fn write(&self, reply: &mut Reply<'_>) {
        reply.array(self.len);
        reply.formed(&self.formed);
    }
}

impl GatheredRequests {
    /// Reports whether it has no requests.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Reports whether no more requests should be added.
    pub(crate) fn is_full(&self) -> bool {
        self.steps.len() >= STEPS_MAX
    }

    /// Memory of the steps and of all bundles, bytes. Bundles that are away count as when they left.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let here = self.bundles.iter().flatten().map(MemorySize::memory_bytes).sum::<usize>();
        let steps = size_of::<Step>() * self.steps.capacity();
        (size_of::<GatheredRequests>()
            + steps
            + here
            + self.list.formed.capacity()
            + self.away_bytes) as u64
    }

    /// Reports whether all requests were sent with the same tracking mode as `tracker`.
    pub(crate) fn is_of(&self, tracker: Option<Tracker>) -> bool {
        self.bundles.iter().flatten().all(|bundle| bundle.caller.tracker == tracker)
    }

    /// Takes out the bundles that have requests to execute, so that they can be sent.
    pub(crate) fn leaving(&mut self) -> impl Iterator<Item = (u16, Box<Bundle>)> + '_ {
        let (away, away_bytes) = (&mut self.away, &mut self.away_bytes);
        self.bundles.iter_mut().enumerate().filter_map(move |(core, place)| {
            let mut bundle = place.take_if(|bundle| bundle.is_cut())?;
            bundle.room_away = bundle.memory_bytes();
            *away += 1;
            *away_bytes += bundle.room_away;
            Some((u16::try_from(core).unwrap_or(u16::MAX), bundle))
        })
    }

    /// Takes out the bundle of a core, to be sent again.
    pub(crate) fn again(&mut self, core: u16) -> Option<Box<Bundle>> {
        let mut bundle = self.bundles.get_mut(usize::from(core))?.take()?;
        bundle.room_away = bundle.memory_bytes();
        self.away += 1;
        self.away_bytes += bundle.room_away;
        Some(bundle)
    }

    /// Stores a bundle that has returned.
    pub(crate) fn returned(&mut self, core: u16, bundle: Box<Bundle>) {
        debug_assert!(self.away > 0);
        self.away = self.away.saturating_sub(1);
        self.away_bytes = self.away_bytes.saturating_sub(bundle.room_away);
        if let Some(place) = self.bundles.get_mut(usize::from(core)) {
            *place = Some(bundle);
        }
    }

    /// Writes replies in the order of the requests, until `out` is longer than `len_max`.
    pub(crate) fn merge(
        &mut self,
        out: &mut Vec<u8>,
        protocol: Protocol,
        len_max: usize,
    ) -> Merged {
        while let Some(&step) = self.steps.front() {
            if out.len() >= len_max {
                return Merged::Full;
            }
            match step {
                Step::Array(count) => Reply::new(out, protocol).array(count as usize),
                Step::Transaction(core, count) => {
                    let bundle = self.bundles.get_mut(usize::from(core)).and_then(Option::as_mut);
                    match bundle.filter(|bundle| !bundle.is_refused()) {
                        Some(bundle) => {
                            Reply::new(out, protocol).array(count as usize);
                            out.extend_from_slice(bundle.replies());
                        }
                        None => Reply::new(out, protocol).null_array(),
                    }
                }
                Step::Whole(core) | Step::Element(core) | Step::Part(core) | Step::Listed(core) => {
                    let bundle = self.bundles.get_mut(usize::from(core)).and_then(Option::as_mut);
                    let Some(reply) = bundle.and_then(|bundle| bundle.next_reply()) else {
                        return Merged::Cut(core);
                    };
                    match step {
                        Step::Element(_) => {
                            out.extend_from_slice(reply.strip_prefix(b"*1\r\n").unwrap_or(reply));
                        }
                        Step::Part(_) => match reply.first() {
                            Some(b'-') if self.error.is_none() => self.error = Some(reply.to_vec()),
                            Some(b':') => {
                                let number = reply.get(1..).unwrap_or_default();
                                self.sum += parse_integer(number.trim_ascii_end()).unwrap_or(0);
                            }
                            Some(b'*') => self.found.add(reply),
                            _ => {}
                        },
                        Step::Listed(_) => match reply.first() {
                            Some(b'-') if self.error.is_none() => self.error = Some(reply.to_vec()),
                            _ => self.list.add(reply),
                        },
                        _ => out.extend_from_slice(reply),
                    }
                }
                Step::Sum | Step::Found | Step::List | Step::Success => {
                    // An error of any core replaces the joined reply.
                    match (self.error.take(), step) {
                        (Some(error), _) => {
                            out.extend_from_slice(&error);
                            self.sum = 0;
                            self.found = FoundAccounts::default();
                            self.list = List::default();
                        }
                        (None, Step::Sum) => {
                            Reply::new(out, protocol).integer(std::mem::take(&mut self.sum));
                        }
                        (None, Step::Found) => {
                            let found = std::mem::take(&mut self.found);
                            found.write(&mut Reply::new(out, protocol));
                        }
                        (None, Step::List) => {
                            std::mem::take(&mut self.list).write(&mut Reply::new(out, protocol));
                        }
                        (None, _) => Reply::new(out, protocol).ok(),
                    }
                }
            }
            self.steps.pop_front();
        }
        Merged::Done
    }

    /// Takes out the guards that the cores have made of watched keys, once all replies are written.
    pub(crate) fn guards(&mut self) -> impl Iterator<Item = WatchedKey> + '_ {
        self.bundles.iter_mut().flatten().flat_map(|bundle| bundle.guards.drain(..))
    }

    /// Returns the bundles to the pool.
    pub(crate) fn end(self, spare: &mut Spare) {
        for mut bundle in self.bundles.into_iter().flatten() {
            if bundle.clear() {
                spare.give(bundle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::dispatch;
    use scurry_resp::{Parsed, Parser, RequestLimits};

    /// Gathers inline requests for three cores. The first byte of a key is its core.
    fn gathered(requests: &[&str]) -> GatheredRequests {
        let (mut gather, mut spare) = (GatheredRequests::default(), Spare::default());
        let mut spreader =
            RequestDistributor { spare: &mut spare, caller: Caller::default(), cores: 3 };
        let owner = |key: &[u8]| u16::from(key[0] - b'0');
        for request in requests {
            let (mut parser, line) = (Parser::default(), format!("{request}\r\n"));
            let parsed = parser.parse(line.as_bytes(), &RequestLimits::default(), true);
            assert_eq!(parsed, Parsed::Request(line.len()));
            let args = parser.args(line.as_bytes(), 0);
            let spec = dispatch::look_up(args).expect("a command");
            match spec.spread {
                Spread::One => spreader.one(&mut gather, owner(args.at(1)), spec, args),
                spread if spread.is_every() => spreader.every(&mut gather, spec, args),
                _ => {
                    let left = spreader.keys(&mut gather, spec, (args, 0), owner);
                    assert_eq!(left, None, "a short command is one piece");
                }
            }
        }
        gather
    }

    /// Sends the bundles away and lets each core answer with these replies, `at_once` at a time.
    fn merged(
        gather: &mut GatheredRequests,
        replies: [&[&str]; 3],
        at_once: usize,
        len_max: usize,
    ) -> String {
        let (mut text, mut out) = (String::new(), Vec::new());
        let leaving: Vec<_> = gather.leaving().collect();
        assert_eq!(gather.away, leaving.len());
        let answer = |gather: &mut GatheredRequests, core: u16, mut bundle: Box<Bundle>| {
            bundle.answer_with(replies[usize::from(core)], at_once);
            gather.returned(core, bundle);
        };
        for (core, bundle) in leaving {
            answer(gather, core, bundle);
        }
        loop {
            let merged = gather.merge(&mut out, Protocol::Resp2, len_max);
            text.push_str(std::str::from_utf8(&out).expect("text"));
            out.clear();
            match merged {
                Merged::Done => return text,
                Merged::Full => {}
                Merged::Cut(core) => {
                    let bundle = gather.again(core).expect("it is here");
                    answer(gather, core, bundle);
                }
            }
        }
    }

    #[test]
    fn replies_come_in_the_order_of_the_requests_however_few_come_at_once() {
        for (at_once, len_max) in [(100, 1_000), (1, 1_000), (2, 1), (1, 1)] {
            let mut gather =
                gathered(&["GET 1a", "GET 0a", "MGET 2a 1b 2b", "GET 1c", "DEL 0b 1d 2c"]);
            let replies: [&[&str]; 3] = [
                &["$1\r\nA\r\n", ":1\r\n"],
                &["$1\r\nB\r\n", "*1\r\n$1\r\nC\r\n", "$-1\r\n", ":0\r\n"],
                &["*1\r\n$-1\r\n", "*1\r\n$1\r\nD\r\n", ":1\r\n"],
            ];
            let text = merged(&mut gather, replies, at_once, len_max);
            let expected = "$1\r\nB\r\n$1\r\nA\r\n*3\r\n$-1\r\n$1\r\nC\r\n$1\r\nD\r\n$-1\r\n:2\r\n";
            assert_eq!(text, expected, "{at_once} at once, {len_max} bytes");
        }
    }

    #[test]
    fn a_long_command_is_gathered_a_part_after_another() {
        const KEYS: usize = 10_000;
        /// Elements of a gathering, and the head of the reply.
        const STEPS: usize = 4_096 + 1;
        let request = format!("*{}\r\n$4\r\nMGET\r\n{}", KEYS + 1, "$2\r\n1k\r\n".repeat(KEYS));
        let mut parser = Parser::default();
        let parsed = parser.parse(request.as_bytes(), &RequestLimits::default(), true);
        assert_eq!(parsed, Parsed::Request(request.len()));
        let args = parser.args(request.as_bytes(), 0);
        let spec = dispatch::look_up(args).expect("a command");
        let (mut begun, mut rounds) = (Some(0), 0);
        while let Some(from) = begun {
            let (mut gather, mut spare) = (GatheredRequests::default(), Spare::default());
            let mut spreader =
                RequestDistributor { spare: &mut spare, caller: Caller::default(), cores: 3 };
            begun = spreader.keys(&mut gather, spec, (args, from), |_| 1);
            assert!(gather.steps.len() <= STEPS, "{} steps from key {from}", gather.steps.len());
            rounds += 1;
        }
        assert_eq!(rounds, 3);
    }

    #[test]
    fn accounts_that_cores_have_found_are_one_list() {
        let mut gather = gathered(&["SCUR.FIND k v"; 4]);
        let many = format!("*2\r\n:0\r\n*16\r\n{}", "$1\r\nb\r\n".repeat(16));
        let (none, a, c) = (
            "*2\r\n:0\r\n*0\r\n",
            "*2\r\n:0\r\n*1\r\n$1\r\na\r\n",
            "*2\r\n:0\r\n*1\r\n$1\r\nc\r\n",
        );
        let (more, no) = ("*2\r\n:1\r\n*1\r\n$1\r\nc\r\n", "-ERR no\r\n");
        let replies: [&[&str]; 3] =
            [&[a, no, a, a], &[none, more, &many, none], &[c, none, none, more]];
        let text = merged(&mut gather, replies, 100, 1_000);
        let two = "*2\r\n$1\r\na\r\n$1\r\nc\r\n";
        let most = format!("*2\r\n:1\r\n*16\r\n$1\r\na\r\n{}", "$1\r\nb\r\n".repeat(15));
        assert_eq!(text, format!("*2\r\n:0\r\n{two}{no}{most}*2\r\n:1\r\n{two}"));
    }

    #[test]
    fn one_error_of_a_part_is_the_reply_and_the_next_command_is_counted_anew() {
        let mut gather = gathered(&["EXISTS 0a 1a", "MSET 0a x 2a y", "DBSIZE", "MSET 1a x 2a y"]);
        let replies: [&[&str]; 3] = [
            &[":1\r\n", "+OK\r\n", ":10\r\n"],
            &["-ERR no\r\n", ":20\r\n", "+OK\r\n"],
            &["-OOM\r\n", ":30\r\n", "+OK\r\n"],
        ];
        let text = merged(&mut gather, replies, 100, 1_000);
        assert_eq!(text, "-ERR no\r\n-OOM\r\n:60\r\n+OK\r\n");
    }
}
