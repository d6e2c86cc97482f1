//! Packets of selected connections: the first of each connection are kept, and written once an event selects it.

mod kept_packet;
mod queue;
mod ring;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use huginn_net::Event;
use huginn_net::alert::Alert;
use huginn_net::core::{Decoder, FlowKey};
use huginn_net_live::InterfaceNames;

use self::queue::FlowQueue;
pub(super) use self::ring::PacketRing;
use self::ring::{RingDecoding, RingLimits};
use self::writer::{PacketFiles, PacketWriter};
use crate::control::counters::ExtractCounters;
use crate::failure::Failure;
use crate::output::{
    Lines, Messages, OutputError, Selected, StampedFiles, Zone, check_new_file, packet_comment,
};
use crate::plan::LiveExtractPlan;

/// A ring that its source and the events share.
pub(super) type SharedRing = Arc<Mutex<PacketRing>>;

/// The rings of all sources, and the thread that writes.
pub(super) struct Extract {
    rings: Vec<SharedRing>,
    /// What selects a connection; `None` for matches and findings.
    selected: Option<Selected>,
    lines: Lines,
    /// Names of the interfaces that events name.
    named: InterfaceNames,
    queue: Arc<FlowQueue>,
    writer: JoinHandle<()>,
}

/// Reads the counters of the packets, from any thread.
#[derive(Clone, Debug)]
pub(super) struct ExtractStatus(Arc<FlowQueue>);

impl ExtractStatus {
    pub(super) fn counters(&self) -> ExtractCounters {
        self.0.counters()
    }
}

/// Checks that files can be created. Call it after privileges are dropped.
pub(super) fn check_rights(plan: &LiveExtractPlan) -> Result<(), OutputError> {
    check_new_file("--extract", &plan.path)
}

/// Locks a ring.
pub(super) fn lock(ring: &SharedRing) -> MutexGuard<'_, PacketRing> {
    ring.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Extract {
    /// Starts the thread. `interfaces`: names by their index; `named`: those that events name.
    pub(super) fn start(
        plan: LiveExtractPlan,
        sources: usize,
        interfaces: InterfaceNames,
        named: InterfaceNames,
        messages: Messages,
    ) -> Result<Self, Failure> {
        let (queue, flows) = FlowQueue::new();
        let queue = Arc::new(queue);
        let limits = RingLimits {
            packets: plan.packets,
            bytes: plan.buffer_bytes.checked_div(sources).unwrap_or(plan.buffer_bytes),
        };
        let rings = (0..sources).map(|_| {
            let decoding = RingDecoding {
                decoder: Decoder::new(plan.decode.clone()),
                expression: plan.frame_filter()?,
                filter: plan.filter.clone(),
            };
            Ok(Arc::new(Mutex::new(PacketRing::new(limits, decoding, Arc::clone(&queue)))))
        });
        let rings = rings.collect::<Result<Vec<_>, Failure>>()?;
        let files = PacketFiles {
            names: StampedFiles::new(plan.path, ".pcapng"),
            max_bytes: plan.max_bytes,
            keep: plan.keep,
            snap_len: plan.snap_len,
            interfaces,
        };
        let writer = PacketWriter { files, flows, queue: Arc::clone(&queue), messages };
        let thread = thread::Builder::new().name("huginn-packets".to_owned()).spawn(move || writer.run());
        let writer = thread.map_err(starting)?;
        let lines = Lines::new(false, Zone::new(false));
        Ok(Self { rings, selected: plan.selected, lines, named, queue, writer })
    }

    /// The ring of a source.
    pub(super) fn ring(&self, source: usize) -> Option<SharedRing> {
        self.rings.get(source).map(Arc::clone)
    }

    pub(super) fn status(&self) -> ExtractStatus {
        ExtractStatus(Arc::clone(&self.queue))
    }

    /// Selects the connection of an event, if it is one that is wanted.
    pub(super) fn on_event(&self, event: &Event) {
        let is_selected = match &self.selected {
            Some(selected) => {
                let interface = self.named.get(event.ts.interface());
                selected.contains(event, None, interface.as_deref())
            }
            None => Alert::of(event).is_some(),
        };
        let Some(key) = FlowKey::from_flow(&event.flow).filter(|_| is_selected) else { return };
        let comment = packet_comment(&self.lines, event);
        let has_packets = self.rings.iter().any(|ring| lock(ring).select(&key, event.ts, &comment));
        self.queue.on_event(has_packets);
    }

    /// Writes what is selected, and waits for the thread.
    pub(super) fn finish(self) -> ExtractCounters {
        self.rings.iter().for_each(|ring| lock(ring).finish());
        self.queue.close();
        let _ = self.writer.join();
        self.queue.counters()
    }
}

fn starting(source: io::Error) -> Failure {
    Failure::Start { doing: "the thread of packets", source }
}
