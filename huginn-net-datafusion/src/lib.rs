//! Captures as tables of [Apache DataFusion](https://datafusion.apache.org): SQL over the events of passive fingerprinting.
//!
//! ```
//! use std::sync::Arc;
//!
//! use datafusion::prelude::SessionContext;
//! use huginn_net_datafusion::CaptureTable;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
//! let session = SessionContext::new();
//! session.register_table("events", Arc::new(CaptureTable::new([path])))?;
//! let clients = session.sql("SELECT DISTINCT ja4 FROM events WHERE event = 'tls_client'").await?;
//! assert_eq!(clients.count().await?, 5);
//! # Ok(())
//! # }
//! ```
//!
//! The columns are those of [`huginn_net_arrow::columns`]. DataFusion has the features that you select.
//!
//! The crate has no features.

mod event_filter;
mod partition;
mod table;

pub use {datafusion, huginn_net, huginn_net_arrow};

pub use self::table::CaptureTable;
