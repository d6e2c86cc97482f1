//! Capture files: pcap and pcapng, plain or compressed, from a path or any reader; and a writer of pcapng.
//!
//! A [`CaptureReader`] is a [`Source`] for any analyzer, and reads frames without one:
//!
//! ```
//! use huginn_net_capture::CaptureReader;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
//! let mut capture = CaptureReader::open(path)?;
//! let (mut frames, mut bytes) = (0, 0);
//! while let Some(frame) = capture.read_frame()? {
//!     frames += 1;
//!     bytes += frame.data.len();
//! }
//! println!("{frames} frames, {bytes} bytes");
//! # assert!(frames > 0 && bytes > 0);
//! # Ok::<(), huginn_net_capture::CaptureError>(())
//! ```
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `find` | no | `find_in_directory`, `find_matching`: the captures that a directory or a pattern names |

mod byte_order;
mod compression;
mod error;
mod file_chunks;
mod file_name;
mod file_type;
#[cfg(feature = "find")]
mod find;
mod gzip;
mod input;
mod interface;
mod limits;
mod pcap;
mod pcapng;
mod raw;
mod read_ahead;
mod stream;
mod writer;
mod zstd;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

pub use compression::Compression;
pub use error::{CaptureError, Defect, Part};
pub use file_name::is_capture_name;
#[cfg(feature = "find")]
pub use find::{FindError, FoundFile, find_in_directory, find_matching, is_pattern, matching_names};
pub use interface::{CaptureInterface, TimeResolution};
pub use limits::MAX_SEARCHED_LEN;
pub use writer::PcapngWriter;

use error::ReadError;
use huginn_net_core::{
    Block, ChunkReader, Escaped, Fill, Frame, FrameProcess, FrameRecord, LinkType, NextFrame, Source,
    Timestamp,
};
use input::{Input, RatioExceeded};
use pcap::Pcap;
use pcapng::Pcapng;
use raw::Reader;
use stream::Stream;

/// Reads a capture file and lends its frames one by one.
///
/// The reader detects the format by content, never by name:
/// - pcap with times in microseconds or nanoseconds, in either byte order, and the variant with 24-byte record
///   headers of Alexey Kuznetzov's patched libpcap
///   ([the format](https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/));
/// - pcapng in either byte order, with any number of sections and interfaces, each interface with its own link
///   type and time resolution; enhanced, simple and obsolete packet blocks
///   ([the format](https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/));
/// - each of them compressed by gzip (RFC 1952) or Zstandard (RFC 8878), in any number of members or frames.
///
/// Frames borrow from one buffer of 256 KiB, which grows to at most 1 MiB for longer records, or from several buffers
/// if a thread [decompresses ahead](Self::decompress_ahead), or if five workers or more read the file at once: then each block has a
/// buffer of about 1 MiB, at most 2 MiB. A decompressor adds its window: 32 KiB for gzip, up to
/// 128 MiB for Zstandard.
///
/// A damaged capture yields all frames before the damage, then exactly one error, then its end.
///
/// ```
/// use huginn_net_capture::CaptureReader;
///
/// # fn main() -> Result<(), huginn_net_capture::CaptureError> {
/// let header = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];
/// let packet = [0, 225, 11, 95, 1, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 0x45];
/// let file: Vec<u8> = header.into_iter().chain(packet).collect();
///
/// let mut capture = CaptureReader::from_reader("a slice", std::io::Cursor::new(file))?;
/// while let Some(frame) = capture.read_frame()? {
///     assert_eq!(frame.ts.to_string(), "2020-07-13T04:20:16.000001Z");
///     assert_eq!((frame.data, frame.wire_len), (&[0x45][..], 20));
/// }
/// assert_eq!(capture.packets(), 1);
/// # Ok(())
/// # }
/// ```
pub struct CaptureReader {
    name: String,
    stream: Stream,
    format: Format,
    packets: u64,
    input_len: Option<u64>,
    ended: bool,
    /// Whether the last call returned `Idle`.
    is_idle: bool,
}

