//! Events of [`huginn_net`] as [Apache Arrow](https://arrow.apache.org) record batches: one flat table with a column
//! for each field, one row for each event.
//!
//! ```
//! use arrow_array::cast::AsArray;
//! use huginn_net::CaptureReader;
//! use huginn_net::HuginnNet;
//! use huginn_net_arrow::EventBatches;
//!
//! let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
//! let batches = EventBatches::new(HuginnNet::builder().build(), CaptureReader::open(path)?)?;
//! for batch in batches {
//!     let batch = batch?;
//!     let ja4 = batch.column_by_name("ja4").unwrap().as_string::<i32>();
//!     assert_eq!(ja4.iter().flatten().next(), Some("t13d3112h2_e8f1e7e78f70_b26ce05bbdd6"));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `parquet` | no | Parquet files: `ParquetWriter`, `ParquetFolder`, `compact`; Zstandard needs a C compiler |

mod batch;
mod batches;
mod column;
mod derived;
mod events;
mod host_records;
mod markdown;
#[cfg(feature = "parquet")]
mod parquet;
mod row;
mod schema;

pub use {arrow_array, arrow_schema};

pub use self::batch::EventBatchBuilder;
pub use self::batches::Batches;
pub use self::events::{EventBatches, EventRows};
#[doc(hidden)]
pub use self::host_records::{HOST_RECORD_ORDER, HostRecordBatches, HostRecordRows, host_record_schema};
pub use self::markdown::schema_page;
#[cfg(feature = "parquet")]
pub use self::parquet::{
    CompactError, Compacted, PARQUET_BATCH_ROWS, ParquetCompression, ParquetFolder, ParquetPartition,
    ParquetWriter, UnknownLevel, compact,
};
pub use self::schema::{ColumnInfo, SCHEMA_VERSION, UnknownColumn, columns, schema};
