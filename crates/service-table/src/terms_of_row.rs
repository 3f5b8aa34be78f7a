//! Checks a row of services and makes its terms. A key that does not apply to its row is an error, because its author
//! expects something of it.

use crate::check::{RowCheck, quoted};
use crate::{
    DeniedAtStart, FinalAction, FinalKey, FinalWhen, Measure, MeasureKey, Mode, RedirectKind,
    ServiceRow, ServiceTerms, TableError, Threshold, context,
};
use scurry_ledger::Name;

/// Longest validity of a grant, seconds. A session lives for twice as long, which the ledger allows for up to seven days.
pub const VALIDITY_S_MAX: u32 = 7 * 86_400 / 2;
/// Longest time without traffic, seconds.
pub const QUOTA_S_MAX: u32 = VALIDITY_S_MAX;
/// Largest number of a currency.
pub const CURRENCY_MAX: u32 = 999;
/// Most decimals of a minor unit of money.
pub const DECIMALS_MAX: u8 = 18;
/// Longest address to which users are redirected, bytes.
pub const REDIRECT_LEN_MAX: usize = 1024;
/// Most `filters` of a row, and most `filter_ids`.
pub const FILTERS_MAX: usize = 16;
/// Longest IPFilterRule, bytes.
pub const FILTER_LEN_MAX: usize = 512;
/// Longest name of a filter that the client knows, bytes.
pub const FILTER_ID_LEN_MAX: usize = 128;

const _: () = assert!(10_i64.checked_pow(DECIMALS_MAX as u32).is_some());

/// For which rows a key is.
#[derive(Clone, Copy)]
enum Only {
    NotFree,
    Charge,
    Money,
    NotMoney,
    Time,
    Redirect,
    Restrict,
}

impl Only {
    fn includes(self, row: &ServiceRow) -> bool {
        let mode = row.mode.unwrap_or_default();
        let action = row.final_action.unwrap_or_default();
        match self {
            Only::NotFree => mode != Mode::Free,
            Only::Charge => mode == Mode::Charge,
            Only::Money => row.measure == Some(MeasureKey::Money),
            Only::NotMoney => row.measure != Some(MeasureKey::Money),
            Only::Time => row.measure == Some(MeasureKey::Time),
            Only::Redirect => action == FinalKey::Redirect,
            Only::Restrict => action == FinalKey::Restrict,
        }
    }

    fn problem(self) -> &'static str {
        match self {
            Only::NotFree => "it does not apply with mode = \"free\": remove it",
            Only::Charge => "it applies only with mode = \"charge\": remove it",
            Only::Money => "it applies only with measure = \"money\": remove it",
            Only::NotMoney => "it does not apply with measure = \"money\": remove it",
            Only::Time => "it applies only with measure = \"time\": remove it",
            Only::Redirect => "it applies only with final = \"redirect\": remove it, or add that",
            Only::Restrict => "it applies only with final = \"restrict\": remove it, or add that",
        }
    }
}

/// Checks that each key of a row applies to it.
fn check_keys(check: RowCheck, row: &ServiceRow) -> Result<(), TableError> {
    let is_final = Some(Only::Charge);
    let keys = [
        ("unit", row.unit.is_some(), None),
        ("currency", row.currency.is_some(), Some(Only::Money)),
        ("decimals", row.decimals.is_some(), Some(Only::Money)),
        ("grant", row.grant.is_some(), None),
        ("grant_min", row.grant_min.is_some(), None),
        ("grant_max", row.grant_max.is_some(), None),
        ("validity_s", row.validity_s.is_some(), None),
        ("threshold", row.threshold.is_some(), Some(Only::NotMoney)),
        ("quota_holding_s", row.quota_holding_s.is_some(), None),
        ("quota_consumption_s", row.quota_consumption_s.is_some(), Some(Only::Time)),
        ("final", row.final_action.is_some(), is_final),
        ("redirect", row.redirect.is_some(), is_final),
        ("redirect", row.redirect.is_some(), Some(Only::Redirect)),
        ("filters", row.filters.is_some(), is_final),
        ("filters", row.filters.is_some(), Some(Only::Restrict)),
        ("filter_ids", row.filter_ids.is_some(), is_final),
        ("filter_ids", row.filter_ids.is_some(), Some(Only::Restrict)),
        ("final_when", row.final_when.is_some(), is_final),
        ("denied_at_start", row.denied_at_start.is_some(), is_final),
        ("refund_bucket", row.refund_bucket.is_some(), is_final),
    ];
    for (key, _, only) in keys.into_iter().filter(|(_, is_given, _)| *is_given) {
        let mut conditions = [Some(Only::NotFree), only].into_iter().flatten();
        if let Some(broken) = conditions.find(|only| !only.includes(row)) {
            return Err(check.error(key, broken.problem()));
        }
    }
    Ok(())
}

