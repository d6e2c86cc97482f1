//! What the flow table needs of a segment before all of its headers are decoded.

use super::FlowKey;
use crate::{Segment, TcpFlags, Timestamp};

/// The flags that start or end a connection.
pub(super) const CONTROL_FLAGS: TcpFlags = TcpFlags::SYN.union(TcpFlags::FIN).union(TcpFlags::RST);

/// A segment whose headers are decoded on demand.
pub(crate) trait LazySegment {
    /// Returns the fields that the flow lookup needs.
    fn meta(&self) -> SegmentMeta;

    /// Decodes all headers.
    fn segment(&self) -> Segment<'_>;
}

impl LazySegment for Segment<'_> {
    #[inline(always)]
    fn meta(&self) -> SegmentMeta {
        let flags = self.tcp().map_or(TcpFlags::empty(), |tcp| tcp.flags);
        let (key, sender_is_low) = FlowKey::from_segment(self);
        SegmentMeta { key, sender_is_low, ts: self.ts, flags }
    }

    #[inline(always)]
    fn segment(&self) -> Segment<'_> {
        *self
    }
}

/// The fields of a segment that the flow lookup needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentMeta {
    pub(crate) key: FlowKey,
    /// Whether the sender is the low endpoint of the key.
    pub(crate) sender_is_low: bool,
    pub(crate) ts: Timestamp,
    /// TCP flags; empty for UDP.
    pub(crate) flags: TcpFlags,
}

impl SegmentMeta {
    /// Whether the segment starts or ends a connection; most segments do neither.
    #[inline]
    pub(super) fn has_control_flags(&self) -> bool {
        self.flags.intersects(CONTROL_FLAGS)
    }
}
