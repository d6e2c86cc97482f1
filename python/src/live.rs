//! Capture from interfaces.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arrow_schema::SchemaRef;
use huginn_net::Event;
use huginn_net_arrow::EventBatchBuilder;
use huginn_net_live::{LiveOptions, LiveSource, LiveStats, Stopper};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::options::{Arguments, Options};
use crate::stream::Table;

/// Rows that wait for the reader. Events beyond are dropped and counted.
const MAX_WAITING_ROWS: usize = 1 << 20;
/// Interval at which a reader that waits looks for Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);
const MIN_INTERVAL: Duration = Duration::from_millis(10);
const MAX_INTERVAL: Duration = Duration::from_secs(3600);

/// A running capture: an iterator over tables of the events so far.
#[pyclass(frozen, subclass)]
pub(crate) struct Live {
    schema: SchemaRef,
    shared: Arc<Shared>,
    stopper: Stopper,
    stats: LiveStats,
    thread: Mutex<Option<JoinHandle<()>>>,
    interval: Duration,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    ended: Condvar,
}

#[derive(Default)]
struct Waiting {
    builder: EventBatchBuilder,
    dropped_events: u64,
    /// The outcome of the analysis, once it has ended.
    outcome: Option<Result<(), String>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Live {
    /// Opens the interfaces and starts the analysis.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "Python passes values")]
    fn new(interfaces: Vec<String>, interval: f64, options: Arguments) -> PyResult<Self> {
        let interval = Duration::try_from_secs_f64(interval)
            .ok()
            .filter(|interval| (MIN_INTERVAL..=MAX_INTERVAL).contains(interval))
            .ok_or_else(|| PyValueError::new_err("interval is a number of seconds from 0.01 to 3600"))?;
        let options = Options::new(options)?;
        let interfaces = interfaces.as_slice();
        let source = LiveSource::open(interfaces, &LiveOptions::default())
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        let builder = match source.interface_names() {
            names if names.are_several() => {
                options.builder().interfaces(move |interface| names.get(interface))
            }
            _ => options.builder(),
        };
        let schema = SchemaRef::clone(builder.schema());
        let (stopper, stats) = (source.stopper(), source.stats());
        let waiting = Mutex::new(Waiting { builder, ..Waiting::default() });
        let shared = Arc::new(Shared { waiting, ended: Condvar::new() });
        let mut analyzer = options.live_analyzer(false);
        let of_thread = Arc::clone(&shared);
        let run = move || {
            let outcome = analyzer.analyze(source, &mut |event: Event| {
                if !options.takes(&event, None) {
                    return;
                }
                let mut waiting = of_thread.lock();
                let Waiting { builder, dropped_events, .. } = &mut *waiting;
                if builder.len() < MAX_WAITING_ROWS {
                    builder.append(&event, None);
                } else {
                    *dropped_events = dropped_events.saturating_add(1);
                }
            });
            of_thread.lock().outcome = Some(outcome.map(|_| ()).map_err(|error| error.to_string()));
            of_thread.ended.notify_all();
        };
        let thread = thread::Builder::new().name("huginn-live".to_owned()).spawn(run)?;
        Ok(Self { schema, shared, stopper, stats, thread: Mutex::new(Some(thread)), interval })
    }

    /// Stops the capture. The events so far stay.
    fn stop(&self, py: Python<'_>) {
        self.stopper.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The outcome tells of a failure.
            py.detach(|| _ = thread.join());
        }
    }

    /// Returns the counters of each interface as `(name, received, dropped)`.
    fn interfaces(&self) -> Vec<(String, u64, u64)> {
        let stats = self.stats.interfaces().into_iter();
        stats.map(|stats| (stats.name, stats.received, stats.kernel_dropped)).collect()
    }

    /// Number of events that were dropped because they were not read.
    fn dropped_events(&self) -> u64 {
        self.shared.lock().dropped_events
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// Waits for the next events; ends once the capture is stopped.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let mut until = Instant::now() + self.interval;
        loop {
            match py.detach(|| self.wait(until)) {
                Ok(Waited::Rows(table)) => return Ok(Some(table)),
                Ok(Waited::End) => return Ok(None),
                Ok(Waited::InVain) => {}
                Err(error) => return Err(PyRuntimeError::new_err(error)),
            }
            py.check_signals()?;
            if until <= Instant::now() {
                until = Instant::now() + self.interval;
            }
        }
    }
}

impl Live {
    /// Waits a short time for the end of the interval or of the capture.
    fn wait(&self, until: Instant) -> Result<Waited, String> {
        let mut waiting = self.shared.lock();
        let left = until.saturating_duration_since(Instant::now());
        if waiting.outcome.is_none() && !left.is_zero() {
            let slice = left.min(SIGNAL_INTERVAL);
            waiting =
                self.shared.ended.wait_timeout(waiting, slice).unwrap_or_else(PoisonError::into_inner).0;
        }
        let Waiting { builder, outcome, .. } = &mut *waiting;
        if outcome.is_none() && Instant::now() < until {
            return Ok(Waited::InVain);
        }
        if !builder.is_empty() {
            let batch = builder.finish().map_err(|error| error.to_string())?;
            return Ok(Waited::Rows(Table::new(&self.schema, vec![batch])));
        }
        match outcome {
            Some(outcome) => outcome.clone().map(|()| Waited::End),
            None => Ok(Waited::InVain),
        }
    }
}

/// What a reader got.
enum Waited {
    Rows(Table),
    End,
    InVain,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}
