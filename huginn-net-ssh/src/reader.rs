//! Incremental reader of one direction of an SSH connection.

use huginn_net_wire::{Parsed, Progress};
use memchr::memchr;

use crate::identification::LineCount;
use crate::limits::MAX_PACKETS_BEFORE_KEX_INIT;
use crate::{BinaryPacket, Identification, KexInit, SshError};

/// Parses the bytes of one side, in pieces of any length, up to its SSH_MSG_KEXINIT.
///
/// The reader copies no message that lies in one piece. Otherwise it buffers at most
/// [`MAX_PACKET_LEN`](crate::MAX_PACKET_LEN) bytes. Time is linear in the bytes pushed.
///
/// ```
/// use huginn_net_ssh::{Hassh, SshMessage, SshReader};
///
/// # let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/streams/openssh-server.bin"));
/// let mut reader = SshReader::new();
/// for piece in bytes.chunks(100) {
///     reader.push(piece, &mut |message| match message {
///         SshMessage::Identification(line) => assert_eq!(line.software_version(), b"OpenSSH_9.2p1"),
///         SshMessage::KexInit(kex_init) => {
///             assert_eq!(Hassh::from_server(&kex_init).to_string(), "425d29fe50d8e4f5e37efb6e24bcf660");
///         }
///         _ => {}
///     })?;
/// }
/// assert!(reader.is_done());
/// # Ok::<(), huginn_net_ssh::SshError>(())
/// ```
#[derive(Debug)]
pub struct SshReader {
    state: State,
    /// The start of an incomplete line or packet.
    buffer: Vec<u8>,
}

/// A message of an [`SshReader`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SshMessage<'a> {
    /// The identification string, the first message.
    Identification(Identification<'a>),
    /// The SSH_MSG_KEXINIT, the last message.
    KexInit(KexInit<'a>),
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before the end of the identification string.
    Lines(LineCount),
    /// After the identification string, with the number of packets read.
    Packets(usize),
    Done,
}

impl SshReader {
    /// Creates a reader of a direction from its first byte.
    pub const fn new() -> Self {
        Self { state: State::Lines(LineCount::ZERO), buffer: Vec::new() }
    }

    /// Parses the next bytes, and passes each complete message to `found`.
    ///
    /// Done with the last message: an SSH_MSG_KEXINIT, or an identification string of version 1.
    ///
    /// # Errors
    /// An [`SshError`] if the bytes are not SSH. The reader is then [done](Self::is_done).
    pub fn push(
        &mut self,
        bytes: &[u8],
        found: &mut (impl FnMut(SshMessage<'_>) + ?Sized),
    ) -> Result<Progress<()>, SshError> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_done() {
            let outcome = match self.state {
                State::Lines(lines) => self.take_line(lines, rest, found),
                State::Packets(packets) => self.take_packet(packets, rest, found),
                State::Done => Ok(0),
            };
            match outcome {
                Ok(taken) => rest = rest.get(taken..).unwrap_or_default(),
                Err(error) => {
                    *self = Self { state: State::Done, buffer: Vec::new() };
                    return Err(error);
                }
            }
        }
        let consumed = bytes.len().saturating_sub(rest.len());
        Ok(if self.is_done() { Progress::complete((), consumed) } else { Progress::NeedMore })
    }

    /// Whether the reader needs no more bytes: after the SSH_MSG_KEXINIT, an identification string of version 1 or an error.
    pub const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Whether the identification string may still follow.
    pub const fn expects_identification(&self) -> bool {
        matches!(self.state, State::Lines(_))
    }

    /// Whether the bytes so far with `next` may begin an identification string without lines before it.
    #[cfg(feature = "packets")]
    pub(crate) fn may_begin_with_identification(&self, next: &[u8]) -> bool {
        let bytes = self.buffer.iter().chain(next);
        matches!(&self.state, State::Lines(lines) if lines.is_first() && lines.line_len() == self.buffer.len())
            && bytes.zip(crate::identification::PREFIX).all(|(byte, wanted)| byte == wanted)
    }

    /// Returns the memory used by buffered bytes, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Consumes bytes of a line, at most up to its end. Returns their number.
    fn take_line(
        &mut self,
        mut lines: LineCount,
        bytes: &[u8],
        found: &mut (impl FnMut(SshMessage<'_>) + ?Sized),
    ) -> Result<usize, SshError> {
        let end = memchr(b'\n', bytes);
        let len = end.map_or(bytes.len(), |end| end.saturating_add(1));
        let piece = bytes.get(..len).unwrap_or(bytes);
        // Only a line that may be an identification string is buffered.
        let is_candidate = lines.line_len() == self.buffer.len();
        lines.check_len(len)?;
        if is_candidate {
            let line = if self.buffer.is_empty() && end.is_some() {
                piece
            } else {
                self.buffer.extend_from_slice(piece);
                &self.buffer
            };
            if Identification::may_begin_with(line) {
                self.state = State::Lines(lines);
                if end.is_some() {
                    let identification = Identification::from_line(line);
                    self.state = if identification.is_version_1() { State::Done } else { State::Packets(0) };
                    found(SshMessage::Identification(identification));
                    self.buffer = Vec::new();
                }
                return Ok(len);
            }
            self.buffer.clear();
        }
        lines.check_text(piece)?;
        if end.is_some() {
            lines.add_line()?;
        }
        self.state = State::Lines(lines);
        Ok(len)
    }

    /// Consumes bytes of a packet, at most up to its end. Returns their number.
    fn take_packet(
        &mut self,
        packets: usize,
        bytes: &[u8],
        found: &mut (impl FnMut(SshMessage<'_>) + ?Sized),
    ) -> Result<usize, SshError> {
        if self.buffer.is_empty() {
            let Some(Parsed { value: packet, consumed }) = BinaryPacket::parse(bytes)? else {
                self.buffer.extend_from_slice(bytes);
                return Ok(bytes.len());
            };
            self.on_packet(packets, packet, found)?;
            return Ok(consumed);
        }
        let len = BinaryPacket::packet_len(&self.buffer)?.unwrap_or(BinaryPacket::LENGTH_LEN);
        let taken = len.saturating_sub(self.buffer.len()).min(bytes.len());
        self.buffer.extend_from_slice(bytes.get(..taken).unwrap_or(bytes));
        let buffer = std::mem::take(&mut self.buffer);
        match BinaryPacket::parse(&buffer)? {
            Some(parsed) => self.on_packet(packets, parsed.value, found)?,
            None => self.buffer = buffer,
        }
        Ok(taken)
    }

    fn on_packet(
        &mut self,
        packets: usize,
        packet: BinaryPacket<'_>,
        found: &mut (impl FnMut(SshMessage<'_>) + ?Sized),
    ) -> Result<(), SshError> {
        match KexInit::from_packet(packet)? {
            Some(kex_init) => {
                self.state = State::Done;
                found(SshMessage::KexInit(kex_init));
            }
            None if packets >= MAX_PACKETS_BEFORE_KEX_INIT => return Err(SshError::TooManyPackets),
            None => self.state = State::Packets(packets.saturating_add(1)),
        }
        Ok(())
    }
}

impl Default for SshReader {
    fn default() -> Self {
        Self::new()
    }
}
