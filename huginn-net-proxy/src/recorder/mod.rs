//! A stream that records the first bytes that are read from it.

#[cfg(feature = "tokio")]
mod tokio;

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::PEEK_LEN;
use crate::{Recording, RecordingStatus};

/// A stream from a client that [records](Recording) the first bytes read from it.
///
/// It implements [`Read`] and [`Write`], and with the feature `tokio` `AsyncRead` and `AsyncWrite`. Once the recording
/// ends, reading costs one comparison: nothing is copied or allocated.
///
/// A program that reads the stream anyway, such as a TLS server, looks at the [recording](Self::recording) afterwards. A
/// program that decides by the first bytes what to do with the stream [peeks](Self::peek) first; later reads return the
/// same bytes again.
///
/// ```
/// use std::io::Read;
///
/// use huginn_net_tls::ClientHello;
/// use huginn_net_proxy::{Recorder, Recording};
///
/// // Sent by curl with OpenSSL; a socket in a program.
/// let stream = &include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../huginn-net-tls/hellos/curl-openssl.bin"))[..];
/// let mut client = Recorder::new(stream, Recording::tls());
/// let hello = client.peek()?.complete().expect("a complete hello");
/// assert_eq!(ClientHello::from_records(hello)?.unwrap().value.server_name(), Some(&b"www.example.test"[..]));
///
/// // The bytes are still there for the server behind.
/// let mut all = Vec::new();
/// client.read_to_end(&mut all)?;
/// assert_eq!(all, stream);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder<S> {
    stream: S,
    /// `None` once it was taken or delivered.
    recording: Option<Recording>,
    handle: Option<RecordingHandle>,
    replay: Replay,
}

/// Bytes that were peeked at and not yet read.
#[derive(Debug, Default)]
struct Replay {
    bytes: Vec<u8>,
    position: usize,
}

/// Receives the [`Recording`] of a [`Recorder`] when it ends, for a program that gives the recorder away, for example to
/// an HTTP server. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct RecordingHandle(Arc<Mutex<Option<Recording>>>);

impl RecordingHandle {
    /// Takes the recording, once. `None` before it ends.
    pub fn take(&self) -> Option<Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn deliver(&self, recording: Recording) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(recording);
    }
}

impl<S> Recorder<S> {
    /// Wraps a stream from a client.
    pub fn new(stream: S, recording: Recording) -> Self {
        Self { stream, recording: Some(recording), handle: None, replay: Replay::default() }
    }

    /// The recording so far; `None` after it was taken or delivered to a [handle](Self::handle). One that can no longer
    /// become complete has no bytes.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// Takes the recording so far, and ends it.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.recording.take()
    }

    /// Returns a handle that receives the recording when it ends.
    pub fn handle(&mut self) -> RecordingHandle {
        let handle = self.handle.get_or_insert_default().clone();
        self.deliver();
        handle
    }

    /// The stream. Bytes read from it are neither recorded nor replayed.
    pub fn get_ref(&self) -> &S {
        &self.stream
    }

    /// The stream. Bytes read from it are neither recorded nor replayed.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Returns the stream, and the bytes that were peeked at and not yet read.
    pub fn into_parts(self) -> (S, Vec<u8>) {
        let Replay { mut bytes, position } = self.replay;
        bytes.drain(..position.min(bytes.len()));
        (self.stream, bytes)
    }

    /// Records bytes that were read.
    fn record(&mut self, bytes: &[u8]) {
        if let Some(recording) = &mut self.recording
            && recording.status() == RecordingStatus::Incomplete
        {
            recording.push(bytes);
            if !matches!(recording.status(), RecordingStatus::Incomplete | RecordingStatus::Complete) {
                recording.discard();
            }
            self.deliver();
        }
    }

    /// Records bytes that were read to peek at them.
    fn record_peeked(&mut self, bytes: &[u8]) {
        self.replay.bytes.extend_from_slice(bytes);
        self.record(bytes);
    }

    /// Gives a recording that ended to the handle, if there is one.
    fn deliver(&mut self) {
        let Some(handle) = &self.handle else { return };
        if let Some(recording) =
            self.recording.take_if(|recording| recording.status() != RecordingStatus::Incomplete)
        {
            handle.deliver(recording);
        }
    }

    /// Whether peeking needs more bytes.
    fn is_recording(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| recording.status() == RecordingStatus::Incomplete)
    }

    /// The recording, for a peek that ended.
    fn peeked(&self) -> io::Result<&Recording> {
        self.recording().ok_or_else(|| io::Error::other("the recording was taken"))
    }
}

impl Replay {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the next bytes, at most `max`. Frees the memory with the last ones.
    fn next(&mut self, max: usize, read: impl FnOnce(&[u8])) -> usize {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let taken = rest.get(..max).unwrap_or(rest);
        read(taken);
        let len = taken.len();
        self.position = self.position.saturating_add(len);
        if self.position >= self.bytes.len() {
            *self = Self::default();
        }
        len
    }
}

impl<S: Read> Recorder<S> {
    /// Reads until the recording ends or the client closes, and returns the recording. Later reads return these bytes
    /// again.
    ///
    /// Memory is at most three times the limit of the recording and 8 KiB more while these bytes are not read. A client may
    /// take forever: set a timeout on the stream.
    ///
    /// # Errors
    /// Those of the stream. Peeking can then continue. [`io::ErrorKind::Other`] if the recording was taken.
    pub fn peek(&mut self) -> io::Result<&Recording> {
        let mut buffer = [0; PEEK_LEN];
        while self.is_recording() {
            let len = match self.stream.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                outcome => outcome?,
            };
            if len == 0 {
                break;
            }
            self.record_peeked(buffer.get(..len).unwrap_or_default());
        }
        self.peeked()
    }
}

impl<S: Read> Read for Recorder<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.replay.is_empty() {
            let max = buffer.len();
            return Ok(self.replay.next(max, |bytes| copy(buffer, bytes)));
        }
        let len = self.stream.read(buffer)?;
        self.record(buffer.get(..len).unwrap_or_default());
        Ok(len)
    }
}

fn copy(target: &mut [u8], bytes: &[u8]) {
    if let Some(target) = target.get_mut(..bytes.len()) {
        target.copy_from_slice(bytes);
    }
}

impl<S: Write> Write for Recorder<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.stream.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(unix)]
impl<S: std::os::fd::AsFd> std::os::fd::AsFd for Recorder<S> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
