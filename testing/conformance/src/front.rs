//! From the bytes of a request to the bytes of its reply, over any store of accounts: what a
//! host does, without its sockets.

use crate::door::Visit;
use anyhow::{Result, bail, ensure};
use scurry_engine::Outcome;
use scurry_ledger::{Account, Command, Time, Totals};
use scurry_resp::{
    Parsed, Parser, Protocol, Read, Reply, RequestLimits, Scratch, ScurRequest, answer, parse,
    rejection, table, totals_map, unknown_account,
};

/// Accounts by id. Each call checks the invariants of what it touches.
pub(crate) trait Store {
    /// Runs a command on an account.
    fn execute(&mut self, now: Time, id: &[u8], command: &Command<'_>) -> Result<Outcome>;

    /// The account as read now.
    fn account(&mut self, now: Time, id: &[u8]) -> Result<Option<Account>>;

    /// Sums over the accounts.
    fn totals(&self) -> Totals;

    /// Commits what is due; how many accounts changed.
    fn tick(&mut self, now: Time) -> Result<usize>;
}

/// A store behind the grammar and the rendering of RESP.
pub(crate) struct Front<S> {
    pub(crate) store: S,
    pub(crate) protocol: Protocol,
}

impl<S: Store> Visit for Front<S> {
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
            let name = spec.lower_name();
            reply.error(format_args!("ERR wrong number of arguments for '{name}' command"));
            return Ok(out);
        }
        let mut scratch = Scratch::default();
        match parse(spec.id, args, &mut scratch) {
            Ok(Some(ScurRequest::Write { account, command })) => {
                match self.store.execute(now, account, &command)? {
                    Outcome::Answer { answer: given, replayed } => {
                        answer(&mut reply, &command, &given, replayed);
                    }
                    Outcome::Reject(why) => rejection(&mut reply, &why),
                    other => bail!("a store without plain values or bounds says {other:?}"),
                }
            }
            Ok(Some(ScurRequest::Read(request))) => self.read(now, request, &mut reply)?,
            Ok(None) => bail!("this door has SCUR commands only"),
            Err(fault) => reply.error(fault),
        }
        Ok(out)
    }

    fn tick(&mut self, now: Time) -> Result<usize> {
        self.store.tick(now)
    }
}

impl<S: Store> Front<S> {
    fn read(&mut self, now: Time, request: Read<'_>, reply: &mut Reply<'_>) -> Result<()> {
        let Some(id) = request.account() else {
            totals_map(reply, &self.store.totals());
            return Ok(());
        };
        match self.store.account(now, id)? {
            Some(account) => request.answer(reply, &account, now),
            None => unknown_account(reply),
        }
        Ok(())
    }
}
