//! Parquet files of live capture.

use huginn_net::Event;
use huginn_net::json::event_name;
use huginn_net_live::LiveStats;

use super::event_counters::EventCounters;
use super::view::LiveView;
use super::watch::WatchedClients;
use super::{named_interfaces, rotation};
use crate::args::{Format, LiveArguments};
use crate::failure::Failure;
use crate::latency::Latency;
use crate::limits::QUEUED_EVENTS;
use crate::output::check_directory_writable;
use crate::output::{EventSender, Messages, OutputError, OutputQueue, PathName, TableFiles, Target};

/// Checks that files can be complete at some time.
pub(super) fn check(args: &LiveArguments) -> Result<(), Failure> {
    let rotates = args.rotation.rotate_size.is_some() || args.rotation.rotate_interval.is_some();
    match args.output.format {
        Format::Arrow => Err(Failure::LiveArrow),
        Format::Parquet if args.output.output.is_none() || !(rotates || args.rotation.hour_folders) => {
            Err(Failure::LiveParquet)
        }
        _ => Ok(()),
    }
}

/// Starts the thread that writes the files.
pub(super) fn open(
    args: &LiveArguments,
    target: &Target,
    stats: &LiveStats,
    messages: Messages,
) -> Result<(OutputQueue, EventSender), Failure> {
    let Target::File(path) = target else { return Err(Failure::LiveParquet) };
    let folder = |source| OutputError::Folder { path: PathName(path.clone()), source };
    check_directory_writable(path).map_err(folder)?;
    let files = TableFiles {
        path: path.clone(),
        rotation: rotation(args),
        hour_folders: args.rotation.hour_folders,
        interfaces: named_interfaces(stats),
    };
    Ok(OutputQueue::of_tables(files, QUEUED_EVENTS, messages)?)
}

/// Passes events to the thread that writes the files.
pub(super) struct TableSink<'a> {
    pub(super) events: EventSender,
    /// Names of the events that are written; all if empty.
    pub(super) selected: &'a [&'static str],
    pub(super) event_counters: &'a EventCounters,
    pub(super) watched: &'a WatchedClients,
    pub(super) latency: &'a Latency,
    pub(super) stats: LiveStats,
    pub(super) view: Option<&'a LiveView>,
}

impl TableSink<'_> {
    pub(super) fn on_event(&self, event: Event) {
        self.event_counters.on_event(&event);
        self.watched.on_event(&event);
        if let Some(view) = self.view {
            view.add(&event);
        }
        if !self.selected.is_empty() && !self.selected.contains(&event_name(&event.kind)) {
            return;
        }
        self.latency.record(&[event.ts.as_nanos()], self.stats.taken_at());
        self.events.push(event);
    }
}
