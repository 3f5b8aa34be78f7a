//! Charges credit-control requests: what each asks of the store, and the answer to it. It knows no sockets.

mod answer;
mod asked_service;
pub(crate) mod client_data;
mod event;
mod failure;
mod ids;
mod session;
mod subscriber;
mod units;

pub use answer::Answer;

use scurry_diameter::ccr::{CreditControlRequest, RequestType, Scratch};
use scurry_diameter::{Message, Refusal};
use scurry_service::Service;
use scurry_service_table::ServiceTable;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

/// The future of an answer. Dropping it discards the answer, but does not cancel what the store was asked.
pub type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Charges requests in one store, by one table of services. It keeps nothing of a request that it has answered.
pub struct Charging {
    store: Arc<dyn Service>,
    table: RwLock<Arc<ServiceTable>>,
}

impl Charging {
    /// Charges requests in this store, by this table.
    pub fn new(store: Arc<dyn Service>, table: ServiceTable) -> Charging {
        Charging { store, table: RwLock::new(Arc::new(table)) }
    }

    /// Charges later requests by another table.
    pub(crate) fn replace_table(&self, table: ServiceTable) {
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
    }

    fn table(&self) -> Arc<ServiceTable> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins to charge a request (command 272 of application 4, or another command, which is refused). The store is
    /// asked when the future is first polled.
    ///
    /// # Errors
    /// The refusal of a request that is wrong; the store is not asked.
    pub fn begin<'a>(
        &self,
        message: &Message<'a>,
        scratch: &'a mut Scratch,
    ) -> Result<Answering, Refusal<'a>> {
        let request = CreditControlRequest::read(message, scratch)?;
        let (store, table) = (Arc::clone(&self.store), self.table());
        match request.request_type {
            RequestType::Initial | RequestType::Update | RequestType::Termination => {
                let asked = session::ask(&request, &table)?;
                Ok(Box::pin(asked.answer(store)))
            }
            RequestType::Event => {
                let asked = event::ask(&request, &table)?;
                Ok(Box::pin(asked.answer(store)))
            }
        }
    }
}
