//! Follows the events of a store.

use crate::causes::{self, NAMES};
use crate::counts::NoticeCounters;
use crate::notice::Notifier;
use crate::teller::Teller;
use scurry_service::{CallError, EventId, Events, Follow, FollowFrom, Position, Service};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Most events of one read.
const COUNT: u16 = 1_000;
/// Pause between reads, unless there are more events than one read returns.
const POLL: Duration = Duration::from_millis(50);
/// Pause after a store has not answered.
const UNREACHED: Duration = Duration::from_secs(1);
/// Pause after a store has said that it has no events: it may be started in another way later.
const WITHOUT_EVENTS: Duration = Duration::from_secs(30);

/// Follows the events of a store from now on, and has notices delivered. It never ends: drop the future to end it.
pub async fn follow(
    store: Arc<dyn Service>,
    notifier: Arc<dyn Notifier>,
    counters: Arc<NoticeCounters>,
) {
    let words = notifier.words();
    let teller = Teller::new(Arc::clone(&store), notifier, Arc::clone(&counters));
    // Whether the store had events before: then a refusal passes, as that of a node which does not lead any more.
    let mut has_followed = false;
    let mut has_told = false;
    loop {
        match begin(&*store).await {
            Ok(mut positions) => {
                tracing::info!("clients are asked again after a top-up ({words})");
                (has_followed, has_told) = (true, false);
                let error = read_on(&*store, &mut positions, &teller).await;
                // What was committed between the last read and the next beginning makes no notice.
                counters.missed();
                tracing::warn!("the events of the store cannot be read on: {error}");
            }
            Err(CallError::Refused(refusal)) if !has_followed => {
                if !has_told {
                    tracing::warn!(
                        "clients are not asked again after a top-up (no {words}): the store has no events: \
                         {refusal}"
                    );
                    has_told = true;
                }
                sleep(WITHOUT_EVENTS).await;
            }
            Err(error) => {
                tracing::debug!("the events of the store cannot be read: {error}");
                sleep(UNREACHED).await;
            }
        }
    }
}

fn read(from: FollowFrom) -> Follow {
    Follow { from, count: COUNT, names: NAMES.to_vec() }
}

/// Returns the present end of the events of each thread.
async fn begin(store: &dyn Service) -> Result<Vec<Position>, CallError> {
    let mut ends = Vec::new();
    loop {
        let thread = u16::try_from(ends.len()).unwrap_or(u16::MAX);
        match store.follow(read(FollowFrom::Newest(thread))).await {
            Ok(Events { next, .. }) => ends.push(next),
            // There is no thread with this number.
            Err(CallError::Refused(_)) if !ends.is_empty() => return Ok(ends),
            Err(error) => return Err(error),
        }
    }
}

/// Reads events and passes them on, until they cannot be read from these positions.
async fn read_on(store: &dyn Service, positions: &mut [Position], teller: &Teller) -> CallError {
    loop {
        let mut has_more = false;
        for position in &mut *positions {
            let read = match store.follow(read(FollowFrom::At(*position))).await {
                Ok(read) => read,
                Err(error @ CallError::Refused(_)) => return error,
                Err(error) => {
                    tracing::debug!("the events of the store cannot be read: {error}");
                    sleep(UNREACHED).await;
                    continue;
                }
            };
            if read.events.iter().any(|event| matches!(event.id, EventId::Missed { .. })) {
                teller.missed();
            }
            causes::join(&read.events).into_iter().for_each(|(account, cause)| {
                teller.tell(account, cause);
            });
            has_more |= read.events.len() >= usize::from(COUNT);
            *position = read.next;
        }
        // Under load the end moves on: a read without a pause would keep a core busy for a few events.
        if !has_more {
            sleep(POLL).await;
        }
    }
}
