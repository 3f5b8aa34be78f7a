//! Commands on several accounts: all are answered OK or none is, a rejection changes none of the accounts, and a
//! repetition gets the same answers.

use super::{Store, is_below, well_formed};
use scurry_engine::ChainOutcome;
use scurry_ledger::{Account, Answer, Code, Link};
use scurry_resp::{Args, Chain, ChainScratch, chain_answers, chain_rejection, parse_chain};

impl Store {
    pub(super) fn chain(&mut self, args: Args<'_>) {
        let mut scratch = ChainScratch::default();
        match parse_chain(args, &mut scratch) {
            Ok(Chain { links, .. }) => self.linked(&links),
            Err(fault) => well_formed(|reply| reply.error(fault)),
        }
    }

    fn linked(&mut self, links: &[Link<'_>]) {
        self.accounts.extend(links.iter().map(|link| link.account.to_vec()));
        let before = self.all(links);
        let mut below = links.iter().zip(&before);
        let below = below.any(|(link, account)| is_below(account.as_ref(), &link.command));
        let mut answers = Vec::new();
        let outcome = self.shard.execute_chain(self.now, links, &mut answers);
        let after = self.all(links);
        match &outcome {
            ChainOutcome::Answers { replayed } => {
                well_formed(|reply| chain_answers(reply, links, &answers, *replayed));
                assert_eq!(answers.len(), links.len(), "one answer for each command");
                let done = answers.iter().filter(|answer| answer.code() == Code::Ok).count();
                let is_whole = done == 0 || done == links.len();
                assert!(*replayed || is_whole, "a part of it: {links:?}: {answers:?}");
                assert!(!replayed || before == after, "a duplicate changed something: {links:?}");
            }
            ChainOutcome::Reject(refused) => {
                well_formed(|reply| chain_rejection(reply, links, refused));
                assert_eq!(before, after, "a refusal changed something: {links:?}");
            }
            ChainOutcome::WrongType { .. } => assert_eq!(before, after, "{links:?}"),
            ChainOutcome::OutOfMemory => panic!("there is no bound on memory"),
        }
        if matches!(outcome, ChainOutcome::Answers { .. }) && !below {
            self.again(links, &answers);
            assert_eq!(self.all(links), after, "the same again: {links:?}");
        }
    }

    fn again(&mut self, links: &[Link<'_>], expected: &[Answer]) {
        let mut answers = Vec::new();
        let again = self.shard.execute_chain(self.now, links, &mut answers);
        let is_replay = matches!(again, ChainOutcome::Answers { replayed: true });
        assert!(is_replay && answers == expected, "not the same again: {links:?}: {again:?}");
    }

    /// Returns the accounts of the chain after validation.
    fn all(&mut self, links: &[Link<'_>]) -> Vec<Option<Account>> {
        links.iter().map(|link| self.valid_account(link.account)).collect()
    }
}
