//! Strict reading of requests: each error names the field that is wrong.

use super::strict::Strict;
use super::text::{Id, Text};
use crate::problem::Problem;
use crate::query;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use schemars::JsonSchema;
use scurry_ledger::Code;
use scurry_server::Admitted;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_path_to_error::{Path, Segment};

/// Most bytes of a request body.
pub(crate) const BODY_LEN_MAX: usize = 256 * 1024;
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

/// Location of a fault in a request.
#[derive(Clone, Copy)]
pub(crate) enum FaultLocation<'a> {
    /// A JSON pointer (RFC 6901) into the body.
    Body(&'a str),
    Header(&'a str),
    /// A parameter of the path or of the query.
    Parameter(&'a str),
}

/// Returns a problem with status 400 that names the field.
pub(crate) fn field_problem(location: FaultLocation<'_>, why: &str) -> Problem {
    let (kind, name) = match location {
        FaultLocation::Body(pointer) => ("pointer", pointer),
        FaultLocation::Header(name) => ("header", name),
        FaultLocation::Parameter(name) => ("parameter", name),
    };
    let shown = if name.is_empty() { "the body" } else { name };
    let status = StatusCode::BAD_REQUEST;
    Problem::of_code(Code::Invalid.name(), status, format!("{shown}: {why}"))
        .with("errors", json!([{ kind: name, "detail": why }]))
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
        Text::new(plain.unwrap_or(text)).map_err(|why| field_problem(location, &why))
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

/// Parses a body that must be JSON, with a matching Content-Type and nothing after the value.
pub(crate) fn read_json<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: &[u8],
) -> Result<T, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    if !kind.is_some_and(is_json) {
        let why = "the body must be JSON and say so: Content-Type: application/json";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::of_code("UNSUPPORTED_MEDIA_TYPE", status, why));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(Strict::new(&mut reader));
    let value = read.map_err(|error| {
        let why = plain(&error.inner().to_string());
        field_problem(FaultLocation::Body(&pointer(error.path(), &why)), &why)
    })?;
    reader
        .end()
        .map_err(|error| field_problem(FaultLocation::Body(""), &plain(&error.to_string())))?;
    Ok(value)
}

fn is_json(kind: &[u8]) -> bool {
    let plain = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    plain.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Returns a parse error's message without line and column: the pointer tells the place.
fn plain(error: &str) -> String {
    let why = match error.rsplit_once(" at line ") {
        Some((why, place)) if place.contains(" column ") && !why.starts_with("expected") => why,
        _ => error,
    };
    // Use the JSON names instead of serde's.
    why.replacen("invalid type: sequence", "invalid type: array", 1).replacen(
        "invalid type: map",
        "invalid type: object",
        1,
    )
}

/// Returns the JSON pointer (RFC 6901) of a parse error. serde reports a missing, unknown or duplicate field at the
/// object around it, so its name is appended.
fn pointer(path: &Path, why: &str) -> String {
    let mut pointer = String::new();
    let mut last = "";
    for segment in path {
        let name = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => {
                last = key;
                key.replace('~', "~0").replace('/', "~1")
            }
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => continue,
        };
        pointer.push('/');
        pointer.push_str(&name);
    }
    let named = ["missing field `", "unknown field `", "duplicate field `"];
    let field = named.iter().find_map(|head| why.strip_prefix(head)?.split('`').next());
    if let Some(field) = field.filter(|field| *field != last) {
        pointer.push('/');
        pointer.push_str(&field.replace('~', "~0").replace('/', "~1"));
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Outer {
        items: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Inner {
        requested: u32,
    }

    fn fault(body: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        format!("{:?}", read_json::<Outer>(&headers, body.as_bytes()).expect_err(body))
    }

    #[test]
    fn a_wrong_body_names_the_field() {
        for (body, pointer) in [
            (r#"{"items":[{"requested":1},{"requested":-1}]}"#, "/items/1/requested"),
            (r#"{"items":[{}]}"#, "/items/0/requested"),
            (r#"{"items":[{"requested":1,"a/b":2}]}"#, "/items/0/a~1b"),
            (r#"{"items":[],"items":[]}"#, "/items"),
            (r#"{"items":7}"#, "/items"),
            (r"[", ""),
            (r#"{"items":[]} x"#, ""),
        ] {
            let fault = fault(body);
            assert!(
                fault.contains(&format!("\"pointer\": String(\"{pointer}\")")),
                "{body}: {fault}"
            );
        }
    }
}
