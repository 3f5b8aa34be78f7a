//! An account whose sessions are never terminated: each must release its holds when its Tcc has passed, not before, and
//! also if no server ran at that moment.

use super::{InDoubt, ReplyTimes, Subject, words_of};
use crate::clock::wall_ms;
use crate::views;
use crate::wire::{RequestWords, array};
use anyhow::{Context, Result, bail, ensure};
use scurry_conformance::Value;
use scurry_ledger::SessionOptions;
use scurry_model::{Op, Random, Request};

/// Tolerance between the server's clock and ours, ms.
const SLACK_MS: i64 = 600;
/// Amount held by each session.
const HELD: i64 = 10;
const CREDIT: i64 = 1_000_000;
/// Sessions of one account at most, because ids are remembered for long. Then it is only audited until the next account
/// follows after the crash.
const SESSIONS_MAX: u64 = 60;

/// A session, and the times between which it was opened, ms.
#[derive(Clone, Debug)]
struct Session {
    id: String,
    tcc_ms: i64,
    sent_ms: i64,
    replied_ms: Option<i64>,
}

/// The account and its sessions.
pub(crate) struct Lease {
    key: String,
    number: u64,
    /// True until the CREATE is sent.
    is_new: bool,
    created: bool,
    sessions: Vec<Session>,
    serial: u64,
}

impl Lease {
    pub(crate) fn new(key: String) -> Lease {
        let mut lease =
            Lease { key, number: 0, is_new: true, created: false, sessions: Vec::new(), serial: 0 };
        lease.follow();
        lease
    }

    /// Moves on to the next account.
    fn follow(&mut self) {
        self.number += 1;
        let stem = self.key.split('.').next().unwrap_or_default().to_owned();
        self.key = format!("{stem}.{}", self.number);
        (self.is_new, self.created, self.serial) = (true, false, 0);
        self.sessions.clear();
    }
}

impl Subject for Lease {
    fn key(&self) -> &str {
        &self.key
    }

    fn next(&mut self, random: &mut Random) -> RequestWords {
        let id = self.key.clone();
        if self.is_new {
            self.is_new = false;
            // A separate unit, because its totals change without commands.
            return words_of(&id, &Op::create(&[("b", "sec", CREDIT)]));
        }
        if self.serial == SESSIONS_MAX {
            return views::audit(&id);
        }
        self.serial += 1;
        let (tcc_ms, sent_ms) = (random.between(50, 2_500), wall_ms());
        let session = format!("s{}", self.serial);
        let request = Request {
            options: SessionOptions { tcc_ms: Some(tcc_ms), ..SessionOptions::default() },
            ..Request::new(&session, 0)
        };
        self.sessions.push(Session { id: session, tcc_ms, sent_ms, replied_ms: None });
        words_of(&id, &request.ask(1, "sec", HELD).reserve())
    }

    fn replied(&mut self, reply: &Value) -> Result<()> {
        let open = self.sessions.iter_mut().find(|session| session.replied_ms.is_none());
        if self.created && open.is_none() {
            views::audit_of(reply)?;
            return Ok(());
        }
        ensure!(array(reply)?.first() == Some(&Value::Word(b"OK".to_vec())), "answered {reply}");
        if !self.created {
            self.created = true;
            return Ok(());
        }
        open.context("nothing was asked")?.replied_ms = Some(wall_ms());
        Ok(())
    }

    fn state_requests(&self) -> Vec<RequestWords> {
        views::state_requests(&self.key, &[])
    }

    fn check_state(&mut self, replies: &[Value], asked: ReplyTimes) -> Result<InDoubt> {
        let [get, audit] = replies else { bail!("no replies") };
        let open = self.sessions.iter().filter(|session| session.replied_ms.is_none()).count();
        let requests = open + usize::from(!self.is_new && !self.created);
        if let Value::Error(_) = get {
            ensure!(!self.created, "the account is lost: {get}");
            self.follow();
            return Ok(InDoubt { requests, applied: 0 });
        }
        views::audit_of(audit)?;
        let account = views::account_of(get)?;
        let is_shown = |id: &String| {
            account.sessions.iter().any(|session| session.id.as_bytes() == id.as_bytes())
        };
        let mut applied = usize::from(requests > open);
        for Session { id, tcc_ms, sent_ms, replied_ms } in &self.sessions {
            let is_open = is_shown(id);
            let over = replied_ms.map(|replied_ms| replied_ms + tcc_ms + SLACK_MS < asked.from_ms);
            let certain = replied_ms.is_some() && sent_ms + tcc_ms - SLACK_MS > asked.to_ms;
            ensure!(!(is_open && over == Some(true)), "session {id} should be over: {get}");
            ensure!(is_open || !certain, "session {id} is lost, or ended early: {get}");
            applied += usize::from(is_open && replied_ms.is_none());
        }
        let [bucket] = account.buckets[..] else { bail!("it has no bucket: {get}") };
        let held = HELD * i64::try_from(account.sessions.len())?;
        ensure!(
            bucket.held == held && bucket.available + held == CREDIT,
            "it holds what it should not: {get}"
        );
        // Requests in doubt need not be resolved: the next account starts from nothing.
        if requests > 0 || self.serial == SESSIONS_MAX {
            self.follow();
        }
        Ok(InDoubt { requests, applied })
    }

    fn repeat_requests(&mut self, _: &mut Random) -> Vec<RequestWords> {
        Vec::new()
    }
}
