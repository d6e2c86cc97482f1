//! Packets of a capture, to be analysed in another order or with other times.

use std::path::Path;

use huginn_net::{CaptureError, CaptureReader, Frame, LinkType, Timestamp};

/// An owned frame, and its place in the capture.
#[derive(Clone)]
pub(crate) struct Packet {
    pub(crate) number: usize,
    pub(crate) ts: Timestamp,
    pub(crate) link: LinkType,
    pub(crate) data: Vec<u8>,
    pub(crate) wire_len: u32,
}

impl Packet {
    pub(crate) fn frame(&self) -> Frame<'_> {
        Frame { ts: self.ts, link: self.link, data: &self.data, wire_len: self.wire_len }
    }
}

/// Reads the packets of a capture, and what ended it.
pub(crate) fn read(path: &Path) -> Result<(Vec<Packet>, Result<(), CaptureError>), CaptureError> {
    let mut reader = CaptureReader::open(path)?;
    let mut packets = Vec::new();
    loop {
        match reader.read_frame() {
            Ok(Some(Frame { ts, link, data, wire_len })) => {
                packets.push(Packet { number: packets.len(), ts, link, data: data.to_vec(), wire_len });
            }
            Ok(None) => return Ok((packets, Ok(()))),
            Err(error) => return Ok((packets, Err(error))),
        }
    }
}
