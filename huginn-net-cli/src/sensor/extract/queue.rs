//! The packets between the ring and the thread that writes them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use super::kept_packet::{KeptPacket, bytes_of};
use crate::control::counters::ExtractCounters;

/// Maximum memory of packets that wait to be written, in bytes.
const MAX_EXTRACT_QUEUE_BYTES: usize = 16 << 20;

/// Queues the packets of connections, and counts what becomes of them.
#[derive(Debug)]
pub(super) struct FlowQueue {
    /// `None` after the end.
    sender: Mutex<Option<Sender<Vec<KeptPacket>>>>,
    queued_bytes: AtomicUsize,
    written: AtomicU64,
    dropped: AtomicU64,
    files: AtomicU64,
    write_errors: AtomicU64,
    events: AtomicU64,
    events_without_packets: AtomicU64,
    comments_without_packet: AtomicU64,
    forgotten_flows: AtomicU64,
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}

impl FlowQueue {
    pub(super) fn new() -> (Self, Receiver<Vec<KeptPacket>>) {
        let (sender, receiver) = channel();
        let queue = Self {
            sender: Mutex::new(Some(sender)),
            queued_bytes: AtomicUsize::new(0),
            written: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            files: AtomicU64::new(0),
            write_errors: AtomicU64::new(0),
            events: AtomicU64::new(0),
            events_without_packets: AtomicU64::new(0),
            comments_without_packet: AtomicU64::new(0),
            forgotten_flows: AtomicU64::new(0),
        };
        (queue, receiver)
    }

    /// Queues packets of a connection. Never blocks: a full queue drops and counts them.
    pub(super) fn push(&self, packets: Vec<KeptPacket>) {
        let (count, bytes) = (packets.len(), bytes_of(&packets));
        if count == 0 {
            return;
        }
        let queued = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        // One connection always fits.
        let fits = queued == 0 || queued.saturating_add(bytes) <= MAX_EXTRACT_QUEUE_BYTES;
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let is_sent = fits && sender.as_ref().is_some_and(|sender| sender.send(packets).is_ok());
        if !is_sent {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            add(&self.dropped, count);
        }
    }

    /// Ends the queue: the thread writes what is in it, and ends.
    pub(super) fn close(&self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Counts packets that the thread took.
    pub(super) fn on_taken(&self, bytes: usize) {
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn on_written(&self, packets: usize) {
        add(&self.written, packets);
    }

    pub(super) fn on_lost(&self, packets: usize) {
        add(&self.dropped, packets);
    }

    pub(super) fn on_error(&self) {
        add(&self.write_errors, 1);
    }

    pub(super) fn on_file(&self) {
        add(&self.files, 1);
    }

    /// Counts a selected event. `has_packets`: whether its connection is kept.
    pub(super) fn on_event(&self, has_packets: bool) {
        add(&self.events, 1);
        if !has_packets {
            add(&self.events_without_packets, 1);
        }
    }

    pub(super) fn count_comment_without_packet(&self) {
        add(&self.comments_without_packet, 1);
    }

    pub(super) fn count_forgotten_flow(&self) {
        add(&self.forgotten_flows, 1);
    }

    /// Packets that were lost.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn counters(&self) -> ExtractCounters {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ExtractCounters {
            packets_written: get(&self.written),
            packets_dropped: self.dropped(),
            files: get(&self.files),
            write_errors: get(&self.write_errors),
            events: get(&self.events),
            events_without_packets: get(&self.events_without_packets),
            comments_without_packet: get(&self.comments_without_packet),
            flows_forgotten: get(&self.forgotten_flows),
            queued_bytes: self.queued_bytes.load(Ordering::Relaxed) as u64,
        }
    }
}
