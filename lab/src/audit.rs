//! The audit: compares the consumption that the store reports with the acknowledged consumption, unit for unit. A fast
//! store that loses a unit gets no figure.

mod keys;

use anyhow::{Context, Result, ensure};
use scurry_service::Request;

use crate::client::Client;
use crate::dialect::Dialect;
use crate::names::account_text;
use crate::random::Random;
use crate::requests;
use crate::resp::{Template, Value, write_word};
use crate::scenario::Usage;
use crate::workload::User;
pub use keys::{audit_hash_fields, audit_index, audit_key_value};

/// Up to this many accounts every one is compared; above it a sample, if the store has totals.
const ACCOUNTS_ALL_MAX: u32 = 1_000_000;
const SAMPLE: u32 = 1_000;

/// Sums that the store must report.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Unit of all amounts.
    pub unit: &'a str,
    /// Units credited to each account at its creation.
    pub credited_per_account: i64,
    /// Accounts whose number divides by this have no credit; 0 for none.
    pub without_credit: u32,
    /// Acknowledged consumption, per account.
    pub consumed: &'a [i64],
    /// Acknowledged consumption of all accounts.
    pub consumed_total: i128,
    /// True when the store holds nothing else, so that its totals must agree as well.
    pub alone: bool,
    /// Bytes that the store keeps of an untouched account, where they are the same for all accounts.
    pub as_created: Option<&'a [u8]>,
}

impl Expected<'_> {
    /// Returns the expected balance of one account.
    fn of(&self, number: u32) -> Balance {
        let consumed = self.consumed[number as usize];
        let is_poor = self.without_credit > 0 && number.is_multiple_of(self.without_credit);
        let credited = if is_poor { 0 } else { self.credited_per_account };
        Balance::settled(i128::from(credited), i128::from(consumed))
    }

    /// Returns the expected balance of the whole store.
    fn whole(&self) -> Balance {
        let poor = self.consumed.len().checked_div(self.without_credit as usize);
        // The first account is one of them.
        let poor = poor.map_or(0, |whole| {
            whole + usize::from(!self.consumed.len().is_multiple_of(self.without_credit as usize))
        });
        let credited = i128::from(self.credited_per_account) * (self.consumed.len() - poor) as i128;
        Balance::settled(credited, self.consumed_total)
    }
}

/// Balance of one account or of the store, in one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Units free to be granted.
    pub available: i128,
    /// Units held for grants.
    pub held: i128,
    /// Units ever credited.
    pub credited: i128,
    /// Units ever consumed.
    pub consumed: i128,
}

impl Balance {
    /// Returns the balance of a unit when nothing is held.
    pub fn settled(credited: i128, consumed: i128) -> Balance {
        Balance { available: credited - consumed, held: 0, credited, consumed }
    }

    /// Compares with the expected balance.
    ///
    /// # Errors
    /// What differs, when the two are not equal.
    pub fn check(&self, expected: &Balance, of: &str) -> Result<()> {
        ensure!(
            self == expected,
            "{of}: available, held, credited, consumed are {}, {}, {}, {} but {}, {}, {}, {} was acknowledged",
            self.available,
            self.held,
            self.credited,
            self.consumed,
            expected.available,
            expected.held,
            expected.credited,
            expected.consumed
        );
        Ok(())
    }

    /// Checks conservation: every credited unit is free, held or consumed.
    ///
    /// # Errors
    /// The figures, when they do not add up.
    pub fn check_conserved(&self, of: &str) -> Result<()> {
        ensure!(
            self.available + self.held == self.credited - self.consumed,
            "{of} do not add up: available {} and held {} of {} less {}",
            self.available,
            self.held,
            self.credited,
            self.consumed
        );
        Ok(())
    }

    pub(crate) fn add(&mut self, other: &Balance) {
        self.available += other.available;
        self.held += other.held;
        self.credited += other.credited;
        self.consumed += other.consumed;
    }