/// A frame with the process that sent or received it.
#[derive(Debug)]
#[non_exhaustive]
pub struct LabelledFrame<'a> {
    /// The frame.
    pub frame: Frame<'a>,
    /// The process; `None` if the capture does not name it. An error concerns the process alone, and reading goes on. It has
    /// the packet and the offset of the damaged block.
    pub process: Result<Option<FrameProcess<'a>>, CaptureError>,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Layout and metadata of the record at the start of the stream.
struct Record {
    ts: Timestamp,
    link: LinkType,
    wire_len: u32,
    /// Length of the record with headers and padding, all of which is buffered.
    len: usize,
    /// The frame within the record.
    data: Range<usize>,
}

impl CaptureReader {
    /// Opens a capture file or a named pipe.
    ///
    /// # Errors
    /// If the path cannot be opened or is a directory, and the errors of [`from_reader`](Self::from_reader).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let name = format!("{:#}", Escaped(path.as_os_str().as_encoded_bytes()));
        let opened = File::open(path).and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        match opened {
            Ok((_, metadata)) if metadata.is_dir() => Err(CaptureError::IsDirectory { name }),
            // Where /dev/stdin shares the position of standard input, reading goes on from there.
            Ok((file, metadata)) if metadata.is_file() && matches!((&file).stream_position(), Ok(0)) => {
                let capture = Self::from_input(name, Reader::File(Arc::new(file)))?;
                Ok(Self { input_len: Some(metadata.len()), ..capture })
            }
            Ok((file, metadata)) => {
                let capture = Self::from_reader(name, file)?;
                Ok(Self { input_len: metadata.is_file().then_some(metadata.len()), ..capture })
            }
            Err(source) => Err(CaptureError::Open { name, source }),
        }
    }

    /// Reads a capture from any reader. Errors call it `name`.
    ///
    /// The capture is read in large chunks, so `reader` needs no buffer.
    ///
    /// # Errors
    /// If the input is empty, has no capture format, or cannot be read or decompressed.
    pub fn from_reader(
        name: impl Into<String>,
        reader: impl Read + Send + 'static,
    ) -> Result<Self, CaptureError> {
        Self::from_input(name.into(), Reader::Other(Box::new(reader)))
    }

    fn from_input(name: String, reader: Reader) -> Result<Self, CaptureError> {
        let input = match Input::new(reader) {
            Ok(input) => input,
            Err(source) => return Err(CaptureError::Io { name, packet: 1, offset: 0, source }),
        };
        let mut stream = Stream::new(input);
        match Format::probe(&mut stream) {
            Ok(Some(format)) => {
                Ok(Self { name, stream, format, packets: 0, input_len: None, ended: false, is_idle: false })
            }
            Ok(None) => Err(not_a_capture(name, &stream)),
            Err(error) => Err(error_at(error, name, 1, &stream)),
        }
    }

    /// Sets the maximum ratio of decompressed to compressed bytes, 1000 by default; `None` removes the limit. Beyond the first
    /// 64 MiB, a capture that exceeds it ends with [`CaptureError::CompressionRatio`]. Call it before
    /// [`decompress_ahead`](Self::decompress_ahead).
    ///
    /// The limit bounds the work that a small file can cause. Real captures do not reach it, with one exception: long
    /// transfers of constant bytes, captured in frames of 64 KiB (segmentation offload), under Zstandard.
    #[must_use]
    pub fn max_compression_ratio(mut self, max: Option<NonZeroU32>) -> Self {
        self.stream.set_max_ratio(max);
        self
    }

    /// Decompresses in a separate thread, up to 4 blocks of 512 KiB ahead. It uses at most 8 buffers, each of up to
    /// twice that length if frames are long. Has no effect on a capture that is not [compressed](Self::compression),
    /// or if the system cannot start a thread.
    ///
    /// Useful if another core is idle. Use it for files only: nothing joins the thread, and a thread that reads a
    /// pipe lives until the pipe has data or ends.
    #[must_use]
    pub fn decompress_ahead(self) -> Self {
        if self.compression().is_none() {
            return self;
        }
        Self { stream: self.stream.start_read_ahead(), ..self }
    }

    /// Lends the next frame. Returns `None` at the end and after an error.
    ///
    /// # Errors
    /// If the capture is damaged or truncated, or cannot be read or decompressed.
    #[inline]
    pub fn read_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let Some(record) = self.next_record()? else { return Ok(None) };
        Ok(Some(self.lend(record)))
    }

    /// Lends the next frame with the interface that captured it, as [`PcapngWriter`] needs it. Returns `None` at the end and after
    /// an error.
    ///
    /// # Errors
    /// Those of [`read_frame`](Self::read_frame).
    pub fn read_frame_with_interface(
        &mut self,
    ) -> Result<Option<(Frame<'_>, CaptureInterface)>, CaptureError> {
        let Some(record) = self.next_record()? else { return Ok(None) };
        let described = match &self.format {
            Format::Pcap(pcap) => Some(pcap.interface()),
            Format::Pcapng(pcapng) => pcapng.described_interface(record.ts.interface()),
        };
        // Records of interfaces without a description are errors.
        let unknown = CaptureInterface { link: record.link, snap_len: 0, resolution: TimeResolution::NANOS };
        Ok(Some((self.lend(record), described.unwrap_or(unknown))))
    }

    /// Lends the next frame with the process that sent or received it. Returns `None` at the end and after an error.
    ///
    /// The process comes from a PKTAP header, a PCAPdroid trailer, or, if the frame has neither, from a process information
    /// block of macOS in a pcapng file. Such blocks are read from the first call on, so read all frames in this way.
    ///
    /// # Errors
    /// Those of [`read_frame`](Self::read_frame). A damaged block or option that only names processes is
    /// an error in the [frame](LabelledFrame::process).
    pub fn read_labelled_frame(&mut self) -> Result<Option<LabelledFrame<'_>>, CaptureError> {
        if let Format::Pcapng(pcapng) = &mut self.format {
            pcapng.read_processes();
        }
        let Some(record) = self.next_record()? else { return Ok(None) };
        let packet = self.packet_number();
        let Self { stream, format, name, .. } = self;
        let Record { ts, link, wire_len, len, data } = record;
        let frame = Frame { ts, link, data: stream.take_part(len, data), wire_len };
        let process = match (FrameProcess::from_frame(&frame), format) {
            (None, Format::Pcapng(pcapng)) => pcapng.latest_process().map_err(|(offset, defect)| {
                CaptureError::Damaged { name: name.clone(), packet, offset, defect }
            }),
            (process, _) => Ok(process),
        };
        Ok(Some(LabelledFrame { frame, process }))
    }

    /// Whether the capture brings secrets of TLS: a Decryption Secrets Block of pcapng before the first packet; if `path` names the
    /// same file, uncompressed, also after the last one; and if it has at most 64 MiB, also anywhere between. Consumes nothing.
    pub fn has_secrets(&self, path: Option<&Path>) -> bool {
        let Format::Pcapng(pcapng) = &self.format else { return false };
        // The analysis reports what cannot be read.
        pcapng.begins_with_secrets(self.stream.unread())
            || path.filter(|_| self.compression().is_none()).is_some_and(|path| {
                let has =
                    |search: fn(File) -> io::Result<bool>| File::open(path).and_then(search).unwrap_or(false);
                has(pcapng::ends_with_secrets) || has(pcapng::contains_secrets)
            })
    }

    /// Whether a Decryption Secrets Block lies before the first packet, or after the last one of the same uncompressed pcapng file that
    /// `file` reads. The position of `file` is unspecified afterwards.
    ///
    /// # Errors
    /// If `file` cannot be read. A short one has none.
    pub fn has_secrets_at_ends(&self, file: impl Read + Seek) -> io::Result<bool> {
        let Format::Pcapng(_) = &self.format else { return Ok(false) };
        let begins_with_secrets = self.has_secrets(None);
        if begins_with_secrets || self.compression().is_some() {
            return Ok(begins_with_secrets);
        }
        match pcapng::ends_with_secrets(file) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            found => found,
        }
    }

    /// Passes the text of each TLS key log in Decryption Secrets Blocks to `each` when its block is passed, with the number of packets
    /// before it: for input that cannot be read twice. Blocks of more than 32 MiB are skipped.
    #[must_use]
    pub fn on_key_log(mut self, each: impl FnMut(&[u8], u64) + Send + 'static) -> Self {
        if let Format::Pcapng(pcapng) = &mut self.format {
            pcapng.set_on_key_log(Box::new(each));
        }
        self
    }

    /// Returns the number of Decryption Secrets Blocks that were passed so far. Reading frames skips their secrets.
    pub fn secrets_blocks(&self) -> u64 {
        match &self.format {
            Format::Pcapng(pcapng) => pcapng.secrets_blocks(),
            _ => 0,
        }
    }

    /// Reads the rest of the capture, and passes the text of each TLS key log in Decryption Secrets Blocks to `each`, wherever the
    /// blocks are. Blocks of more than 32 MiB are skipped.
    ///
    /// # Errors
    /// If the capture is damaged or truncated, or cannot be read or decompressed.
    pub fn read_key_logs(mut self, mut each: impl FnMut(&[u8])) -> Result<(), CaptureError> {
        let Self { stream, format, name, .. } = &mut self;
        let Format::Pcapng(pcapng) = format else { return Ok(()) };
        pcapng.read_key_logs(stream, &mut each).map_err(|error| error_at(error, name.clone(), 1, stream))
    }

    /// Returns the number of the latest packet, as Wireshark counts.
    fn packet_number(&self) -> u64 {
        let others = match &self.format {
            Format::Pcap(_) => 0,
            Format::Pcapng(pcapng) => pcapng.other_records(),
        };
        self.packets.saturating_add(others)
    }

    /// Consumes a record that lies at the start of the stream, and lends its frame.
    #[inline(always)]
    fn lend(&mut self, Record { ts, link, wire_len, len, data }: Record) -> Frame<'_> {
        Frame { ts, link, data: self.stream.take_part(len, data), wire_len }
    }

    /// Reads the next record with a frame, which then lies at the start of the stream.
    #[inline(always)]
    fn next_record(&mut self) -> Result<Option<Record>, CaptureError> {
        match self.buffered_record() {
            Some(record) => Ok(Some(record)),
            None => self.read_record(),
        }
    }

    /// Returns the next record if the format is pcap and all of it is buffered, as is usual.
    #[inline(always)]
    fn buffered_record(&mut self) -> Option<Record> {
        let Format::Pcap(pcap) = &self.format else { return None };
        let record = pcap.buffered(self.stream.unread()).filter(|_| !self.ended)?;
        self.stream.set_mark();
        self.packets = self.packets.saturating_add(1);
        Some(record)
    }

    /// Reads the next record with a frame in any format, buffered or not.
    #[inline(never)]
    fn read_record(&mut self) -> Result<Option<Record>, CaptureError> {
        if self.ended {
            return Ok(None);
        }
        let next = match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.stream),
            Format::Pcapng(pcapng) => pcapng.next(&mut self.stream, self.packets),
        };
        match next {
            Ok(Some(record)) => {
                self.packets = self.packets.saturating_add(1);
                Ok(Some(record))
            }
            Ok(None) => {
                self.ended = true;
                Ok(None)
            }
            Err(error) => {
                self.ended = true;
                let number = self.packet_number().saturating_add(1);
                Err(error_at(error, self.name.clone(), number, &self.stream))
            }
        }
    }

    /// Adds the records of all completely buffered frames to a block, at least one unless the capture has ended.
    fn fill_records(&mut self, block: &mut Block<'_>) -> Result<Fill, CaptureError> {
        loop {
            let Some(Record { ts, link, wire_len, len, data }) = self.next_record()? else {
                return Ok(Fill::End);
            };
            let offset = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
            let start = offset(self.stream.start().saturating_add(data.start));
            block.push_record(FrameRecord { ts, start, len: offset(data.len()), wire_len, link });
            self.stream.take(len);
            if !self.has_complete_frame() {
                // A read of anything but a regular file may wait.
                return Ok(if self.input_len.is_some() { Fill::More } else { Fill::Idle });
            }
            // A chunk is used up: others were read for the next blocks. A record has at least 16 bytes.
            let is_full = if self.stream.has_chunks() { block.has_last_frame() } else { block.is_full() };
            if is_full {
                return Ok(Fill::More);
            }
        }
    }

    /// Whether the next frame is completely buffered.
    #[inline]
    fn has_complete_frame(&self) -> bool {
        let unread = self.stream.unread();
        match &self.format {
            Format::Pcap(pcap) => pcap.has_complete_frame(unread),
            Format::Pcapng(pcapng) => pcapng.has_complete_frame(unread),
        }
    }

    /// Returns the number of frames lent so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the compression of the input, if any.
    pub fn compression(&self) -> Option<Compression> {
        self.stream.compression()
    }

    /// Returns the number of input bytes read so far, before decompression. Bytes that were [decompressed
    /// ahead](Self::decompress_ahead) count when their frames are read.
    pub fn consumed(&self) -> u64 {
        self.stream.consumed()
    }

    /// Returns the length of the input in bytes, before decompression, if it is a regular file.
    pub fn input_len(&self) -> Option<u64> {
        self.input_len
    }
}

