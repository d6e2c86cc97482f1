//! The terminal view of live traffic.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use huginn_net::Event;
use huginn_net_live::Stopper;

use super::status::LiveStatus;
use crate::control::counters::{CaptureCounters, LiveCounters};
use crate::output::Messages;
use crate::output::Zone;
use crate::views::terminal::{Counts, Feed, TerminalView, ViewError, sample_counts};

/// Maximum time that the terminal view delays the end of the program.
const VIEW_END_TIME: Duration = Duration::from_secs(1);

/// A terminal view in a thread of its own. When the user quits, the capture stops.
pub(super) struct LiveView {
    feed: Arc<Feed>,
    is_stopped: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl LiveView {
    /// Takes the terminal.
    pub(super) fn start(
        zone: Zone,
        feed: Arc<Feed>,
        status: &Arc<LiveStatus>,
        stopper: &Stopper,
    ) -> Result<Self, ViewError> {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let view = TerminalView::open(zone)?;
        sample_counts(Arc::clone(&feed), Arc::clone(&is_stopped), {
            let status = Arc::clone(status);
            move || Some(counts(&status.counters()))
        })?;
        let show = {
            let (feed, is_stopped, stopper) = (Arc::clone(&feed), Arc::clone(&is_stopped), stopper.clone());
            move || {
                if let Err(error) = view.run(&feed, &is_stopped) {
                    feed.add_message(&error);
                }
                stopper.stop();
            }
        };
        let thread = thread::Builder::new().name("huginn-view".to_owned()).spawn(show);
        Ok(Self { feed, is_stopped, thread: thread.map_err(ViewError::Start)? })
    }

    /// Adds an event.
    pub(super) fn add(&self, event: &Event) {
        self.feed.add(event);
    }

    /// Restores the terminal, and prints the messages that the view showed.
    pub(super) fn end(self, messages: &Messages) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let began = Instant::now();
        // The thread may wait for keys forever if the terminal is gone; it ends with the program.
        while !self.thread.is_finished() && began.elapsed() < VIEW_END_TIME {
            thread::sleep(Duration::from_millis(10));
        }
        messages.redirect(None);
        for message in self.feed.messages() {
            messages.print(&message);
        }
    }
}

fn counts(counters: &LiveCounters) -> Counts {
    let (engine, hosts) = (&counters.analysis.engine, &counters.analysis.hosts);
    let flows = &engine.flows;
    let of_interfaces = |count: fn(&CaptureCounters) -> u64| {
        counters.capture.values().map(count).fold(0, u64::saturating_add)
    };
    Counts {
        packets: engine.frames,
        flows: flows.opened,
        losses: vec![
            ("interface", of_interfaces(|interface| interface.interface_dropped.unwrap_or(0))),
            ("kernel", of_interfaces(|interface| interface.kernel_dropped)),
            ("workers", engine.segments_dropped),
            ("flow table", flows.evicted.saturating_add(flows.evicted_for_memory)),
            ("host table", hosts.evicted.saturating_add(hosts.evicted_for_memory)),
            ("output", counters.output.dropped_lines),
            ("extract", counters.extract.packets_dropped),
        ],
        has_ended: false,
    }
}
