//! Identification strings (RFC 4253, section 4.2).

use std::borrow::Cow;
use std::fmt;

use huginn_net_wire::Parsed;
use memchr::memchr;

use crate::SshError;
use crate::limits::{MAX_BYTES_BEFORE_IDENTIFICATION, MAX_LINE_LEN, MAX_LINES_BEFORE_IDENTIFICATION};

/// The first bytes of every identification string.
pub(crate) const PREFIX: &[u8] = b"SSH-";

/// An identification string, such as `SSH-2.0-OpenSSH_9.2p1 Debian-2`, without its line end.
///
/// Its bytes need not be UTF-8.
///
/// ```
/// use huginn_net_ssh::{Identification, Parsed};
///
/// let bytes = b"Authorised use only.\r\nSSH-2.0-OpenSSH_9.2p1 Debian-2\r\n\0\0";
/// let Parsed { value: identification, consumed } = Identification::parse(bytes)?.expect("a complete line");
/// assert_eq!(identification.as_bytes(), b"SSH-2.0-OpenSSH_9.2p1 Debian-2");
/// assert_eq!(identification.protocol_version(), b"2.0");
/// assert_eq!(identification.software_version(), b"OpenSSH_9.2p1");
/// assert_eq!(identification.comments(), Some(&b"Debian-2"[..]));
/// assert_eq!(consumed, bytes.len() - 2);
///
/// assert_eq!(Identification::parse(b"SSH-2.0-OpenSSH_9.2p1")?, None, "the line end is missing");
/// # Ok::<(), huginn_net_ssh::SshError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Identification<'a> {
    line: Cow<'a, [u8]>,
}

impl<'a> Identification<'a> {
    /// Parses the first bytes of a client or server: the identification string, and the lines of text that a server may send
    /// before it.
    ///
    /// The line end counts as consumed. Returns `None` if the line end is missing. Each call reads from the first byte, at most
    /// [`MAX_BYTES_BEFORE_IDENTIFICATION`]. [`SshReader`](crate::SshReader) takes bytes piece by piece, and reads each once.
    ///
    /// # Errors
    /// [`SshError::NotText`], [`SshError::LineTooLong`], [`SshError::TooManyLines`] or [`SshError::TooManyBytes`] if no
    /// further bytes can complete an identification string.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<Parsed<Self>>, SshError> {
        let (mut lines, mut rest) = (LineCount::ZERO, bytes);
        loop {
            let end = memchr(b'\n', rest);
            let len = end.map_or(rest.len(), |end| end.saturating_add(1));
            let (line, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            lines.check_len(line.len())?;
            if Self::may_begin_with(line) {
                let consumed = bytes.len().saturating_sub(after.len());
                return Ok(end.map(|_| Parsed::new(Self::from_line(line), consumed)));
            }
            lines.check_text(line)?;
            if end.is_none() {
                return Ok(None);
            }
            lines.add_line()?;
            rest = after;
        }
    }

    /// Converts a line to an identification string, and removes its line end.
    pub(crate) fn from_line(line: &'a [u8]) -> Self {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        Self { line: Cow::Borrowed(line.strip_suffix(b"\r").unwrap_or(line)) }
    }

    /// Whether a line that begins with these bytes can be an identification string.
    pub(crate) fn may_begin_with(bytes: &[u8]) -> bool {
        bytes.starts_with(PREFIX) || PREFIX.starts_with(bytes)
    }

    /// Returns the complete string, without its line end.
    pub fn as_bytes(&self) -> &[u8] {
        &self.line
    }

    /// Returns the protocol version: `2.0`, `1.99` for servers of version 2 that also accept clients of version 1, or `1.5`
    /// and others for version 1.
    pub fn protocol_version(&self) -> &[u8] {
        self.parts().0
    }

    /// Returns the software version, such as `OpenSSH_9.2p1`.
    pub fn software_version(&self) -> &[u8] {
        let software = self.parts().1;
        software.iter().position(|byte| *byte == b' ').and_then(|end| software.get(..end)).unwrap_or(software)
    }

    /// Returns the comments after the first space, such as `Debian-2`.
    pub fn comments(&self) -> Option<&[u8]> {
        let software = self.parts().1;
        let space = software.iter().position(|byte| *byte == b' ')?;
        software.get(space.saturating_add(1)..)
    }

    /// Whether the sender supports only version 1 (RFC 4253, section 5), which has no SSH_MSG_KEXINIT.
    pub fn is_version_1(&self) -> bool {
        let version = self.protocol_version();
        version.starts_with(b"1.") && version != b"1.99"
    }

    /// Copies the bytes, so that the string owns them.
    pub fn into_owned(self) -> Identification<'static> {
        Identification { line: Cow::Owned(self.line.into_owned()) }
    }

    /// Returns the protocol version, and the rest after its `-`.
    fn parts(&self) -> (&[u8], &[u8]) {
        let rest = self.line.get(PREFIX.len()..).unwrap_or_default();
        match memchr(b'-', rest).and_then(|at| rest.split_at_checked(at)) {
            Some((version, software)) => (version, software.get(1..).unwrap_or_default()),
            None => (rest, &[]),
        }
    }
}

impl fmt::Debug for Identification<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identification(\"{}\")", self.line.escape_ascii())
    }
}

