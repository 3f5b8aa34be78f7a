//! Says in words how the table charges a request, for operators who ask why.

use crate::{FinalAction, Measure, Mode, ServiceTable, ServiceTerms, Threshold, context};
use scurry_ledger::ItemKey;
use std::fmt::Write;

impl ServiceTable {
    /// Says which row is for a request and what its settings mean, in lines that end with a line break. The text is for
    /// people: programs should not read it.
    pub fn explain(
        &self,
        context: &str,
        rating_group: Option<u32>,
        service: Option<u32>,
    ) -> String {
        let mut lines = Lines::default();
        let asked = asked(context, rating_group, service);
        let Some(at) = self.place(context, rating_group, service) else {
            lines.add("request", asked);
            self.no_row(&mut lines, context, rating_group);
            return lines.0;
        };
        lines.add("request", asked);
        lines.add("row", self.row(at));
        let terms = &self.terms[at];
        lines.add("mode", mode(terms.mode));
        if terms.mode == Mode::Free {
            return lines.0;
        }
        lines.add("unit", unit(terms));
        lines.add("item", item(terms, rating_group, service));
        let most = bound(terms.grant_max);
        let (grant, least) = (terms.grant, terms.grant_min);
        lines.add("grant", format!("{grant} if the client does not say, {least} to {most}"));
        let session_s = self.session_validity_s(context);
        let validity_s = terms.validity_s;
        lines.add("validity", format!("{validity_s} s; of sessions of the context {session_s} s"));
        lines.add("threshold", threshold(terms.threshold));
        lines.add("holding", holding(terms.quota_holding_s));
        if terms.measure == Measure::Time {
            lines.add("consumption", consumption(terms.quota_consumption_s));
        }
        if terms.mode == Mode::Charge {
            add_end(&mut lines, terms);
        }
        lines.0
    }

    /// Says that there is no row, and which one to add.
    fn no_row(&self, lines: &mut Lines, context: &str, rating_group: Option<u32>) {
        lines.add("row", "none: such requests get Result-Code 5031, rating failed");
        lines.add("cure", "add a row to the settings, with the measure that the clients report:");
        lines.add("", "[[services]]");
        lines.add("", format!("context = {:?}", context::counted(context)));
        if let Some(group) = rating_group {
            lines.add("", format!("rating_group = {group}"));
        }
        lines.add("", "measure = \"volume\"");
        if self.numbers.is_empty() {
            lines.add(
                "note",
                "rows replace all standard services: add rows for those that you need",
            );
        }
    }

    /// Says which row it is, and for which requests.
    fn row(&self, at: usize) -> String {
        let pattern = self
            .contexts
            .iter()
            .find(|one| one.rows.contains(&at))
            .and_then(|one| one.pattern.as_deref());
        let (rating_group, service) = self.keys[at];
        let context = pattern.map_or("any context".to_owned(), |text| format!("context {text}"));
        let number = |name, number: Option<u32>| match number {
            Some(number) => format!("{name} {number}"),
            None => format!("any {name}"),
        };
        let which = self
            .numbers
            .get(at)
            .map_or("standard".to_owned(), |row| format!("{row} of [[services]]"));
        let (group, service) = (number("rating group", rating_group), number("service", service));
        format!("{which}: {context}, {group}, {service}")
    }
}

/// Lines of a name and its meaning.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, name: &str, meaning: impl AsRef<str>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{name:<12}{}", meaning.as_ref());
    }
}

fn asked(context: &str, rating_group: Option<u32>, service: Option<u32>) -> String {
    let number = |name, number: Option<u32>| match number {
        Some(number) => format!("{name} {number}"),
        None => format!("no {name}"),
    };
    let (group, service) = (number("rating group", rating_group), number("service", service));
    format!("context {context}, {group}, {service}")
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Charge => "charge: units are reserved and debited",
        Mode::Free => "free: nothing is reserved or debited, the client gets Result-Code 4011",
        Mode::Record => "record: nothing is reserved, reported use becomes an item of the session",
    }
}

fn unit(terms: &ServiceTerms) -> String {
    let unit = terms.unit.as_str();
    match terms.measure {
        Measure::Volume => format!("{unit} (volume)"),
        Measure::Time => format!("{unit} (time)"),
        Measure::Units => format!("{unit} (units)"),
        Measure::Money { currency, decimals } => {
            let currency =
                currency.map_or("any currency".to_owned(), |number| format!("currency {number}"));
            format!("{unit} (money of {currency} with {decimals} decimals)")
        }
    }
}

fn item(terms: &ServiceTerms, rating_group: Option<u32>, service: Option<u32>) -> String {
    let key = match terms.item(rating_group, service) {
        ItemKey::Number(number) => number.to_string(),
        ItemKey::Id(id) => id.as_str().to_owned(),
    };
    let what = match (terms.is_own_item, rating_group) {
        (true, _) => "the service is an item of its own",
        (false, Some(_)) => {
            "one item for the rating group, but for services with rows of their own"
        }
        (false, None) => {
            "one item for all without a rating group, but for services with rows of their own"
        }
    };
    format!("{key}: {what}")
}

fn bound(most: i64) -> String {
    if most == i64::MAX { "any".to_owned() } else { most.to_string() }
}

fn threshold(threshold: Option<Threshold>) -> String {
    match threshold {
        Some(Threshold::Percent(share)) => {
            format!("the client asks again when {share}% of a grant is left")
        }
        Some(Threshold::Units(units)) => {
            format!("the client asks again when {units} are left, if the grant is larger")
        }
        None => "none: the client asks again when the grant is used".to_owned(),
    }
}

fn holding(seconds: Option<u32>) -> String {
    match seconds {
        Some(0) => "the client keeps the quota however long there is no traffic".to_owned(),
        Some(seconds) => format!("the client returns the quota after {seconds} s without traffic"),
        None => "the client decides when it returns the quota for lack of traffic".to_owned(),
    }
}

fn consumption(seconds: Option<u32>) -> String {
    match seconds {
        Some(seconds) => format!("up to {seconds} s without traffic still count as used"),
        None => "the client decides how long time without traffic still counts".to_owned(),
    }
}

/// Adds what happens when the last units are used, and what becomes of denied sessions and of refunds.
fn add_end(lines: &mut Lines, terms: &ServiceTerms) {
    let action = match &terms.final_action {
        FinalAction::Terminate => "terminate: the client ends the service".to_owned(),
        FinalAction::Redirect(address) => {
            format!("redirect: the client sends the user to {address}")
        }
        FinalAction::Restrict { .. } => {
            "restrict: the client lets the user use only these:".to_owned()
        }
    };
    lines.add("final", action);
    if let FinalAction::Restrict { rules, filters } = &terms.final_action {
        rules.iter().for_each(|rule| lines.add("", rule));
        filters.iter().for_each(|filter| lines.add("", format!("filter {filter} of the client")));
    }
    lines.add(
        "final when",
        match terms.final_while_held {
            false => "nothing else is left; not while other sessions hold the rest",
            true => "nothing else is left, or other sessions hold the rest",
        },
    );
    lines.add(
        "denied",
        match terms.keep_when_denied {
            false => "a session whose first request is denied is refused",
            true => "a session whose first request is denied stays open",
        },
    );
    lines.add(
        "refund",
        match terms.refund_bucket {
            Some(bucket) => {
                format!("a refund that names no debit goes to bucket {}", bucket.as_str())
            }
            None => "there is no bucket for a refund that names no debit".to_owned(),
        },
    );
}
