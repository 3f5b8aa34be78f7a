//! An entity of one client, either with versions chosen by the client, so that a write can be repeated, or with
//! versions of the server.

use super::{Counts, InDoubt, ReplyTimes, Subject};
use crate::clock::wall_ms;
use crate::wire::{RequestWords, array, int, words};
use anyhow::{Result, bail, ensure};
use scurry_conformance::Value;
use scurry_model::Random;
use std::collections::VecDeque;

/// Number of the node in versions chosen by clients. The server's is 0.
const NODE: u64 = 7;

/// A write: its value (None for a deletion), and its version if the client chooses one.
#[derive(Clone, Debug)]
struct Act {
    value: Option<String>,
    version: Option<u64>,
}

/// Knowledge of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownVersion {
    Exactly(u64),
    /// Chosen by the server and not seen yet: greater than this.
    After(u64),
}

#[derive(Clone, Debug)]
struct State {
    version: KnownVersion,
    value: Option<String>,
}

/// The entity, its state and its open writes.
pub(crate) struct Entity {
    key: String,
    gives_versions: bool,
    known: State,
    open: VecDeque<Act>,
    recent: Option<Act>,
    doubtful: Vec<Act>,
    last_version: u64,
    serial: u64,
    replays: u64,
}

impl KnownVersion {
    fn least(self) -> u64 {
        match self {
            KnownVersion::Exactly(version) | KnownVersion::After(version) => version,
        }
    }
}

impl State {
    /// Applies a write. Reports whether it changes anything.
    fn act(&mut self, act: &Act) -> bool {
        let applied = match act.version {
            Some(version) => version > self.version.least(),
            None => act.value.is_some() || self.value.is_some(),
        };
        if applied {
            self.value.clone_from(&act.value);
            self.version = act
                .version
                .map_or(KnownVersion::After(self.version.least()), KnownVersion::Exactly);
        }
        applied
    }

    /// Returns the version in `shown` if ENTITY.GET with WITHVERSION could show this state.
    fn shows(&self, shown: &Value) -> Option<u64> {
        let Value::Array(parts) = shown else {
            return (*shown == Value::Nil && self.version == KnownVersion::Exactly(0)).then_some(0);
        };
        let [Value::Int(version), value, _] = &parts[..] else { return None };
        let version = u64::try_from(*version).ok()?;
        let fits = match self.version {
            KnownVersion::Exactly(wanted) => version == wanted,
            KnownVersion::After(least) => version > least,
        };
        let value_fits = match (&self.value, value) {
            (None, Value::Nil) => true,
            (Some(wanted), Value::Word(bytes)) => wanted.as_bytes() == bytes,
            _ => false,
        };
        (fits && value_fits).then_some(version)
    }
}

impl Entity {
    pub(crate) fn new(key: String, gives_versions: bool) -> Entity {
        Entity {
            key,
            gives_versions,
            known: State { version: KnownVersion::Exactly(0), value: None },
            open: VecDeque::new(),
            recent: None,
            doubtful: Vec::new(),
            last_version: 0,
            serial: 0,
            replays: 0,
        }
    }

    fn version(&mut self) -> u64 {
        let now = u64::try_from(wall_ms()).unwrap_or_default() << 19 | NODE;
        self.last_version = now.max(self.last_version + 512);
        self.last_version
    }

    fn send(&mut self, act: Act) -> RequestWords {
        let key = &self.key;
        let mut line = match &act.value {
            Some(value) => format!("ENTITY.PUT {key} {value}"),
            None => format!("ENTITY.DEL {key}"),
        };
        if let Some(version) = act.version {
            line = format!("{line} VERSION {version}");
        }
        self.open.push_back(act);
        words(&line)
    }

    fn states(&self) -> Vec<State> {
        let mut states = vec![self.known.clone()];
        for act in &self.open {
            let mut next = states[states.len() - 1].clone();
            next.act(act);
            states.push(next);
        }
        states
    }
}

impl Subject for Entity {
    fn key(&self) -> &str {
        &self.key
    }

    fn next(&mut self, random: &mut Random) -> RequestWords {
        self.serial += 1;
        let value = (!random.one_in(5)).then(|| format!("e{}", self.serial));
        let version = if self.gives_versions { Some(self.version()) } else { None };
        self.send(Act { value, version })
    }

    fn replied(&mut self, reply: &Value) -> Result<()> {
        let Some(act) = self.open.pop_front() else { bail!("nothing was asked") };
        let [applied, version] = array(reply)? else { bail!("{act:?} is answered {reply}") };
        let (applied, version) = (int(applied)?, u64::try_from(int(version)?)?);
        let before = self.known.clone();
        let expected = self.known.act(&act);
        let fits = match self.known.version {
            KnownVersion::Exactly(wanted) => version == wanted,
            KnownVersion::After(least) => version > least,
        };
        ensure!(
            applied == i128::from(expected) && fits,
            "{act:?} is answered {reply}, after {before:?}"
        );
        self.known.version = KnownVersion::Exactly(version);
        self.replays += u64::from(!expected && act.version == Some(version));
        self.recent = Some(act);
        Ok(())
    }

    fn state_requests(&self) -> Vec<RequestWords> {
        vec![words(&format!("ENTITY.GET {} WITHVERSION", self.key))]
    }

    fn check_state(&mut self, replies: &[Value], _: ReplyTimes) -> Result<InDoubt> {
        let [shown] = replies else { bail!("no replies") };
        let states = self.states();
        let fits =
            states.iter().enumerate().find_map(|(at, state)| Some((at, state.shows(shown)?)));
        let Some((applied, version)) = fits else {
            bail!("it shows {shown}, and is {:?} with {:?} in doubt", self.known, self.open);
        };
        let doubt = InDoubt { requests: self.open.len(), applied };
        self.known =
            State { version: KnownVersion::Exactly(version), value: states[applied].value.clone() };
        self.doubtful = self.open.drain(..).collect();
        Ok(doubt)
    }

    fn repeat_requests(&mut self, _: &mut Random) -> Vec<RequestWords> {
        let mut acts = std::mem::take(&mut self.doubtful);
        acts.extend(self.recent.clone());
        // Without a version of the client's, a repetition would be another write.
        acts.retain(|act| act.version.is_some());
        acts.into_iter().map(|act| self.send(act)).collect()
    }

    fn counts(&self) -> Counts {
        Counts { replays: self.replays, ..Counts::default() }
    }
}
