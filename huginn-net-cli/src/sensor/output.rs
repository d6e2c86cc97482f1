//! Events of live traffic, as text or as Parquet files: counted, shown, measured and queued.

use std::fs::{self, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileTypeExt;

use huginn_net::core::{Replaceable, Source, TextSink};
use huginn_net::{AnalysisError, Counters, Event, HuginnNet, Timestamp};
use huginn_net_live::{LiveStats, Stopper};

use super::event_counters::EventCounters;
use super::extract::Extract;
use super::latency::Latency;
use super::once::Once;
use super::reload::ReplaceableRenderer;
use super::view::LiveView;
use super::watch::Watched;
use crate::failure::Failure;
use crate::limits::OUTPUT_QUEUE_BYTES;
#[cfg(feature = "parquet")]
use crate::limits::QUEUED_EVENTS;
use crate::output::{DayHeadings, Messages, OutputError, OutputQueue, Renderer, Target};
#[cfg(feature = "parquet")]
use crate::output::{EventSender, Selected, StampedFiles, TableFiles};
use crate::paths::{PathName, check_directory_writable};
use crate::plan::{LiveOutputPlan, OutputContent};

/// The two cases of output: what turns events into what the queue takes.
pub(super) enum EventWriter {
    Text {
        renderer: LiveRenderer,
        /// Whether events go to standard output.
        to_stdout: bool,
    },
    #[cfg(feature = "parquet")]
    Table {
        sender: EventSender,
        selected: Selected,
        /// Names of the interfaces, by their index; empty unless events name theirs.
        interfaces: Vec<String>,
    },
}

/// Turns events into text.
pub(super) enum LiveRenderer {
    Fixed(Box<Renderer>),
    /// Another one takes its place when the configuration changes.
    Replaceable(Replaceable<Renderer>),
}

impl LiveRenderer {
    fn new(renderer: Renderer, can_change: bool) -> Self {
        if can_change {
            Self::Replaceable(Replaceable::new(renderer))
        } else {
            Self::Fixed(Box::new(renderer))
        }
    }

    fn with<T>(&self, call: impl FnOnce(&Renderer) -> T) -> T {
        match self {
            Self::Fixed(renderer) => call(renderer),
            Self::Replaceable(renderer) => call(&renderer.get()),
        }
    }
}

impl EventWriter {
    /// The renderer, if the configuration can change it. `interfaces`: their names, by their index.
    pub(super) fn replaceable_renderer(&self, interfaces: Vec<String>) -> Option<ReplaceableRenderer> {
        match self {
            Self::Text { renderer: LiveRenderer::Replaceable(current), .. } => {
                Some(ReplaceableRenderer { current: current.clone(), interfaces })
            }
            _ => None,
        }
    }
}

/// Checks that the output can be written, without creating its file.
pub(super) fn check_rights(target: &Target) -> Result<(), OutputError> {
    let Target::File(path) = target else { return Ok(()) };
    let name = || PathName(path.clone());
    // A pipe may have no reader yet.
    if fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        return Ok(());
    }
    match OpenOptions::new().append(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_directory_writable(path).map_err(|source| OutputError::Open { path: name(), source })
        }
        Err(source) => Err(OutputError::Open { path: name(), source }),
    }
}

/// Opens the output, whose queue has a thread that writes. Events name their interface if `interfaces` has names. `can_change`: what
/// is written of events can be replaced.
pub(super) fn open(
    plan: LiveOutputPlan,
    interfaces: Vec<String>,
    can_change: bool,
    messages: Messages,
) -> Result<(OutputQueue, EventWriter), Failure> {
    match plan.content {
        OutputContent::Text(options) => {
            let queue = OutputQueue::open(&plan.target, plan.rotation, OUTPUT_QUEUE_BYTES, messages)?;
            let renderer = Renderer::new(options).with_interfaces(interfaces);
            let renderer = LiveRenderer::new(renderer, can_change);
            Ok((queue, EventWriter::Text { renderer, to_stdout: plan.target == Target::Stdout }))
        }
        OutputContent::Zeek(..) => {
            Err(Failure::Usage("'live' writes logs of Zeek as JSON Lines: --format zeek".into()))
        }
        #[cfg(feature = "parquet")]
        OutputContent::Table(_, selected) => {
            let Target::File(path) = plan.target else {
                return Err(Failure::Usage("--format parquet of 'live' needs -o FILE".into()));
            };
            let folder = |source| OutputError::Folder { path: PathName(path.clone()), source };
            check_directory_writable(&path).map_err(folder)?;
            let files = TableFiles {
                names: StampedFiles::new(path, ".parquet"),
                rotation: plan.rotation,
                hour_folders: plan.hour_folders,
                interfaces: interfaces.clone(),
            };
            let (queue, sender) = files.write(QUEUED_EVENTS, messages)?;
            Ok((queue, EventWriter::Table { sender, selected, interfaces }))
        }
    }
}

