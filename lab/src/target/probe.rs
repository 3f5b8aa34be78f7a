//! The probe: before any load, a short script checks that a target follows the rules on which its figures depend. A
//! store that adds grants instead of replacing them is fast too.

use anyhow::{Context, Result, bail, ensure};
use scurry_ledger::{BucketAttributes, Command, Name};
use scurry_service::{Request, SessionStep};

use crate::client::Client;
use crate::dialect::Dialect;
use crate::requests::{self, SessionAt};
use crate::resp::Value;

const ACCOUNT: &[u8] = b"probe";
const UNIT: Name = Name::literal("probe");
/// Buckets of the account, by their place in burn order.
const FIRST: Name = Name::literal("first");
const LATER: Name = Name::literal("later");
/// Key of plain commands.
const KEY: &str = "probe";
/// Fields of an item in a reply: key, code, granted, final, uncollected. A cause may follow.
const ITEM_FIELDS: usize = 5;

/// Probe of one store.
#[derive(Debug)]
struct Probe<'a> {
    client: &'a mut Client,
    dialect: Dialect,
}

/// Checks the rules on which the charging scenario depends.
///
/// # Errors
/// The first rule that the target breaks.
pub fn probe_charging(client: &mut Client, dialect: Dialect) -> Result<()> {
    let mut probe = Probe { client, dialect };
    let bucket = |id, amount, priority| requests::bucket(id, UNIT, amount, Some(priority));
    let create = requests::create(ACCOUNT, &[bucket(LATER, 5_000, 2), bucket(FIRST, 1_000, 1)]);
    probe.expect(&create, "[OK, 1]", "an account is created")?;
    probe.reserve_in_burn_order()?;
    probe.update_replaces()?;
    probe.terminate_and_remember()?;
    probe.overdraw()?;
    probe.balance()
}

/// Checks the rules of refills, on the account that [`probe_charging`] has left.
///
/// # Errors
/// The first rule that the target breaks.
pub fn probe_refill(client: &mut Client, dialect: Dialect) -> Result<()> {
    let mut probe = Probe { client, dialect };
    let topup = topup(250);
    let before = [("first", 0, 0), ("later", -100, 0)];
    probe.expect_buckets(&before, "nothing has happened yet")?;
    let first = probe.call(&topup)?;
    let second = probe.call(&topup)?;
    // [code, replayed, version, amount]
    for (reply, replayed) in [(&first, 0), (&second, 1)] {
        let is_right = matches!(
            reply.elements(),
            [code, Value::Integer(found), _, Value::Integer(150)]
                if code.text() == Some("OK") && *found == replayed
        );
        ensure!(is_right, "a refill is carried out once: TOPUP answers {reply}");
    }
    probe.expect_buckets(&[("first", 0, 0), ("later", 150, 0)], "a refill is carried out once")?;
    probe.refuse(&self::topup(251), "REQUEST_MISMATCH", "another is refused")
}

/// Returns a refill of the bucket `later`.
fn topup(amount: i64) -> Request {
    let attributes = BucketAttributes::default();
    let topup = Command::TopUp {
        txn: b"refill1",
        bucket: LATER,
        amount,
        unit: None,
        attributes,
        keys: &[],
    };
    Request::write(ACCOUNT, &topup)
}

/// Returns a session of the probe's account; `number` is that of its next request.
fn at(session: &str, number: u32) -> SessionAt<'_> {
    SessionAt { account: ACCOUNT, session: session.as_bytes(), number, key: 1, unit: UNIT }
}

/// Checks that plain commands work.
///
/// # Errors
/// The first command that does not work.
pub fn probe_key_value(client: &mut Client) -> Result<()> {
    let steps: [(&[&str], &str); 4] = [
        (&["SET", KEY, "value"], "OK"),
        (&["GET", KEY], "value"),
        (&["DEL", KEY], "1"),
        (&["GET", KEY], "nil"),
    ];
    for (command, expected) in steps {
        let found = client.call(command)?.to_string();
        ensure!(found == expected, "{} answered {found}, not {expected}", command.join(" "));
    }
    Ok(())
}

