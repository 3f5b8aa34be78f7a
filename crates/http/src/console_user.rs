//! `/v1/console/user`: what the console asks about its user, and how many decimals units have.

use crate::console::UnitDecimals;
use crate::gate::Gate;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Extension, Json, Router};
use scurry_resp::table::Role;
use scurry_server::Admitted;
use serde_json::{Value, json};
use std::sync::Arc;

/// Returns the route, for users with the role `read`.
pub fn route(gate: &Arc<Gate>, decimals: &UnitDecimals) -> Router {
    let route = Router::new().route("/v1/console/user", get(show));
    gate.guard(Role::Read, route.with_state(Arc::new(decimals.clone())))
}

/// Answers 200 with the name and the roles of the user, and the decimals of units.
async fn show(
    State(decimals): State<Arc<UnitDecimals>>,
    Extension(user): Extension<Admitted>,
) -> impl IntoResponse {
    let roles: Value = user.roles.to_string().split(' ').collect();
    let answer = json!({ "user": user.name, "roles": roles, "unit_decimals": *decimals });
    ([(header::CACHE_CONTROL, "no-store")], Json(answer))
}
