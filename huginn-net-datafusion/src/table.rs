//! The table of captures.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use huginn_net::HuginnNet;

use crate::event_filter::{EventNames, selected_events};
use crate::partition::{BuildAnalyzer, Partition, Scan};

/// A table with a row for each event of some captures.
///
/// - A query builds the columns that it needs. Conditions on the column `event` (`=`, `IN`, and these joined by `AND` or `OR`) select
///   the events that become rows; DataFusion evaluates all others.
/// - The captures are divided among [`target_partitions`](datafusion::prelude::SessionConfig::with_target_partitions), at most one
///   for each capture. A partition reads its captures one after the other, in a thread, and is up to four batches of 8192 rows ahead
///   of DataFusion.
/// - A `LIMIT`, and a stream that is dropped, end the analysis.
/// - The column `file` has the path of the capture. Rows of a partition are in the order of its captures and their events.
/// - A capture that cannot be read to its end ends the query with an error, after the rows before the damage.
pub struct CaptureTable {
    captures: Vec<PathBuf>,
    analyzer: BuildAnalyzer,
    schema: SchemaRef,
}

impl CaptureTable {
    /// Creates the table of these captures: pcap or pcapng, also compressed. A query opens them.
    pub fn new(captures: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self {
            captures: captures.into_iter().map(Into::into).collect(),
            analyzer: Arc::new(|| HuginnNet::builder().build()),
            schema: huginn_net_arrow::schema(),
        }
    }

    /// Sets the function that builds the analyzer of each capture, for instance one with findings or without HTTP.
    ///
    /// ```
    /// use huginn_net_datafusion::CaptureTable;
    /// use huginn_net_datafusion::huginn_net::HuginnNet;
    /// use huginn_net_datafusion::huginn_net::core::Filter;
    ///
    /// let web = CaptureTable::new(["capture.pcap"])
    ///     .analyzer(|| HuginnNet::builder().filter(Filter::new().port(443)).build());
    /// # let _ = web;
    /// ```
    #[must_use]
    pub fn analyzer(self, build: impl Fn() -> HuginnNet + Send + Sync + 'static) -> Self {
        Self { analyzer: Arc::new(build), ..self }
    }
}

#[async_trait]
impl TableProvider for CaptureTable {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match selected_events(filter) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projected = match projection {
            Some(places) => Arc::new(self.schema.project(places)?),
            None => self.schema(),
        };
        let selected =
            filters.iter().filter_map(selected_events).reduce(|all: EventNames<'_>, events| &all & &events);
        let selects_nothing = selected.as_ref().is_some_and(EventNames::is_empty);
        if self.captures.is_empty() || selects_nothing {
            return Ok(Arc::new(EmptyExec::new(projected)));
        }
        let columns: Vec<String> = projected.fields().iter().map(|field| field.name().clone()).collect();
        let events: Vec<String> = selected.iter().flatten().map(|&name| name.to_owned()).collect();
        // Batches have the columns in the order of the table.
        let schema = SchemaRef::clone(Scan::builder(&columns, &events)?.schema());
        let places = columns.iter().map(|name| schema.index_of(name)).collect::<Result<Vec<_>, _>>()?;
        let scan =
            Scan { schema: SchemaRef::clone(&schema), columns, events, analyzer: Arc::clone(&self.analyzer) };
        let count = session.config().target_partitions().clamp(1, self.captures.len());
        let partition = |first| -> Arc<dyn PartitionStream> {
            let captures = self.captures.iter().skip(first).step_by(count).cloned().collect();
            Arc::new(Partition { captures, scan: scan.clone() })
        };
        let partitions = (0..count).map(partition).collect();
        Ok(Arc::new(StreamingTableExec::try_new(schema, partitions, Some(&places), None, false, limit)?))
    }
}

impl fmt::Debug for CaptureTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureTable").field("captures", &self.captures).finish_non_exhaustive()
    }
}
