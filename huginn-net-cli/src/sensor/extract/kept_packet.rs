//! A packet that is kept for the files of `--extract`.

use huginn_net::Timestamp;
use huginn_net::core::{Frame, LinkType};

/// Memory of a packet that is kept, beside its bytes, and what it needs in a file.
const KEPT_PACKET_BYTES: usize = 160;

/// A packet with the comments of its events.
#[derive(Debug)]
pub(super) struct KeptPacket {
    pub(super) ts: Timestamp,
    pub(super) link: LinkType,
    pub(super) wire_len: u32,
    pub(super) data: Box<[u8]>,
    /// At most as many as are written.
    pub(super) comments: Vec<String>,
    /// Number of its events.
    pub(super) events: usize,
}

impl KeptPacket {
    pub(super) fn new(frame: &Frame<'_>) -> Self {
        Self {
            ts: frame.ts,
            link: frame.link,
            wire_len: frame.wire_len,
            data: frame.data.into(),
            comments: Vec::new(),
            events: 0,
        }
    }

    /// Its memory.
    pub(super) fn bytes(&self) -> usize {
        let comments: usize = self.comments.iter().map(|text| text.len().saturating_add(64)).sum();
        self.data.len().saturating_add(comments).saturating_add(KEPT_PACKET_BYTES)
    }
}

pub(super) fn bytes_of(packets: &[KeptPacket]) -> usize {
    packets.iter().map(KeptPacket::bytes).sum()
}
