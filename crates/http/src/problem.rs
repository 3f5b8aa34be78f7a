//! Errors as RFC 9457 has them, `application/problem+json`, with a code for programs.

use crate::door_codes;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::ext::ReasonPhrase;
use serde::Serialize;
use serde_json::{Map, Value};

/// An error: status and code are for programs, the detail for people.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    title: &'static str,
    detail: String,
    /// A code of a table, or None: then the code is the title in capitals.
    code: Option<&'static str>,
    /// Further members of the JSON object.
    more: Map<String, Value>,
    /// Retry-After of a 503, seconds; None when waiting does not help.
    retry_after_s: Option<u64>,
}

#[derive(Serialize)]
struct Body9457<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: String,
    #[serde(flatten)]
    more: &'a Map<String, Value>,
}

impl Problem {
    /// Returns a 400.
    pub fn bad_request(detail: impl ToString) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "Bad Request", detail)
    }

    /// Returns a problem with this status, whose code is the title in capitals.
    pub fn new(status: StatusCode, title: &'static str, detail: impl ToString) -> Problem {
        let detail = detail.to_string();
        Problem { status, title, detail, code: None, more: Map::new(), retry_after_s: Some(1) }
    }

    /// Returns a problem with a code of a table, and the title of its status.
    pub fn of_code(code: &'static str, status: StatusCode, detail: impl ToString) -> Problem {
        let title = status.canonical_reason().unwrap_or("Error");
        Problem { code: Some(code), ..Problem::new(status, title, detail) }
    }

    /// Sets Retry-After in seconds; None when waiting does not help.
    pub fn retry_after(self, retry_after_s: Option<u64>) -> Problem {
        Problem { retry_after_s, ..self }
    }

    /// Gives the problem the door's code for its title, and with it a `type` at /v1/problems, if `path` belongs to
    /// charging.
    pub fn at(mut self, path: &str) -> Problem {
        if door_codes::has_types(path) && self.code.is_none() {
            self.code = door_codes::code_of(&word(self.title));
        }
        self
    }

    /// Adds a member.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Problem {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the status of the answer.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns a further member.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.more.get(name)
    }

    /// Makes the problem of a part of the body one of the whole body. `place` is the part's JSON pointer, which is put
    /// before each pointer in `errors` and in the detail.
    pub fn within(mut self, place: &str) -> Problem {
        let errors = self.more.get_mut("errors").and_then(Value::as_array_mut);
        for error in errors.into_iter().flatten() {
            let Some(Value::String(pointer)) = error.get_mut("pointer") else { continue };
            let shown = if pointer.is_empty() { "the body" } else { pointer.as_str() };
            if let Some(why) = self.detail.strip_prefix(shown) {
                self.detail = format!("{place}{pointer}{why}");
            }
            pointer.insert_str(0, place);
        }
        self
    }

    /// Adds these members, except `code`.
    pub fn with_all(mut self, members: Map<String, Value>) -> Problem {
        self.more.extend(members.into_iter().filter(|(name, _)| name != "code"));
        self
    }
}

/// Returns a title as a code, in capitals with underscores.
fn word(title: &str) -> String {
    title.to_ascii_uppercase().replace([' ', '-'], "_")
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Problem { status, title, detail, code, more, retry_after_s } = &self;
        let kind = match code {
            Some(code) => format!("/v1/problems#{code}"),
            None => "about:blank".to_owned(),
        };
        let code = match code {
            Some(code) => (*code).to_owned(),
            None => word(title),
        };
        let body = Body9457 { kind, title, status: status.as_u16(), detail, code, more };
        let text = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = *status;
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if let (StatusCode::SERVICE_UNAVAILABLE, Some(seconds)) = (*status, *retry_after_s) {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if status.canonical_reason() != Some(title) {
            response.extensions_mut().insert(ReasonPhrase::from_static(title.as_bytes()));
        }
        response
    }
}
