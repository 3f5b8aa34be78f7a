//! What one subscriber has asked of Nchf_ConvergedCharging and got: each request is charged once, however often its
//! connection was cut, and its answer is that of an undisturbed server.

use crate::ask::{Ask, Http1, Line};
use crate::connection::Answer;
use anyhow::{Context, Result, ensure};
use scurry_model::Random;
use serde_json::{Value, json};

const RESOURCES: &str = "/nchf-convergedcharging/v3/chargingdata";
const CREDIT: u64 = 1_000_000_000_000;
/// Units that each request asks for and is granted.
pub const GRANT: u64 = 1_000;
/// Updates of a session at most.
const UPDATES_MAX: u32 = 50;

/// A session that is open.
struct Session {
    location: String,
    /// Of its next request.
    number: u32,
}

/// A request that was not answered yet.
#[derive(Clone)]
struct Pending {
    ask: Ask,
    is_release: bool,
    used: u64,
}

/// The books of one subscriber.
pub(crate) struct Books {
    account: String,
    /// Units that an answer has to grant.
    grant: u64,
    charging_id: u32,
    session: Option<Session>,
    pending: Option<Pending>,
    consumed: u64,
}

impl Books {
    /// Creates the account of a subscriber.
    pub(crate) fn open(port: u16, number: u64, grant: u64) -> Result<Books> {
        let account = format!("imsi-{number:015}");
        let body = json!({"buckets": [{"bucket": "data", "unit": "octet", "amount": CREDIT}]});
        let made = Http1::open(port)?.send(
            "PUT",
            &format!("/v1/accounts/{account}"),
            &body.to_string(),
        )?;
        ensure!(made.status == 201, "{account} is not created: {}", made.status);
        Ok(Books { account, grant, charging_id: 0, session: None, pending: None, consumed: 0 })
    }

    /// Returns the next request: the one whose answer is missing, or another.
    pub(crate) fn next(&mut self, random: &mut Random) -> Ask {
        let next = self.pending.take().unwrap_or_else(|| self.draw(random));
        self.pending.insert(next).ask.clone()
    }

    fn draw(&mut self, random: &mut Random) -> Pending {
        let used = random.below(1_000) as u64;
        let Some(session) = &self.session else {
            self.charging_id += 1;
            let body =
                self.body(0, json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": GRANT}}]));
            return Pending { ask: Ask::post(RESOURCES, body), is_release: false, used: 0 };
        };
        let is_release = random.one_in(8) || session.number > UPDATES_MAX;
        let mut usage = json!({"ratingGroup": 10, "usedUnitContainer": [
            {"localSequenceNumber": session.number, "totalVolume": used}]});
        if !is_release {
            usage["requestedUnit"] = json!({"totalVolume": GRANT});
        }
        let last = if is_release { "release" } else { "update" };
        let path = format!("{}/{last}", session.location);
        let ask = Ask::post(&path, self.body(session.number, json!([usage])));
        Pending { ask, is_release, used }
    }

    fn body(&self, number: u32, usage: Value) -> String {
        json!({
            "subscriberIdentifier": self.account,
            "nfConsumerIdentification": {"nodeFunctionality": "SMF", "nFName": "smf-1"},
            "invocationTimeStamp": format!("2026-01-01T12:{:02}:{:02}Z", number / 60, number % 60),
            "invocationSequenceNumber": number,
            "chargingId": self.charging_id,
            "multipleUnitUsage": usage,
        })
        .to_string()
    }

    /// Checks the answer to the last request, and writes it down.
    pub(crate) fn take(&mut self, answer: &Answer) -> Result<()> {
        let pending = self.pending.take().context("nothing was asked")?;
        let expected = match (&self.session, pending.is_release) {
            (None, _) => 201,
            (Some(_), true) => 204,
            (Some(_), false) => 200,
        };
        let said = String::from_utf8_lossy(&answer.body);
        let of = &pending.ask.path;
        ensure!(answer.status == expected, "{of}: {} and not {expected}: {said}", answer.status);
        self.consumed += pending.used;
        if pending.is_release {
            self.session = None;
            return Ok(());
        }
        let body: Value = serde_json::from_slice(&answer.body).context("not JSON")?;
        let granted = &body["multipleUnitInformation"][0]["grantedUnit"]["totalVolume"];
        ensure!(
            *granted == json!(self.grant),
            "{of} grants {granted} and not {}: {said}",
            self.grant
        );
        match &mut self.session {
            Some(session) => session.number += 1,
            None => {
                let location = answer.header("location").context("no Location")?.to_owned();
                self.session = Some(Session { location, number: 1 });
            }
        }
        Ok(())
    }

    /// Asks once more what was not answered, and compares the books with the server's.
    pub(crate) fn settle(&mut self, port: u16, random: &mut Random) -> Result<()> {
        let mut line = Http1::open(port)?;
        while self.pending.is_some() {
            let ask = self.next(random);
            let answer = line.ask(&ask)?;
            self.take(&answer)?;
        }
        let audit = line.ask(&Ask::get(&format!("/v1/accounts/{}/audit", self.account)))?;
        let audit: Value = serde_json::from_slice(&audit.body).context("not JSON")?;
        let consumed = &audit["buckets"][0]["consumed"];
        ensure!(audit["ok"] == true, "the audit of {}: {audit}", self.account);
        ensure!(
            *consumed == json!(self.consumed),
            "{} has consumed {consumed} and not {}",
            self.account,
            self.consumed
        );
        Ok(())
    }
}
