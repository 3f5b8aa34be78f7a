//! `/v0/entities?start=ID&end=ID`: streams the entities of a range of ids in the order of the ids' bytes, each with its
//! value. Only one page of ids and a few values are in memory at a time, however long the range is.

use crate::entity::ID_LEN_MAX;
use crate::quorum::Quorum;
use crate::round::Failure;
use crate::search::{EntityFilter, READS, Search};
use crate::shared::Shared;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use percent_encoding::percent_encode;
use scurry_http::Problem;
use scurry_http::query::ESCAPED;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of ids that are known and not read yet. Each page goes through all entities of the nodes, so a
/// smaller page would use less memory and more time.
const IDS: usize = 4_000;

/// A range that is being streamed.
pub(crate) struct Range {
    pub(crate) start: Vec<u8>,
    /// First id after the range; None when the range has no end.
    pub(crate) end: Option<Vec<u8>>,
    /// Only ids greater than this one are left; the others have been read.
    pub(crate) after: Vec<u8>,
    pub(crate) quorum: Quorum,
    /// Maximum number of entities still to be sent.
    pub(crate) limit: usize,
    /// Ids that are known and not read yet.
    pub(crate) page: VecDeque<Vec<u8>>,
    /// More ids may follow the page.
    pub(crate) has_more: bool,
}

/// Answers 200 with a chunk per entity: its percent-encoded id, a line feed, its value. If too few nodes answer later,
/// the connection ends before the last chunk, so that the client notices.
pub(crate) async fn answer(shared: Arc<Shared>, mut range: Range) -> Result<Response, Problem> {
    // Read the first page before the status is sent: an error still gets its own status.
    range.look(&shared).await?;
    let steps = stream::try_unfold((shared, range), async |(shared, mut range)| {
        let read = range.step(&shared).await?;
        Ok::<_, Failure>(read.map(|entities| (entities, (shared, range))))
    });
    let each = |entities: Vec<Bytes>| stream::iter(entities.into_iter().map(Ok::<_, Failure>));
    let chunks = steps.map_ok(each).try_flatten();
    let mut response = Response::new(Body::from_stream(chunks));
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

impl Range {
    /// Reads the ids of the next page from the nodes.
    async fn look(&mut self, shared: &Shared) -> Result<(), Failure> {
        let wanted = EntityFilter::Range { start: &self.start, end: self.end.as_deref() };
        let limit = self.limit.min(IDS);
        let search = Search { wanted, after: &self.after, limit, id_len_max: ID_LEN_MAX };
        let found = shared.coordinator.candidates(search, self.quorum).await?;
        self.has_more = found.next.is_some();
        self.after = found.next.unwrap_or_default();
        self.page = found.ids.into();
        Ok(())
    }

    /// Reads the next entities; None at the end.
    async fn step(&mut self, shared: &Shared) -> Result<Option<Vec<Bytes>>, Failure> {
        if self.page.is_empty() && self.has_more && self.limit > 0 {
            self.look(shared).await?;
        }
        let count = self.page.len().min(self.limit).min(READS);
        let ids: Vec<Vec<u8>> = self.page.drain(..count).collect();
        if ids.is_empty() {
            // A page that is not the last has ids, so this is the end.
            return Ok(None);
        }
        let quorum = self.quorum;
        let reads = stream::iter(ids).map(|id| async move {
            let shown = shared.coordinator.get(&id, quorum).await?;
            Ok::<_, Failure>(shown.map(|shown| chunk(&id, &shown.bytes)))
        });
        let read: Vec<Option<Bytes>> = reads.buffered(READS).try_collect().await?;
        let read: Vec<Bytes> = read.into_iter().flatten().collect();
        self.limit -= read.len();
        Ok(Some(read))
    }
}

fn chunk(id: &[u8], value: &[u8]) -> Bytes {
    let mut chunk = percent_encode(id, ESCAPED).to_string().into_bytes();
    chunk.push(b'\n');
    chunk.extend_from_slice(value);
    chunk.into()
}
