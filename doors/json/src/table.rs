//! The table of all charging operations over HTTP.

use crate::holds::HOLDS_MAX;
use crate::list_cursor::{Cursor, LIMIT_MAX};
use crate::operation::{Method, OpenApiTag, Operation, OperationWork, Parameter, Retry, SchemaOf};
use crate::quantity::BoundedInteger;
use crate::statement::{self, ENTRIES_MAX, Position};
use crate::text::{AccountId, Id, Key, Name, Status};
use crate::{answer, answers_from_replies, body, build, chain, holds, sessions, totals};
use schemars::{JsonSchema, Schema, SchemaGenerator};

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const DONE: SchemaOf = schema_of::<answer::Done>;
const MOVED: SchemaOf = schema_of::<answer::Moved>;
const SESSION: SchemaOf = schema_of::<answer::SessionAnswer>;

const ACCOUNT: &str = "/v1/accounts/{account}";
const OF_SESSION: &str = "/v1/accounts/{account}/sessions/{session}";

const BLANK: Operation = Operation {
    id: "",
    tag: OpenApiTag::Accounts,
    method: Method::Post,
    path: ACCOUNT,
    command: "",
    notes: "",
    status: 200,
    retry: Retry::Key,
    query: &[],
    body: None,
    work: OperationWork::Account(build::get, answers_from_replies::moved),
    answer: MOVED,
};

