//! Analysis on several threads.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use super::analysis_error::ThreadFailure;
use super::counter_snapshot::{CounterSnapshots, Dropped};
use super::delivery::Delivery;
use super::index::{BlockTime, Sequencer, Sorter};
use super::ingest::Ingest;
use super::merge::Merger;
use super::output_channel::output_channel;
use super::render::{Output, Render};
use super::ring::{Ring, RingConfig};
use super::router::EventRouter;
use super::snapshot::Requests;
use super::worker::Worker;
use super::{AnalysisError, CancelToken};
use crate::flow::FlowTable;
use crate::{Event, Protocol, Report, Source};

/// The parts of an analyzer that a parallel analysis uses.
pub(super) struct Parts<'a, P: Protocol> {
    pub(super) ingest: &'a mut Ingest,
    pub(super) flows: &'a mut FlowTable<P>,
    pub(super) router: &'a mut EventRouter<P::SharedState>,
    pub(super) dropped: &'a mut Dropped,
    pub(super) cancel: &'a CancelToken,
    pub(super) requests: &'a Requests<'a, P>,
}

/// Analyses a source to its end, until the sink breaks, or until cancellation.
///
/// All workers read the same blocks, and the caller's thread merges their events. A thread that ends closes its
/// channels, which ends the others.
pub(super) fn run<'f, P: Protocol, S: Source<'f, Error: Send> + Send, R: Render<Event<Report<P>>>>(
    workers: usize,
    config: RingConfig,
    parts: Parts<'_, P>,
    source: S,
    render: &R,
    output: &mut dyn Output<R::Rendered, R::Arena>,
) -> Result<(), AnalysisError<S::Error>> {
    let Parts { ingest, flows, router, dropped, cancel, requests } = parts;
    #[cfg(feature = "bpf")]
    let mut bpf = ingest.bpf.take();
    #[cfg(feature = "bpf")]
    let source = crate::filter::BpfSource::new(source, bpf.as_mut());
    let snapshots = CounterSnapshots::new(flows, *dropped, ingest, workers);
    let Ingest { decoding, clock, .. } = &mut *ingest;
    let record = decoding.decoder.record();
    let sequencer = Sequencer::new(clock.clone(), record, flows.expiry_step_nanos());
    let ring = Ring::new(source, sequencer, workers, config, cancel);
    let mut others: Vec<_> = (1..workers).map(|_| decoding.fork()).collect();
    let time = BlockTime::new(record, clock);
    let mut last = time;
    let outcome = std::thread::scope(|scope| {
        let (mut threads, mut lanes) = (Vec::with_capacity(workers), Vec::with_capacity(workers));
        for (number, own) in std::iter::once(&mut *decoding).chain(&mut others).enumerate() {
            let (channel, lane) = output_channel();
            lanes.push(lane);
            let (ring, share) = (&ring, flows.move_to_worker(number, workers));
            let sorter = Sorter::new(&own.decoder, &flows.partitions, workers);
            threads.push(start(scope, "worker", move || {
                let shared = (number > 0).then(|| own.fork());
                let (flows, dropped) = (share.into_table(), Dropped::default());
                Worker { number, own, shared, sorter, flows, render, channel, dropped, time }.run(ring)
            }));
        }
        let stop = StopOnDrop { ring: &ring };
        let delivery = Delivery { router, render, output: &mut *output, cancel };
        let merged = Merger { lanes, delivery, snapshots, requests }.run();
        drop(stop);
        output.end();
        let (mut analysed, mut read) = (Ok(()), Ok(()));
        for thread in threads {
            analysed = analysed.and(join("worker", thread).map(|(end, outcome)| {
                dropped.add(end.dropped);
                // Workers stop at the same block, and one that panicked at none.
                last = if end.time.record > last.record { end.time } else { last };
                flows.join(end.flows);
                if let Err(error) = outcome {
                    read = Err(AnalysisError::Source(error));
                }
            }));
        }
        analysed.and(merged).map_err(ThreadFailure::into_error).and(read)
    });
    others.iter().for_each(|worker| decoding.join(worker));
    decoding.decoder.set_record(last.record);
    clock.resume(last.now, last.steps);
    #[cfg(feature = "bpf")]
    {
        ingest.bpf = bpf;
    }
    outcome
}

/// Stops the ring when the merging thread ends, even if the sink panics.
struct StopOnDrop<'r, 'a, 'f, S: Source<'f>> {
    ring: &'r Ring<'a, 'f, S>,
}

impl<'f, S: Source<'f>> Drop for StopOnDrop<'_, '_, 'f, S> {
    fn drop(&mut self) {
        self.ring.stop();
    }
}

/// A thread, or why it could not be started.
pub(super) type Thread<'scope, T> = Result<ScopedJoinHandle<'scope, T>, ThreadFailure>;

pub(super) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &'static str,
    run: impl FnOnce() -> T + Send + 'scope,
) -> Thread<'scope, T> {
    let thread = Builder::new().name(format!("huginn-{name}")).spawn_scoped(scope, run);
    thread.map_err(|error| ThreadFailure { name, message: error.to_string() })
}

pub(super) fn join<T>(name: &'static str, thread: Thread<'_, T>) -> Result<T, ThreadFailure> {
    thread?.join().map_err(|payload| ThreadFailure::panicked(name, &*payload))
}
