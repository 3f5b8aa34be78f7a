//! The console: a page with its scripts. The page holds no data itself, so loading it needs no credentials; the requests
//! that it sends do.

use axum::Router;
use axum::http::{HeaderName, header};
use axum::routing::get;
use std::collections::BTreeMap;

const PAGE: &str = include_str!("console/page.html");

/// The page's scripts, in the order in which it loads them.
const SCRIPTS: [(&str, &str); 5] = [
    ("/console/amounts.js", include_str!("console/amounts.js")),
    ("/console/figures.js", include_str!("console/figures.js")),
    ("/console/acts.js", include_str!("console/acts.js")),
    ("/console/account.js", include_str!("console/account.js")),
    ("/console/lists.js", include_str!("console/lists.js")),
];

/// The page may run scripts of this door alone, none that stands in the page, and may connect to this door alone.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// How many decimals a unit has, by its name: amounts of `USD` with 2 are cents. Units without an entry have none.
pub type UnitDecimals = BTreeMap<String, u8>;

/// Returns the routes of the page and of its scripts.
pub(crate) fn routes() -> Router {
    let page = get(async || (headers("text/html; charset=utf-8"), PAGE));
    SCRIPTS.into_iter().fold(Router::new().route("/", page), |router, (path, script)| {
        let kind = "text/javascript; charset=utf-8";
        router.route(path, get(async move || (headers(kind), script)))
    })
}

fn headers(kind: &'static str) -> [(HeaderName, &'static str); 5] {
    [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ]
}
