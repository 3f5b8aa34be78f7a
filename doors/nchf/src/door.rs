//! What the routes of the door share.

use crate::metrics::Metrics;
use crate::settings::{NchfError, NchfSettings};
use scurry_sbi::{TokenCheck, TokenKeys};
use scurry_server::Exposition;
use scurry_service::Service;
use scurry_service_table::ServiceTable;
use std::sync::{Arc, PoisonError, RwLock};

/// The door to charging as 5G has it, before one store. It keeps nothing of a request that it has answered.
pub struct NchfDoor {
    pub(crate) store: Arc<dyn Service>,
    table: RwLock<Arc<ServiceTable>>,
    pub(crate) settings: NchfSettings,
    pub(crate) token_check: Option<Arc<TokenCheck>>,
    pub(crate) metrics: Metrics,
}

impl NchfDoor {
    /// Charges requests in this store, by this table of services.
    ///
    /// # Errors
    /// When the settings are wrong, or a file that they name.
    pub fn new(
        store: Arc<dyn Service>,
        table: ServiceTable,
        settings: NchfSettings,
    ) -> Result<Arc<NchfDoor>, NchfError> {
        let table = RwLock::new(Arc::new(table));
        let token_check = settings.token_check()?.map(Arc::new);
        let metrics = Metrics::default();
        Ok(Arc::new(NchfDoor { store, table, settings, token_check, metrics }))
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

    /// Adds the counters of the door to a page of metrics.
    pub fn show(&self, page: &mut Exposition) {
        self.metrics.show(page);
    }

    pub(crate) fn table(&self) -> Arc<ServiceTable> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }
}
