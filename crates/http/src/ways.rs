//! The two paths of a request: the fast path of charging operations, and the router.

use crate::direct::Direct;
use crate::options;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

/// The handlers of a door's requests.
pub(crate) struct Ways {
    /// None when the door has no charging.
    direct: Option<Direct>,
    router: TowerToHyperService<Router>,
}

impl Ways {
    pub(crate) fn new(direct: Option<Direct>, router: Router) -> Ways {
        Ways { direct, router: TowerToHyperService::new(router) }
    }

    pub(crate) async fn answer(&self, mut request: Request<Incoming>) -> Response {
        if let Some(direct) = &self.direct
            && let Some(asking) = direct.find(request.method(), request.uri().path())
        {
            return direct.answer(asking, request).await;
        }
        let is_health = options::take_for_get(&mut request);
        let answer = self.router.call(request.map(Body::new)).await;
        let mut answer = answer.unwrap_or_else(|never| match never {});
        options::add_to_allow(&mut answer, is_health);
        answer
    }
}
