//! The events that a connection may cause.

use huginn_net_core::{Route, Segment, TcpHeader, TunnelLayer};

use crate::Observation;
use crate::event_limits::{EventFrame, EventLimits};
use crate::hosts::FlowOutput;
use crate::observation::TextLimit;

/// Bytes of the record of a frame in a capture file (pcap), which a frame has beside its headers.
const RECORD_BYTES: usize = 16;

/// Bytes of the shortest tag or tunnel header: a VLAN tag or an MPLS label.
const MIN_LAYER_BYTES: usize = 4;

/// The limits of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    text: TextLimit,
    output_ratio: Option<u32>,
    events: Option<u32>,
}

impl EventLimits {
    /// The limits of a connection.
    #[inline]
    pub(crate) fn of_connection(&self) -> ConnectionLimits {
        let Self { max_output_ratio, max_events_per_connection, .. } = *self;
        ConnectionLimits {
            text: self.text(),
            output_ratio: max_output_ratio,
            events: max_events_per_connection,
        }
    }
}

/// Captured bytes of the tags and tunnels around a segment, at least.
fn captured_layer_bytes(segment: &Segment<'_>) -> u64 {
    let is_captured = |layer: &&TunnelLayer| !matches!(layer, TunnelLayer::Interface(_));
    let captured = segment.tunnel.layers().iter().filter(is_captured).count();
    captured.saturating_mul(MIN_LAYER_BYTES) as u64
}

/// The events that a connection may still cause.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    /// Bytes of events that the captured bytes allow, at least. Without a limit it only falls.
    bytes: i64,
    /// The second of the last event.
    second: u32,
    /// Events in this second.
    events: u32,
}

impl Allowance {
    /// Adds what a segment allows, if there is a limit. Every segment comes here: its length and a ratio of 32 bits need no
    /// check for overflow.
    #[inline(always)]
    pub(crate) fn add_segment(&mut self, output_ratio: Option<u32>, segment: &Segment<'_>) {
        let transport = segment.tcp().map_or(8, TcpHeader::header_len);
        let headers = usize::from(segment.ip.header_len).wrapping_add(transport).wrapping_add(RECORD_BYTES);
        let captured = segment.payload.len().wrapping_add(headers) as u64;
        let allowed = captured.wrapping_mul(output_ratio.unwrap_or(0).into());
        self.bytes = self.bytes.saturating_add(allowed.cast_signed());
    }

    /// Takes the bytes of the summary of a connection from those that its first segment allows, so that other events leave room for it.
    /// Returns whether they are there.
    pub(crate) fn reserve_summary(&mut self, output_ratio: Option<u32>, first: &Segment<'_>) -> bool {
        // Tags and tunnels lengthen each event, and were captured too.
        let allowed = captured_layer_bytes(first).saturating_mul(output_ratio.unwrap_or(0).into());
        self.bytes = self.bytes.saturating_add_unsigned(allowed);
        let left = self.bytes.saturating_sub_unsigned(EventFrame::from_segment(first).summary_bytes());
        let is_reserved = left >= 0 || output_ratio.is_none();
        if is_reserved {
            self.bytes = left;
        }
        is_reserved
    }

    /// Takes the [bytes](crate::Event::text_bytes) of a match, which is reported in place of later events.
    pub(crate) fn charge(
        &mut self,
        limits: &ConnectionLimits,
        frame: EventFrame,
        observation: &Observation,
    ) -> u32 {
        let bytes = frame.event_bytes(observation, limits.text);
        self.bytes = self.bytes.saturating_sub_unsigned(bytes);
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Returns the [bytes](crate::Event::text_bytes) of an output if it is reported. Updates of hosts always pass, and take
    /// the bytes of their conclusions.
    #[inline]
    pub(crate) fn admits(
        &mut self,
        limits: &ConnectionLimits,
        frame: EventFrame,
        output: &FlowOutput,
    ) -> Option<u32> {
        self.admits_reserved(limits, frame, output, 0)
    }

    /// As [`admits`](Self::admits), for an event with [reserved](Self::reserve_summary) bytes.
    #[inline]
    pub(crate) fn admits_reserved(
        &mut self,
        limits: &ConnectionLimits,
        frame: EventFrame,
        output: &FlowOutput,
        reserved: u64,
    ) -> Option<u32> {
        let observation = match output {
            Route::Report(observation) => observation,
            Route::Update(update) => {
                self.bytes = self
                    .bytes
                    .saturating_sub_unsigned(frame.conclusion_bytes(update.max_conclusions(), update.tool()));
                return Some(0);
            }
        };
        let second = frame.second();
        if second != self.second {
            (self.second, self.events) = (second, 0);
        }
        let bytes = frame.event_bytes(observation, limits.text);
        let left = self.bytes.saturating_add_unsigned(reserved).saturating_sub_unsigned(bytes);
        let has_too_many = limits.events.is_some_and(|max| self.events >= max);
        if bytes > reserved && (has_too_many || left < 0 && limits.output_ratio.is_some()) {
            return None;
        }
        self.bytes = left;
        self.events = self.events.saturating_add(1);
        Some(u32::try_from(bytes).unwrap_or(u32::MAX))
    }
}
