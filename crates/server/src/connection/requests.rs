//! The requests of a connection: executed here or sent to where they are executed, and the replies that
//! come back from there. What looks like HTTP closes the connection, as in Redis and Valkey: any web page
//! can make a browser send a POST to any port that the browser reaches, with a body of the page's choice,
//! and RESP would answer the lines of its head with errors and execute its body.

use super::{Connection, Doing, Executed};
use crate::connection::gather::{Gather, Merged};
use crate::connection::memory::Pool;
use crate::connection::turn_requests::{Next, TurnRequests};
use crate::execute::node::Node;
use crate::execute::timing::Origin;
use crate::mail::bundle::Guard;
use crate::mail::message::Message;
use crate::net::fault::Fault;
use crate::net::transport::Transport;
use scurry_resp::Args;
use scurry_resp::{Parsed, Reply};

/// Words that close a connection wherever a command should be: Valkey's. No command has such a name.
const WORDS: [&[u8]; 2] = [b"POST", b"Host:"];

impl<T: Transport> Connection<T> {
    /// A turn's middle part: executes complete requests until there is none (`Wait`), until there
    /// are too many replies (`Again`), or until somebody else has to do something first (`Ask`, or
    /// `Wait` and a pause). The replies are formed and not sent.
    pub(crate) fn execute(&mut self, node: &mut Node, pool: &mut Pool) -> Executed {
        match self.doing {
            _ if self.outlet.is_held() => return Executed::Wait,
            Doing::Serving => {}
            Doing::Closing => {
                self.drop_input();
                return Executed::Wait;
            }
            _ => return Executed::Wait,
        }
        if node.is_congested() {
            return Executed::Again;
        }
        let mut reader = self.reader.take().unwrap_or_else(|| pool.take_reader());
        let room = self.unsent_len_max(node).saturating_sub(self.transport.unsent());
        let (input, out) = self.transport.parts(&mut pool.buffers);
        let begin = out.len();
        let mut requests = TurnRequests {
            core: node.core,
            out_len_max: begin + room,
            out,
            gather: Gather::default(),
            begun: self.begun,
            spare: &mut pool.bundles,
        };
        let (mut done, mut closes) = (0, false);
        node.requests_began();
        let turn = loop {
            if closes {
                reader.restart();
                done = input.len();
                break Executed::Wait;
            }
            let rest = &input[done..];
            if !reader.is_ahead() {
                reader.find(rest, node, &self.client);
                node.touch(reader.hashes());
            }
            let found = reader.found();
            let inline = reader.ends_inline();
            let mut stop = None;
            let mut executed = 0;
            while executed < found && stop.is_none() {
                let (spec, args) = reader.request(rest, executed);
                if (spec.is_none() || inline) && is_http(args, inline && executed + 1 == found) {
                    node.counters.protocol_errors += 1;
                    node.faults.note(self.client.peer, Fault::Http);
                    closes = true;
                    break;
                }
                node.first_hash = reader.hash(executed);
                match requests.request(node, &mut self.client, spec, args) {
                    Next::Go => executed += 1,
                    Next::Again => stop = Some(Executed::Again),
                    Next::Wait | Next::Part => stop = Some(Executed::Wait),
                    Next::Ask(question) => stop = Some(Executed::Ask(question)),
                    Next::Pause => {
                        executed += 1;
                        self.doing = Doing::Awaiting;
                        stop = Some(Executed::Wait);
                    }
                    Next::Scatter => {
                        executed += 1;
                        stop = Some(Executed::Wait);
                    }
                    Next::Close => {
                        executed += 1;
                        closes = true;
                        break;
                    }
                }
            }
            self.unanswered += executed as u64;
            let (len, parsed) = match stop {
                // What was found stays found, since nothing before it goes: it may be long.
                Some(_) if executed == 0 => (0, None),
                _ => reader.executed(executed),
            };
            done += len;
            match (stop, parsed) {
                (Some(turn), _) => break turn,
                // Its place is behind the replies that other cores have still to give.
                (None, Some(Parsed::Error(_))) if found == 0 && !requests.gather.is_empty() => {
                    reader.restart();
                    break Executed::Wait;
                }
                (None, Some(Parsed::Error(error))) if found == 0 => {
                    node.counters.protocol_errors += 1;
                    if error.is_bound() {
                        node.faults.note(self.client.peer, Fault::TooLong(error));
                    }
                    Reply::new(requests.out, self.client.protocol)
                        .error(format_args!("ERR {error}"));
                    closes = true;
                }
                // Nothing more has arrived in full.
                (None, Some(Parsed::Incomplete(_))) if !closes => {
                    break Executed::Wait;
                }
                _ => {}
            }
        };
        node.first_hash = None;
        node.requests_ended(Origin::Client(&self.client));
        self.answered |= requests.out.len() > begin;
        let gather = requests.gather;
        self.begun = requests.begun;
        self.reader = Some(reader);
        if done > 0 {
            self.client.active_ms = node.now.uptime_ms;
        }
        self.transport.consume(done);
        self.transport.commit();
        if !gather.is_empty() {
            self.scatter(node, gather, closes);
        } else if closes {
            self.doing = Doing::Closing;
        }
        turn
    }

