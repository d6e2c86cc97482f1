//! Sources for the tests.

use std::convert::Infallible;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use huginn_net_core::{Block, Chunk, ChunkReader, Fill, Frame, FrameRecord, NextFrame, Source};

use super::traffic::Packet;

/// Lends each frame from one buffer that the next frame overwrites.
pub(crate) struct Overwriting<'a> {
    packets: slice::Iter<'a, Packet>,
    current: Vec<u8>,
}

impl<'a> Overwriting<'a> {
    pub(crate) fn new(packets: &'a [Packet]) -> Self {
        Self { packets: packets.iter(), current: Vec::new() }
    }
}

impl Source<'_> for Overwriting<'_> {
    type Error = Infallible;

    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        let Some(packet) = self.packets.next() else { return Ok(NextFrame::End) };
        self.current.clear();
        self.current.extend_from_slice(&packet.data);
        Ok(NextFrame::Frame(Frame { data: &self.current, ..packet.frame() }))
    }
}

/// The behaviour of a [`Buffered`] source after its last packet.
#[derive(Clone, Copy)]
pub(crate) enum Ending {
    End,
    Error(&'static str),
    Panic(&'static str),
    /// A panic of the thread that reads the fifth chunk, or the end if the source is read without chunks.
    PanicInChunk(&'static str),
    /// The packets repeat forever.
    Again,
}

/// Fills blocks by swapping buffers, as a capture file does. Has chunks, without content.
#[derive(Clone)]
pub(crate) struct Buffered<'a> {
    packets: &'a [Packet],
    next: usize,
    ending: Ending,
    /// The offset of the next chunk, if there are chunks.
    chunk: Option<u64>,
}

/// Chunks of one byte.
struct OrderedChunks {
    next: AtomicU64,
    ending: Ending,
}

impl ChunkReader for OrderedChunks {
    fn claim(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn read(&self, offset: u64, buffer: Vec<u8>) -> Chunk {
        match self.ending {
            Ending::PanicInChunk(message) if offset == 4 => panic!("{message}"),
            // The next chunks are read before this one.
            _ if offset.is_multiple_of(3) => thread::sleep(Duration::from_micros(200)),
            _ => {}
        }
        Chunk { buffer, end: 0, offset }
    }
}

impl<'a> Buffered<'a> {
    /// Bytes per buffer: more than any frame of the tests and than 17 SYNs.
    const BUFFER_LEN: usize = 700;

    pub(crate) fn new(packets: &'a [Packet], ending: Ending) -> Self {
        Self { packets, next: 0, ending, chunk: None }
    }

    fn next_packet(&mut self) -> Result<Option<&'a Packet>, &'static str> {
        if self.next == self.packets.len() {
            match self.ending {
                Ending::End | Ending::PanicInChunk(_) => return Ok(None),
                Ending::Error(error) => return Err(error),
                Ending::Panic(message) => panic!("{message}"),
                Ending::Again => self.next = 0,
            }
        }
        self.next += 1;
        Ok(Some(&self.packets[self.next - 1]))
    }
}

impl<'f> Source<'f> for Buffered<'_> {
    type Error = &'static str;

    fn next_frame(&mut self) -> Result<NextFrame<'_>, &'static str> {
        Ok(NextFrame::from_frame(self.next_packet()?.map(Packet::frame)))
    }

    fn chunks(&mut self, _: usize) -> Option<Arc<dyn ChunkReader>> {
        self.chunk = Some(0);
        Some(Arc::new(OrderedChunks { next: AtomicU64::new(0), ending: self.ending }))
    }

    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, &'static str> {
        assert_eq!(block.take_chunk().map(|chunk| chunk.offset), self.chunk, "chunks arrive in order");
        self.chunk = self.chunk.map(|chunk| chunk + 1);
        let mut buffer = Vec::new();
        let outcome = loop {
            match self.next_packet() {
                Ok(Some(packet)) => {
                    let Frame { ts, link, data, wire_len } = packet.frame();
                    let start = buffer.len() as u32;
                    buffer.extend_from_slice(data);
                    let len = data.len() as u32;
                    block.push_record(FrameRecord { ts, start, len, wire_len, link });
                }
                Ok(None) => break Ok(Fill::End),
                Err(error) => break Err(error),
            }
            if buffer.len() >= block.limit().min(Self::BUFFER_LEN) {
                break Ok(Fill::More);
            }
        };
        block.swap_buffer(buffer);
        outcome
    }
}

/// Calls a function before each packet and before the end, after it has returned idle once.
pub(crate) struct Waiting<F> {
    pub(crate) packets: Vec<Packet>,
    pub(crate) given: usize,
    pub(crate) is_idle: bool,
    /// Takes the number of packets given so far.
    pub(crate) wait: F,
}

impl<F: FnMut(usize)> Waiting<F> {
    pub(crate) fn new(packets: Vec<Packet>, wait: F) -> Self {
        Self { packets, given: 0, is_idle: false, wait }
    }
}

impl<'f, F: FnMut(usize)> Source<'f> for Waiting<F> {
    type Error = Infallible;

    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        self.is_idle = !self.is_idle;
        if self.is_idle {
            return Ok(NextFrame::Idle);
        }
        (self.wait)(self.given);
        self.given += 1;
        Ok(NextFrame::from_frame(self.packets.get(self.given - 1).map(Packet::frame)))
    }

    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, Infallible> {
        while !block.is_full() {
            match self.next_frame()? {
                NextFrame::Frame(frame) => {
                    block.push(&frame);
                    block.set_taken_at(block.taken_at().or(Some(frame.ts)));
                }
                NextFrame::Idle => return Ok(Fill::Idle),
                NextFrame::End => return Ok(Fill::End),
            }
        }
        Ok(Fill::More)
    }
}

/// Lends one frame and is then idle forever.
pub(crate) struct Silent {
    packet: Packet,
    is_lent: bool,
}

impl Silent {
    pub(crate) fn after(packet: Packet) -> Self {
        Self { packet, is_lent: false }
    }
}

impl Source<'_> for Silent {
    type Error = Infallible;

    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        if !std::mem::replace(&mut self.is_lent, true) {
            return Ok(NextFrame::Frame(self.packet.frame()));
        }
        thread::sleep(Duration::from_millis(1));
        Ok(NextFrame::Idle)
    }
}

/// Lends the same frame forever.
pub(crate) struct Endless(pub(crate) Packet);

impl Source<'_> for Endless {
    type Error = Infallible;

    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        Ok(NextFrame::Frame(self.0.frame()))
    }
}
