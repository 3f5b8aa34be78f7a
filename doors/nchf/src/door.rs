//! What the routes of the door share.

use crate::metrics::Metrics;
use crate::settings::NchfSettings;
use scurry_server::Exposition;
use scurry_service::Service;
use scurry_service_table::ServiceTable;
use std::sync::{Arc, PoisonError, RwLock};

/// The door to charging as 5G has it, before one store. It keeps nothing of a request that it has answered.
pub struct NchfDoor {
    pub(crate) store: Arc<dyn Service>,
    table: RwLock<Arc<ServiceTable>>,
    pub(crate) settings: NchfSettings,
    pub(crate) metrics: Metrics,
}

impl NchfDoor {
    /// Charges requests in this store, by this table of services.
    pub fn new(
        store: Arc<dyn Service>,
        table: ServiceTable,
        settings: NchfSettings,
    ) -> Arc<NchfDoor> {
        let table = RwLock::new(Arc::new(table));
        Arc::new(NchfDoor { store, table, settings, metrics: Metrics::default() })
    }

    /// Charges later requests by another table.
    pub fn replace_table(&self, table: ServiceTable) {
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
    }

    /// Adds the counters of the door to a page of metrics.
    pub fn show(&self, page: &mut Exposition) {
        self.metrics.show(page);
    }

    pub(crate) fn table(&self) -> Arc<ServiceTable> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }
}
