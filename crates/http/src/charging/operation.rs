//! What an operation is: the one description from which its route, its role, its answers and its
//! page in the OpenAPI document come.

use super::answer::Answer;
use super::input::Input;
use super::words::Words;
use crate::problem::Problem;
use redis::Value;
use schemars::{Schema, SchemaGenerator};
use scurry_resp::table::{Spec, find};
use scurry_service::{Reply, Request};

/// One operation of the table.
pub(crate) struct Operation {
    /// The `operationId`.
    pub(crate) id: &'static str,
    /// Group of operations that it belongs to.
    pub(crate) tag: Tag,
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The command that it runs: its role, its codes and its summary are the operation's.
    pub(crate) command: &'static str,
    /// Notes beyond the summary of the command.
    pub(crate) notes: &'static str,
    /// The status of what was done.
    pub(crate) status: u16,
    /// Reason why it is safe to send it again.
    pub(crate) retry: Retry,
    /// Parameters of the query.
    pub(crate) query: &'static [Parameter],
    /// The schema of its body, where it has one, and an example.
    pub(crate) body: Option<(SchemaOf, &'static str)>,
    /// How it is carried out.
    pub(crate) work: Work,
    /// The schema of the answer.
    pub(crate) answer: SchemaOf,
}

pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Groups of operations. Generated clients have a class for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Accounts,
    Buckets,
    Debits,
    Limits,
    Sessions,
    Chains,
    Store,
}

impl Tag {
    pub(crate) const ALL: [Tag; 7] = [
        Tag::Accounts,
        Tag::Buckets,
        Tag::Debits,
        Tag::Limits,
        Tag::Sessions,
        Tag::Chains,
        Tag::Store,
    ];

    /// Name of the group, and what is in it.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Tag::Accounts => (
                "accounts",
                "Accounts, their status and identities, and what has happened to them.",
            ),
            Tag::Buckets => ("buckets", "Credit: top-ups, corrections, allowances, credit limits."),
            Tag::Debits => ("debits", "Amounts that are debited at once, and refunds."),
            Tag::Limits => ("limits", "Counters, and limits of use and of open sessions."),
            Tag::Sessions => ("sessions", "Reserve an estimate, report the use, settle."),
            Tag::Chains => {
                ("chains", "Commands on several accounts that are all carried out or none.")
            }
            Tag::Store => ("store", "The store as a whole, and this interface."),
        }
    }
}

/// How an operation is carried out: a function from its input to what is asked of the store, and one from the reply to
/// the answer; that one returns none where the reply has another shape than the request's.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// On accounts that the request names.
    Account(fn(&Input) -> Result<Request, Problem>, fn(Reply) -> Option<Answer>),
    /// On the store as a whole, by a command in words.
    Store(fn(&Input) -> Result<Words, Problem>, Asked, fn(&Value) -> Option<Answer>),
}

/// Servers of the store that an operation asks.
#[derive(Clone, Copy)]
pub(crate) enum Asked {
    /// The owner of the account.
    Owner,
    /// Every server; the reply is the array of theirs.
    Everyone,
    /// The server of the number that a request says; the reply is an array of that number, of 1 when it is
    /// the last server, and of its reply: nil where there are fewer servers.
    One(fn(&Input) -> usize),
}

/// The methods that there are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Put,
    Post,
    Patch,
    Delete,
}

impl Method {
    /// As OpenAPI writes it.
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
pub(crate) enum Retry {
    /// A request that changes nothing.
    Read,
    /// The header Idempotency-Key.
    Key,
    /// The request number in the body.
    Request,
    /// The ids of its commands.
    Commands,
    /// A request that says what is to be, and may be said twice.
    State,
    /// As [`Retry::State`], and where the header Idempotency-Key is given as [`Retry::Key`].
    StateOrKey,
}

impl Retry {
    /// Advice for when the outcome is unknown.
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

/// A parameter of the query.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) schema: SchemaOf,
    pub(crate) description: &'static str,
}

impl Operation {
    /// The entry of its command in the one table.
    pub(crate) fn spec(&self) -> &'static Spec {
        find(self.command.as_bytes()).expect("a test looks every operation up")
    }

    /// The path of a request is one of its own.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        // A parameter is never empty.
        let fits = |own: &str, part: &str| {
            if own.starts_with('{') { !part.is_empty() } else { own == part }
        };
        self.path.split('/').all(|own| parts.next().is_some_and(|part| fits(own, part)))
            && parts.next().is_none()
    }

    /// The names and values of such a path without escapes.
    pub(crate) fn values(&self, path: &str) -> Vec<(&'static str, String)> {
        let parts = self.path.split('/').zip(path.split('/'));
        let value = |(own, part): (&'static str, &str)| Some((name(own)?, part.to_owned()));
        parts.filter_map(value).collect()
    }

    /// The names in its path.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(name)
    }
}

/// The name of a part of a path that is a parameter.
fn name(part: &'static str) -> Option<&'static str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use super::super::table::OPERATIONS;

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
            // Each parameter has its own name as its value here.
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
