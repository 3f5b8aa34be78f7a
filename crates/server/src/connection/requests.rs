//! Executes the requests of a connection or sends them to the cores of their keys, and writes the replies. A
//! request that looks like HTTP closes the connection, as in Redis and Valkey: any web page can make a browser send a
//! POST to any port that the browser reaches, with a body of the page's choice. RESP would answer the lines of its head
//! with errors and then execute its body.

use super::{Connection, ConnectionState, Executed};
use crate::connection::gather::{GatheredRequests, Merged};
use crate::connection::memory::Pool;
use crate::connection::turn_requests::{Next, TurnRequests};
use crate::execute::node::Node;
use crate::execute::timing::Origin;
use crate::mail::bundle::WatchedKey;
use crate::mail::message::Message;
use crate::net::fault::Fault;
use crate::net::transport::Transport;
use scurry_resp::Args;
use scurry_resp::{Parsed, Reply};

/// Words that close a connection when they stand in place of a command; the same as Valkey's. No command has such a
/// name.
const WORDS: [&[u8]; 2] = [b"POST", b"Host:"];

impl<T: Transport> Connection<T> {
    /// The middle part of a turn: executes complete requests until none is left (`Blocked`), until there are too many
    /// replies (`Yield`), or until another core or thread has to act first (`AskCores`, or `Blocked` with a pause). The replies
    /// are written to the output but not sent.
    pub(crate) fn execute(&mut self, node: &mut Node, pool: &mut Pool) -> Executed {
        match self.doing {
            _ if self.outlet.is_held() => return Executed::Blocked,
            ConnectionState::Serving => {}
            ConnectionState::Closing => {
                self.drop_input();
                return Executed::Blocked;
            }
            _ => return Executed::Blocked,
        }
        // The log has too much to write already: the requests wait until some of it is written.
        if node.is_congested() {
            return Executed::Yield;
        }
        let mut reader = self.reader.take().unwrap_or_else(|| pool.take_reader());
        let room = self.unsent_len_max(node).saturating_sub(self.transport.unsent());
        let (input, out) = self.transport.parts(&mut pool.buffers);
        let begin = out.len();
        let mut requests = TurnRequests {
            core: node.core,
            out_len_max: begin + room,
            out,
            gather: GatheredRequests::default(),
            begun: self.begun,
            spare: &mut pool.bundles,
        };
        let (mut done, mut closes) = (0, false);
        node.requests_began();
        let turn = loop {
            // After an error or QUIT the rest of the input is dropped.
            if closes {
                reader.restart();
                done = input.len();
                break Executed::Blocked;
            }
            let rest = &input[done..];
            if !reader.is_ahead() {
                // Prefetch the accounts and values of all found requests before the first is executed.
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
                    Next::Yield => stop = Some(Executed::Yield),
                    Next::AfterGathered | Next::RestAfterGathered => stop = Some(Executed::Blocked),
                    Next::AskCores(question) => stop = Some(Executed::AskCores(question)),
                    Next::Suspend => {
                        executed += 1;
                        self.doing = ConnectionState::Awaiting;
                        stop = Some(Executed::Blocked);
                    }
                    Next::Scatter => {
                        executed += 1;
                        stop = Some(Executed::Blocked);
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
                // Requests that were found are kept, since no byte before them was consumed: they may be long.
                Some(_) if executed == 0 => (0, None),
                _ => reader.executed(executed),
            };
            done += len;
            match (stop, parsed) {
                (Some(turn), _) => break turn,
                // The error reply belongs after replies that other cores still owe.
                (None, Some(Parsed::Error(_))) if found == 0 && !requests.gather.is_empty() => {
                    reader.restart();
                    break Executed::Blocked;
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
                // The rest of a request has not arrived yet.
                (None, Some(Parsed::Incomplete(_))) if !closes => {
                    break Executed::Blocked;
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
        // Requests for other cores leave together at the end of the turn, one bundle per core.
        if !gather.is_empty() {
            self.scatter(node, gather, closes);
        } else if closes {
            self.doing = ConnectionState::Closing;
        }
        turn
    }

    /// Drops all input. No further request is executed.
    fn drop_input(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.restart();
        }
        let len = self.transport.input().len();
        self.transport.consume(len);
    }

    /// Sends bundles to the other cores, and executes this core's bundle meanwhile.
    fn scatter(&mut self, node: &mut Node, mut gather: GatheredRequests, last: bool) {
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
        self.doing = ConnectionState::Gathering { gather: Box::new(gather), last };
    }

    /// Writes the replies that have returned from other cores, and sends a bundle again when its execution was cut
    /// short.
    pub(super) fn merge(&mut self, node: &mut Node, pool: &mut Pool) {
        let sender = self.sender(node.core);
        let ConnectionState::Gathering { gather, last } = &mut self.doing else { return };
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
                    let next =
                        if last { ConnectionState::Closing } else { ConnectionState::Serving };
                    if let ConnectionState::Gathering { mut gather, .. } =
                        // The bundles go back to the pool; guards of WATCH become part of the transaction.
                        std::mem::replace(&mut self.doing, next)
                    {
                        let guards: Vec<WatchedKey> = gather.guards().collect();
                        if !guards.is_empty() {
                            let transaction = self.client.transaction.get_or_insert_default();
                            transaction.guard(guards);
                        }
                        gather.end(&mut pool.bundles);
                    }
                    break;
                }
                // Earlier requests have filled the log's queue: this continues when the log has caught up.
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

/// Reports whether a request is a line of HTTP; `inline` says that it is a line at all. An HTTP request line ends with
/// the version, whatever its method is. GET is also the name of a command, and other methods may become one. No value
/// that a person would type ends like that.
#[cold]
fn is_http(args: Args<'_>, inline: bool) -> bool {
    let name = args.at(0);
    if WORDS.iter().any(|word| name.eq_ignore_ascii_case(word)) {
        return true;
    }
    inline && args.len() == 3 && args.at(2).get(..5).is_some_and(|begin| begin == b"HTTP/")
}
