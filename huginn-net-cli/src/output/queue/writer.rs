//! Writer thread: writes each line completely and exactly once, also across errors and rotations.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::messages::Messages;
use super::socket::Socket;
use super::{Chunk, Pause, Shared, Task};
use crate::output::RepeatedCertificates;
use crate::output::files::{Compression, RotatingFile, Rotation, is_without_reader};

use crate::limits::{FILE_CHECK_INTERVAL, WRITE_RETRY_DELAY, WRITE_WARNING_INTERVAL};

/// Delay after a write, in which events collect, so that producers need not wake the thread for each event.
const WRITE_BATCH_DELAY: Duration = Duration::from_millis(1);

/// Delay before a write to a full pipe is retried.
const PIPE_FULL_DELAY: Duration = Duration::from_millis(10);

/// Delay before a failed rotation is retried. Events still go to the current file, so a retry is less urgent than that
/// of a write.
const ROTATION_RETRY_DELAY: Duration = Duration::from_secs(10);

/// What a warning says of the events of an output that cannot be written.
pub(crate) const EVENTS_WAIT: &str = "; events are buffered until the queue is full";

/// Text that is compressed at once: frames of this size are nearly as small as longer ones.
const COMPRESSED_BATCH_BYTES: usize = 1 << 18;

/// Maximum time that events wait to be compressed: a crash loses these.
const COMPRESSED_BATCH_DELAY: Duration = Duration::from_secs(2);

/// Destination of bytes.
#[derive(Debug)]
pub(super) enum Destination {
    Stdout(File),
    /// Standard error; other writers lock it for complete lines only.
    Stderr,
    File(RotatingFile),
    Socket(Socket),
}

impl Destination {
    /// Opens standard output unbuffered, so that the number of written bytes is exact.
    pub(super) fn stdout() -> io::Result<Self> {
        #[cfg(unix)]
        let own = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?;
        #[cfg(windows)]
        let own = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned()?;
        Ok(Self::Stdout(own.into()))
    }

    /// Writes some of the lines, from the write position on.
    fn write(&mut self, lines: &Lines<'_>) -> io::Result<usize> {
        let bytes = lines.rest().unwrap_or_default();
        let written = match self {
            Self::Socket(socket) => socket.write(bytes, lines.rest_of_line(), lines.partial_len() > 0)?,
            Self::Stdout(stdout) => stdout.write(bytes)?,
            Self::Stderr => io::stderr().lock().write(bytes)?,
            Self::File(file) => file.write(bytes, SystemTime::now())?,
        };
        if written == 0 && !bytes.is_empty() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(written) }
    }

    fn truncate_tail(&mut self, bytes: u64) -> io::Result<()> {
        match self {
            Self::Stdout(_) | Self::Stderr | Self::Socket(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::File(file) => file.truncate_tail(bytes),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout(_) => f.write_str("standard output"),
            Self::Stderr => f.write_str("standard error"),
            Self::Socket(socket) => socket.collector().fmt(f),
            Self::File(file) => {
                write!(f, "{:#}", huginn_net::core::Escaped(file.path().as_os_str().as_encoded_bytes()))
            }
        }
    }
}

/// State of the writer thread.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    destination: Destination,
    /// Earliest time of the next rotation attempt.
    rotate_after: Option<Instant>,
    /// Time of the last check that found the file under its name.
    file_checked: Option<Instant>,
    /// Lines, and their bytes, that were written to the file since then.
    unchecked: (u64, u64),
    /// Lines that wait to be compressed, if the file is.
    batch: Option<Batch>,
    /// Certificates of the file, if it has each completely only once.
    certificates: RepeatedCertificates,
    warned: Option<Instant>,
    /// Receives warnings, if any.
    messages: Option<Messages>,
}

/// Lines that become one piece of a compressed file.
#[derive(Debug)]
struct Batch {
    compression: Compression,
    text: Vec<u8>,
    lines: u64,
    /// When the first of the lines came.
    since: Option<Instant>,
}

impl Batch {
    fn new(compression: Compression) -> Self {
        Self { compression, text: Vec::new(), lines: 0, since: None }
    }

    fn push(&mut self, chunk: &Chunk) {
        self.text.extend_from_slice(&chunk.text);
        self.lines = self.lines.saturating_add(u64::try_from(chunk.ends.len()).unwrap_or(u64::MAX));
        self.since.get_or_insert_with(Instant::now);
    }

