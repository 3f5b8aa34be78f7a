//! Handles requests of a connection that has begun a transaction, and the commands of transactions.

use super::{Next, TurnRequests};
use crate::connection::gather::RequestDistributor;
use crate::connection::memory::Spare;
use crate::execute::client::Client;
use crate::execute::dispatch;
use crate::execute::node::Node;
use crate::execute::transaction::Transaction;
use crate::mail::bundle::TRANSACTION_LEN_MAX;
use crate::net::port::PortKind;
use scurry_resp::table::{
    self, CommandId, ConnectionId, EchoId, Memory, Spec, Spread, TransactionId,
};
use scurry_resp::{Args, OUT_OF_MEMORY, Reply};

const NOT_ALLOWED: &str = "ERR Command not allowed inside a transaction";
const SPOILT: &str = "EXECABORT Transaction discarded because of previous errors.";
const CROSS_CORE: &str = "CROSSSLOT Keys of a transaction have to be on one thread: give them one hash \
                          tag, or serve with --threads 1";

impl TurnRequests<'_> {
    /// Queues a request or executes a transaction command. None for requests that are executed as usual.
    #[cold]
    pub(super) fn in_transaction(
        &mut self,
        node: &mut Node,
        client: &mut Client,
        spec: Option<&'static Spec>,
        args: Args<'_>,
    ) -> Option<Next> {
        let own = spec.filter(|spec| spec.spread == Spread::Connection);
        let queueing = client.transaction.as_ref().is_some_and(|begun| begun.is_queueing());
        let ends = match spec {
            Some(spec) => matches!(
                spec.id,
                CommandId::Connection(ConnectionId::Quit)
                    | CommandId::Connection(ConnectionId::Reset)
            ),
            None => table::find(args.at(0))
                .is_some_and(|spec| spec.id == CommandId::Transaction(TransactionId::Exec)),
        };
        if spec.is_none() && ends {
            // EXEC with arguments is malformed, and still ends the transaction.
            client.transaction = None;
        }
        if own.is_none() && (!queueing || ends) {
            return None;
        }
        // Replies keep their order, so the gathered requests come first.
        if !self.gather.is_empty() {
            return Some(Next::AfterGathered);
        }
        let Some(spec) = spec else {
            spoil(client);
            dispatch::refuse_unknown(node, client, args, self.out);
            return Some(Next::Go);
        };
        if let Err(effect) = dispatch::check(node, client, spec, args, self.out) {
            spoil(client);
            return Some(Next::after_refusal(effect));
        }
        match spec.id {
            CommandId::Transaction(TransactionId::Multi) if !queueing => {
                client.transaction.get_or_insert_default().begin();
                self.ok(node, client, spec);
            }
            CommandId::Transaction(TransactionId::Exec) => {
                return Some(self.exec(node, client, spec));
            }
            CommandId::Transaction(TransactionId::Discard) if queueing => {
                client.transaction = None;
                self.ok(node, client, spec);
            }
            CommandId::Transaction(TransactionId::Discard) => {
                self.refuse(node, client, spec, "ERR DISCARD without MULTI")
            }
            CommandId::Transaction(TransactionId::Unwatch) if !queueing => {
                client.transaction = None;
                self.ok(node, client, spec);
            }
            CommandId::Transaction(TransactionId::Watch) if !queueing => {
                return Some(self.watch(node, client, spec, args));
            }
            _ => self.queue(node, client, spec, args),
        }
        Some(Next::Go)
    }

    /// EXEC: sends the whole transaction to the core that owns its keys.
    fn exec(&mut self, node: &mut Node, client: &mut Client, spec: &'static Spec) -> Next {
        let Some(transaction) = client.transaction.take_if(|begun| begun.is_queueing()) else {
            self.refuse(node, client, spec, "ERR EXEC without MULTI");
            return Next::Go;
        };
        if transaction.spoilt {
            self.refuse(node, client, spec, SPOILT);
            return Next::Go;
        }
        // Without memory the whole transaction is refused, before any of its commands runs.
        if transaction.takes_memory() && node.shard.refuses_memory() {
            let words = format!("EXECABORT Transaction discarded because of: {OUT_OF_MEMORY}");
            self.reject(node, client, spec, words);
            return Next::Go;
        }
        dispatch::count(node, Some(spec), b"*");
        let core = transaction.core.unwrap_or(self.core);
        let (queue, guards) = transaction.into_parts();
        spreader(self.spare, node, client).transaction(&mut self.gather, core, queue, guards);
        Next::Scatter
    }

    /// WATCH: asks the core that owns the keys for their present state.
    fn watch(
        &mut self,
        node: &mut Node,
        client: &mut Client,
        spec: &'static Spec,
        args: Args<'_>,
    ) -> Next {
        let mut transaction = client.transaction.take().unwrap_or_default();
        let core = core_of(node, client, &transaction, spec, args);
        let room = core.is_ok() && transaction.reserve(args);
        match core {
            Err(words) => self.refuse(node, client, spec, words),
            Ok(_) if !room => self.refuse(node, client, spec, too_long()),
            Ok(core) => {
                transaction.core = core;
                let core = core.unwrap_or(self.core);
                spreader(self.spare, node, client).one(&mut self.gather, core, spec, args);
            }
        }
        client.transaction = Some(transaction);
        Next::Go
    }

    /// Adds a command to the queue that EXEC will execute.
    fn queue(&mut self, node: &mut Node, client: &mut Client, spec: &'static Spec, args: Args<'_>) {
        let may = match spec.id {
            CommandId::Echo(EchoId::Ping)
            | CommandId::Echo(EchoId::Echo)
            | CommandId::Transaction(TransactionId::Unwatch) => true,
            _ => spec.keys.0 != 0 && !matches!(spec.spread, Spread::Connection | Spread::Log),
        };
        if !may {
            return self.reject(node, client, spec, NOT_ALLOWED);
        }
        if spec.memory == Memory::Taken && node.shard.refuses_memory() {
            return self.reject(node, client, spec, OUT_OF_MEMORY);
        }
        let Some(mut transaction) = client.transaction.take() else { return };
        let core = core_of(node, client, &transaction, spec, args);
        let words = match core {
            Err(words) => Some(words.to_owned()),
            Ok(core) => {
                transaction.core = core;
                (!transaction.push(spec, args)).then(too_long)
            }
        };
        client.transaction = Some(transaction);
        match words {
            Some(words) => self.reject(node, client, spec, words),
            None => Reply::new(self.out, client.protocol).simple("QUEUED"),
        }
    }

    fn ok(&mut self, node: &mut Node, client: &Client, spec: &Spec) {
        Reply::new(self.out, client.protocol).ok();
        dispatch::count(node, Some(spec), b"+");
    }

    /// Writes the error of a command that was to be part of a transaction and is not executed. EXEC will fail as well.
    fn reject(
        &mut self,
        node: &mut Node,
        client: &mut Client,
        spec: &Spec,
        words: impl std::fmt::Display,
    ) {
        spoil(client);
        let begin = self.out.len();
        Reply::new(self.out, client.protocol).error(words);
        dispatch::count_refused(node, Some(spec), &self.out[begin..]);
    }

    /// Writes an error. After MULTI, EXEC will fail as well.
    fn refuse(
        &mut self,
        node: &mut Node,
        client: &mut Client,
        spec: &Spec,
        words: impl std::fmt::Display,
    ) {
        spoil(client);
        let begin = self.out.len();
        Reply::new(self.out, client.protocol).error(words);
        dispatch::count(node, Some(spec), &self.out[begin..]);
    }
}

fn spreader<'n>(spare: &'n mut Spare, node: &Node, client: &Client) -> RequestDistributor<'n> {
    RequestDistributor { spare, caller: client.caller(node.core), cores: node.shared.slots.cores() }
}

fn spoil(client: &mut Client) {
    if let Some(transaction) = &mut client.transaction {
        transaction.spoilt |= transaction.is_queueing();
    }
}

fn too_long() -> String {
    format!(
        "ERR a transaction has at most {TRANSACTION_LEN_MAX} bytes of commands and watched keys"
    )
}

/// Returns the core of a transaction once it includes these keys. None while it has no key.
fn core_of(
    node: &Node,
    client: &Client,
    transaction: &Transaction,
    spec: &Spec,
    args: Args<'_>,
) -> Result<Option<u16>, &'static str> {
    let slots = node.shared.slots;
    let mut core = transaction.core;
    for position in spec.key_positions(args) {
        let owner = match client.port {
            PortKind::Main => slots.owner_of(args.at(position)),
            PortKind::Core => node.core,
        };
        if *core.get_or_insert(owner) != owner {
            return Err(CROSS_CORE);
        }
    }
    Ok(core)
}
