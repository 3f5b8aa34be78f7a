//! The ledger in this process, driven by the text of commands.

use scurry_lab::resp::{Value, encode};
use scurry_ledger::{Account, Decision, Limits, Time, apply, decide, view_in_place};
use scurry_resp::table::{self, CommandId};
use scurry_resp::{
    Args, Parsed, Parser, Protocol, Reply, RequestLimits, Scratch, parse_read, parse_write,
};

use super::ACCOUNT;

/// Ledger in this process, with one account.
pub(crate) struct Ledger {
    account: Option<Account>,
    pub(crate) now: i64,
    limits: Limits,
}

impl Ledger {
    pub(crate) fn bounded(limits: &Limits) -> Ledger {
        Ledger { account: None, now: 0, limits: limits.clone() }
    }

    pub(crate) fn charge(&mut self, command: &str, rest: &[&str]) -> Value {
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
        let (now, limits) = (Time(self.now), &self.limits);
        match table::find(args.at(0)).unwrap().id {
            CommandId::ScurWrite(id) => {
                let mut scratch = Scratch::default();
                let command = parse_write(id, args, &mut scratch).unwrap().command;
                match decide(self.account.as_ref(), &command, now, limits) {
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
                view_in_place(&mut seen, now, limits);
                parse_read(id, args).unwrap().answer(reply, seen.as_ref().unwrap(), now);
            }
            other => panic!("{other:?} is no charging command"),
        }
    }
}