    /// Parses a row of AUDIT's buckets (id first) or of TOTALS' units: unit, available, held, credited, refunded,
    /// consumed.
    fn from_row(row: &[Value]) -> Option<(&str, Balance)> {
        let number = |index: usize| row.get(index)?.big();
        let balance = Balance {
            available: number(1)?,
            held: number(2)?,
            credited: number(3)?,
            consumed: number(5)?,
        };
        Some((row.first()?.text()?, balance))
    }
}

/// Audits a charging store. Nothing may be in flight and no session open.
///
/// # Errors
/// The first difference, or why the store could not be queried.
pub fn audit_charging(
    client: &mut Client,
    dialect: Dialect,
    expected: &Expected<'_>,
    seed: u64,
) -> Result<()> {
    let count = u32::try_from(expected.consumed.len())?;
    // Single accounts may be sampled, but the sum over all of them is always checked where it can be.
    let whole = expected.whole();
    let mut sample = sample(count, seed);
    if dialect.has_totals() {
        if expected.alone {
            totals(&client.call_each(&["SCUR.TOTALS"])?, expected.unit)?
                .check(&whole, "the totals")?;
        }
        accounts(client, dialect, &sample, |number| expected.of(number))?;
    } else {
        // Accounts with unchanged bytes need no separate query.
        let asked = match expected.as_created {
            Some(kept) => changed(client, kept, count, seed)?,
            None => (0..count).collect(),
        };
        let mut sum = accounts(client, dialect, &asked, |number| expected.of(number))?;
        sum.add(&as_created(expected, &asked)?);
        sum.check(&whole, "the sum of all accounts")?;
        if expected.as_created.is_some() {
            sample = asked;
        }
    }
    no_sessions(client, dialect, &sample)
}

