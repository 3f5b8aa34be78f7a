//! The table and its look-up, which every request pays for: it compares in place and allocates nothing.

use crate::check::RowCheck;
use crate::subscriber_row::rules_of_rows;
use crate::terms_of_row::terms_of_row;
use crate::{
    Measure, Mode, ServiceRow, ServiceTerms, SubscriberRow, SubscriberRule, TableError, Threshold,
    UnknownSubscriber, context,
};
use std::ops::Range;
use std::sync::Arc;

/// Most rows `[[services]]`.
pub const ROWS_MAX: usize = 4096;

/// The table of services.
#[derive(Clone, Debug)]
pub struct ServiceTable {
    /// Contexts of the rows in the order of their patterns, each once.
    pub(crate) contexts: Vec<ContextRows>,
    /// For which rating groups and services the rows are: in order within a context, each once.
    pub(crate) keys: Vec<RowKey>,
    /// Terms of the rows, in the order of the keys.
    pub(crate) terms: Vec<Arc<ServiceTerms>>,
    /// Numbers of the rows in the settings, in the order of the keys. Empty for the standard services.
    pub(crate) numbers: Vec<usize>,
    /// Terms of the standard services by volume, time and units.
    standard: [Arc<ServiceTerms>; 3],
    has_own_services: bool,
    subscribers: Vec<SubscriberRule>,
    has_own_subscribers: bool,
    unknown_subscriber: UnknownSubscriber,
}

/// For which rating group and service a row is. None is any.
pub(crate) type RowKey = (Option<u32>, Option<u32>);

/// The rows of one context.
#[derive(Clone, Debug)]
pub(crate) struct ContextRows {
    /// As the rows write it. None is any context.
    pub(crate) pattern: Option<String>,
    /// Where the rows are.
    pub(crate) rows: Range<usize>,
    /// Longest validity of their grants, seconds. 0 if they grant nothing.
    validity_s_max: u32,
}

/// A row before it is in its place.
struct Row {
    context: Option<String>,
    key: RowKey,
    number: usize,
    terms: ServiceTerms,
}

impl ServiceTable {
    /// Returns the table that holds without settings.
    pub fn standard() -> ServiceTable {
        let unknown = UnknownSubscriber::default();
        ServiceTable::of_rows(standard_rows(), SubscriberRule::standard(), unknown)
    }

    /// Reports whether it has services of settings. Without them a door may measure a service in what it is asked for.
    pub fn has_own_services(&self) -> bool {
        self.has_own_services
    }

    /// Reports whether it has subscribers of settings.
    pub fn has_own_subscribers(&self) -> bool {
        self.has_own_subscribers
    }

    /// Returns the standard terms of a measure. Those of money are the terms of units.
    pub fn standard_terms(&self, measure: Measure) -> &Arc<ServiceTerms> {
        let [volume, time, units] = &self.standard;
        match measure {
            Measure::Volume => volume,
            Measure::Time => time,
            Measure::Units | Measure::Money { .. } => units,
        }
    }

    /// Makes the table of the rows of a settings file. Without rows of services it has the standard services, without rows
    /// of subscribers the standard subscribers.
    ///
    /// # Errors
    /// The first mistake in the rows.
    pub fn new(
        services: &[ServiceRow],
        subscribers: &[SubscriberRow],
        unknown: UnknownSubscriber,
    ) -> Result<ServiceTable, TableError> {
        let rows = if services.is_empty() { standard_rows() } else { checked_rows(services)? };
        let table = ServiceTable::of_rows(rows, rules_of_rows(subscribers)?, unknown);
        let (has_own_services, has_own_subscribers) =
            (!services.is_empty(), !subscribers.is_empty());
        Ok(ServiceTable { has_own_services, has_own_subscribers, ..table })
    }

    /// Makes the table of rows that are in order.
    fn of_rows(
        rows: Vec<Row>,
        subscribers: Vec<SubscriberRule>,
        unknown_subscriber: UnknownSubscriber,
    ) -> ServiceTable {
        let (mut contexts, mut keys) = (Vec::<ContextRows>::new(), Vec::new());
        let (mut terms, mut numbers) = (Vec::new(), Vec::new());
        for (at, row) in rows.into_iter().enumerate() {
            // Free services have no grants.
            let validity_s = if row.terms.mode == Mode::Free { 0 } else { row.terms.validity_s };
            match contexts.last_mut().filter(|last| last.pattern == row.context) {
                Some(last) => {
                    last.rows.end = at + 1;
                    last.validity_s_max = last.validity_s_max.max(validity_s);
                }
                None => contexts.push(ContextRows {
                    pattern: row.context,
                    rows: at..at + 1,
                    validity_s_max: validity_s,
                }),
            }
            keys.push(row.key);
            terms.push(Arc::new(row.terms));
            numbers.extend((row.number > 0).then_some(row.number));
        }
        ServiceTable {
            contexts,
            keys,
            terms,
            numbers,
            standard: [standard_volume(), time(), units()].map(Arc::new),
            has_own_services: false,
            subscribers,
            has_own_subscribers: false,
            unknown_subscriber,
        }
    }

