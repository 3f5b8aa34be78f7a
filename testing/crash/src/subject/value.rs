//! A plain value of one client. Every write has new bytes, so that a lost or repeated one is visible.

use super::{InDoubt, ReplyTimes, Subject};
use crate::clock::wall_ms;
use crate::wire::{RequestWords, int, words};
use anyhow::{Result, bail, ensure};
use scurry_conformance::Value;
use scurry_model::Random;
use std::collections::VecDeque;

/// Tolerance between the server's clock and ours, ms.
const SLACK_MS: i64 = 20_000;
/// Lifetime of values that must not expire during the test, about a day, ms.
const LIFE_MS: i64 = 90_000_000;

#[derive(Clone, Debug)]
enum Act {
    Set(String),
    /// The value, and the time of sending, ms.
    SetFor(String, i64),
    Append(String),
    Del,
    Expire(i64),
    Persist,
    SetNumber(i128),
    Incr,
    Get,
}

/// Value of the key: its bytes, and when it expires, ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State(Option<(String, Option<i64>)>);

/// The key, its state and its open requests.
pub(crate) struct PlainValue {
    key: String,
    known: State,
    open: VecDeque<(Act, Value)>,
    sent: State,
    serial: u64,
}

impl State {
    /// Applies an act, and returns its reply.
    fn act(&mut self, act: &Act) -> Value {
        let done = |yes: bool| Value::Int(yes.into());
        match act {
            Act::Set(bytes) => self.put(bytes.clone(), None),
            Act::SetFor(bytes, at) => self.put(bytes.clone(), Some(at + LIFE_MS)),
            Act::SetNumber(number) => self.put(number.to_string(), None),
            Act::Append(tail) => {
                let (bytes, _) = self.0.get_or_insert_default();
                bytes.push_str(tail);
                Value::Int(bytes.len() as i128)
            }
            Act::Del => done(self.0.take().is_some()),
            Act::Expire(at) => {
                if let Some((_, expires)) = &mut self.0 {
                    *expires = Some(at + LIFE_MS);
                }
                done(self.0.is_some())
            }
            Act::Persist => match &mut self.0 {
                Some((_, expires)) => done(expires.take().is_some()),
                None => done(false),
            },
            Act::Incr => {
                let (bytes, _) = self.0.get_or_insert_with(|| ("0".to_owned(), None));
                match bytes.parse::<i128>() {
                    Ok(number) => {
                        *bytes = (number + 1).to_string();
                        Value::Int(number + 1)
                    }
                    Err(_) => Value::Error("ERR".to_owned()),
                }
            }
            Act::Get => {
                let bytes = self.0.as_ref().map(|(bytes, _)| bytes.clone().into_bytes());
                bytes.map_or(Value::Nil, Value::Word)
            }
        }
    }

    fn put(&mut self, bytes: String, expires: Option<i64>) -> Value {
        self.0 = Some((bytes, expires));
        Value::Word(b"OK".to_vec())
    }

    /// Reports whether GET and PEXPIRETIME show this state.
    fn shows(&self, get: &Value, expires: i128) -> bool {
        match (&self.0, get) {
            (None, Value::Nil) => expires == -2,
            (Some((bytes, wanted)), Value::Word(shown)) => {
                let near = |wanted: i64| (expires - i128::from(wanted)).abs() <= SLACK_MS.into();
                bytes.as_bytes() == shown && wanted.map_or(expires == -1, near)
            }
            _ => false,
        }
    }
}

impl PlainValue {
    pub(crate) fn new(key: String) -> PlainValue {
        let (known, sent) = Default::default();
        PlainValue { key, known, open: VecDeque::new(), sent, serial: 0 }
    }

    fn act(&mut self, random: &mut Random) -> Act {
        self.serial += 1;
        let bytes = format!("v{};", self.serial);
        let (len, number) = match &self.sent.0 {
            Some((bytes, _)) => (bytes.len(), bytes.parse::<i128>().is_ok()),
            None => (0, true),
        };
        match random.below(20) {
            0..2 => Act::Set(bytes),
            2..4 => Act::SetFor(bytes, wall_ms()),
            4..9 if len < 600 && !number => Act::Append(bytes),
            4..14 if number => Act::Incr,
            4..14 => Act::Append(bytes),
            14 => Act::Expire(wall_ms()),
            15 => Act::Persist,
            16 => Act::Del,
            17..19 => Act::Get,
            _ => Act::SetNumber(self.serial.into()),
        }
    }

    fn words(&self, act: &Act) -> RequestWords {
        let key = &self.key;
        words(&match act {
            Act::Set(bytes) => format!("SET {key} {bytes}"),
            Act::SetFor(bytes, _) => format!("SET {key} {bytes} PX {LIFE_MS}"),
            Act::SetNumber(number) => format!("SET {key} {number}"),
            Act::Append(tail) => format!("APPEND {key} {tail}"),
            Act::Del => format!("DEL {key}"),
            Act::Expire(_) => format!("PEXPIRE {key} {LIFE_MS}"),
            Act::Persist => format!("PERSIST {key}"),
            Act::Incr => format!("INCR {key}"),
            Act::Get => format!("GET {key}"),
        })
    }

    fn states(&self) -> Vec<State> {
        let mut states = vec![self.known.clone()];
        for (act, _) in &self.open {
            let mut next = states[states.len() - 1].clone();
            next.act(act);
            states.push(next);
        }
        states
    }
}

impl Subject for PlainValue {
    fn key(&self) -> &str {
        &self.key
    }

    fn next(&mut self, random: &mut Random) -> RequestWords {
        let act = self.act(random);
        let words = self.words(&act);
        let expected = self.sent.act(&act);
        self.open.push_back((act, expected));
        words
    }

    fn replied(&mut self, reply: &Value) -> Result<()> {
        let Some((act, expected)) = self.open.pop_front() else { bail!("nothing was asked") };
        let right = match (&expected, reply) {
            (Value::Error(_), Value::Error(_)) => true,
            (expected, reply) => expected == reply,
        };
        ensure!(right, "{act:?} is answered {reply} instead of {expected}");
        self.known.act(&act);
        Ok(())
    }

    fn state_requests(&self) -> Vec<RequestWords> {
        let key = &self.key;
        vec![words(&format!("GET {key}")), words(&format!("PEXPIRETIME {key}"))]
    }

    fn check_state(&mut self, replies: &[Value], _: ReplyTimes) -> Result<InDoubt> {
        let [get, expires] = replies else { bail!("no replies") };
        let (states, at) = (self.states(), int(expires)?);
        let Some(applied) = states.iter().position(|state| state.shows(get, at)) else {
            bail!(
                "it holds {get} until {at}, and is {:?} with {:?} in doubt",
                self.known,
                self.open
            );
        };
        let doubt = InDoubt { requests: self.open.len(), applied };
        self.open.clear();
        self.known = states[applied].clone();
        self.sent = self.known.clone();
        Ok(doubt)
    }

    fn repeat_requests(&mut self, _: &mut Random) -> Vec<RequestWords> {
        // Plain commands have no id, so the server could not recognize a repetition.
        Vec::new()
    }
}