/// Returns the accounts with stored bytes that have changed since creation, in order, and a sample of the others.
fn changed(client: &mut Client, kept: &[u8], count: u32, seed: u64) -> Result<Vec<u32>> {
    let mut unchanged = Vec::new();
    write_word(&mut unchanged, kept);
    let mut chosen = some(count, seed);
    let dump = Template::new(&[b"DUMP".to_vec(), account_text(0).to_vec()], 1, None);
    let append = |index: usize, out: &mut Vec<u8>| {
        dump.append(out, &account_text(u32::try_from(index).unwrap_or(u32::MAX)), &[]);
    };
    client.pipeline(count as usize, append, |index, reply| {
        if reply != unchanged {
            chosen.push(u32::try_from(index)?);
        }
        Ok(())
    })?;
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// Returns the total balance of the accounts that are not queried, which are as they were created.
fn as_created(expected: &Expected<'_>, asked: &[u32]) -> Result<Balance> {
    let fresh = Balance::settled(i128::from(expected.credited_per_account), 0);
    let (mut sum, mut asked) = (Balance::default(), asked.iter().copied().peekable());
    for number in 0..u32::try_from(expected.consumed.len())? {
        if asked.next_if_eq(&number).is_none() {
            let wanted = expected.of(number);
            if wanted != fresh {
                let name =
                    format!("account {}, as it was created", account_text(number).escape_ascii());
                fresh.check(&wanted, &name)?;
            }
            sum.add(&fresh);
        }
    }
    Ok(sum)
}

/// Audits a store of users with open sessions: each account has its credit, its consumption and what its session holds,
/// and the totals are their sum. Nothing may be in flight.
///
/// # Errors
/// The first difference, or why the store could not be queried.
pub fn audit_usage(
    client: &mut Client,
    dialect: Dialect,
    plan: &Usage,
    users: &[User],
    seed: u64,
) -> Result<()> {
    let of = |number: u32| {
        let user = &users[number as usize];
        let credited = i128::from(plan.credit) + i128::from(user.refilled);
        let (held, consumed) = (i128::from(user.held), i128::from(user.consumed));
        Balance { available: credited - held - consumed, held, credited, consumed }
    };
    let count = u32::try_from(users.len())?;
    let mut whole = Balance::default();
    (0..count).for_each(|number| whole.add(&of(number)));
    if dialect.has_totals() {
        totals(&client.call_each(&["SCUR.TOTALS"])?, plan.unit.as_str())?
            .check(&whole, "the totals")?;
        accounts(client, dialect, &sample(count, seed), of)?;
        return Ok(());
    }
    let every: Vec<u32> = (0..count).collect();
    accounts(client, dialect, &every, of)?.check(&whole, "the sum of all accounts")
}

/// Returns the balance of each account, after checking each. The store's totals must equal their sum: it holds no other
/// accounts, and nothing may be in flight.
///
/// # Errors
/// The first fault, or why the store could not be queried.
pub fn balances(
    client: &mut Client,
    dialect: Dialect,
    numbers: &[u32],
    unit: &str,
) -> Result<Vec<Balance>> {
    let mut all = Vec::with_capacity(numbers.len());
    let sum = each_account(client, dialect, numbers, |_, _, balance| {
        all.push(*balance);
        Ok(())
    })?;
    sum.check_conserved("the accounts")?;
    if dialect.has_totals() {
        totals(&client.call_each(&["SCUR.TOTALS"])?, unit)?.check(&sum, "the totals")?;
    }
    Ok(all)
}

/// Returns all account numbers up to a bound, otherwise a sample.
fn sample(count: u32, seed: u64) -> Vec<u32> {
    if count <= ACCOUNTS_ALL_MAX {
        return (0..count).collect();
    }
    some(count, seed)
}

fn some(count: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::seeded(seed ^ 0xA0D1);
    (0..SAMPLE).map(|_| random.below(count)).collect()
}

/// Audits the replicas of a charging store by their totals, if the target has any. Replicas must hold everything that
/// their primaries hold.
///
/// # Errors
/// What differs, or why a replica could not be queried.
pub fn audit_replicas(
    replicas: &mut [Client],
    dialect: Dialect,
    expected: &Expected<'_>,
) -> Result<()> {
    if replicas.is_empty() || !dialect.has_totals() {
        return Ok(());
    }
    let replies: Vec<Value> =
        replicas.iter_mut().map(|replica| replica.call(&["SCUR.TOTALS"])).collect::<Result<_>>()?;
    totals(&replies, expected.unit)?.check(&expected.whole(), "the totals of the replicas")
}

/// Returns the store's own totals of a unit: the sum over the replies of its nodes.
pub(crate) fn totals(replies: &[Value], unit: &str) -> Result<Balance> {
    let rows = || replies.iter().flat_map(|reply| reply.entry("units").elements());
    let mut found = None;
    for (name, balance) in rows().filter_map(|row| Balance::from_row(row.elements())) {
        if name == unit {
            found.get_or_insert(Balance::default()).add(&balance);
        }
    }
    found.with_context(|| match replies {
        [reply] => format!("SCUR.TOTALS has no unit {unit}: {reply}"),
        _ => format!("SCUR.TOTALS of no node has the unit {unit}"),
    })
}

/// Compares each account with its expected balance and returns their sum.
fn accounts(
    client: &mut Client,
    dialect: Dialect,
    numbers: &[u32],
    of: impl Fn(u32) -> Balance,
) -> Result<Balance> {
    each_account(client, dialect, numbers, |number, name, balance| balance.check(&of(number), name))
}

/// Queries each account, which must pass its own audit, and returns their sum.
fn each_account(
    client: &mut Client,
    dialect: Dialect,
    numbers: &[u32],
    mut look: impl FnMut(u32, &str, &Balance) -> Result<()>,
) -> Result<Balance> {
    let mut sum = Balance::default();
    let append = append(dialect, requests::audit, numbers);
    client.pipeline(numbers.len(), append, |index, reply| {
        let (_, reply) = Value::read(reply)?;
        let number = numbers[index];
        let name = format!("account {}", account_text(number).escape_ascii());
        ensure!(reply.entry("ok") == &Value::Integer(1), "{name}: AUDIT answers {reply}");
        let mut balance = Balance::default();
        for row in reply.entry("buckets").elements() {
            let (_, bucket) = Balance::from_row(row.elements().get(1..).unwrap_or_default())
                .with_context(|| format!("{name}: AUDIT has a bucket of another shape: {row}"))?;
            balance.add(&bucket);
        }
        look(number, &name, &balance)?;
        sum.add(&balance);
        Ok(())
    })?;
    Ok(sum)
}

fn no_sessions(client: &mut Client, dialect: Dialect, numbers: &[u32]) -> Result<()> {
    client.pipeline(numbers.len(), append(dialect, requests::get, numbers), |index, reply| {
        let (_, reply) = Value::read(reply)?;
        let name = account_text(numbers[index]);
        ensure!(
            reply.entry("sessions") == &Value::Array(Vec::new()),
            "account {} has open sessions or no list of them: {reply}",
            name.escape_ascii()
        );
        Ok(())
    })
}

fn append(
    dialect: Dialect,
    read: fn(&[u8]) -> Request,
    numbers: &[u32],
) -> impl Fn(usize, &mut Vec<u8>) {
    let arguments = dialect.arguments(&read(&account_text(0)));
    let template = Template::new(&arguments, dialect.account_index(), None);
    let numbers = numbers.to_vec();
    move |index, out| template.append(out, &account_text(numbers[index]), &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_unit_is_found() {
        let expected = Balance::settled(2_000, 900);
        assert!(
            Balance { available: 1_100, held: 0, credited: 2_000, consumed: 900 }
                .check(&expected, "the totals")
                .is_ok()
        );
        let wrong = [
            Balance { available: 1_101, held: 0, credited: 2_000, consumed: 899 },
            Balance { available: 1_099, held: 1, credited: 2_000, consumed: 900 },
            Balance { available: 1_099, held: 0, credited: 2_000, consumed: 900 },
            Balance { available: 1_101, held: 0, credited: 2_001, consumed: 900 },
        ];
        for balance in wrong {
            let error = balance.check(&expected, "the totals").unwrap_err().to_string();
            assert!(error.starts_with("the totals: "), "{error}");
        }
    }

    #[test]
    fn what_is_not_asked_must_have_been_left_alone() {
        let consumed = [0, 5, 0, 7];
        let expected = Expected {
            unit: "octets",
            credited_per_account: 100,
            without_credit: 0,
            consumed: &consumed,
            consumed_total: 12,
            alone: true,
            as_created: Some(b"kept"),
        };
        assert_eq!(as_created(&expected, &[1, 3]).unwrap(), Balance::settled(200, 0));
        assert_eq!(as_created(&expected, &[0, 1, 2, 3]).unwrap(), Balance::default());
        // The store has acknowledged a change to account 3 but still keeps the bytes from before.
        let error = as_created(&expected, &[0, 1]).unwrap_err().to_string();
        assert!(error.starts_with("account acc:0000003, as it was created: "), "{error}");
    }

    #[test]
    fn a_row_of_the_totals_is_read() {
        let row = b"*10\r\n$6\r\noctets\r\n:1\r\n:2\r\n:3\r\n:0\r\n:4\r\n:0\r\n:0\r\n:0\r\n:0\r\n";
        let (_, value) = Value::read(row).unwrap();
        let (unit, balance) = Balance::from_row(value.elements()).unwrap();
        assert_eq!(unit, "octets");
        assert_eq!(balance, Balance { available: 1, held: 2, credited: 3, consumed: 4 });
        assert!(Balance::from_row(&[Value::Nil]).is_none());
        // The sum over twenty million accounts does not fit in 64 bits.
        let row = b"*6\r\n$6\r\noctets\r\n$20\r\n40000000000000000000\r\n:0\r\n:3\r\n:0\r\n:4\r\n";
        let (_, value) = Value::read(row).unwrap();
        let (_, balance) = Balance::from_row(value.elements()).unwrap();
        assert_eq!(balance.available, 40_000_000_000_000_000_000);
    }
}
