//! The two paths of a request: the fast path of operations that are requested most, and the router.

use crate::options;
use crate::stop::DoorStop;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use std::ops::ControlFlow;

/// A path past the router for some requests of a door. The router can answer the same requests in the same way.
pub trait FastPath: Send + Sync {
    /// Breaks with the answer to a request, or continues with a request that the router has to answer.
    fn answer(
        &self,
        request: Request<Incoming>,
    ) -> ControlFlow<BoxFuture<'_, Response>, Request<Incoming>>;
}

/// The handlers of a door's requests.
pub struct RequestHandler {
    fast: Option<Box<dyn FastPath>>,
    router: TowerToHyperService<Router>,
}

impl RequestHandler {
    /// Returns the handlers of a door: its router, and a faster path for some of its requests, if it has one.
    pub fn new(fast: Option<Box<dyn FastPath>>, router: Router) -> RequestHandler {
        RequestHandler { fast, router: TowerToHyperService::new(router) }
    }

    pub(crate) async fn answer(&self, mut request: Request<Incoming>, stop: &DoorStop) -> Response {
        if let Some(fast) = &self.fast {
            match fast.answer(request) {
                ControlFlow::Break(answer) => return answer.await,
                ControlFlow::Continue(others) => request = others,
            }
        }
        request.extensions_mut().insert(stop.clone());
        let is_health = options::health_options_to_get(&mut request);
        let answer = self.router.call(request.map(Body::new)).await;
        let mut answer = answer.unwrap_or_else(|never| match never {});
        options::add_to_allow(&mut answer, is_health);
        answer
    }
}