impl<'f> Source<'f> for CaptureReader {
    type Error = CaptureError;

    /// Returns `Idle` before it waits for input that is not a regular file.
    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, CaptureError> {
        if let Some(record) = self.buffered_record() {
            self.is_idle = false;
            return Ok(NextFrame::Frame(self.lend(record)));
        }
        self.next_unbuffered()
    }

    /// Lets several threads read a plain file at once.
    fn chunks(&mut self, block_bytes: usize) -> Option<Arc<dyn ChunkReader>> {
        let chunks = self.stream.file_chunks(block_bytes)?;
        Some(chunks)
    }

    /// Moves the read buffer into the block without copying frames.
    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, CaptureError> {
        if let Some(dropped) = block.take_chunk().and_then(|chunk| self.stream.add_chunk(chunk)) {
            block.swap_buffer(dropped);
            return Ok(Fill::More);
        }
        let outcome = self.fill_records(block);
        let fresh = block.swap_buffer(Vec::new());
        let filled = self.stream.swap_buffer(fresh, block.limit());
        block.swap_buffer(filled);
        outcome
    }
}

impl CaptureReader {
    /// Returns the next frame, of any format, buffered or not; `Idle` before it waits for input that is not a regular file.
    #[inline(never)]
    fn next_unbuffered(&mut self) -> Result<NextFrame<'_>, CaptureError> {
        let may_wait = self.input_len.is_none() && !self.ended && !self.has_complete_frame();
        self.is_idle = may_wait && !self.is_idle;
        if self.is_idle {
            return Ok(NextFrame::Idle);
        }
        let Some(record) = self.read_record()? else { return Ok(NextFrame::End) };
        Ok(NextFrame::Frame(self.lend(record)))
    }
}