impl Probe<'_> {
    fn reserve_in_burn_order(&mut self) -> Result<()> {
        let reserve = at("p1", 0).reserve(1_500);
        self.expect(&reserve, "[OK, 0, 1, [[1, OK, 1500, 0, 0]]]", "a reservation is granted")?;
        let expected = [("first", 0, 1000), ("later", 4500, 500)];
        self.expect_buckets(&expected, "slices are taken in burn order")?;
        self.expect(&reserve, "[OK, 1, 1, [[1, OK, 1500, 0, 0]]]", "a duplicate is replayed")?;
        self.expect_buckets(&expected, "a duplicate changes nothing")?;
        let again = at("p1", 1).reserve(1);
        self.refuse(&again, "SESSION_EXISTS", "a session opens once")
    }

    fn update_replaces(&mut self) -> Result<()> {
        let update = at("p1", 1).update(300, 600);
        self.expect(&update, "[OK, 0, 2, [[1, OK, 600, 0, 0]]]", "an update grants")?;
        let session = self.call(&at("p1", 0).read())?;
        let items = session.entry("session").entry("items").elements();
        // Our server has one element more, the item's standing.
        let item = items.first().map(|item| {
            let parts = item.elements().iter().take(9).map(Value::to_string);
            format!("[{}]", parts.collect::<Vec<_>>().join(", "))
        });
        // key, unit, granted, outstanding, used, from_hold, direct, released, uncollected
        let expected = format!("[1, {}, 2100, 600, 300, 300, 0, 1200, 0]", UNIT.as_str());
        ensure!(
            item.as_deref() == Some(&expected),
            "an update replaces the hold: the item is {}, not {expected}",
            item.unwrap_or_default()
        );
        self.expect(&update, "[OK, 1, 2, [[1, OK, 600, 0, 0]]]", "a duplicate is replayed")?;
        let other = at("p1", 1).update(301, 600);
        self.refuse(&other, "REQUEST_MISMATCH", "another body is refused")
    }

    fn terminate_and_remember(&mut self) -> Result<()> {
        let terminate = at("p1", 2).terminate(100);
        self.expect(&terminate, "[OK, 0, 0, [[1, OK, 0, 0, 0]]]", "a session ends")?;
        self.expect(&terminate, "[OK, 1, 0, [[1, OK, 0, 0, 0]]]", "its end is replayed")?;
        let late = at("p1", 3).step(SessionStep::Update, Some(1), None);
        self.refuse(&late, "UNKNOWN_SESSION", "nothing follows the end")?;
        self.refuse(&at("p1", 0).read(), "UNKNOWN_SESSION", "a closed session is not shown")?;
        self.expect_buckets(&[("first", 600, 0), ("later", 5000, 0)], "what was not used goes back")
    }

    fn overdraw(&mut self) -> Result<()> {
        let reserve = at("p2", 0).reserve(10_000);
        self.expect(&reserve, "[OK, 0, 1, [[1, OK, 5600, 1, 0]]]", "a partial grant is final")?;
        let update = at("p2", 1).update(5_700, 100);
        let denied = "[CREDIT_LIMIT_REACHED, 0, 2, [[1, CREDIT_LIMIT_REACHED, 0, 1, 0]]]";
        self.expect(&update, denied, "use beyond the grant is debited, then denied")?;
        let terminate = at("p2", 2).terminate(0);
        self.expect(&terminate, "[OK, 0, 0, [[1, OK, 0, 0, 0]]]", "a denied session ends")?;
        self.expect_buckets(
            &[("first", 0, 0), ("later", -100, 0)],
            "the overrun is the last bucket's",
        )
    }

    fn balance(&mut self) -> Result<()> {
        let audit = self.call(&requests::audit(ACCOUNT))?;
        ensure!(
            audit.entry("ok") == &Value::Integer(1),
            "AUDIT finds the account unbalanced: {audit}"
        );
        let mut sums = [0i64; 4];
        for bucket in audit.entry("buckets").elements() {
            // id, unit, available, held, credited, refunded, consumed, ...
            for (sum, index) in sums.iter_mut().zip([2, 3, 4, 6]) {
                *sum += bucket
                    .elements()
                    .get(index)
                    .and_then(Value::integer)
                    .context("AUDIT's buckets")?;
            }
        }
        ensure!(sums == [-100, 0, 6000, 6100], "available, held, credited, consumed are {sums:?}");
        let unknown = self.dialect.arguments(&requests::get(b"probe:none"));
        match self.client.call(&unknown)? {
            Value::Error(text) if text.starts_with("UNKNOWN_ACCOUNT") => Ok(()),
            other => bail!("GET of an unknown account answers {other}"),
        }
    }

    fn call(&mut self, request: &Request) -> Result<Value> {
        self.client.call(&self.dialect.arguments(request))
    }

    /// Compares an answer with the expected one, ignoring the causes of denied items.
    fn expect(&mut self, request: &Request, expected: &str, rule: &str) -> Result<()> {
        let found = without_causes(self.call(request)?).to_string();
        ensure!(
            found == expected,
            "{rule}: {} answers {found}, not {expected}",
            self.line(request)
        );
        Ok(())
    }

    fn refuse(&mut self, request: &Request, name: &str, rule: &str) -> Result<()> {
        match self.call(request)? {
            Value::Error(text) if text.split(' ').next() == Some(name) => Ok(()),
            found => bail!("{rule}: {} answers {found}, not {name}", self.line(request)),
        }
    }

    /// Returns a request as text.
    fn line(&self, request: &Request) -> String {
        self.dialect.arguments(request).join(&b' ').escape_ascii().to_string()
    }

    /// Compares buckets as (id, available, held), in any order.
    fn expect_buckets(&mut self, expected: &[(&str, i64, i64)], rule: &str) -> Result<()> {
        let account = self.call(&requests::get(ACCOUNT))?;
        let mut found: Vec<(&str, i64, i64)> = Vec::new();
        for bucket in account.entry("buckets").elements() {
            match bucket.elements() {
                [id, _, Value::Integer(available), Value::Integer(held), ..] => {
                    found.push((id.text().unwrap_or_default(), *available, *held));
                }
                _ => bail!("{rule}: GET shows a bucket of another shape: {bucket}"),
            }
        }
        found.sort_unstable();
        ensure!(found == expected, "{rule}: the buckets are {found:?}, not {expected:?}");
        Ok(())
    }
}

/// Removes the causes of denied items from a reply, because not every target reports them.
fn without_causes(mut reply: Value) -> Value {
    if let Value::Array(fields) = &mut reply
        && let Some(Value::Array(items)) = fields.get_mut(3)
    {
        for item in items {
            if let Value::Array(item) = item {
                item.truncate(ITEM_FIELDS);
            }
        }
    }
    reply
}
