//! The events of an analysis as a stream of tokio.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use huginn_net_core::{AnalysisError, CancelToken, Source};
use tokio::sync::mpsc;
use tokio::task::{self, JoinHandle};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use crate::{Event, HuginnNet};

/// Number of events that an [`EventStream`](crate::EventStream) buffers.
#[cfg(feature = "tokio")]
const STREAM_EVENTS: usize = 1024;

/// The events of an analysis, as a [`Stream`]. An error is its last element.
///
/// The analysis runs in a thread for blocking work of tokio; its panics go on in the reader. It waits while 1,024 events are unread, so a live capture loses
/// packets if the events are read too slowly; [`Counters`](crate::Counters) of a
/// [snapshot](huginn_net_core::Analyzer::snapshot_handle) count them. Dropping the stream stops the analysis.
///
/// ```
/// use huginn_net::{CaptureReader, EventStream, HuginnNet};
/// use tokio_stream::StreamExt;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
/// let capture = CaptureReader::open(path)?;
/// let mut events = EventStream::analyze(HuginnNet::builder().build(), capture);
/// while let Some(event) = events.next().await {
///     println!("{:?}", event?.kind);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct EventStream<E> {
    events: ReceiverStream<Result<Event, AnalysisError<E>>>,
    cancel: CancelToken,
    /// The analysis, until it has ended.
    analysis: Option<JoinHandle<()>>,
}

impl<E: Send + 'static> EventStream<E> {
    /// Starts the analysis of a source.
    ///
    /// # Panics
    /// Outside of a runtime of tokio, as [`task::spawn_blocking`] does.
    pub fn analyze<S: Source<'static, Error = E> + Send + 'static>(
        mut analyzer: HuginnNet,
        source: S,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(STREAM_EVENTS);
        let cancel = analyzer.cancel_token();
        let analysis = task::spawn_blocking(move || {
            let mut sink = |event: Event| sender.blocking_send(Ok(event)).is_ok();
            if let Err(error) = analyzer.analyze(source, &mut sink) {
                // The error is not needed without a reader.
                let _ = sender.blocking_send(Err(error));
            }
        });
        Self { events: ReceiverStream::new(receiver), cancel, analysis: Some(analysis) }
    }
}

impl<E> Stream for EventStream<E> {
    type Item = Result<Event, AnalysisError<E>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(event) = ready!(Pin::new(&mut self.events).poll_next(context)) {
            return Poll::Ready(Some(event));
        }
        if let Some(analysis) = &mut self.analysis {
            let ended = ready!(Pin::new(analysis).poll(context));
            self.analysis = None;
            if let Err(error) = ended
                && let Ok(panic) = error.try_into_panic()
            {
                resume_unwind(panic);
            }
        }
        Poll::Ready(None)
    }
}

impl<E> Drop for EventStream<E> {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
