//! What the routes of the door share.

use crate::metrics::{self, Metrics};
use crate::notices::Consumers;
use crate::nrf_thread::NrfThread;
use crate::recent_sessions::RecentSessions;
use crate::settings::{NchfError, NchfSettings, NotifySettings};
use scurry_sbi::{TokenCheck, TokenKeys};
use scurry_server::{Exposition, MetricKind};
use scurry_service::Service;
use scurry_service_table::ServiceTable;
use scurry_session_notices::{NoticeCounters, NoticesThread};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::runtime::Handle;

/// The door to charging as 5G has it, before one store. It keeps nothing of a request that it has answered.
pub struct NchfDoor {
    pub(crate) store: Arc<dyn Service>,
    table: RwLock<Arc<ServiceTable>>,
    pub(crate) settings: NchfSettings,
    pub(crate) token_check: Option<Arc<TokenCheck>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) recent: Arc<RecentSessions>,
    notices: Arc<NoticeCounters>,
    _notices_thread: Option<NoticesThread>,
    /// None without a registration, or when it is over.
    nrf_thread: Mutex<Option<NrfThread>>,
}

impl NchfDoor {
    /// Charges requests in this store, by this table of services. `events` makes the store whose events are followed, on
    /// the thread of notifications; `port` is the one that consumers send requests to.
    ///
    /// # Errors
    /// When the settings are wrong, or a file that they name.
    pub fn new(
        store: Arc<dyn Service>,
        events: impl FnOnce(&Handle) -> Arc<dyn Service>,
        table: ServiceTable,
        settings: NchfSettings,
        port: u16,
    ) -> Result<Arc<NchfDoor>, NchfError> {
        let table = RwLock::new(Arc::new(table));
        let token_check = settings.token_check()?.map(Arc::new);
        let (metrics, notices) = (Arc::<Metrics>::default(), Arc::new(NoticeCounters::default()));
        let recent = Arc::<RecentSessions>::default();
        let client = settings.notify.as_ref().map(NotifySettings::client).transpose()?;
        let start = |client| {
            let (metrics, recent) = (Arc::clone(&metrics), Arc::clone(&recent));
            let consumers = Consumers { client, metrics, recent };
            NoticesThread::start(events, Arc::new(consumers), Arc::clone(&notices))
        };
        let _notices_thread = client.map(start).transpose()?;
        let nrf_thread = settings.registration(port)?.map(NrfThread::start).transpose()?;
        Ok(Arc::new(NchfDoor {
            store,
            table,
            settings,
            token_check,
            metrics,
            recent,
            notices,
            _notices_thread,
            nrf_thread: Mutex::new(nrf_thread),
        }))
    }

    /// Charges later requests by another table, and reads the keys of tokens again.
    ///
    /// # Errors
    /// When a key cannot be read: nothing is replaced.
    pub fn reload(&self, table: ServiceTable) -> Result<(), NchfError> {
        if let (Some(check), Some(oauth)) = (&self.token_check, &self.settings.oauth2) {
            check.replace_keys(TokenKeys::read(&oauth.keys)?);
        }
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        Ok(())
    }

    /// Deregisters the door, before it closes. Blocks for about a second at most.
    pub fn deregister(&self) {
        let thread = self.nrf_thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.end();
        }
    }

    /// Adds the counters of the door to a page of metrics.
    pub fn show(&self, page: &mut Exposition) {
        if let Some(thread) = &*self.nrf_thread.lock().unwrap_or_else(PoisonError::into_inner) {
            metrics::show_nrf(&thread.view(), page);
        }
        self.metrics.show(page);
        let counts = self.notices.snapshot();
        let help =
            "Notifications of Nchf after a top-up or a change of status, by what became of them.";
        page.metric("scurry_nchf_notices_total", MetricKind::Counter, help);
        for (outcome, count) in counts.by_outcome() {
            page.sample(&[("outcome", outcome)], count);
        }
    }

    pub(crate) fn table(&self) -> Arc<ServiceTable> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }
}
