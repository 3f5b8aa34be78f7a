//! Which events a client wants, and from where on.

use axum::http::HeaderMap;
use scurry_engine::Event;
use scurry_http::{FaultLocation, Problem, field_problem, query};
use scurry_ship::{Filter, Positions, Record};

/// Path of the stream.
pub(crate) const PATH: &str = "/v1/events";
/// Header with the id of the last event, which a browser sends when it connects again.
const LAST_EVENT_ID: &str = "Last-Event-ID";
/// Most names of events, and most units.
pub(super) const NAMES_MAX: usize = 32;

/// Which events a client wants, and from where on.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) filter: Filter,
    account: Option<String>,
    pub(super) from: From,
    /// What the client has said about where to begin, for errors.
    pub(super) from_place: FaultLocation<'static>,
}

/// Where a stream begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// At the oldest event that is kept.
    Oldest,
    /// At the next event.
    Newest,
    /// After the event with this id.
    After(Positions),
}

impl Wanted {
    pub(super) fn read(query: Option<&str>, headers: &HeaderMap) -> Result<Wanted, Problem> {
        let names = ["event", "unit", "account", "account_prefix", "from"];
        let [events, units, account, account_prefix, from] =
            query::read_all(query, names).map_err(|problem| problem.at(PATH))?;
        let wrong =
            |name: &'static str, why: &str| field_problem(FaultLocation::Parameter(name), why);
        let text = |name: &'static str, value: Vec<u8>| {
            String::from_utf8(value).map_err(|_| wrong(name, "must be UTF-8"))
        };
        let once = |name: &'static str, mut values: Vec<Vec<u8>>| match values.pop() {
            Some(_) if !values.is_empty() => Err(wrong(name, "stands twice")),
            value => value.map(|value| text(name, value)).transpose(),
        };
        if events.len() > NAMES_MAX || units.len() > NAMES_MAX {
            let name = if units.len() > NAMES_MAX { "unit" } else { "event" };
            return Err(wrong(name, &format!("may stand at most {NAMES_MAX} times")));
        }
        let known = |name: Vec<u8>| {
            let word = Event::WORDS.into_iter().find(|word| word.as_bytes() == name);
            let why = || format!("no event is called so; those are: {}", Event::WORDS.join(" "));
            word.ok_or_else(|| wrong("event", &why()))
        };
        let filter = Filter {
            names: events.into_iter().map(known).collect::<Result<_, _>>()?,
            units: units.into_iter().map(|unit| text("unit", unit)).collect::<Result<_, _>>()?,
            account_prefix: once("account_prefix", account_prefix)?.unwrap_or_default(),
        };
        let account = once("account", account)?;
        let from = once("from", from)?;
        let last = headers.get(LAST_EVENT_ID).filter(|id| !id.is_empty());
        // A browser that connects again repeats its address, and says in the header how far it is.
        let (from, from_place) = match (last, from.as_deref()) {
            (Some(id), _) => {
                (id.to_str().unwrap_or_default(), FaultLocation::Header(LAST_EVENT_ID))
            }
            (None, from) => (from.unwrap_or("newest"), FaultLocation::Parameter("from")),
        };
        let from = match from {
            "oldest" => From::Oldest,
            "newest" => From::Newest,
            id => {
                let why = "must be oldest, newest or the id of an event of this stream";
                From::After(id.parse().map_err(|_| field_problem(from_place, why))?)
            }
        };
        Ok(Wanted { filter, account, from, from_place })
    }

    /// Reports whether the client wants an event. Events of the whole store are for every client.
    pub(super) fn takes(&self, record: &Record) -> bool {
        let is_its = |account: &String| record.account.is_empty() || record.account == *account;
        self.filter.takes(record) && self.account.as_ref().is_none_or(is_its)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn read(query: &str, last: Option<&str>) -> Result<Wanted, String> {
        let mut headers = HeaderMap::new();
        if let Some(last) = last {
            headers.insert("last-event-id", HeaderValue::from_str(last).expect("a header"));
        }
        Wanted::read(Some(query), &headers).map_err(|problem| format!("{problem:?}"))
    }

    #[test]
    fn a_query_has_names_units_and_accounts() {
        let wanted =
            read("event=denied&event=limit&unit=USD&account=a%2F1", None).expect("it is one");
        assert_eq!(wanted.filter.names, ["denied", "limit"]);
        assert_eq!(wanted.from, From::Newest);
        let record = |account: &str, event: &str, unit: Option<&str>| Record {
            account: account.to_owned(),
            event: event.to_owned(),
            unit: unit.map(str::to_owned),
            ..Record::default()
        };
        assert!(wanted.takes(&record("a/1", "denied", Some("USD"))));
        assert!(wanted.takes(&record("a/1", "limit", None)));
        assert!(
            wanted.takes(&record("", "cleared", None)) && wanted.takes(&record("", "missed", None))
        );
        assert!(!wanted.takes(&record("a/1", "denied", Some("EUR"))));
        assert!(!wanted.takes(&record("a/12", "denied", Some("USD"))));
        assert!(!wanted.takes(&record("a/1", "credited", Some("USD"))));
    }

    #[test]
    fn the_header_of_a_browser_comes_before_its_query() {
        let id = "00c0ffee00c0ffee 1.0:17 1.1:20-3";
        let after = From::After(id.parse().expect("positions"));
        assert_eq!(read("from=oldest", Some(id)).expect("it is one").from, after);
        let query = "from=00c0ffee00c0ffee+1.0:17%201.1:20-3";
        assert_eq!(read(query, None).expect("it is one").from, after);
        assert_eq!(read("from=oldest", Some("")).expect("it is one").from, From::Oldest);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (query, last, words) in [
            ("event=debit", None, "no event is called so; those are: credited"),
            ("from=1.0:3", None, "from: must be oldest, newest or the id"),
            ("", Some("1.0:3"), "Last-Event-ID: must be oldest"),
            ("account=a&account=b", None, "account: stands twice"),
            ("events=denied", None, "no parameter is `events`"),
            (&"unit=a&".repeat(33), None, "unit: may stand at most 32 times"),
        ] {
            let error = read(query, last).expect_err(query);
            assert!(error.contains(words), "{error}");
        }
    }
}