/// Serializes as text; bytes that are not UTF-8 become `\xNN`.
#[cfg(feature = "serde")]
impl serde::Serialize for Identification<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        huginn_net_wire::Escaped(&self.line).serialize(serializer)
    }
}

/// Counts the lines and bytes before an identification string.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineCount {
    lines: u16,
    /// Number of bytes of the current line.
    line_len: u16,
    /// Number of bytes of the lines before it.
    bytes: u32,
}

impl LineCount {
    /// The state before the first line.
    pub(crate) const ZERO: Self = Self { lines: 0, line_len: 0, bytes: 0 };

    /// Whether the current line is the first.
    #[cfg(feature = "packets")]
    pub(crate) const fn is_first(&self) -> bool {
        self.lines == 0
    }

    /// Number of bytes of the current line.
    pub(crate) fn line_len(&self) -> usize {
        self.line_len.into()
    }

    /// Counts more bytes of the current line.
    pub(crate) fn check_len(&mut self, len: usize) -> Result<(), SshError> {
        let len = self.line_len().saturating_add(len);
        self.line_len = u16::try_from(len)
            .ok()
            .filter(|len| usize::from(*len) <= MAX_LINE_LEN)
            .ok_or(SshError::LineTooLong { line: self.number() })?;
        Ok(())
    }

    /// Checks bytes of a line before the identification string.
    pub(crate) fn check_text(&self, line: &[u8]) -> Result<(), SshError> {
        match memchr(0, line) {
            Some(_) => Err(SshError::NotText { line: self.number() }),
            None => Ok(()),
        }
    }

    /// Counts the current line, which is complete and not an identification string.
    pub(crate) fn add_line(&mut self) -> Result<(), SshError> {
        self.lines = self.lines.saturating_add(1);
        self.bytes = self.bytes.saturating_add(u32::from(self.line_len));
        self.line_len = 0;
        if usize::from(self.lines) > MAX_LINES_BEFORE_IDENTIFICATION {
            return Err(SshError::TooManyLines);
        }
        if usize::try_from(self.bytes).is_ok_and(|bytes| bytes > MAX_BYTES_BEFORE_IDENTIFICATION) {
            return Err(SshError::TooManyBytes);
        }
        Ok(())
    }

    /// Returns the number of the current line, counted from 1.
    fn number(&self) -> usize {
        usize::from(self.lines).saturating_add(1)
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Result<Option<Parsed<Identification<'_>>>, SshError> {
        Identification::parse(bytes)
    }

    #[test]
    fn line_end_may_lack_its_carriage_return() {
        let Parsed { value: identification, consumed } =
            parse(b"SSH-1.99-Cisco-1.25\nrest").unwrap().unwrap();
        assert_eq!((identification.as_bytes(), consumed), (&b"SSH-1.99-Cisco-1.25"[..], 20));
        assert_eq!(identification.software_version(), b"Cisco-1.25");
        assert_eq!(identification.comments(), None);
        assert!(!identification.is_version_1());
    }

    #[test]
    fn parts_are_empty_if_absent() {
        for (line, version, software, comments) in [
            (&b"SSH-\r\n"[..], &b""[..], &b""[..], None),
            (b"SSH-2.0\r\n", b"2.0", b"", None),
            (b"SSH-2.0-\r\n", b"2.0", b"", None),
            (b"SSH-2.0- \r\n", b"2.0", b"", Some(&b""[..])),
            (b"SSH-1.5-1.2.33 a b\r\n", b"1.5", b"1.2.33", Some(b"a b")),
            (b"SSH-2.0-\xff\xfe\r\n", b"2.0", b"\xff\xfe", None),
        ] {
            let identification = parse(line).unwrap().unwrap().value;
            assert_eq!(identification.protocol_version(), version);
            assert_eq!(identification.software_version(), software);
            assert_eq!(identification.comments(), comments);
        }
    }

    #[test]
    fn limits_hold_exactly() {
        let line = |len: usize| [&b"SSH-2.0-"[..], &vec![b'x'; len - 9], b"\n"].concat();
        assert!(parse(&line(MAX_LINE_LEN)).unwrap().is_some());
        assert_eq!(parse(&line(MAX_LINE_LEN + 1)), Err(SshError::LineTooLong { line: 1 }));
        assert_eq!(parse(&vec![b'x'; MAX_LINE_LEN + 1]), Err(SshError::LineTooLong { line: 1 }));
        let lines = |count: usize| [b"\r\n".repeat(count), b"SSH-2.0-x\r\n".to_vec()].concat();
        assert!(parse(&lines(MAX_LINES_BEFORE_IDENTIFICATION)).unwrap().is_some());
        assert_eq!(parse(&lines(MAX_LINES_BEFORE_IDENTIFICATION + 1)), Err(SshError::TooManyLines));
        let long = [vec![b'x'; MAX_LINE_LEN - 1], vec![b'\n']].concat();
        assert!(parse(&long.repeat(8)).unwrap().is_none());
        assert_eq!(parse(&[long.repeat(8), b"\n".to_vec()].concat()), Err(SshError::TooManyBytes));
    }

    #[test]
    fn nul_is_allowed_only_in_identification() {
        assert!(parse(b"SSH-2.0-a\0b\r\n").unwrap().is_some());
        assert_eq!(parse(b"a\r\nb\0"), Err(SshError::NotText { line: 2 }));
    }
}
