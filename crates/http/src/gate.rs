//! Access control: the users of the settings with the roles that they have over RESP, authenticated by a token or by
//! name and password. Requests from web pages of other hosts are refused.

use crate::front::DoorSettings;
use crate::hosts::{ForeignOrigin, Hosts};
use crate::problem::Problem;
use crate::start_error::StartError;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use scurry_resp::table::Role;
use scurry_server::{Admission, Admitted, Users};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Maximum number of password checks that wait or run; one runs at a time.
const WAITING_MAX: usize = 64;

/// The users, the host names of the door, and the queue of password checks.
pub struct Gate {
    users: Arc<Users>,
    hosts: Hosts,
    /// Permits for password checks, waiting or running.
    waiting: Semaphore,
    /// Permit for the one check that runs.
    checking: Semaphore,
}

/// Why a request is refused.
enum Refusal {
    /// No credentials, or not in a form that is understood.
    NoCredentials,
    /// The name, password or token is wrong.
    Wrong,
    /// Too many passwords are being checked.
    Busy,
    /// The user does not have the role.
    Lacks { user: String, role: Role },
    /// A web page of another host may have sent it.
    Foreign { status: StatusCode, why: String },
}

impl Gate {
    /// Returns the gate for these users and host names.
    pub fn new(front: &DoorSettings) -> Result<Arc<Gate>, StartError> {
        Ok(Arc::new(Gate {
            users: Arc::clone(&front.users),
            hosts: Hosts::new(front)?,
            waiting: Semaphore::new(WAITING_MAX),
            checking: Semaphore::new(1),
        }))
    }

    /// Reports whether requests need no credentials.
    pub fn is_open(&self) -> bool {
        self.users.is_open()
    }

    /// Restricts these methods to users with the role.
    pub fn only<S>(self: &Arc<Gate>, role: Role, methods: MethodRouter<S>) -> MethodRouter<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        methods.route_layer(from_fn_with_state((Arc::clone(self), role), pass))
    }

    /// Restricts all routes of this router to users with the role.
    pub fn guard<S>(self: &Arc<Gate>, role: Role, routes: Router<S>) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        routes.route_layer(from_fn_with_state((Arc::clone(self), role), pass))
    }

    /// Returns the user of a request, or the response that refuses it.
    pub async fn let_in(
        &self,
        target: &Uri,
        headers: &HeaderMap,
        role: Role,
    ) -> Result<Admitted, Response> {
        let admitted = self.admit(target, headers, role).await;
        admitted.map_err(|refusal| refusal.answer(target.path()))
    }

    async fn admit(
        &self,
        target: &Uri,
        headers: &HeaderMap,
        role: Role,
    ) -> Result<Admitted, Refusal> {
        let foreign = |foreign| self.foreign(&foreign);
        self.hosts.check_page(target, headers).map_err(foreign)?;
        let admitted = match headers.get(header::AUTHORIZATION) {
            None => {
                let anyone = self.users.anyone().ok_or(Refusal::NoCredentials)?;
                // Without credentials the Host must be ours too: a page could use its own name that resolves to this
                // address.
                self.hosts.check_names(target, headers).map_err(foreign)?;
                anyone
            }
            Some(value) => self.who(value).await?,
        };
        if admitted.roles.permit(role) {
            return Ok(admitted);
        }
        Err(Refusal::Lacks { user: admitted.name, role })
    }

    /// Returns the refusal for a request from another host's page, or for another host.
    fn foreign(&self, foreign: &ForeignOrigin) -> Refusal {
        let status = match foreign {
            ForeignOrigin::Host(_) => StatusCode::MISDIRECTED_REQUEST,
            ForeignOrigin::Page(_) => StatusCode::FORBIDDEN,
        };
        Refusal::Foreign { status, why: self.hosts.advice(foreign) }
    }

    /// Authenticates by the header Authorization.
    async fn who(&self, authorization: &HeaderValue) -> Result<Admitted, Refusal> {
        let (scheme, rest) = authorization
            .to_str()
            .ok()
            .and_then(|text| text.split_once(' '))
            .ok_or(Refusal::NoCredentials)?;
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.users.of_token(rest.trim().as_bytes()).ok_or(Refusal::Wrong);
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return Err(Refusal::NoCredentials);
        }
        let pair = STANDARD.decode(rest.trim()).map_err(|_| Refusal::NoCredentials)?;
        let colon = pair.iter().position(|&byte| byte == b':').ok_or(Refusal::NoCredentials)?;
        let (name, password) = (pair[..colon].to_vec(), pair[colon + 1..].to_vec());
        match self.users.admit(&name, &password) {
            Admission::Granted(admitted) => Ok(admitted),
            Admission::Refused => Err(Refusal::Wrong),
            Admission::Unknown => self.check(name, password).await,
        }
    }

    /// Checks a password by its hash, on a thread for blocking work, since that takes long.
    async fn check(&self, name: Vec<u8>, password: Vec<u8>) -> Result<Admitted, Refusal> {
        // The first permit bounds the queue, the second is for the one check that runs.
        let _place = self.waiting.try_acquire().map_err(|_| Refusal::Busy)?;
        let _turn = self.checking.acquire().await.map_err(|_| Refusal::Busy)?;
        let users = Arc::clone(&self.users);
        let checked = spawn_blocking(move || users.check_slowly(&name, &password)).await;
        checked.map_err(|_| Refusal::Busy)?.ok_or(Refusal::Wrong)
    }
}

/// Passes a request on when its user has the role, or refuses it.
async fn pass(
    State((gate, role)): State<(Arc<Gate>, Role)>,
    mut request: Request,
    next: Next,
) -> Response {
    match gate.let_in(request.uri(), request.headers(), role).await {
        Ok(admitted) => {
            // Handlers may require more roles than the route does.
            request.extensions_mut().insert(admitted.roles);
            request.extensions_mut().insert(admitted);
            next.run(request).await
        }
        Err(response) => response,
    }
}

impl Refusal {
    fn answer(self, path: &str) -> Response {
        let unauthorized = |why| Problem::new(StatusCode::UNAUTHORIZED, "Unauthorized", why);
        let problem = match &self {
            Refusal::NoCredentials => {
                unauthorized("say who you are: a bearer token, or name and password")
            }
            Refusal::Wrong => unauthorized("no user has this token, or this name and password"),
            Refusal::Busy => Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "Service Unavailable",
                "too many passwords are being checked: try again in a second",
            ),
            Refusal::Lacks { user, role } => Problem::new(
                StatusCode::FORBIDDEN,
                "Forbidden",
                format!("the user {user} has not the role {}", role.name()),
            ),
            Refusal::Foreign { status, why } => {
                Problem::new(*status, status.canonical_reason().unwrap_or_default(), why)
            }
        };
        let mut response = problem.at(path).into_response();
        if matches!(self, Refusal::NoCredentials | Refusal::Wrong) {
            let headers = response.headers_mut();
            for scheme in ["Bearer realm=\"scurry\"", "Basic realm=\"scurry\", charset=\"UTF-8\""] {
                headers.append(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
            }
        }
        response
    }
}
