//! Finds the sessions that an event concerns, and has their notices delivered.

use crate::causes::Cause;
use crate::counts::NoticeCounters;
use crate::jitter::random_part;
use crate::notice::{Delivery, Notice, NoticeAction, Notifier};
use scurry_ledger::{Id, Standing, Status};
use scurry_service::{CallError, Read, Reply, Request, Service, SessionView};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Most accounts that are under way. More are missed.
const ACCOUNTS_MAX: usize = 10_000;
/// Most accounts whose sessions are read at the same time.
const READS_MAX: usize = 32;
/// Most open sessions of an account: each is read.
const SESSIONS_MAX: usize = 256;
/// Longest delay before a notice. Of doors that are equally near to the session, the first to act makes the others
/// superfluous.
const DELAY_MAX: Duration = Duration::from_millis(200);
/// How much later a door acts that is not near to the session: the client has asked by then.
const FAR_DELAY: Duration = Duration::from_secs(2);
/// Pauses before a delivery is repeated.
const PAUSES: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(16)];

/// Finds sessions and has notices delivered, each account in a task of its own.
pub(crate) struct Teller {
    context: Arc<TaskContext>,
    under_way: Arc<Semaphore>,
}

/// What the tasks of all accounts share.
struct TaskContext {
    store: Arc<dyn Service>,
    notifier: Arc<dyn Notifier>,
    counters: Arc<NoticeCounters>,
    reads: Semaphore,
    /// Notices under way, so that many top-ups of one account make one notice for each session.
    notices: Mutex<BTreeMap<NoticeKey, NoticeAction>>,
}

/// Account, session, and version of the session.
type NoticeKey = (Vec<u8>, Vec<u8>, u64);

/// A session that is due for a notice.
struct Due {
    session: Id,
    /// Version of the session when it was found: another one means that its client has asked since.
    version: u64,
    action: NoticeAction,
}

impl Due {
    fn key(&self, account: &[u8]) -> NoticeKey {
        (account.to_vec(), self.session.as_bytes().to_vec(), self.version)
    }
}

impl Teller {
    pub(crate) fn new(
        store: Arc<dyn Service>,
        notifier: Arc<dyn Notifier>,
        counters: Arc<NoticeCounters>,
    ) -> Teller {
        let (reads, notices) = (Semaphore::new(READS_MAX), Mutex::default());
        let context = TaskContext { store, notifier, counters, reads, notices };
        Teller { context: Arc::new(context), under_way: Arc::new(Semaphore::new(ACCOUNTS_MAX)) }
    }

    /// Counts events that make no notice.
    pub(crate) fn missed(&self) {
        self.context.counters.missed();
    }

    /// Begins to notify the sessions of an account.
    pub(crate) fn tell(&self, id: Vec<u8>, cause: Cause) {
        let Ok(place) = Arc::clone(&self.under_way).try_acquire_owned() else {
            return self.missed();
        };
        let context = Arc::clone(&self.context);
        tokio::spawn(async move {
            context.notify(&id, &cause).await;
            drop(place);
        });
    }
}

impl TaskContext {
    async fn notify(self: &Arc<Self>, id: &[u8], cause: &Cause) {
        let mut due = match self.due(id, cause).await {
            Ok(due) => due,
            Err(error) => {
                tracing::debug!("the sessions of an account cannot be read: {error}");
                return self.counters.missed();
            }
        };
        due.retain(|due| self.begin(id, due));
        if due.is_empty() {
            return;
        }
        sleep(random_part(DELAY_MAX)).await;
        let mut deliveries = JoinSet::new();
        for due in due {
            let (context, id, cause) = (Arc::clone(self), id.to_vec(), cause.clone());
            deliveries.spawn(async move {
                let key = due.key(&id);
                if !context.notifier.is_near(&id, &due.session) {
                    sleep(FAR_DELAY).await;
                }
                context.deliver(&id, &cause, due).await;
                context.notices().remove(&key);
            });
        }
        deliveries.join_all().await;
    }

    /// Returns the open sessions of the account that are due for a notice of this door.
    async fn due(&self, id: &[u8], cause: &Cause) -> Result<Vec<Due>, CallError> {
        let _reading = self.reads.acquire().await;
        let read = Request::Read(Read::Account { account: id.to_vec() });
        let account = match self.store.call(read).await {
            Ok(Reply::Account(account)) => account,
            Ok(_) => return Err(CallError::WrongShape),
            // The account was deleted meanwhile.
            Err(CallError::Refused(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        if account.sessions.len() > SESSIONS_MAX {
            self.counters.missed();
            return Ok(Vec::new());
        }
        let mut due = Vec::new();
        for row in &account.sessions {
            let Some(view) = self.session(id, &row.id).await? else { continue };
            let Some(action) = action(&view, cause) else { continue };
            if self.notifier.reaches(&view.blob) {
                let session = row.id.clone();
                due.push(Due { session, version: view.row.version, action });
            }
        }
        Ok(due)
    }

    /// Notes a notice that begins. Returns false if it is under way.
    fn begin(&self, account: &[u8], due: &Due) -> bool {
        let before = self.notices().insert(due.key(account), due.action.clone());
        before.is_none_or(|before| before != due.action)
    }

    fn notices(&self) -> MutexGuard<'_, BTreeMap<NoticeKey, NoticeAction>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a session; None if it is not open.
    async fn session(&self, account: &[u8], id: &Id) -> Result<Option<SessionView>, CallError> {
        let session = id.as_bytes().to_vec();
        let read = Request::Read(Read::Session { account: account.to_vec(), session });
        match self.store.call(read).await {
            Ok(Reply::Session(view)) => Ok(Some(*view)),
            Ok(_) => Err(CallError::WrongShape),
            Err(CallError::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Has a notice delivered, several times if need be, as long as the session is as it was.
    async fn deliver(&self, account: &[u8], cause: &Cause, due: Due) {
        for pause in PAUSES.into_iter().map(Some).chain([None]) {
            match self.session(account, &due.session).await {
                Ok(view) => {
                    let same = view.filter(|view| view.row.version == due.version);
                    let Some((action, view)) =
                        same.and_then(|view| Some((action(&view, cause)?, view)))
                    else {
                        return self.counters.superseded();
                    };
                    self.counters.sent();
                    let session = due.session.clone();
                    let notice = Notice { session, data: view.blob, action };
                    match self.notifier.deliver(notice).await {
                        Delivery::Done => return self.counters.delivered(),
                        Delivery::Refused => return self.counters.given_up(),
                        Delivery::Failed => {}
                    }
                }
                Err(error) => tracing::debug!("a session cannot be read: {error}"),
            }
            let Some(pause) = pause else { break };
            sleep(pause).await;
        }
        self.counters.given_up();
    }
}

/// Returns what the client of a session is to do after an event, if anything.
fn action(view: &SessionView, cause: &Cause) -> Option<NoticeAction> {
    if view.account.status != Status::Active {
        return Some(NoticeAction::End);
    }
    let items = view
        .items
        .iter()
        .filter(|item| item.standing != Standing::Granted && cause.concerns(item.unit.as_bytes()));
    let keys: Vec<_> = items.map(|item| item.key).collect();
    (!keys.is_empty()).then_some(NoticeAction::AskAgain(keys))
}
