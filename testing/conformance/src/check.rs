//! Invariants of a state, and between the state before a Commit and the state after it.

use anyhow::{Context, Result, anyhow, ensure};
use scurry_codec::{decode_account, encode_account};
use scurry_ledger::{
    Account, Answer, Change, Code, Command, ItemRequest, Name, SessionRequest, Status, Time,
    validate,
};

/// Checks the invariants of one state and its image.
pub(crate) fn state(account: &Account, now: Time) -> Result<()> {
    validate(account, now).map_err(|violation| anyhow!("{violation}"))?;
    let mut image = Vec::new();
    encode_account(account, &mut image);
    let mut decoded = Account::empty(Status::Suspended);
    // Decoded twice: into an empty account, and over existing content.
    for _ in 0..2 {
        decode_account(&image, &mut decoded).context("the image is refused")?;
        ensure!(decoded == *account, "the account differs after encode and decode");
    }
    Ok(())
}

/// Checks a Commit of a command.
pub(crate) fn commit(
    before: Option<&Account>,
    after: Option<&Account>,
    command: &Command<'_>,
    change: &Change,
    answer: &Answer,
) -> Result<()> {
    if let Some(after) = after {
        step(before, after, change)?;
    }
    if let (Some(before), Some(after)) = (before, after) {
        used_is_accounted(before, after, command, answer)?;
    }
    Ok(())
}

/// Checks a Commit that contains only expiries.
pub(crate) fn expiry(before: &Account, after: Option<&Account>, change: &Change) -> Result<()> {
    let after = after.context("an expiry deleted the account")?;
    step(Some(before), after, change)?;
    for unit in units(before, after) {
        ensure!(debited(before, after, unit) == 0, "an expiry debited {unit:?}");
    }
    Ok(())
}

fn step(before: Option<&Account>, after: &Account, change: &Change) -> Result<()> {
    state(after, change.at)?;
    ensure!(after.changed_at == change.at, "changed_at is not the time of the Commit");
    let version = before.map_or(0, |before| before.version);
    ensure!(after.version == version + 1, "a Commit adds 1 to the version");
    let Some(before) = before else { return Ok(()) };
    ensure!(after.changed_at >= before.changed_at, "time ran back");
    // I11: totals never shrink.
    for old in &before.buckets {
        let Some(new) = after.buckets.iter().find(|new| new.no == old.no) else { continue };
        let pairs = [
            (old.credited, new.credited),
            (old.refunded, new.refunded),
            (old.consumed, new.consumed),
            (old.expired, new.expired),
            (old.voided, new.voided),
            (old.overdrawn, new.overdrawn),
        ];
        ensure!(pairs.iter().all(|(old, new)| new >= old), "a total of {:?} shrank", old.id);
        ensure!(old.unit == new.unit && old.id == new.id, "a bucket became another");
    }
    Ok(())
}

/// Returns all units of both states.
fn units(before: &Account, after: &Account) -> Vec<Name> {
    let of = |account: &Account| -> Vec<Name> {
        let buckets = account.buckets.iter().map(|bucket| bucket.unit);
        buckets.chain(account.uncollected.iter().map(|total| total.unit)).collect()
    };
    let mut units = [of(before), of(after)].concat();
    units.sort_unstable();
    units.dedup();
    units
}

/// Returns the amount of a unit that was debited, or could not be, between two states.
fn debited(before: &Account, after: &Account, unit: Name) -> i128 {
    let uncollected = |account: &Account| -> i128 {
        let uncollected = account.uncollected.iter().filter(|total| total.unit == unit);
        uncollected.map(|total| i128::from(total.amount)).sum()
    };
    // A bucket that is removed takes its totals with it.
    let buckets = after.buckets.iter().filter(|bucket| bucket.unit == unit);
    let consumed = buckets.map(|new| {
        let old = before.buckets.iter().find(|old| old.no == new.no);
        i128::from(new.consumed) - old.map_or(0, |old| i128::from(old.consumed))
    });
    consumed.sum::<i128>() + uncollected(after) - uncollected(before)
}

/// Checks I13: use that a request reports is debited or uncollected, whatever the answer; and nothing but use and DEBIT
/// is debited.
fn used_is_accounted(
    before: &Account,
    after: &Account,
    command: &Command<'_>,
    answer: &Answer,
) -> Result<()> {
    for unit in units(before, after) {
        let expected = match (command, answer) {
            (Command::Update(request) | Command::Terminate(request), _) => used(request, unit),
            (Command::Debit { unit: of, .. }, Answer::Amount { code: Code::Ok, amount, .. })
                if *of == unit =>
            {
                i128::from(*amount)
            }
            (Command::DebitItems { items, .. }, Answer::Amount { code: Code::Ok, .. }) => {
                let of_unit = items.iter().filter(|item| item.unit == unit);
                of_unit.map(|item| i128::from(item.amount)).sum()
            }
            _ => 0,
        };
        let actual = debited(before, after, unit);
        ensure!(actual == expected, "{expected} of {unit:?} were used, {actual} debited");
    }
    Ok(())
}

fn used(request: &SessionRequest<'_>, unit: Name) -> i128 {
    let of_unit = |item: &&ItemRequest| item.unit == unit;
    request.items.iter().filter(of_unit).map(|item| i128::from(item.used.unwrap_or(0))).sum()
}