pub(crate) static OPERATIONS: &[Operation] = &[
    Operation {
        id: "createAccount",
        method: Method::Put,
        command: "SCUR.CREATE",
        notes: "An account that exists is 409 and stays as it is; with an Idempotency-Key a retry gets the stored answer.",
        status: 201,
        retry: Retry::StateOrKey,
        body: Some((
            schema_of::<body::AccountCreation>,
            r#"{"buckets":[{"bucket":"main","unit":"cent","amount":1000},{"bucket":"data","unit":"octet","amount":5000000}]}"#,
        )),
        work: OperationWork::Account(build::create, answers_from_replies::done),
        answer: DONE,
        ..BLANK
    },
    Operation {
        id: "getAccount",
        method: Method::Get,
        command: "SCUR.GET",
        retry: Retry::Read,
        work: OperationWork::Account(build::get, answers_from_replies::account),
        answer: schema_of::<answer::AccountBody>,
        ..BLANK
    },
    Operation {
        id: "deleteAccount",
        method: Method::Delete,
        command: "SCUR.DELETE",
        retry: Retry::State,
        notes: "With `if_transaction` it is repeatable: an account that does not exist is 200 with version 0, and one that was made again meanwhile is 404 and stays.",
        query: &[
            Parameter {
                name: "force",
                required: false,
                schema: schema_of::<bool>,
                description: "Does not wait until remembered ids are forgotten.",
            },
            Parameter {
                name: "if_transaction",
                required: false,
                schema: schema_of::<Id>,
                description: "Deletes the account that remembers this transaction only; with force.",
            },
        ],
        work: OperationWork::Account(build::delete, answers_from_replies::done),
        answer: DONE,
        ..BLANK
    },
    Operation {
        id: "setStatus",
        method: Method::Put,
        path: "/v1/accounts/{account}/status",
        command: "SCUR.STATUS",
        retry: Retry::StateOrKey,
        body: Some((schema_of::<body::StatusChange>, r#"{"status":"active"}"#)),
        work: OperationWork::Account(build::status, answers_from_replies::done),
        answer: DONE,
        ..BLANK
    },
    Operation {
        id: "auditAccount",
        method: Method::Get,
        path: "/v1/accounts/{account}/audit",
        command: "SCUR.AUDIT",
        retry: Retry::Read,
        work: OperationWork::Account(build::audit, answers_from_replies::audit),
        answer: schema_of::<answer::Audit>,
        ..BLANK
    },
    Operation {
        id: "getHolds",
        method: Method::Get,
        path: "/v1/accounts/{account}/holds",
        command: "SCUR.HOLDS",
        notes: "The holds of the pages of one version add up to what each bucket says is held.",
        retry: Retry::Read,
        query: &[
            Parameter {
                name: "limit",
                required: false,
                schema: schema_of::<BoundedInteger<1, HOLDS_MAX>>,
                description: "Sessions of an answer at most.",
            },
            Parameter {
                name: "cursor",
                required: false,
                schema: schema_of::<Id>,
                description: "That of the answer before, to go on.",
            },
        ],
        work: OperationWork::Account(holds::build, holds::read),
        answer: schema_of::<answer::HoldsBody>,
        ..BLANK
    },
    Operation {
        id: "getTransaction",
        method: Method::Get,
        path: "/v1/accounts/{account}/transactions/{transaction}",
        command: "SCUR.TRANSACTION",
        notes: "The code is in the answer: 200 also tells of a denial. 404 says that the id is not remembered; the statement with `transaction` searches the log.",
        retry: Retry::Read,
        work: OperationWork::Account(holds::build_transaction, holds::read_transaction),
        answer: schema_of::<answer::TransactionBody>,
        ..BLANK
    },
    Operation {
        id: "getStatement",
        method: Method::Get,
        path: "/v1/accounts/{account}/statement",
        command: "SCUR.STATEMENT",
        notes: "The members of an entry are the fields of docs/events.md; times end in _ms. Go on with the \
                cursor of the answer, and with the same period and unit, until that is null: an answer goes \
                through a part of the log, and may have no entry although there are more. With newest_first the \
                newest entries come first, however long the log is. It has none and is no 404 for an account that there is not: one that was deleted is still in the log.",
        retry: Retry::Read,
        query: &[
            Parameter {
                name: "from_ms",
                required: false,
                schema: schema_of::<BoundedInteger<1>>,
                description: "Begin of the period, ms of the UNIX epoch.",
            },
            Parameter {
                name: "to_ms",
                required: false,
                schema: schema_of::<BoundedInteger<1>>,
                description: "End of the period, after its begin.",
            },
            Parameter {
                name: "unit",
                required: false,
                schema: schema_of::<Name>,
                description: "The unit.",
            },
            Parameter {
                name: "transaction",
                required: false,
                schema: schema_of::<Id>,
                description: "The entries of this transaction alone; the last of them is its answer.",
            },
            Parameter {
                name: "session",
                required: false,
                schema: schema_of::<Id>,
                description: "The entries of this session alone.",
            },
            Parameter {
                name: "limit",
                required: false,
                schema: schema_of::<BoundedInteger<1, ENTRIES_MAX>>,
                description: "Elements of an answer at most.",
            },
            Parameter {
                name: "cursor",
                required: false,
                schema: schema_of::<Position>,
                description: "That of the answer before, to go on.",
            },
            Parameter {
                name: "newest_first",
                required: false,
                schema: schema_of::<bool>,
                description: "The newest entry first, instead of the oldest.",
            },
        ],
        work: OperationWork::Store(statement::build, statement::read),
        answer: schema_of::<answer::StatementBody>,
        ..BLANK
    },
    Operation {
        id: "getTotals",
        tag: OpenApiTag::Store,
        method: Method::Get,
        path: "/v1/totals",
        command: "SCUR.TOTALS",
        notes: "Those of all nodes of the store, added up, with the check of conservation.",
        retry: Retry::Read,
        work: OperationWork::Store(build::totals, answers_from_replies::totals),
        answer: schema_of::<totals::TotalsBody>,
        ..BLANK
    },
    Operation {
        id: "listAccounts",
        method: Method::Get,
        path: "/v1/accounts",
        command: "SCUR.LIST",
        notes: "Begin without a cursor, and go on with the cursor of the answer until that is null. \
                An account that is there all the time is listed at least once; in a cluster while no \
                slot moves and no primary changes. A step looks at about `limit` keys, 100 unless it \
                says otherwise, and may list fewer accounts, also none.",
        retry: Retry::Read,
        query: &[
            Parameter {
                name: "cursor",
                required: false,
                schema: schema_of::<Cursor>,
                description: "That of the answer before, to go on.",
            },
            Parameter {
                name: "limit",
                required: false,
                schema: schema_of::<BoundedInteger<1, LIMIT_MAX>>,
                description: "Elements of an answer at most.",
            },
            Parameter {
                name: "prefix",
                required: false,
                schema: schema_of::<AccountId>,
                description: "Ids that begin so.",
            },
            Parameter {
                name: "status",
                required: false,
                schema: schema_of::<Status>,
                description: "Accounts of this status.",
            },
        ],
        work: OperationWork::Store(build::list, answers_from_replies::listed),
        answer: schema_of::<answer::AccountList>,
        ..BLANK
    },
    Operation {
        id: "findAccounts",
        method: Method::Get,
        path: "/v1/identities/{kind}/{value}",
        command: "SCUR.FIND",
        notes: "Every server of the store is asked; an identity without an account is an empty list. With `session` \
                the list has one account or none: that which has the session, also when the identity has moved to \
                another account since; else the one that gave the identity up last, else one that has it.",
        retry: Retry::Read,
        query: &[Parameter {
            name: "session",
            required: false,
            schema: schema_of::<Id>,
            description: "Finds the account of this session.",
        }],
        work: OperationWork::Store(build::find, answers_from_replies::found),
        answer: schema_of::<answer::FoundAccounts>,
        ..BLANK
    },
    Operation {
        id: "checkCredit",
        tag: OpenApiTag::Debits,
        method: Method::Get,
        path: "/v1/accounts/{account}/check",
        command: "SCUR.CHECK",
        notes: "The code is in the answer: 200 also says no.",
        retry: Retry::Read,
        query: &[
            Parameter {
                name: "unit",
                required: true,
                schema: schema_of::<Name>,
                description: "The unit.",
            },
            Parameter {
                name: "amount",
                required: true,
                schema: schema_of::<BoundedInteger<1>>,
                description: "The amount.",
            },
            Parameter {
                name: "item",
                required: false,
                schema: schema_of::<Key>,
                description: "Key of the item that would get it; without one the buckets for some items do not count.",
            },
        ],
        work: OperationWork::Account(build::check, answers_from_replies::checked),
        answer: schema_of::<answer::Checked>,
        ..BLANK
    },
    Operation {
        id: "topUp",
        tag: OpenApiTag::Buckets,
        path: "/v1/accounts/{account}/top-ups",
        command: "SCUR.TOPUP",
        body: Some((schema_of::<body::TopUp>, r#"{"bucket":"main","amount":500}"#)),
        work: OperationWork::Account(build::top_up, answers_from_replies::moved),
        ..BLANK
    },
    Operation {
        id: "adjust",
        tag: OpenApiTag::Buckets,
        path: "/v1/accounts/{account}/adjustments",
        command: "SCUR.ADJUST",
        body: Some((schema_of::<body::Adjustment>, r#"{"bucket":"main","amount":-20}"#)),
        work: OperationWork::Account(build::adjust, answers_from_replies::moved),
        ..BLANK
    },
    Operation {
        id: "changeBucket",
        tag: OpenApiTag::Buckets,
        method: Method::Patch,
        path: "/v1/accounts/{account}/buckets/{bucket}",
        command: "SCUR.BUCKET",
        body: Some((schema_of::<body::BucketChange>, r#"{"floor":-100}"#)),
        work: OperationWork::Account(build::change_bucket, answers_from_replies::moved),
        ..BLANK
    },
    Operation {
        id: "removeBucket",
        tag: OpenApiTag::Buckets,
        method: Method::Delete,
        path: "/v1/accounts/{account}/buckets/{bucket}",
        command: "SCUR.BUCKET",
        notes: "This one removes it.",
        work: OperationWork::Account(build::remove_bucket, answers_from_replies::moved),
        ..BLANK
    },
    Operation {
        id: "debit",
        tag: OpenApiTag::Debits,
        path: "/v1/accounts/{account}/debits",
        command: "SCUR.DEBIT",
        body: Some((schema_of::<body::Debit>, r#"{"unit":"cent","amount":30}"#)),
        work: OperationWork::Account(build::debit, answers_from_replies::moved),
        ..BLANK
    },
    Operation {
        id: "refund",
        tag: OpenApiTag::Debits,
        path: "/v1/accounts/{account}/refunds",
        command: "SCUR.REFUND",
        body: Some((schema_of::<body::Refund>, r#"{"debit":"order-77","amount":10}"#)),
        work: OperationWork::Account(build::refund, answers_from_replies::moved),
        ..BLANK
    },
    Operation {
        id: "transfer",
        tag: OpenApiTag::Debits,
        path: "/v1/accounts/{account}/transfers",
        command: "SCUR.TRANSFER",
        notes: "Repeat the request to see whether it has arrived.",
        body: Some((
            schema_of::<body::Transfer>,
            r#"{"unit":"cent","amount":5,"payee":"bob","bucket":"main"}"#,
        )),
        work: OperationWork::Account(build::transfer, answers_from_replies::transfer),
        answer: schema_of::<answer::TransferAnswer>,
        ..BLANK
    },
    Operation {
        id: "count",
        tag: OpenApiTag::Limits,
        path: "/v1/accounts/{account}/counters/{counter}",
        command: "SCUR.COUNTER",
        body: Some((schema_of::<body::Count>, r#"{"amount":1,"period":"day"}"#)),
        work: OperationWork::Account(build::count, answers_from_replies::moved),
        ..BLANK
    },
    Operation {
        id: "setLimit",
        tag: OpenApiTag::Limits,
        method: Method::Put,
        path: "/v1/accounts/{account}/limits/{limit}",
        command: "SCUR.LIMIT",
        body: Some((
            schema_of::<body::LimitSetting>,
            r#"{"unit":"cent","amount":500,"period":"day"}"#,
        )),
        work: OperationWork::Account(build::set_limit, answers_from_replies::moved),
        ..BLANK
    },
    Operation {
        id: "removeLimit",
        tag: OpenApiTag::Limits,
        method: Method::Delete,
        path: "/v1/accounts/{account}/limits/{limit}",
        command: "SCUR.LIMIT",
        notes: "This one removes it.",
        work: OperationWork::Account(build::remove_limit, answers_from_replies::moved),
        ..BLANK
    },
    Operation {
        id: "chain",
        tag: OpenApiTag::Chains,
        path: "/v1/chains",
        command: "SCUR.CHAIN",
        notes: "Each command is one of reserve, update, terminate, debit, top_up and refund, with what its request says in path, Idempotency-Key (`transaction`) and body. A command asks for its own role. Send the same commands again when the outcome is unknown.",
        retry: Retry::Commands,
        body: Some((
            schema_of::<chain::Chain>,
            r#"{"commands":[{"account":"{bank}alice","operation":"debit","transaction":"move-1","unit":"cent","amount":30},{"account":"{bank}bob","operation":"top_up","transaction":"move-1","bucket":"main","amount":30}]}"#,
        )),
        work: OperationWork::Account(chain::chain, answers_from_replies::chain),
        answer: schema_of::<answer::ChainAnswer>,
        ..BLANK
    },
    Operation {
        id: "listSessions",
        tag: OpenApiTag::Sessions,
        method: Method::Get,
        path: "/v1/accounts/{account}/sessions",
        command: "SCUR.GET",
        notes: "This one shows the open sessions alone.",
        retry: Retry::Read,
        work: OperationWork::Account(build::get, answers_from_replies::sessions),
        answer: schema_of::<answer::Sessions>,
        ..BLANK
    },
    Operation {
        id: "createSession",
        tag: OpenApiTag::Sessions,
        path: OF_SESSION,
        command: "SCUR.RESERVE",
        status: 201,
        retry: Retry::Request,
        body: Some((
            schema_of::<sessions::SessionOpening>,
            r#"{"request":0,"items":[{"key":1,"unit":"octet","requested":1000000}]}"#,
        )),
        work: OperationWork::Account(sessions::reserve, answers_from_replies::session),
        answer: SESSION,
        ..BLANK
    },
    Operation {
        id: "getSession",
        tag: OpenApiTag::Sessions,
        method: Method::Get,
        path: OF_SESSION,
        command: "SCUR.SESSION",
        retry: Retry::Read,
        work: OperationWork::Account(sessions::get_session, sessions::open_session),
        answer: schema_of::<answer::OpenSession>,
        ..BLANK
    },
    Operation {
        id: "updateSession",
        tag: OpenApiTag::Sessions,
        path: "/v1/accounts/{account}/sessions/{session}/update",
        command: "SCUR.UPDATE",
        retry: Retry::Request,
        body: Some((
            schema_of::<sessions::SessionUpdate>,
            r#"{"request":1,"items":[{"key":1,"unit":"octet","used":800000,"requested":1000000}]}"#,
        )),
        work: OperationWork::Account(sessions::update, answers_from_replies::session),
        answer: SESSION,
        ..BLANK
    },
    Operation {
        id: "terminateSession",
        tag: OpenApiTag::Sessions,
        path: "/v1/accounts/{account}/sessions/{session}/terminate",
        command: "SCUR.TERMINATE",
        retry: Retry::Request,
        body: Some((
            schema_of::<sessions::SessionEnd>,
            r#"{"request":2,"items":[{"key":1,"unit":"octet","used":1200}]}"#,
        )),
        work: OperationWork::Account(sessions::terminate, answers_from_replies::session),
        answer: SESSION,
        ..BLANK
    },
    Operation {
        id: "releaseSession",
        tag: OpenApiTag::Sessions,
        method: Method::Delete,
        path: OF_SESSION,
        command: "SCUR.RELEASE",
        retry: Retry::StateOrKey,
        query: &[Parameter {
            name: "cancel",
            required: false,
            schema: schema_of::<bool>,
            description: "Ends a session that is not known yet, too: should its opening come later, it opens nothing.",
        }],
        work: OperationWork::Account(sessions::release, answers_from_replies::session),
        answer: SESSION,
        ..BLANK
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use axum::http::{HeaderMap, HeaderValue};
    use std::collections::BTreeSet;

    #[test]
    fn every_operation_has_its_command_and_an_example_that_is_one() {
        let mut ids = BTreeSet::new();
        for operation in OPERATIONS {
            assert!(ids.insert(operation.id), "{} stands twice", operation.id);
            let spec = scurry_resp::table::find(operation.command.as_bytes());
            assert_eq!(spec.expect(operation.id).name, operation.command);
            let mut headers = HeaderMap::new();
            headers.insert("content-type", HeaderValue::from_static("application/json"));
            headers.insert("idempotency-key", HeaderValue::from_static("key-1"));
            let input = Input {
                params: operation.parameters().map(|name| (name, "x".into())).collect(),
                query: (operation.id == "checkCredit").then(|| "unit=cent&amount=1".into()),
                headers,
                body: operation.body.map_or("", |(_, example)| example).into(),
                user: None,
            };
            let words = match operation.work {
                OperationWork::Account(build, _) => build(&input).expect(operation.id).arguments(),
                OperationWork::Store(build, _) => build(&input).expect(operation.id).arguments(),
            };
            assert_eq!(words.iter().next(), Some(operation.command.as_bytes()), "{}", operation.id);
            assert!(spec.expect("it is there").accepts(words.len()), "{}", operation.id);
        }
    }
}