    /// The time until it is to be written; `None` if it is empty.
    fn due_in(&self) -> Option<Duration> {
        let since = self.since?;
        let is_full = self.text.len() >= COMPRESSED_BATCH_BYTES;
        Some(if is_full { Duration::ZERO } else { COMPRESSED_BATCH_DELAY.saturating_sub(since.elapsed()) })
    }

    fn is_due(&self) -> bool {
        self.due_in().is_some_and(|left| left.is_zero())
    }
}

/// The output is closed.
struct Over;

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, destination: Destination, messages: Option<Messages>) -> Self {
        let compression = match &destination {
            Destination::File(file) => file.compression(),
            _ => None,
        };
        Self {
            shared,
            destination,
            rotate_after: None,
            file_checked: None,
            unchecked: (0, 0),
            batch: compression.map(Batch::new),
            certificates: RepeatedCertificates::default(),
            warned: None,
            messages,
        }
    }

    /// Writes until the queue is finished or the reader closes the pipe.
    pub(super) fn run(mut self) {
        loop {
            match self.shared.next(self.wait_at_most()) {
                Task::Write(chunk) => {
                    let outcome = if self.batch.is_some() { self.add(&chunk) } else { self.write(&chunk) };
                    let more = self.shared.recycle(chunk);
                    if outcome.is_err() {
                        break;
                    }
                    if !more {
                        thread::sleep(WRITE_BATCH_DELAY);
                    }
                }
                Task::Reopen => {
                    if self.write_batch().is_err() {
                        break;
                    }
                    self.reopen();
                }
                Task::Rotate(rotation) => self.rotate_by(rotation),
                Task::Timeout => {
                    let is_due = self.is_period_over() || self.batch.as_ref().is_some_and(Batch::is_due);
                    if is_due && self.write_batch().is_err() {
                        break;
                    }
                    self.rotate_if_due(0);
                }
                Task::Finish => {
                    let _ = self.write_batch();
                    break;
                }
            }
        }
        self.count_deleted();
        self.count_refused();
        self.shared.end();
    }

    /// Counts a datagram as lost that the host of its receiver refused.
    fn count_refused(&mut self) {
        if let Destination::Socket(socket) = &mut self.destination
            && let Some(bytes) = socket.take_refused()
        {
            self.shared.unwritten(1, bytes);
        }
    }

    /// Counts lines as lost that were written to a deleted file and cannot be written to another one.
    fn count_deleted(&mut self) {
        self.file_checked = None;
        if self.keep_file().is_err() {
            let (lines, bytes) = self.unchecked;
            self.shared.unwritten(lines, bytes);
        }
    }

    /// Reopens the file if it was deleted or replaced. Checks this at most once a second; again after an error.
    fn keep_file(&mut self) -> io::Result<()> {
        let is_checked = self.file_checked.is_some_and(|checked| checked.elapsed() < FILE_CHECK_INTERVAL);
        let Destination::File(file) = &mut self.destination else { return Ok(()) };
        if is_checked {
            return Ok(());
        }
        self.file_checked = None;
        if file.is_replaced() {
            match file.reopen(SystemTime::now()) {
                Ok(_) => {
                    self.rotate_after = None;
                    self.unchecked = (0, 0);
                    self.certificates.begin_file();
                    self.warn(&"was deleted or replaced, and is opened again");
                }
                Err(error) if file.is_deleted() => return Err(not_reopened(&error)),
                // The file has another name now, and keeps what is written to it.
                Err(error) => self.rotation_failed(&not_reopened(&error)),
            }
        } else {
            self.unchecked = (0, 0);
        }
        self.file_checked = Some(Instant::now());
        Ok(())
    }

    /// Returns the time until a rotation is due without events.
    fn wait_at_most(&self) -> Option<Duration> {
        let Destination::File(file) = &self.destination else { return None };
        let rotation = file.due_in(SystemTime::now()).map(|due| {
            let retry = self.rotate_after.map(|after| after.saturating_duration_since(Instant::now()));
            due.max(retry.unwrap_or_default())
        });
        let batch = self.batch.as_ref().and_then(Batch::due_in);
        rotation.into_iter().chain(batch).min()
    }

    /// Adds lines to those that wait to be compressed, and writes them if that is due. Those of a period that is over go to its file, if it has any yet.
    fn add(&mut self, chunk: &Chunk) -> Result<(), Over> {
        if self.is_period_over() {
            self.write_batch()?;
            self.rotate_if_due(0);
        }
        let Some(batch) = &mut self.batch else { return Ok(()) };
        batch.push(chunk);
        if batch.is_due() { self.write_batch() } else { Ok(()) }
    }

    /// Whether the time is over in which a failed rotation is not tried again.
    fn may_rotate(&self) -> bool {
        self.rotate_after.is_none_or(|after| Instant::now() >= after)
    }

    /// Whether the file rotates because of the time, and may be rotated now.
    fn is_period_over(&self) -> bool {
        self.may_rotate()
            && matches!(&self.destination, Destination::File(file) if file.is_period_over(SystemTime::now()))
    }

    /// Compresses and writes the lines that wait for it.
    fn write_batch(&mut self) -> Result<(), Over> {
        let Some(batch) = self.batch.as_mut().filter(|batch| batch.lines > 0) else { return Ok(()) };
        let compression = batch.compression;
        let Batch { text, lines, .. } = std::mem::replace(batch, Batch::new(compression));
        let bytes = distance(0, text.len());
        match self.compress(compression, &text) {
            Ok(mut piece) => {
                // What came before the end of a period belongs to its file.
                if !self.is_period_over() && self.rotate_if_due(distance(0, piece.len())) {
                    piece = self.compress(compression, &text).unwrap_or(piece);
                }
                let ends = [piece.len()];
                self.write_lines(Lines {
                    text: &piece,
                    ends: &ends,
                    start: 0,
                    done: 0,
                    holds: Some((lines, bytes)),
                })
            }
            Err(error) => {
                self.shared.lost(lines, bytes);
                self.warn(&error);
                Ok(())
            }
        }
    }

    /// Compresses lines that are the next ones of the file.
    fn compress(&mut self, compression: Compression, lines: &[u8]) -> io::Result<Vec<u8>> {
        match self.shorten(lines) {
            Some(shortened) => compression.compress(&shortened.text),
            None => compression.compress(lines),
        }
    }

    fn write(&mut self, chunk: &Chunk) -> Result<(), Over> {
        let mut ends = chunk.ends.as_slice();
        let mut start = 0;
        while let Some(first) = ends.first() {
            self.rotate_if_due(distance(start, *first));
            // As many lines as fit into the file, at least one.
            let room = match &self.destination {
                Destination::File(file) if self.rotate_after.is_none() => file.room(),
                _ => u64::MAX,
            };
            let fitting = ends.partition_point(|end| distance(start, *end) <= room).max(1);
            let (now, later) = ends.split_at_checked(fitting).unwrap_or((ends, &[]));
            let end = now.last().copied().unwrap_or(start);
            match self.shorten(chunk.text.get(start..end).unwrap_or_default()) {
                Some(Chunk { text, ends }) => {
                    self.shared.shortened(distance(text.len(), end.saturating_sub(start)));
                    self.write_lines(Lines { text: &text, ends: &ends, start: 0, done: 0, holds: None })?;
                }
                None => {
                    self.write_lines(Lines {
                        text: &chunk.text,
                        ends: now,
                        start,
                        done: start,
                        holds: None,
                    })?;
                }
            }
            start = end;
            ends = later;
        }
        Ok(())
    }

    /// Shortens the certificates of lines that are the next ones of the file, if it has each completely only once.
    ///
    /// Only if the file is opened again after an error, it may lack certificates of these lines.
    fn shorten(&mut self, lines: &[u8]) -> Option<Chunk> {
        if !self.shared.shortens_certificates() {
            return None;
        }
        // The next write reports the error.
        let _ = self.keep_file();
        let mut shortened = Chunk::default();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            shortened.push(&self.certificates.shorten(line));
        }
        Some(shortened)
    }

    /// Writes lines and retries after errors.
    fn write_lines(&mut self, mut lines: Lines<'_>) -> Result<(), Over> {
        while lines.rest().is_some() {
            // A partial line continues in its file.
            let is_open = if lines.partial_len() == 0 { self.keep_file() } else { Ok(()) };
            match is_open.and_then(|()| self.destination.write(&lines)) {
                Ok(written) => {
                    let (count, bytes) = lines.advance(written);
                    self.count_written(count, bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A named pipe may get a new reader.
                Err(error)
                    if error.kind() == io::ErrorKind::BrokenPipe
                        && matches!(self.destination, Destination::Stdout(_) | Destination::Stderr) =>
                {
                    self.shared.close();
                    return Err(Over);
                }
                // The pipe is full. Another process that shares standard output may have set O_NONBLOCK.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match self.shared.pause(PIPE_FULL_DELAY) {
                        Pause::Over => {}
                        Pause::Reopen => self.reopen_for(&mut lines),
                        Pause::Finish if self.shared.is_abandoned() => return Err(Over),
                        Pause::Finish => thread::sleep(PIPE_FULL_DELAY),
                    }
                }
                // Longer than a datagram.
                Err(error)
                    if error.kind() == io::ErrorKind::InvalidInput
                        && matches!(self.destination, Destination::Socket(_)) =>
                {
                    let bytes = lines.skip_line();
                    self.shared.lost(1, bytes);
                    self.warn(&format_args!("an event of {bytes} bytes is longer than a datagram"));
                }
                Err(error) => {
                    self.count_refused();
                    self.handle_write_error(&error, &mut lines)?;
                }
            }
        }
        Ok(())
    }

    fn count_written(&mut self, lines: u64, bytes: u64) {
        self.shared.written(lines, bytes);
        let (of_lines, of_bytes) = self.unchecked;
        self.unchecked = (of_lines.saturating_add(lines), of_bytes.saturating_add(bytes));
    }

    /// Pauses after a failed write, then prepares the retry.
    fn handle_write_error(&mut self, error: &io::Error, lines: &mut Lines<'_>) -> Result<(), Over> {
        self.shared.count(|counters| counters.write_errors = counters.write_errors.saturating_add(1));
        let is_socket = matches!(self.destination, Destination::Socket(_));
        // Another connection gets the whole line.
        if is_socket {
            lines.restart_line();
        }
        let has_no_reader = has_no_reader(error) && !is_socket;
        let reason: &dyn fmt::Display = if has_no_reader { &"the pipe has no reader" } else { error };
        self.warn(&format_args!("{reason}{EVENTS_WAIT}"));
        match self.shared.pause(WRITE_RETRY_DELAY) {
            Pause::Over => {
                if has_no_reader {
                    self.reopen_pipe(lines);
                }
                Ok(())
            }
            Pause::Reopen => {
                self.reopen_for(lines);
                Ok(())
            }
            Pause::Finish => {
                // Last attempt.
                let is_open = if lines.partial_len() == 0 { self.keep_file() } else { Ok(()) };
                match is_open.and_then(|()| self.destination.write(lines)) {
                    Ok(written) => {
                        let (count, bytes) = lines.advance(written);
                        self.count_written(count, bytes);
                        Ok(())
                    }
                    Err(_) => {
                        let _ = self.destination.truncate_tail(lines.partial_len());
                        Err(Over)
                    }
                }
            }
        }
    }

    /// Reopens the file between two writes. A partially written line moves to the new file completely.
    fn reopen_for(&mut self, lines: &mut Lines<'_>) {
        let partial = lines.partial_len();
        let is_cut = partial == 0 || self.destination.truncate_tail(partial).is_ok();
        if self.reopen() || is_cut {
            lines.restart_line();
        }
    }

    /// Reopens the pipe if it has a reader again. A partial line continues in the same pipe.
    fn reopen_pipe(&mut self, lines: &mut Lines<'_>) {
        if let Destination::File(file) = &mut self.destination
            && file.reopen(SystemTime::now()).is_ok_and(|is_another| is_another)
        {
            lines.restart_line();
            self.certificates.begin_file();
        }
    }

    /// Reopens the file. Returns whether it succeeded.
    fn reopen(&mut self) -> bool {
        let file = match &mut self.destination {
            Destination::File(file) => file,
            Destination::Socket(socket) => {
                socket.close();
                return true;
            }
            Destination::Stdout(_) | Destination::Stderr => return false,
        };
        match file.reopen(SystemTime::now()) {
            Ok(_) => {
                self.rotate_after = None;
                self.file_checked = None;
                self.unchecked = (0, 0);
                self.certificates.begin_file();
                true
            }
            Err(error) => {
                self.rotation_failed(&format_args!("cannot be opened again: {error}"));
                false
            }
        }
    }

    /// Rotates the file by another policy from now on.
    fn rotate_by(&mut self, rotation: Rotation) {
        let Destination::File(file) = &mut self.destination else { return };
        if let Err(error) = file.rotate_by(rotation, SystemTime::now()) {
            self.rotation_failed(&error);
        }
    }

    /// Rotates the file if a line of `line` bytes makes it due. Returns whether it did.
    fn rotate_if_due(&mut self, line: u64) -> bool {
        if !self.may_rotate() {
            return false;
        }
        let Destination::File(file) = &mut self.destination else { return false };
        self.rotate_after = None;
        let now = SystemTime::now();
        if !file.is_due(line, now) {
            return false;
        }
        self.file_checked = None;
        // The next write reports the error.
        if self.keep_file().is_err() {
            return false;
        }
        let Destination::File(file) = &mut self.destination else { return false };
        if !file.is_due(line, now) {
            return false;
        }
        let rotated = match file.rotate(now) {
            Ok(rotated) => rotated,
            Err(error) => {
                self.rotate_after = Instant::now().checked_add(ROTATION_RETRY_DELAY);
                self.rotation_failed(&format_args!(
                    "cannot be rotated, continuing in the same file: {error}"
                ));
                return false;
            }
        };
        self.certificates.begin_file();
        let removed = file.remove_oldest(&rotated, now);
        self.unchecked = (0, 0);
        self.shared.count(|counters| counters.rotations = counters.rotations.saturating_add(1));
        if let Err(error) = removed {
            self.rotation_failed(&format_args!("cannot remove the oldest rotated file: {error}"));
        }
        true
    }

    fn rotation_failed(&mut self, message: &dyn fmt::Display) {
        self.shared.count(|counters| counters.rotation_errors = counters.rotation_errors.saturating_add(1));
        self.warn(message);
    }

    fn warn(&mut self, message: &dyn fmt::Display) {
        let Some(messages) = &self.messages else { return };
        if self.warned.is_none_or(|warned| warned.elapsed() >= WRITE_WARNING_INTERVAL) {
            self.warned = Some(Instant::now());
            messages.error(&format_args!("{}: {message}", self.destination));
        }
    }
}

