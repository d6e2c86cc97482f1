//! Batches of events.

use std::convert::Infallible;
use std::io;
use std::ops::ControlFlow;

use arrow_schema::SchemaRef;
use huginn_net::core::{Analyzer, Protocol, Route, Source};
use huginn_net::hosts::{HostUpdate, Hosts};
use huginn_net::{Event, HuginnNet, Observation};

use crate::batch::EventBatchBuilder;
use crate::batches::{Batches, Rows, WAITING_BATCHES};

/// Batches of the events of a source, in the order of the analysis.
pub type EventBatches = Batches<HuginnNet>;

impl EventBatches {
    /// Starts the analysis of a source.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn new<S>(analyzer: HuginnNet, source: S) -> io::Result<Self>
    where
        S: Source<'static> + Send + 'static,
        S::Error: std::error::Error + Send + Sync + 'static,
    {
        Self::of_analyzer(analyzer, source, EventBatchBuilder::new(), None)
    }
}

impl<P> Batches<Analyzer<P>>
where
    P: Protocol<Event = Route<Observation, HostUpdate>, SharedState = Hosts> + 'static,
{
    /// Starts the analysis of a source by any analyzer of events, also one [with own protocols](huginn_net::Configure::with). `file`: the name
    /// of the capture file for the column `file`.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn of_analyzer<S>(
        mut analyzer: Analyzer<P>,
        source: S,
        builder: EventBatchBuilder,
        file: Option<String>,
    ) -> io::Result<Self>
    where
        S: Source<'static> + Send + 'static,
        S::Error: std::error::Error + Send + Sync + 'static,
    {
        Self::of_events(builder, WAITING_BATCHES, move |mut rows| {
            let outcome = analyzer.analyze(source, |event| rows.append(&event, file.as_deref()));
            if let Err(error) = outcome {
                rows.fail(error);
            }
            analyzer
        })
    }
}

impl<T: Send + 'static> Batches<T> {
    /// Starts a thread that appends events: those of several captures, for instance, which share batches. The thread waits
    /// while `waiting` batches wait for the reader.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn of_events(
        builder: EventBatchBuilder,
        waiting: usize,
        run: impl FnOnce(EventRows<'_>) -> T + Send + 'static,
    ) -> io::Result<Self> {
        Self::start(SchemaRef::clone(builder.schema()), builder, waiting, move |rows| run(EventRows(rows)))
    }
}

/// Where a thread appends events, for [`Batches::of_events`].
#[derive(Debug)]
pub struct EventRows<'a>(&'a mut Rows<EventBatchBuilder>);

impl EventRows<'_> {
    /// Appends an event. `file`: the name of the capture. Breaks after an error, or if the reader is gone.
    pub fn append(&mut self, event: &Event, file: Option<&str>) -> ControlFlow<()> {
        self.0.append(|builder| {
            builder.append(event, file);
            Ok::<_, Infallible>(())
        })
    }

    /// Ends the batches with an error, which follows the rows so far.
    pub fn fail(&mut self, error: impl std::error::Error + Send + Sync + 'static) {
        self.0.fail(error);
    }
}