impl fmt::Debug for CaptureReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureReader")
            .field("name", &self.name)
            .field("packets", &self.packets)
            .field("consumed", &self.consumed())
            .field("input_len", &self.input_len)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl Format {
    /// Detects the format by the first bytes; `None` if it is unknown.
    fn probe(stream: &mut Stream) -> Result<Option<Self>, ReadError> {
        let head = stream.ensure(pcapng::PROBE_LEN)?;
        if pcapng::probe(head) {
            return Ok(Some(Self::Pcapng(Pcapng::new())));
        }
        Ok(Pcap::open(stream)?.map(Self::Pcap))
    }
}

fn not_a_capture(name: String, stream: &Stream) -> CaptureError {
    let head = stream.unread();
    if head.is_empty() {
        return CaptureError::Empty { name };
    }
    let head = head.iter().copied().take(error::HEAD_LEN).collect();
    CaptureError::NotACapture { name, compression: stream.compression(), head }
}

/// Adds the position to an error.
fn error_at(error: ReadError, name: String, packet: u64, stream: &Stream) -> CaptureError {
    let offset = stream.mark();
    match error {
        ReadError::Defect(defect) => CaptureError::Damaged { name, packet, offset, defect },
        ReadError::Read(source) => match (stream.compression(), RatioExceeded::of(&source)) {
            (Some(compression), Some(RatioExceeded { max })) => {
                CaptureError::CompressionRatio { name, packet, offset, compression, max_ratio: *max }
            }
            (Some(compression), None) if !stream.failed() => CaptureError::Decompress {
                name,
                packet,
                offset,
                compression,
                reached: stream.reached(),
                source,
            },
            _ => CaptureError::Io { name, packet, offset, source },
        },
    }
}