/// Makes the terms of a row.
///
/// # Errors
/// The first mistake in it.
pub(crate) fn terms_of_row(check: RowCheck, row: &ServiceRow) -> Result<ServiceTerms, TableError> {
    if let Some(context) = &row.context {
        context::check(check, context)?;
    }
    check_keys(check, row)?;
    let mode = row.mode.unwrap_or_default();
    let measure = measure(check, row)?;
    let base = ServiceTerms::standard(measure);
    let [grant, grant_min, grant_max] = grants(check, row, &base)?;
    let seconds = |key, value: Option<u32>, least| {
        value.map(|value| check.within(key, value, [least, QUOTA_S_MAX])).transpose()
    };
    let validity_s = row.validity_s.unwrap_or(base.validity_s);
    Ok(ServiceTerms {
        measure,
        unit: unit(check, row, mode, base.unit)?,
        mode,
        grant,
        grant_min,
        grant_max,
        validity_s: check.within("validity_s", validity_s, [1, VALIDITY_S_MAX])?,
        threshold: row.threshold.map(|value| threshold(check, value)).transpose()?,
        quota_holding_s: seconds("quota_holding_s", row.quota_holding_s, 0)?,
        quota_consumption_s: seconds("quota_consumption_s", row.quota_consumption_s, 1)?,
        final_action: final_action(check, row)?,
        final_while_held: row.final_when == Some(FinalWhen::Held),
        keep_when_denied: row.denied_at_start == Some(DeniedAtStart::Keep),
        refund_bucket: (row.refund_bucket.as_deref())
            .map(|name| check.name("refund_bucket", name))
            .transpose()?,
        is_own_item: row.service.is_some(),
    })
}

fn measure(check: RowCheck, row: &ServiceRow) -> Result<Measure, TableError> {
    Ok(match row.measure {
        Some(MeasureKey::Volume) => Measure::Volume,
        Some(MeasureKey::Time) => Measure::Time,
        Some(MeasureKey::Units) => Measure::Units,
        Some(MeasureKey::Money) => {
            let number = |number| check.within("currency", number, [1, CURRENCY_MAX]);
            let currency = row.currency.map(number).transpose()?;
            let decimals =
                check.within("decimals", row.decimals.unwrap_or(2), [0, DECIMALS_MAX])?;
            Measure::Money { currency, decimals }
        }
        None if row.mode == Some(Mode::Free) => Measure::Volume,
        None => {
            let kinds = "\"volume\", \"time\", \"units\" or \"money\"";
            return Err(check.error("measure", format!("it is missing: give {kinds}")));
        }
    })
}

fn unit(check: RowCheck, row: &ServiceRow, mode: Mode, standard: Name) -> Result<Name, TableError> {
    const RECORD: Name = Name::literal("record");
    match (&row.unit, row.measure) {
        (Some(unit), _) => check.name("unit", unit),
        (None, _) if mode == Mode::Record => Ok(RECORD),
        (None, Some(MeasureKey::Money)) if mode == Mode::Charge => {
            let cure = "give the unit of the buckets of money, such as \"cent\"";
            Err(check.error("unit", format!("it is missing: {cure}")))
        }
        (None, _) => Ok(standard),
    }
}

