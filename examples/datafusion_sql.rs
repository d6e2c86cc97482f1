//! SQL over the events of a capture: they go to DataFusion as Arrow record batches.
//!
//! `cargo run --manifest-path examples/Cargo.toml --features datafusion --bin datafusion_sql CAPTURE 'SELECT ja4, count(*) FROM events GROUP BY ja4'`

use std::error::Error;
use std::sync::Arc;

use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use huginn_net::{CaptureReader, HuginnNet};
use huginn_net_arrow::{EventBatches, schema};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [capture, query] = &*arguments else { return Err("usage: datafusion_sql CAPTURE QUERY".into()) };
    let batches = EventBatches::new(HuginnNet::builder().build(), CaptureReader::open(capture)?)?;
    let events = MemTable::try_new(schema(), vec![batches.collect::<Result<_, _>>()?])?;
    let session = SessionContext::new();
    session.register_table("events", Arc::new(events))?;
    session.sql(query).await?.show().await?;
    Ok(())
}
