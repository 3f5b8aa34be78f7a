//! The fast path of charging requests: the operation is found by method and path and executed without the router. The
//! router can answer the same requests, with the same checks in the same order, and handles everything else: paths with
//! escapes, methods that an operation does not have, and other resources. The router's layers cost more than the rest
//! of a debit.

use crate::operation::Operation;
use crate::routes;
use crate::table::OPERATIONS;
use axum::http::{Method, Request};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use scurry_http::{DoorMetrics, FastPath, Gate, RequestTimer, form};
use scurry_resp::table::Role;
use scurry_service::Service;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The fast path of a door's charging operations.
pub struct DirectCharging {
    service: Arc<dyn Service>,
    gate: Arc<Gate>,
    traffic: Arc<DoorMetrics>,
    entries: Vec<CachedRoute>,
}

/// An operation, its HTTP method, and the role that it requires.
struct CachedRoute {
    operation: &'static Operation,
    method: Method,
    role: Role,
}

/// The operation that a request asks for, and the parameters in its path.
struct MatchedOperation<'a> {
    entry: &'a CachedRoute,
    params: Vec<(&'static str, String)>,
}

impl DirectCharging {
    /// Returns the fast path to this store.
    pub fn new(
        service: &Arc<dyn Service>,
        gate: &Arc<Gate>,
        traffic: &Arc<DoorMetrics>,
    ) -> DirectCharging {
        let entries = OPERATIONS.iter().map(|operation| CachedRoute {
            operation,
            method: method(operation),
            role: operation.spec().role,
        });
        DirectCharging {
            service: Arc::clone(service),
            gate: Arc::clone(gate),
            traffic: Arc::clone(traffic),
            entries: entries.collect(),
        }
    }

    /// Returns the operation of a request, or None when the router has to answer it.
    fn find(&self, method: &Method, path: &str) -> Option<MatchedOperation<'_>> {
        // The router decodes escapes.
        if path.contains('%') {
            return None;
        }
        let is_of = |entry: &&CachedRoute| entry.method == *method && entry.operation.is_at(path);
        let entry = self.entries.iter().find(is_of)?;
        Some(MatchedOperation { entry, params: entry.operation.values(path) })
    }

    async fn counted(&self, asking: MatchedOperation<'_>, request: Request<Incoming>) -> Response {
        let begun = RequestTimer::now(request.method());
        let path = asking.entry.operation.path;
        let response = self.pass(asking, request).await;
        self.traffic.answered(&begun, Some(path), response)
    }

    async fn pass(&self, asking: MatchedOperation<'_>, request: Request<Incoming>) -> Response {
        if let Some(refusal) = form::refusal(&request) {
            return refusal;
        }
        let MatchedOperation { entry: CachedRoute { operation, role, .. }, params } = asking;
        let user = match self.gate.let_in(request.uri(), request.headers(), *role).await {
            Ok(user) => user,
            Err(refusal) => return refusal,
        };
        let (head, body) = request.into_parts();
        routes::answer(operation, &*self.service, params, Some(user), head, body).await
    }
}

impl FastPath for DirectCharging {
    fn answer(
        &self,
        request: Request<Incoming>,
    ) -> ControlFlow<BoxFuture<'_, Response>, Request<Incoming>> {
        match self.find(request.method(), request.uri().path()) {
            Some(asking) => ControlFlow::Break(self.counted(asking, request).boxed()),
            None => ControlFlow::Continue(request),
        }
    }
}

/// Returns the method of an operation. Methods are case-sensitive: `post` is another method (RFC 9110 section 9.1).
fn method(operation: &Operation) -> Method {
    let word = operation.method.word().to_ascii_uppercase();
    Method::from_bytes(word.as_bytes()).expect("a word of letters")
}
