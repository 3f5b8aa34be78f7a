//! Compares the accounts with what clients have sent and were answered.

use crate::effect::{Effect, NOT_APPLICABLE, Octets, SUCCESS, UNABLE};
use crate::request::{Kind, Request};
use crate::store::{Kept, LedgerName, SimStore};
use crate::truth::{CREDIT_LIMIT, Truth, UNKNOWN_SESSION};
use scurry_ledger::{Code, Time};
use std::collections::BTreeMap;

/// What an account must show.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    credited: i64,
    used: i64,
    refunded: i64,
    recorded: i64,
}

/// What is left of debits, by account and Refund-Information.
type Debits = BTreeMap<(Vec<u8>, Vec<u8>), Octets>;

impl Truth {
    /// Compares accounts with requests. Each account has got this credit first, and `store` has ended all sessions by now.
    pub(crate) fn check_end(&mut self, store: &SimStore, now: Time, credit: i64) {
        let mut kept = store.kept();
        let mut debits = Debits::new();
        let all = store.accounts().into_iter();
        let mut accounts: BTreeMap<Vec<u8>, Sums> =
            all.map(|account| (account, Sums { credited: credit, ..Sums::default() })).collect();
        // The account of each session: the one at which it was opened.
        let mut opened = BTreeMap::<&str, Vec<u8>>::new();
        for request in &self.requests {
            let words = &request.words;
            let effect = Effect::of(words);
            let (id, number) = effect.ledger_id(words);
            let command = effect.command(words.kind).unwrap_or_default();
            let name =
                |account: &[u8]| -> LedgerName { (account.to_vec(), command, id.clone(), number) };
            let account = opened.get(&words.session[..]).cloned().unwrap_or_else(|| {
                let at = request.accounts.iter().find(|at| kept.contains_key(&name(at)));
                at.unwrap_or(&request.accounts[0]).clone()
            });
            opened.entry(&words.session).or_insert_with(|| account.clone());
            let kept = kept.remove(&name(&account)).unwrap_or_default();
            check_kept(request, &effect, kept);
            let is_done = kept.code == Some(Code::Ok);
            let sums = accounts.get_mut(&account).expect("an account");
            let report = &mut self.report;
            match effect {
                // Reported use is debited, whatever is granted.
                Effect::Session if words.kind != Kind::Initial && kept.commits > 0 => {
                    sums.used += words.used();
                }
                Effect::Debit(octets) if is_done => {
                    sums.used += octets.values().sum::<i64>();
                    debits.insert((account, id), octets);
                    report.debits += 1;
                }
                Effect::Settle { debited, recorded } => {
                    sums.used += debited;
                    sums.recorded += recorded;
                    report.settled += u64::from(debited > 0);
                    report.recorded += u64::from(recorded > 0);
                }
                Effect::Refund { debit, items } => {
                    let left = debits.get_mut(&(account, debit));
                    let refunded = check_refund(request, left, items, kept);
                    sums.refunded += refunded;
                    report.refunds += u64::from(refunded > 0);
                }
                Effect::Credit(octets) => {
                    sums.credited += octets;
                    report.credits += 1;
                }
                Effect::Nothing(_) => report.refused += 1,
                Effect::Check => report.checks += 1,
                Effect::Session | Effect::Debit(_) => {}
            }
            report.late += u64::from(kept.is_late && words.kind == Kind::Update);
            report.answered_twice += u64::from(request.answers > 1);
            report.overtaken += u64::from(request.first_seen > Some(0));
            report.both_doors += u64::from(request.seen_at == [true; 2]);
            let result = request.answer.as_ref().map(|answer| answer.result);
            report.denied += u64::from(result == Some(CREDIT_LIMIT));
        }
        assert!(kept.is_empty(), "the store has done what no client has asked for: {kept:?}");
        for (id, sums) in accounts {
            check_account(store, now, &id, sums);
        }
        self.report.replays = store.replays();
        self.report.requests = self.requests.len() as u64;
    }
}

/// Checks what the store has kept of a request against its answer.
fn check_kept(request: &Request, effect: &Effect, kept: Kept) {
    let words = &request.words;
    assert!(kept.commits <= 1, "carried out {} times: {words:?}", kept.commits);
    let answer = request.answer.as_ref().unwrap_or_else(|| panic!("unanswered: {words:?}"));
    let is_kept = match effect {
        Effect::Nothing(_) | Effect::Check => false,
        Effect::Debit(_) | Effect::Settle { .. } | Effect::Credit(_) => true,
        Effect::Refund { .. } => answer.result == SUCCESS,
        // A session that has ended is answered 5002: what was used must be debited all the same.
        Effect::Session => match answer.result {
            SUCCESS | CREDIT_LIMIT => true,
            UNKNOWN_SESSION => words.used() > 0,
            _ => false,
        },
    };
    assert!(!is_kept || kept.commits == 1, "answered, and not kept: {words:?}\n{answer:?}");
    let is_denied = kept.code == Some(Code::CreditLimitReached) && words.kind != Kind::Update;
    assert!(!is_denied || answer.result == CREDIT_LIMIT, "{words:?}\n{answer:?}\n{kept:?}");
}

/// Checks a refund against what is left of its debit. Returns what is refunded.
fn check_refund(
    request: &Request,
    left: Option<&mut Octets>,
    items: Option<Octets>,
    kept: Kept,
) -> i64 {
    let mut refunded = 0;
    let expected = match left {
        None => UNABLE,
        Some(left) => {
            let items = items.unwrap_or_else(|| left.clone());
            let is_left = |(group, octets): (&u32, &i64)| left.get(group) >= Some(octets);
            if items.iter().all(is_left) && items.values().any(|octets| *octets > 0) {
                refunded = items.values().sum();
                items
                    .iter()
                    .for_each(|(group, octets)| *left.get_mut(group).expect("it") -= octets);
                SUCCESS
            } else {
                NOT_APPLICABLE
            }
        }
    };
    let words = &request.words;
    let result = request.answer.as_ref().map(|answer| answer.result);
    assert_eq!(result, Some(expected), "a refund: {words:?}");
    assert_eq!(kept.commits, u32::from(refunded > 0), "a refund: {words:?}");
    refunded
}

fn check_account(store: &SimStore, now: Time, id: &[u8], sums: Sums) {
    store.look(id, now, |account| {
        let [bucket] = &account.buckets[..] else { panic!("one bucket") };
        let what = String::from_utf8_lossy(id);
        assert_eq!(bucket.consumed, sums.used, "{what}: debited, and what clients reported");
        assert_eq!(bucket.refunded, sums.refunded, "{what}: refunded");
        assert_eq!(bucket.credited, sums.credited, "{what}: credited");
        assert_eq!(bucket.held, 0, "{what}: holds are left");
        assert!(account.sessions.is_empty(), "{what}: sessions are left");
        let recorded = account.uncollected.iter().map(|one| (one.unit.as_str(), one.amount));
        let expected = (sums.recorded > 0).then_some(("record", sums.recorded));
        assert!(recorded.eq(expected), "{what}: {:?}, and recorded {sums:?}", account.uncollected);
        let out = bucket.consumed + bucket.expired + bucket.voided;
        let left = bucket.credited + bucket.refunded - out;
        assert_eq!(bucket.available + bucket.held, left, "{what}: units are lost or made");
    });
}
