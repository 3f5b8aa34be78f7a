//! Turns the bytes of a request into the bytes of its reply, over any store of accounts: what a host does, without
//! sockets.

use super::ScriptStore;
use anyhow::{Result, bail, ensure};
use scurry_engine::{ChainOutcome, LoadError, Outcome};
use scurry_ledger::{Account, Answer, Code, Command, Link, Time, Totals};
use scurry_resp::table::{self, CommandId, ImageId, ScurChainId, ScurReadId, ScurWriteId, StoreId};
use scurry_resp::{
    Args, Chain, ChainScratch, LoadRequest, Parsed, Parser, Protocol, Reply, RequestLimits,
    Scratch, Write, answer, chain_answers, chain_rejection, parse_chain, parse_dump, parse_load,
    parse_read, parse_write, reject, rejection, totals_map, unknown_account,
};

/// Accounts by id. Each call checks the invariants of the accounts that it uses.
pub(crate) trait Store {
    /// Executes a command on an account.
    fn execute(&mut self, now: Time, id: &[u8], command: &Command<'_>) -> Result<Outcome>;

    /// Executes a chain.
    fn execute_chain(
        &mut self,
        now: Time,
        links: &[Link<'_>],
    ) -> Result<(ChainOutcome, Vec<Answer>)>;

    /// Returns the account as a read shows it at this time.
    fn account(&mut self, now: Time, id: &[u8]) -> Result<Option<Account>>;

    /// Returns the image of an account after its last Commit.
    fn image(&mut self, now: Time, id: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Loads an account from its image.
    fn load(&mut self, now: Time, request: &LoadRequest<'_>) -> Result<Result<(), LoadError>>;

    /// Returns the sums over all accounts.
    fn totals(&self) -> Totals;

    /// Commits due expiries. Returns the number of accounts that changed.
    fn tick(&mut self, now: Time) -> Result<usize>;
}

/// A store with the grammar and the rendering of RESP in front of it.
pub(crate) struct RespFront<S> {
    pub(crate) store: S,
    pub(crate) protocol: Protocol,
}

impl<S: Store> ScriptStore for RespFront<S> {
    fn send(&mut self, now: Time, words: &[Vec<u8>]) -> Result<Vec<u8>> {
        let request = crate::door::request(words);
        let mut parser = Parser::default();
        let parsed = parser.parse(&request, &RequestLimits::default(), true);
        ensure!(parsed == Parsed::Request(request.len()), "the parser says {parsed:?}");
        let args = parser.args(&request, 0);
        let mut out = Vec::new();
        let mut reply = Reply::new(&mut out, self.protocol);
        let Some(spec) = table::find(args.at(0)) else { bail!("no such command") };
        if !spec.accepts(args.len()) {
            reply.error(spec.wrong_arity());
            return Ok(out);
        }
        match spec.id {
            CommandId::Image(ImageId::Dump) => self.dump(now, args, &mut reply)?,
            CommandId::Image(ImageId::Load) => self.load(now, args, &mut reply)?,
            CommandId::ScurRead(id) => self.read(now, id, args, &mut reply)?,
            CommandId::ScurWrite(id) => self.write(now, id, args, &mut reply)?,
            CommandId::ScurChain(ScurChainId::Chain) => self.chain(now, args, &mut reply)?,
            CommandId::Store(StoreId::Totals) => totals_map(&mut reply, &self.store.totals()),
            _ => bail!("this door has SCUR commands only"),
        }
        Ok(out)
    }

    fn tick(&mut self, now: Time) -> Result<usize> {
        self.store.tick(now)
    }
}

impl<S: Store> RespFront<S> {
    fn write(
        &mut self,
        now: Time,
        id: ScurWriteId,
        args: Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<()> {
        let mut scratch = Scratch::default();
        match parse_write(id, args, &mut scratch) {
            Ok(Write { account, command }) => match self.store.execute(now, account, &command)? {
                Outcome::Answer { answer: given, replayed } => {
                    answer(reply, &command, &given, replayed);
                }
                Outcome::Reject(why) => rejection(reply, &why),
                other => bail!("a store without plain values or bounds says {other:?}"),
            },
            Err(fault) => reply.error(fault),
        }
        Ok(())
    }

    fn chain(&mut self, now: Time, args: Args<'_>, reply: &mut Reply<'_>) -> Result<()> {
        let mut scratch = ChainScratch::default();
        match parse_chain(args, &mut scratch) {
            Ok(Chain { links, .. }) => match self.store.execute_chain(now, &links)? {
                (ChainOutcome::Answers { replayed }, answers) => {
                    chain_answers(reply, &links, &answers, replayed);
                }
                (ChainOutcome::Reject(why), _) => chain_rejection(reply, &links, &why),
                (other, _) => bail!("a store without plain values or bounds says {other:?}"),
            },
            Err(fault) => reply.error(fault),
        }
        Ok(())
    }

    fn dump(&mut self, now: Time, args: Args<'_>, reply: &mut Reply<'_>) -> Result<()> {
        match parse_dump(args) {
            Ok(account) => match self.store.image(now, account)? {
                Some(image) => reply.bulk(&image),
                None => unknown_account(reply),
            },
            Err(fault) => reply.error(fault),
        }
        Ok(())
    }

    fn load(&mut self, now: Time, args: Args<'_>, reply: &mut Reply<'_>) -> Result<()> {
        match parse_load(args) {
            Ok(request) => match self.store.load(now, &request)? {
                Ok(()) => reply.ok(),
                Err(error @ LoadError::IdentityExists) => {
                    reject(reply, Code::IdentityExists, error.to_string());
                }
                Err(error @ LoadError::Exists) => reply.error(format_args!("BUSYKEY {error}")),
                Err(error @ (LoadError::Transfer | LoadError::Image(_))) => {
                    reject(reply, Code::Invalid, error.to_string());
                }
                Err(other) => bail!("a store without plain values or bounds says {other:?}"),
            },
            Err(fault) => reply.error(fault),
        }
        Ok(())
    }

    fn read(
        &mut self,
        now: Time,
        id: ScurReadId,
        args: Args<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<()> {
        let request = match parse_read(id, args) {
            Ok(request) => request,
            Err(fault) => {
                reply.error(fault);
                return Ok(());
            }
        };
        match self.store.account(now, request.account())? {
            Some(account) => request.answer(reply, &account, now),
            None => unknown_account(reply),
        }
        Ok(())
    }
}
