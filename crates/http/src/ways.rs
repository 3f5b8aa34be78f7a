//! The two ways of a request to its answer: the short one of operations of charging, and the router.

use crate::direct::Direct;
use crate::options;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

/// Ways of the requests to a door.
pub(crate) struct Ways {
    /// None where a door has no charging.
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