/// Returns the grant for a client that does not say how much, and the least and the largest grant.
fn grants(check: RowCheck, row: &ServiceRow, base: &ServiceTerms) -> Result<[i64; 3], TableError> {
    let amount = |key, value: Option<i64>, standard| match value {
        Some(value) => check.within(key, value, [1, base.grant_max]),
        None => Ok(standard),
    };
    let least = amount("grant_min", row.grant_min, base.grant_min)?;
    let most = amount("grant_max", row.grant_max, base.grant_max)?;
    if least > most {
        let problem = format!("{least} is more than `grant_max`, which is {most}");
        return Err(check.error("grant_min", problem));
    }
    let grant = amount("grant", row.grant, base.grant.clamp(least, most))?;
    if grant < least {
        let problem = format!("{grant} is less than `grant_min`, which is {least}");
        return Err(check.error("grant", problem));
    }
    if grant > most {
        let problem = format!("{grant} is more than `grant_max`, which is {most}");
        return Err(check.error("grant", problem));
    }
    Ok([grant, least, most])
}

fn threshold(check: RowCheck, threshold: Threshold) -> Result<Threshold, TableError> {
    const KEY: &str = "threshold";
    match threshold {
        Threshold::Units(units) => check.within(KEY, units, [1, i64::MAX]).map(Threshold::Units),
        Threshold::Percent(share) => {
            let [least, most] = Threshold::PERCENT;
            if (least..=most).contains(&share) {
                return Ok(threshold);
            }
            let allowed = format!("give a share from \"{least}%\" to \"{most}%\"");
            Err(check.error(KEY, format!("\"{share}%\" is not allowed: {allowed}")))
        }
    }
}

fn final_action(check: RowCheck, row: &ServiceRow) -> Result<FinalAction, TableError> {
    match row.final_action.unwrap_or_default() {
        FinalKey::Terminate => Ok(FinalAction::Terminate),
        FinalKey::Redirect => redirect(check, row.redirect.as_deref()).map(FinalAction::Redirect),
        FinalKey::Restrict => {
            let rules = row.filters.as_deref().unwrap_or_default();
            let filters = row.filter_ids.as_deref().unwrap_or_default();
            few(check, "filters", rules)?;
            few(check, "filter_ids", filters)?;
            if rules.is_empty() && filters.is_empty() {
                let problem =
                    "final = \"restrict\" needs `filters` or `filter_ids`: what stays allowed";
                return Err(check.error("filters", problem));
            }
            rules.iter().try_for_each(|rule| filter(check, rule))?;
            let named = |name: &String| check.printable("filter_ids", name, FILTER_ID_LEN_MAX);
            filters.iter().try_for_each(named)?;
            Ok(FinalAction::Restrict { rules: rules.to_vec(), filters: filters.to_vec() })
        }
    }
}

fn redirect(check: RowCheck, address: Option<&str>) -> Result<String, TableError> {
    const KEY: &str = "redirect";
    let allowed = "give an IPv4 address, an IPv6 address, a URL such as \"http://topup.example.com/\", or a SIP URI";
    let Some(address) = address else {
        return Err(check.error(KEY, format!("it is missing: {allowed}")));
    };
    check.printable(KEY, address, REDIRECT_LEN_MAX)?;
    if RedirectKind::of(address).is_none() {
        return Err(check.error(KEY, format!("{} is no address: {allowed}", quoted(address))));
    }
    Ok(address.to_owned())
}

fn few(check: RowCheck, key: &'static str, list: &[String]) -> Result<(), TableError> {
    if list.len() <= FILTERS_MAX {
        return Ok(());
    }
    Err(check
        .error(key, format!("it has {} entries: at most {FILTERS_MAX} are allowed", list.len())))
}

/// Checks the shape of an IPFilterRule (RFC 6733 section 4.3.1): `permit in ip from any to 192.0.2.0/24`.
fn filter(check: RowCheck, rule: &str) -> Result<(), TableError> {
    let words: Vec<&str> = rule.split(' ').collect();
    let is_rule = matches!(words[..], ["permit" | "deny", "in" | "out", _, "from", _, ..])
        && words.iter().skip(5).any(|word| *word == "to");
    let is_plain = rule.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if is_rule && is_plain && rule.len() <= FILTER_LEN_MAX {
        return Ok(());
    }
    let example = "\"permit out ip from 192.0.2.0/24 to any\"";
    let allowed = format!("give up to {FILTER_LEN_MAX} characters such as {example}");
    Err(check.error("filters", format!("{} is no IPFilterRule: {allowed}", quoted(rule))))
}