/// Explains why a file that was deleted or replaced is not opened again. Landlock permits the directory that was there at
/// the start, not another one of its name.
fn not_reopened(error: &io::Error) -> io::Error {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => "; if its directory was replaced, restart the program",
        _ => "",
    };
    io::Error::new(error.kind(), format!("was deleted or replaced, cannot be opened again: {error}{advice}"))
}

/// Whether a write failed because the pipe has lost its reader (`EPIPE`) or has none yet (`ENXIO`, see `fifo(7)`).
fn has_no_reader(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe || is_without_reader(error)
}

/// Lines of a chunk with the write position.
struct Lines<'a> {
    text: &'a [u8],
    /// End offsets of the lines that are not completely written.
    ends: &'a [usize],
    /// Start offset of the first of these lines.
    start: usize,
    /// Write position.
    done: usize,
    /// The lines, and their bytes, that the only line here stands for, if it is a piece of a compressed file.
    holds: Option<(u64, u64)>,
}

impl<'a> Lines<'a> {
    /// Returns the bytes that are not written yet.
    fn rest(&self) -> Option<&'a [u8]> {
        self.text.get(self.done..*self.ends.last()?)
    }

    /// Returns the number of bytes of the first line that are not written yet.
    fn rest_of_line(&self) -> usize {
        self.ends.first().map_or(0, |end| end.saturating_sub(self.done))
    }

    /// Skips the first line. Returns its bytes.
    fn skip_line(&mut self) -> u64 {
        let rest = self.rest_of_line();
        self.advance(rest).1
    }

    /// Advances by `written` bytes. Returns the number of completed lines and their bytes.
    fn advance(&mut self, written: usize) -> (u64, u64) {
        self.done = self.done.saturating_add(written);
        let completed = self.ends.partition_point(|end| *end <= self.done);
        let (ended, left) = self.ends.split_at_checked(completed).unwrap_or((self.ends, &[]));
        let Some(end) = ended.last().copied() else { return (0, 0) };
        let bytes = distance(self.start, end);
        self.start = end;
        self.ends = left;
        self.holds.take().unwrap_or((u64::try_from(completed).unwrap_or(u64::MAX), bytes))
    }

    /// Returns the number of written bytes of a partial line.
    fn partial_len(&self) -> u64 {
        distance(self.start, self.done)
    }

    /// Restarts the partial line.
    fn restart_line(&mut self) {
        self.done = self.start;
    }
}

fn distance(from: usize, to: usize) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(u64::MAX)
}