/// What happens to each event.
pub(super) struct LiveEvents<'a> {
    pub(super) writer: EventWriter,
    pub(super) queue: &'a OutputQueue,
    pub(super) counters: &'a EventCounters,
    pub(super) watched: &'a Watched,
    pub(super) extract: Option<&'a Extract>,
    pub(super) once: Option<&'a Once>,
    pub(super) latency: &'a Latency,
    pub(super) stats: LiveStats,
    pub(super) stopper: &'a Stopper,
    pub(super) view: Option<&'a LiveView>,
}

impl LiveEvents<'_> {
    /// Analyses the sources to their ends, each in a worker of its own if there are several.
    pub(super) fn analyze<'f, S: Source<'f, Error: Send> + Send>(
        self,
        analyzer: &mut HuginnNet,
        sources: Vec<S>,
    ) -> Result<Counters, AnalysisError<S::Error>> {
        let Self { writer, queue, counters, watched, extract, once, latency, stats, stopper, view } = self;
        let is_repeat = |event: &Event| once.is_some_and(|once| once.is_repeat(event));
        let on_event = |event: &Event| {
            counters.on_event(event);
            watched.on_event(event);
            if let Some(extract) = extract {
                extract.on_event(event);
            }
            if let Some(view) = view {
                view.add(event);
            }
        };
        match writer {
            EventWriter::Text { renderer, to_stdout } => {
                // The terminal shows events itself.
                let writes_events = view.is_none() || !to_stdout;
                let render = |event: &Event, text: &mut Vec<u8>| {
                    on_event(event);
                    if writes_events {
                        renderer.with(|renderer| {
                            // An event that is not selected is not remembered.
                            if once.is_none() || renderer.selects(event) && !is_repeat(event) {
                                renderer.render_live(event, text);
                            }
                        });
                    }
                };
                let days = renderer.with(Renderer::day_headings);
                let mut sink = MeasuredQueue {
                    queue,
                    days,
                    latency,
                    stopper,
                    stats,
                    captured: Vec::new(),
                    taken_at: None,
                };
                analyzer.analyze_queues_text(sources, render, &mut sink)
            }
            #[cfg(feature = "parquet")]
            EventWriter::Table { sender, selected, interfaces } => {
                let mut sink = |event: Event| {
                    on_event(&event);
                    let interface = interfaces.get(usize::from(event.ts.interface())).map(String::as_str);
                    if selected.contains(&event, None, interface) && !is_repeat(&event) {
                        latency.record(&[event.ts.as_nanos()], stats.taken_at());
                        sender.push(event);
                    }
                };
                let outcome = analyzer.analyze_queues(sources, &mut sink);
                stopper.stop();
                outcome
            }
        }
    }
}

/// Writes events to the output queue and records their latency.
struct MeasuredQueue<'a> {
    queue: &'a OutputQueue,
    /// Headings of days, if the text has some.
    days: Option<DayHeadings>,
    latency: &'a Latency,
    stopper: &'a Stopper,
    stats: LiveStats,
    /// Capture times of the packets whose events came in this batch, in nanoseconds since the Unix epoch.
    captured: Vec<u64>,
    /// Time at which the packet of the first of these events was read from the kernel, if known.
    taken_at: Option<Timestamp>,
}

impl TextSink for MeasuredQueue<'_> {
    fn event(&mut self, ts: Timestamp, text: &[u8]) -> ControlFlow<()> {
        // Skips events that this format cannot render.
        if text.is_empty() {
            return ControlFlow::Continue(());
        }
        if self.captured.is_empty() {
            self.taken_at = self.stats.taken_at();
        }
        self.captured.push(ts.as_nanos());
        match self.days.as_mut().and_then(|days| days.before(ts)) {
            // One piece: none is written without the other.
            Some(day) => self.queue.push(&[day.as_bytes(), text].concat()),
            None => self.queue.push(text),
        }
    }

    fn batch_end(&mut self, taken_at: Option<Timestamp>) -> ControlFlow<()> {
        if !self.captured.is_empty() {
            self.latency.record(&self.captured, taken_at.or(self.taken_at));
            self.captured.clear();
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self) {
        self.stopper.stop();
    }
}