    /// Nothing more is executed: what has come and still comes is dropped.
    fn drop_input(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.restart();
        }
        let len = self.transport.input().len();
        self.transport.consume(len);
    }

    /// Sends what other cores have to execute, and executes meanwhile what is to be done here.
    fn scatter(&mut self, node: &mut Node, mut gather: Gather, last: bool) {
        let (core, sender) = (node.core, self.sender(node.core));
        let mut own = None;
        for (to, bundle) in gather.leaving() {
            if to == core {
                own = Some(bundle);
            } else {
                node.mesh.send(to, Message::Work(sender, bundle));
            }
        }
        if let Some(mut bundle) = own {
            bundle.execute(node);
            gather.returned(core, bundle);
        }
        self.doing = Doing::Gathering { gather: Box::new(gather), last };
    }

    /// Writes the replies that have come from other cores, and sends them more to do when what
    /// they had was cut.
    pub(super) fn merge(&mut self, node: &mut Node, pool: &mut Pool) {
        let sender = self.sender(node.core);
        let Doing::Gathering { gather, last } = &mut self.doing else { return };
        let last = *last;
        if gather.away > 0 {
            return;
        }
        let unsent = self.transport.unsent();
        let (_, out) = self.transport.parts(&mut pool.buffers);
        let room = node.settings.unsent_len_max.saturating_sub(unsent);
        let len_max = out.len() + room;
        loop {
            match gather.merge(out, self.client.protocol, len_max) {
                Merged::Full => break,
                Merged::Done => {
                    let next = if last { Doing::Closing } else { Doing::Serving };
                    if let Doing::Gathering { mut gather, .. } =
                        std::mem::replace(&mut self.doing, next)
                    {
                        let guards: Vec<Guard> = gather.guards().collect();
                        if !guards.is_empty() {
                            let transaction = self.client.transaction.get_or_insert_default();
                            transaction.guard(guards);
                        }
                        gather.end(&mut pool.bundles);
                    }
                    break;
                }
                // Those before it have written much: it goes on when the log has taken some.
                Merged::Cut(core) if core == node.core && node.is_congested() => break,
                Merged::Cut(core) => {
                    let Some(mut bundle) = gather.again(core) else { break };
                    if core == node.core {
                        bundle.execute(node);
                        gather.returned(core, bundle);
                        continue;
                    }
                    node.mesh.send(core, Message::Work(sender, bundle));
                    break;
                }
            }
        }
        self.transport.commit();
        self.answered = true;
    }
}

/// True for a request that is a line of HTTP; `inline` when it is a line at all. A request line ends
/// with the version, whatever its method is: GET is also the name of a command, and others may become
/// one. No value of ours begins like that when it is typed by hand.
#[cold]
fn is_http(args: Args<'_>, inline: bool) -> bool {
    let name = args.at(0);
    if WORDS.iter().any(|word| name.eq_ignore_ascii_case(word)) {
        return true;
    }
    inline && args.len() == 3 && args.at(2).get(..5).is_some_and(|begin| begin == b"HTTP/")
}
