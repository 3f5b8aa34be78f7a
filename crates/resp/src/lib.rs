//! RESP2 and RESP3 framing, THE command table, the grammar of SCUR commands, and the form of their replies. Pure: bytes
//! in, bytes out; no sockets, no clock, no state of the store.
#![forbid(unsafe_code)]

mod args;
mod arguments;
mod chain;
pub mod client;
mod decimal;
mod entity_reply;
mod entity_request;
mod fault;
mod find_request;
mod follow_request;
mod grammar;
mod image_request;
mod inline;
mod limits;
mod list_request;
mod number;
mod options;
mod piece;
pub mod plain;
mod read;
mod reference;
mod render;
mod reply;
mod request;
mod requests;
mod scratch;
mod session_options;
mod shared_errors;
mod slot;
mod statement_request;
pub mod table;
mod table_json;

pub use args::Args;
pub use arguments::{Argument, ArgumentKind, arguments};
pub use chain::{Chain, ChainFault, ChainScratch, chained, parse_chain};
pub use entity_reply::{EntityReplyFields, entity_answer, entity_write_answer};
pub use entity_request::{
    EntityFind, EntityOptions, parse_entity_del, parse_entity_find, parse_entity_get,
    parse_entity_put,
};
pub use fault::Fault;
pub use find_request::{FIND_MAX, FindRequest, FoundAccounts, parse_find};
pub use follow_request::{BLOCK_MS_MAX, COUNT_MAX, FollowRequest, LOWS_MAX, parse_follow};
pub use grammar::{Read, Write, parse_read, parse_write};
pub use image_request::{LoadRequest, parse_dump, parse_load};
pub use limits::{IDENTITIES_MAX, LIMIT_MS_MAX, LimitFault, check_limits, set_limit};
pub use list_request::{LIST_COUNT_MAX, ListRequest, list_row, parse_list};
pub use number::parse_integer;
pub use piece::{Piece, Pieces};
pub use read::{
    ENDED_SESSION, UNKNOWN_ACCOUNT, UNKNOWN_SESSION, UNKNOWN_TRANSACTION, unknown_account,
};
pub use reference::{ReferencePage, details, reference, reference_pages};
pub use render::{
    account_map, answer, audit_map, cause_text, chain_answers, chain_rejection, chain_wrong_type,
    check_answer, holds_map, reject, rejection, session_map, totals_map, transaction_map,
    transfer_state,
};
pub use reply::{Protocol, Reply};
pub use request::{Parsed, Parser, ProtocolError, RequestLimits, UNAUTHENTICATED_REQUEST_LEN_MAX};
pub use requests::Requests;
pub use scratch::{LowRequest, Scratch};
pub use scurry_service::{Position, WatchStart};
pub use shared_errors::{
    CHAIN_CROSS_SLOT, CROSS_SLOT, NO_INDEX_OF_MODULE, NO_LOG, NO_LOG_OF_MODULE, OUT_OF_MEMORY,
    WRONG_TYPE, is_unsupported_error,
};
pub use slot::{SLOTS, slot};
pub use statement_request::{StatementRequest, parse_statement};
pub use table_json::table_json;
