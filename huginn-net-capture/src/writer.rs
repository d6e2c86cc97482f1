//! Writes pcapng.
//!
//! The writer is our own: `pcap-file` 2.0 writes every time in nanoseconds, whatever the unit of the interface, so that a reader shows
//! digits that were never captured, and 3.0 is a release candidate. Three types of blocks are enough here.

use std::io::{self, Write};

use huginn_net_core::Frame;

use crate::interface::{CaptureInterface, TimeResolution};
use crate::limits::{MAX_BUFFERED_BLOCK_LEN, MAX_FRAME_LEN, MAX_INTERFACES};
use crate::pcapng::{BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE_DESCRIPTION, SECTION_HEADER};

const COMMENT: u16 = 1;
const USER_APPLICATION: u16 = 4;
const DESCRIPTION: u16 = 3;
const TIME_RESOLUTION: u16 = 9;

/// Version 1.0.
const VERSION: [u8; 4] = [1, 0, 0, 0];
/// The length of a section that is not known when it begins.
const UNKNOWN_LENGTH: [u8; 8] = [0xff; 8];

/// Writes frames as a pcapng file, in little-endian byte order
/// ([the format](https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/)).
///
/// Frames are kept as they are: time in the unit of their interface, bytes, and length on the wire. A unit finer than a nanosecond
/// becomes nanoseconds, which is what a [`Timestamp`](huginn_net_core::Timestamp) has.
///
/// ```
/// use huginn_net_capture::{CaptureInterface, CaptureReader, PcapngWriter, TimeResolution};
/// use huginn_net_core::{Frame, LinkType, Timestamp};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut writer = PcapngWriter::new(Vec::new(), "example")?;
/// let interface = CaptureInterface::new(LinkType::RAW, 0, TimeResolution::NANOS);
/// let id = writer.add_interface(&interface, None)?;
/// let ts = Timestamp::new(1_600_000_000, 1, 9);
/// let frame = Frame { ts, link: LinkType::RAW, data: &[0x45], wire_len: 20 };
/// writer.write_frame(id, &frame, ["the first byte"])?;
///
/// let mut capture = CaptureReader::from_reader("a slice", std::io::Cursor::new(writer.finish()?))?;
/// let frame = capture.read_frame()?.unwrap();
/// assert_eq!((frame.ts, frame.data, frame.wire_len), (ts, &[0x45][..], 20));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    /// The units of the interfaces, by their number.
    resolutions: Vec<TimeResolution>,
    /// The block that is being written.
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the header of the file, which names the application.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, application: &str) -> io::Result<Self> {
        let mut writer = Self { out, resolutions: Vec::new(), block: Vec::new() };
        writer.begin_block(SECTION_HEADER);
        writer.block.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
        writer.block.extend_from_slice(&VERSION);
        writer.block.extend_from_slice(&UNKNOWN_LENGTH);
        writer.add_option(USER_APPLICATION, application.as_bytes());
        writer.end_options();
        writer.end_block()?;
        Ok(writer)
    }

    /// Describes an interface, and returns its number. The description is any text, such as the name of a file.
    ///
    /// # Errors
    /// Those of the output, and `InvalidInput` after 65,536 interfaces, which is as many as [`CaptureReader`](crate::CaptureReader)
    /// accepts.
    pub fn add_interface(
        &mut self,
        interface: &CaptureInterface,
        description: Option<&str>,
    ) -> io::Result<u32> {
        let CaptureInterface { link, snap_len, resolution } = *interface;
        if self.resolutions.len() >= MAX_INTERFACES {
            return Err(invalid(format!("a pcapng file has at most {MAX_INTERFACES} interfaces")));
        }
        let number = u32::try_from(self.resolutions.len()).unwrap_or(u32::MAX);
        let resolution = resolution.at_least_nanos();
        self.resolutions.push(resolution);
        self.begin_block(INTERFACE_DESCRIPTION);
        self.block.extend_from_slice(&link.0.to_le_bytes());
        self.block.extend_from_slice(&[0, 0]);
        self.block.extend_from_slice(&snap_len.to_le_bytes());
        if let Some(description) = description {
            self.add_option(DESCRIPTION, description.as_bytes());
        }
        self.add_option(TIME_RESOLUTION, &[resolution.tsresol()]);
        self.end_options();
        self.end_block()?;
        Ok(number)
    }

    /// Writes a frame of an interface with comments, each cut to 65,535 bytes. The link type is that of the interface.
    ///
    /// # Errors
    /// Those of the output, and `InvalidInput` if the interface is unknown, or the frame or the comments are longer than
    /// [`CaptureReader`](crate::CaptureReader) accepts: 256 KiB, and 1 MiB together.
    pub fn write_frame<'c>(
        &mut self,
        interface: u32,
        frame: &Frame<'_>,
        comments: impl IntoIterator<Item = &'c str>,
    ) -> io::Result<()> {
        let resolution = self.resolutions.get(interface as usize).copied();
        let Some(resolution) = resolution else {
            return Err(invalid(format!("interface {interface} was not described")));
        };
        let Some(len) = u32::try_from(frame.data.len()).ok().filter(|len| *len as usize <= MAX_FRAME_LEN)
        else {
            return Err(invalid(format!("a frame has more than {MAX_FRAME_LEN} bytes")));
        };
        let ticks = resolution.ticks(frame.ts);
        #[expect(clippy::cast_possible_truncation, reason = "the halves of a word")]
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        self.begin_block(ENHANCED_PACKET);
        for word in [interface, high, low, len, frame.wire_len.max(len)] {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        self.block.extend_from_slice(frame.data);
        self.pad();
        let before = self.block.len();
        for comment in comments {
            self.add_option(COMMENT, comment.as_bytes());
        }
        if self.block.len() != before {
            self.end_options();
        }
        self.end_block()
    }

    /// Writes what is buffered, and returns the output.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// Begins a block; its length follows at its end.
    fn begin_block(&mut self, kind: u32) {
        self.block.clear();
        self.block.extend_from_slice(&kind.to_le_bytes());
        self.block.extend_from_slice(&[0; 4]);
    }

    /// Appends an option with its padding. A text that is too long is cut at a character.
    fn add_option(&mut self, code: u16, value: &[u8]) {
        let value = cut(value);
        let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.block.extend_from_slice(&code.to_le_bytes());
        self.block.extend_from_slice(&len.to_le_bytes());
        self.block.extend_from_slice(value);
        self.pad();
    }

    fn end_options(&mut self) {
        self.block.extend_from_slice(&[0; 4]);
    }

    /// Fills the block up to a multiple of four bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Writes the block with its length.
    fn end_block(&mut self) -> io::Result<()> {
        let len = self.block.len().saturating_add(size_of::<u32>());
        let Some(stated) = u32::try_from(len).ok().filter(|_| len <= MAX_BUFFERED_BLOCK_LEN) else {
            return Err(invalid(format!("a block has more than {MAX_BUFFERED_BLOCK_LEN} bytes")));
        };
        let stated = stated.to_le_bytes();
        if let Some(place) = self.block.get_mut(4..8) {
            place.copy_from_slice(&stated);
        }
        self.block.extend_from_slice(&stated);
        self.out.write_all(&self.block)
    }
}

/// Cuts UTF-8 to the maximum length of an option, before a character.
fn cut(value: &[u8]) -> &[u8] {
    let Some((start, rest)) = value.split_at_checked(usize::from(u16::MAX)) else { return value };
    let is_continued = |byte: &u8| byte & 0xc0 == 0x80;
    if !rest.first().is_some_and(is_continued) {
        return start;
    }
    // The last character began with a byte that is not a continuation.
    let begun = start.iter().rposition(|byte| !is_continued(byte)).unwrap_or(0);
    start.get(..begun).unwrap_or_default()
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
