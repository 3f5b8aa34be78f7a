//! One client: sends batches of requests to its own keys and to shared ones until the server is killed.

use crate::shared::{Pending, Shared};
use crate::subject::Subject;
use crate::wire::Wire;
use anyhow::{Context, Result};
use scurry_model::Random;

/// Requests in one batch at most.
const DEPTH_MAX: i64 = 40;

/// A client with its own keys.
pub(crate) struct Client {
    pub(crate) number: usize,
    pub(crate) subjects: Vec<Box<dyn Subject>>,
    /// Replies received over all rounds.
    pub(crate) acknowledged: u64,
    /// Shared calls without a reply.
    lost: Vec<Pending>,
}

/// Recipient of the next reply.
enum NextReply {
    Own(usize),
    Shared(Pending),
}

impl Client {
    pub(crate) fn new(number: usize, subjects: Vec<Box<dyn Subject>>) -> Client {
        Client { number, subjects, acknowledged: 0, lost: Vec::new() }
    }

    /// Sends requests until no more reply arrives. Fails if a reply is wrong.
    pub(crate) fn load(&mut self, port: u16, shared: &Shared, random: &mut Random) -> Result<()> {
        // The server may already have been killed.
        let Ok(mut wire) = Wire::connect(port) else { return Ok(()) };
        loop {
            let (turns, requests) = self.batch(shared, random);
            let sent = wire.send(&requests);
            let mut turns = turns.into_iter();
            while let Some(turn) = turns.next() {
                let Some(reply) = sent.is_ok().then(|| wire.reply().ok()).flatten() else {
                    let rest = std::iter::once(turn).chain(turns);
                    self.lost.extend(rest.filter_map(|turn| match turn {
                        NextReply::Shared(pending) => Some(pending),
                        NextReply::Own(_) => None,
                    }));
                    return Ok(());
                };
                self.acknowledged += 1;
                match turn {
                    NextReply::Shared(pending) => shared.returned(pending, &reply)?,
                    NextReply::Own(at) => {
                        let subject = &mut self.subjects[at];
                        let told = subject.replied(&reply);
                        told.with_context(|| format!("{} under load", subject.key()))?;
                    }
                }
            }
        }
    }

    /// Marks the shared calls without a reply as lost, after the server process has ended.
    pub(crate) fn give_up(&mut self, shared: &Shared) {
        self.lost.drain(..).for_each(|pending| shared.lost(pending));
    }

    fn batch(
        &mut self,
        shared: &Shared,
        random: &mut Random,
    ) -> (Vec<NextReply>, Vec<crate::wire::RequestWords>) {
        let (mut turns, mut requests) = (Vec::new(), Vec::new());
        // A shared key occurs at most once in a batch, otherwise nearly all calls would overlap.
        let one = random.below(shared.len());
        let two = (one + 1 + random.below(shared.len() - 1)) % shared.len();
        let mut keys = vec![one, two];
        for _ in 0..random.between(1, DEPTH_MAX) {
            if random.one_in(12)
                && let Some(key) = keys.pop()
            {
                let (pending, words) = shared.call(key, self.number, random);
                turns.push(NextReply::Shared(pending));
                requests.push(words);
            } else {
                let at = random.below(self.subjects.len());
                requests.push(self.subjects[at].next(random));
                turns.push(NextReply::Own(at));
            }
        }
        (turns, requests)
    }
}
