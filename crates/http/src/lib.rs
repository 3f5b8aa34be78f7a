//! What every door that speaks HTTP shares: the server with its listener and TLS, users and host names, checks of
//! requests, problems as answers, metrics, and the console. What a door serves are its routes, which it hands over as
//! [`Ways`]; this crate knows neither charging nor entities.

mod body;
mod bounds;
mod client;
mod client_errors;
mod clock;
mod connection;
mod console;
pub mod console_user;
mod door;
pub mod door_codes;
mod fault;
pub mod form;
pub mod front;
mod gate;
mod hosts;
mod http2;
mod json;
mod listener;
pub mod metrics_history;
mod openapi;
mod options;
mod preface;
mod problem;
pub mod query;
mod request_handler;
mod start_error;
mod stop;
mod strict;
mod traffic;
mod write_timeout;

pub use body::read_body;
pub use clock::now;
pub use console::UnitDecimals;
pub use door::{Door, Opening};
pub use fault::{FaultLocation, field_problem};
pub use front::DoorSettings;
pub use gate::Gate;
pub use json::read_json;
pub use openapi::security_schemes;
pub use problem::Problem;
pub use request_handler::{FastPath, RequestHandler};
pub use start_error::StartError;
pub use stop::DoorStop;
pub use traffic::{DoorMetrics, RequestTimer};
