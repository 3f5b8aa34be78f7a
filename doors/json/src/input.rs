//! The parts of a request, which are read strictly: each error names the part that is wrong.

use crate::console_key;
use crate::text::{Id, Text};
use axum::body::Bytes;
use axum::http::HeaderMap;
use schemars::JsonSchema;
use scurry_http::{FaultLocation, Problem, field_problem, query, read_json};
use scurry_ledger::{ITEM_KEY_LEN_MAX, ItemKey};
use scurry_server::Admitted;
use serde::de::DeserializeOwned;

/// The header that makes a request safe to repeat.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A whole request, before it is parsed.
pub(crate) struct Input {
    /// Names and percent-decoded values of the path parameters.
    pub(crate) params: Vec<(&'static str, String)>,
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    /// Empty if the operation takes no body.
    pub(crate) body: Bytes,
    /// The user and the user's roles. None if the door is open to all.
    pub(crate) user: Option<Admitted>,
}

impl Input {
    /// Returns a parameter of the path.
    pub(crate) fn text<const MAX: usize>(&self, name: &str) -> Result<Text<MAX>, Problem> {
        let value = self.params.iter().find(|(param, _)| *param == name);
        let value = value.map(|(_, value)| value.clone()).unwrap_or_default();
        Text::new(value).map_err(|why| field_problem(FaultLocation::Parameter(name), &why))
    }

    /// Returns the values of the named query parameters. Any other parameter is an error.
    pub(crate) fn query<const N: usize>(
        &self,
        names: [&str; N],
    ) -> Result<[Option<Vec<u8>>; N], Problem> {
        query::read(self.query.as_deref(), names).map_err(|problem| problem.at("/v1/"))
    }

    /// Returns the key of an item in the query.
    pub(crate) fn item_key(&self, name: &'static str, value: &[u8]) -> Result<ItemKey, Problem> {
        ItemKey::new(value).ok_or_else(|| {
            let why =
                format!("must be 1 to {ITEM_KEY_LEN_MAX} printable ASCII characters without space");
            field_problem(FaultLocation::Parameter(name), &why)
        })
    }

    /// Returns a required text of the query.
    pub(crate) fn parameter<const MAX: usize>(
        &self,
        name: &str,
        value: Option<Vec<u8>>,
    ) -> Result<Text<MAX>, Problem> {
        let why = "is missing".to_owned();
        let value = value.map(|value| String::from_utf8_lossy(&value).into_owned());
        let text = value.ok_or(why).and_then(Text::new);
        text.map_err(|why| field_problem(FaultLocation::Parameter(name), &why))
    }

    /// Returns a required positive amount of the query.
    pub(crate) fn number(&self, name: &str, value: Option<Vec<u8>>) -> Result<i64, Problem> {
        let number = value.as_deref().and_then(scurry_resp::parse_integer);
        number.filter(|number| *number >= 1).ok_or_else(|| {
            field_problem(
                FaultLocation::Parameter(name),
                "must be an integer of 64 bits, at least 1",
            )
        })
    }

    /// Returns a boolean of the query, false if it is missing.
    pub(crate) fn truth(&self, name: &str, value: Option<Vec<u8>>) -> Result<bool, Problem> {
        match value.as_deref() {
            None | Some(b"false") => Ok(false),
            Some(b"true") => Ok(true),
            Some(_) => Err(field_problem(FaultLocation::Parameter(name), "must be true or false")),
        }
    }

    /// Returns the transaction id from the Idempotency-Key header. It may be in quotes, like a string of structured
    /// fields (RFC 9651).
    pub(crate) fn idempotency_key(&self) -> Result<Id, Problem> {
        let location = FaultLocation::Header("Idempotency-Key");
        let mut values = self.headers.get_all(IDEMPOTENCY_KEY).iter();
        // Exactly one header: with several it is unclear which id counts.
        let (Some(value), None) = (values.next(), values.next()) else {
            let why = "is needed once: an id of your own for this request, the same when it is \
                       sent again";
            return Err(field_problem(location, why));
        };
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        // A quoted string that contains quotes or backslashes would need unescaping: it is taken literally, quotes
        // included.
        let plain = inner.filter(|inner| !inner.contains(['"', '\\'])).map(str::to_owned);
        let id: Id =
            Text::new(plain.unwrap_or(text)).map_err(|why| field_problem(location, &why))?;
        console_key::check(id.as_str(), self.user.as_ref())
            .map_err(|why| field_problem(location, &why))?;
        Ok(id)
    }

    /// Returns the transaction id, or None if the header is missing.
    pub(crate) fn optional_key(&self) -> Result<Option<Id>, Problem> {
        let is_given = self.headers.contains_key(IDEMPOTENCY_KEY);
        is_given.then(|| self.idempotency_key()).transpose()
    }

    /// Parses the body, which must be one JSON value.
    pub(crate) fn json<T: DeserializeOwned + JsonSchema>(&self) -> Result<T, Problem> {
        read_json(&self.headers, &self.body)
    }
}
