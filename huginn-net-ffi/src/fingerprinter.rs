//! The databases.

use huginn_net_db::{Database, DatabaseError};

/// The databases of signatures and of clients.
#[derive(Debug, Default)]
pub struct HuginnFingerprinter(huginn_net_proxy::Fingerprinter);

impl HuginnFingerprinter {
    pub(crate) fn set_signatures(&mut self, text: &[u8]) -> Result<(), DatabaseError> {
        let signatures = Database::from_bytes(text)?;
        self.0 = self.0.clone().with_signatures(signatures.into());
        Ok(())
    }

    pub(crate) fn inner(&self) -> &huginn_net_proxy::Fingerprinter {
        &self.0
    }
}