    /// Returns the terms of a service: those of its context, rating group and service identifier, each exact before any.
    /// None if the table has none for it.
    pub fn find(
        &self,
        context: &str,
        rating_group: Option<u32>,
        service: Option<u32>,
    ) -> Option<&Arc<ServiceTerms>> {
        self.place(context, rating_group, service).map(|at| &self.terms[at])
    }

    /// Returns the place of the terms of a service.
    pub(crate) fn place(
        &self,
        context: &str,
        rating_group: Option<u32>,
        service: Option<u32>,
    ) -> Option<usize> {
        let keys = [(rating_group, service), (rating_group, None), (None, service), (None, None)];
        self.matching(context).find_map(|context| {
            let own = &self.keys[context.rows.clone()];
            let at = keys.iter().find_map(|key| own.binary_search(key).ok())?;
            Some(context.rows.start + at)
        })
    }

    /// Returns the contexts that a Service-Context-Id matches, the most exact first.
    fn matching<'a>(&'a self, context: &'a str) -> impl Iterator<Item = &'a ContextRows> {
        context::patterns(context).into_iter().filter_map(|wanted| {
            let compared = |context: &ContextRows| context.pattern.as_deref().cmp(&wanted);
            self.contexts.binary_search_by(compared).ok().map(|at| &self.contexts[at])
        })
    }

    /// Returns the longest validity of the grants of a context, seconds: that of its sessions. 600 if it has no grants.
    pub fn session_validity_s(&self, context: &str) -> u32 {
        let longest = self.matching(context).map(|context| context.validity_s_max).max();
        longest.filter(|longest| *longest > 0).unwrap_or(ServiceTerms::VALIDITY_S)
    }

    /// Returns the longest validity of all grants, seconds: a store must allow it.
    pub fn validity_s_max(&self) -> u32 {
        let longest = self.contexts.iter().map(|context| context.validity_s_max).max();
        longest.unwrap_or(0).max(ServiceTerms::VALIDITY_S)
    }

    /// Returns how subscribers are found, in this order.
    pub fn subscribers(&self) -> &[SubscriberRule] {
        &self.subscribers
    }

    /// Returns what is answered for a subscriber of whom there is no account.
    pub fn unknown_subscriber(&self) -> UnknownSubscriber {
        self.unknown_subscriber
    }
}

fn standard_volume() -> ServiceTerms {
    let threshold = Some(Threshold::Percent(20));
    ServiceTerms { threshold, ..ServiceTerms::standard(Measure::Volume) }
}

fn time() -> ServiceTerms {
    ServiceTerms::standard(Measure::Time)
}

fn units() -> ServiceTerms {
    ServiceTerms::standard(Measure::Units)
}

/// Returns the services that are charged without settings, in order (TS 32.251, 32.255, 32.260, 32.270, 32.274, 32.275, 32.276).
fn standard_rows() -> Vec<Row> {
    let services = [
        ("32251@", standard_volume()),
        ("32255@", standard_volume()),
        ("32260@", time()),
        ("32270@", units()),
        ("32274@", units()),
        ("32275@", time()),
        ("32276@", time()),
    ];
    let row = |(context, terms): (&str, _)| Row {
        context: Some(context.to_owned()),
        key: (None, None),
        number: 0,
        terms,
    };
    services.into_iter().map(row).collect()
}

/// Checks rows and puts them in order.
fn checked_rows(rows: &[ServiceRow]) -> Result<Vec<Row>, TableError> {
    const LIST: &str = "services";
    if rows.len() > ROWS_MAX {
        return Err(TableError::TooMany { list: LIST, rows: rows.len(), rows_max: ROWS_MAX });
    }
    let checked = rows.iter().zip(1..).map(|(row, number)| {
        let terms = terms_of_row(RowCheck { list: LIST, row: number }, row)?;
        let key = (row.rating_group, row.service);
        Ok(Row { context: row.context.clone(), key, number, terms })
    });
    let mut rows = checked.collect::<Result<Vec<Row>, TableError>>()?;
    // The sort is stable: of two rows for the same, the earlier one stays first.
    rows.sort_by(|one, other| (&one.context, one.key).cmp(&(&other.context, other.key)));
    let is_pair = |pair: &&[Row]| pair[0].context == pair[1].context && pair[0].key == pair[1].key;
    if let Some(pair) = rows.windows(2).find(is_pair) {
        let (first, row) = (pair[0].number, pair[1].number);
        let what = "context, rating_group and service";
        return Err(TableError::Repeated { list: LIST, row, first, what });
    }
    Ok(rows)
}
