//! SQL over the events of captures: DataFusion reads them as a table, and builds only the columns of the query.
//!
//! `cargo run --manifest-path huginn-net-datafusion/Cargo.toml --example datafusion_sql -- 'SELECT ja4, count(*) FROM events GROUP BY ja4' CAPTURE...`

use std::error::Error;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use huginn_net_datafusion::CaptureTable;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [query, captures @ ..] = &*arguments else {
        return Err("usage: datafusion_sql QUERY CAPTURE...".into());
    };
    let session = SessionContext::new();
    session.register_table("events", Arc::new(CaptureTable::new(captures)))?;
    session.sql(query).await?.show().await?;
    Ok(())
}
