//! Writer thread: writes each line completely and exactly once, also across errors and rotations.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::messages::Messages;
use super::{Chunk, Pause, Shared, Task};
use crate::output::files::{RotatingFile, is_without_reader};

use crate::limits::{
    FILE_CHECK_INTERVAL, PIPE_FULL_DELAY, ROTATION_RETRY_DELAY, WRITE_BATCH_DELAY, WRITE_RETRY_DELAY,
    WRITE_WARNING_INTERVAL,
};

/// Destination of bytes.
#[derive(Debug)]
pub(super) enum Destination {
    Stdout(File),
    /// Standard error; other writers lock it for complete lines only.
    Stderr,
    File(RotatingFile),
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

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self {
            Self::Stdout(stdout) => stdout.write(bytes)?,
            Self::Stderr => io::stderr().lock().write(bytes)?,
            Self::File(file) => file.write(bytes, SystemTime::now())?,
        };
        if written == 0 && !bytes.is_empty() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(written) }
    }

    fn truncate_tail(&mut self, bytes: u64) -> io::Result<()> {
        match self {
            Self::Stdout(_) | Self::Stderr => Err(io::ErrorKind::Unsupported.into()),
            Self::File(file) => file.truncate_tail(bytes),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout(_) => f.write_str("standard output"),
            Self::Stderr => f.write_str("standard error"),
            Self::File(file) => {
                write!(f, "{:#}", huginn_net::Escaped(file.path().as_os_str().as_encoded_bytes()))
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
    warned: Option<Instant>,
    /// Receives warnings, if any.
    messages: Option<Messages>,
}

/// The output is closed.
struct Over;

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, destination: Destination, messages: Option<Messages>) -> Self {
        Self { shared, destination, rotate_after: None, file_checked: None, warned: None, messages }
    }

    /// Writes until the queue is finished or the reader closes the pipe.
    pub(super) fn run(mut self) {
        loop {
            match self.shared.next(self.wait_at_most()) {
                Task::Write(chunk) => {
                    let outcome = self.write(&chunk);
                    let more = self.shared.recycle(chunk);
                    if outcome.is_err() {
                        break;
                    }
                    if !more {
                        thread::sleep(WRITE_BATCH_DELAY);
                    }
                }
                Task::Reopen => _ = self.reopen(),
                Task::Timeout => self.rotate_if_due(0),
                Task::Finish => break,
            }
        }
        self.count_deleted();
        self.shared.end();
    }

    /// Counts lines as lost that were written to a deleted file and cannot be written to another one.
    fn count_deleted(&mut self) {
        self.file_checked = None;
        if let (Err(_), Destination::File(file)) = (self.keep_file(), &mut self.destination) {
            let (lines, bytes) = file.unchecked_lines();
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
                    self.warn(&"was deleted or replaced, and is opened again");
                }
                Err(error) if file.is_deleted() => return Err(not_reopened(&error)),
                // The file has another name now, and keeps what is written to it.
                Err(error) => self.rotation_failed(&not_reopened(&error)),
            }
        }
        self.file_checked = Some(Instant::now());
        Ok(())
    }

    /// Returns the time until a rotation is due without events.
    fn wait_at_most(&self) -> Option<Duration> {
        let Destination::File(file) = &self.destination else { return None };
        let due = file.due_in(SystemTime::now())?;
        let retry = self.rotate_after.map(|after| after.saturating_duration_since(Instant::now()));
        Some(due.max(retry.unwrap_or_default()))
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
            self.write_lines(Lines { text: &chunk.text, ends: now, start, done: start })?;
            start = end;
            ends = later;
        }
        Ok(())
    }

    /// Writes lines and retries after errors.
    fn write_lines(&mut self, mut lines: Lines<'_>) -> Result<(), Over> {
        while let Some(rest) = lines.rest() {
            // A partial line continues in its file.
            let is_open = if lines.partial_len() == 0 { self.keep_file() } else { Ok(()) };
            match is_open.and_then(|()| self.destination.write(rest)) {
                Ok(written) => {
                    let (count, bytes) = lines.advance(written);
                    self.shared.written(count, bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A named pipe may get a new reader.
                Err(error)
                    if error.kind() == io::ErrorKind::BrokenPipe
                        && !matches!(self.destination, Destination::File(_)) =>
                {
                    self.shared.close();
                    return Err(Over);
                }
                // The pipe is full. Another process that shares standard output may have set O_NONBLOCK.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match self.shared.pause(PIPE_FULL_DELAY) {
                        Pause::Over => {}
                        Pause::Reopen => self.reopen_for(&mut lines),
                        Pause::Finish => thread::sleep(PIPE_FULL_DELAY),
                    }
                }
                Err(error) => self.handle_write_error(&error, &mut lines)?,
            }
        }
        Ok(())
    }

    /// Pauses after a failed write, then prepares the retry.
    fn handle_write_error(&mut self, error: &io::Error, lines: &mut Lines<'_>) -> Result<(), Over> {
        self.shared.count(|counters| counters.write_errors = counters.write_errors.saturating_add(1));
        let has_no_reader = has_no_reader(error);
        let reason: &dyn fmt::Display = if has_no_reader { &"the pipe has no reader" } else { error };
        self.warn(&format_args!("{reason}; events are buffered until the queue is full"));
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
                match is_open.and_then(|()| self.destination.write(lines.rest().unwrap_or_default())) {
                    Ok(written) => {
                        let (count, bytes) = lines.advance(written);
                        self.shared.written(count, bytes);
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
        }
    }

    /// Reopens the file. Returns whether it succeeded.
    fn reopen(&mut self) -> bool {
        let Destination::File(file) = &mut self.destination else { return false };
        match file.reopen(SystemTime::now()) {
            Ok(_) => {
                self.rotate_after = None;
                self.file_checked = None;
                true
            }
            Err(error) => {
                self.rotation_failed(&format_args!("cannot be opened again: {error}"));
                false
            }
        }
    }

    /// Rotates the file if a line of `line` bytes makes it due.
    fn rotate_if_due(&mut self, line: u64) {
        let Destination::File(file) = &mut self.destination else { return };
        if self.rotate_after.is_some_and(|after| Instant::now() < after) {
            return;
        }
        self.rotate_after = None;
        let now = SystemTime::now();
        if !file.is_due(line, now) {
            return;
        }
        self.file_checked = None;
        // The next write reports the error.
        if self.keep_file().is_err() {
            return;
        }
        let Destination::File(file) = &mut self.destination else { return };
        if !file.is_due(line, now) {
            return;
        }
        let rotated = match file.rotate(now) {
            Ok(rotated) => rotated,
            Err(error) => {
                self.rotate_after = Instant::now().checked_add(ROTATION_RETRY_DELAY);
                self.rotation_failed(&format_args!(
                    "cannot be rotated, continuing in the same file: {error}"
                ));
                return;
            }
        };
        let removed = file.remove_oldest(&rotated, now);
        self.shared.count(|counters| counters.rotations = counters.rotations.saturating_add(1));
        if let Err(error) = removed {
            self.rotation_failed(&format_args!("cannot remove the oldest rotated file: {error}"));
        }
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
}

impl<'a> Lines<'a> {
    /// Returns the bytes that are not written yet.
    fn rest(&self) -> Option<&'a [u8]> {
        self.text.get(self.done..*self.ends.last()?)
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
        (u64::try_from(completed).unwrap_or(u64::MAX), bytes)
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
