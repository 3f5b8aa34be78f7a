//! Describes an operation. Its route, its role, its answers and its page in the OpenAPI document are all derived from
//! this description.

use crate::answer::Answer;
use crate::input::Input;
use schemars::{Schema, SchemaGenerator};
use scurry_http::Problem;
use scurry_resp::table::{Spec, find};
use scurry_service::{Reply, Request, StoreRead, StoreReply};

/// One HTTP operation: one row of the table.
pub(crate) struct Operation {
    /// The `operationId`.
    pub(crate) id: &'static str,
    /// Group of operations in the document.
    pub(crate) tag: OpenApiTag,
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The command that it runs. The operation has the command's role, codes and summary.
    pub(crate) command: &'static str,
    /// Text that follows the command's summary in the document.
    pub(crate) notes: &'static str,
    /// The HTTP status of success.
    pub(crate) status: u16,
    /// Why it is safe to send it again.
    pub(crate) retry: Retry,
    /// Parameters of the query.
    pub(crate) query: &'static [Parameter],
    /// The schema of the body and an example. None if it takes no body.
    pub(crate) body: Option<(SchemaOf, &'static str)>,
    /// How it is carried out.
    pub(crate) work: OperationWork,
    /// The schema of the answer.
    pub(crate) answer: SchemaOf,
}

pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Groups of operations. Generated clients have one class per group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenApiTag {
    Accounts,
    Buckets,
    Debits,
    Limits,
    Sessions,
    Chains,
    Store,
}

impl OpenApiTag {
    pub(crate) const ALL: [OpenApiTag; 7] = [
        OpenApiTag::Accounts,
        OpenApiTag::Buckets,
        OpenApiTag::Debits,
        OpenApiTag::Limits,
        OpenApiTag::Sessions,
        OpenApiTag::Chains,
        OpenApiTag::Store,
    ];

    /// Returns the name and the description of the group.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            OpenApiTag::Accounts => (
                "accounts",
                "Accounts, their status and identities, and what has happened to them.",
            ),
            OpenApiTag::Buckets => {
                ("buckets", "Credit: top-ups, corrections, allowances, credit limits.")
            }
            OpenApiTag::Debits => ("debits", "Amounts that are debited at once, and refunds."),
            OpenApiTag::Limits => ("limits", "Counters, and limits of use and of open sessions."),
            OpenApiTag::Sessions => ("sessions", "Reserve an estimate, report the use, settle."),
            OpenApiTag::Chains => {
                ("chains", "Commands on several accounts that are all carried out or none.")
            }
            OpenApiTag::Store => ("store", "The store as a whole, and this interface."),
        }
    }
}

/// How an operation is carried out: one function builds the store request from the input, the other makes the answer
/// from the reply. The second returns None if the reply does not have the expected shape.
#[derive(Clone, Copy)]
pub(crate) enum OperationWork {
    /// A request on the accounts that it names.
    Account(fn(&Input) -> Result<Request, Problem>, fn(Reply) -> Option<Answer>),
    /// A read of the store as a whole.
    Store(fn(&Input) -> Result<StoreRead, Problem>, fn(StoreReply) -> Option<Answer>),
}

/// HTTP methods of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Put,
    Post,
    Patch,
    Delete,
}

impl Method {
    /// Returns the method's name in OpenAPI: lower case.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Method::Get => "get",
            Method::Put => "put",
            Method::Post => "post",
            Method::Patch => "patch",
            Method::Delete => "delete",
        }
    }
}

/// Reason why a request is safe to send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The request changes nothing.
    Read,
    /// The Idempotency-Key header identifies a duplicate.
    Key,
    /// The request number in the body identifies a duplicate.
    Request,
    /// The ids of the chain's commands identify a duplicate.
    Commands,
    /// The request states the resulting state, so that repeating it has no further effect.
    State,
    /// [`Retry::State`]; with the Idempotency-Key header also [`Retry::Key`].
    StateOrKey,
}

impl Retry {
    /// Returns advice to the client for when the outcome is unknown.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Retry::Read => "nothing was changed: ask again",
            Retry::Key => {
                "it may have been done or not: send it again with the same Idempotency-Key, and \
                 it is done once"
            }
            Retry::Request => {
                "it may have been done or not: send it again with the same request number, and it \
                 is done once"
            }
            Retry::Commands => {
                "it may have been done or not: send the same commands again, and they are done once"
            }
            Retry::State | Retry::StateOrKey => {
                "it may have been done or not: send it again; 409 or 404 may then say that it was"
            }
        }
    }
}

/// A query parameter.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) schema: SchemaOf,
    pub(crate) description: &'static str,
}

impl Operation {
    /// Returns the entry of its command in the command table.
    pub(crate) fn spec(&self) -> &'static Spec {
        find(self.command.as_bytes()).expect("a test looks every operation up")
    }

    /// Reports whether the path of a request matches this operation's path.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        // A parameter matches any segment but an empty one.
        let fits = |own: &str, part: &str| {
            if own.starts_with('{') { !part.is_empty() } else { own == part }
        };
        self.path.split('/').all(|own| parts.next().is_some_and(|part| fits(own, part)))
            && parts.next().is_none()
    }

    /// Returns the parameter names and values of a matching path that has no escapes.
    pub(crate) fn values(&self, path: &str) -> Vec<(&'static str, String)> {
        let parts = self.path.split('/').zip(path.split('/'));
        let value = |(own, part): (&'static str, &str)| Some((name(own)?, part.to_owned()));
        parts.filter_map(value).collect()
    }

    /// Returns the parameter names in its path.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(name)
    }
}

/// Returns the name of a path segment that is a parameter, None for another segment.
fn name(part: &'static str) -> Option<&'static str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use crate::table::OPERATIONS;

    #[test]
    fn a_path_leads_to_one_operation_of_a_method_as_the_router_has_it() {
        for operation in OPERATIONS {
            let names: Vec<&str> = operation.parameters().collect();
            let parts = operation.path.split('/').map(|part| part.trim_matches(['{', '}']));
            let path = parts.collect::<Vec<_>>().join("/");
            let found = OPERATIONS
                .iter()
                .filter(|other| other.method == operation.method && other.is_at(&path));
            let found: Vec<&str> = found.map(|other| other.id).collect();
            assert_eq!(found, [operation.id], "{path}");
            // In this test each parameter's value is its own name.
            let values = names.iter().map(|name| (*name, (*name).to_owned()));
            assert_eq!(operation.values(&path), values.collect::<Vec<_>>());
            let empty =
                operation.path.split('/').map(|part| if part.starts_with('{') { "" } else { part });
            let empty = empty.collect::<Vec<_>>().join("/");
            assert_eq!(operation.is_at(&empty), names.is_empty(), "{empty}");
            for other in [format!("{path}/"), format!("{path}/more"), format!("/{path}")] {
                assert!(!operation.is_at(&other), "{other}");
            }
        }
    }
}
