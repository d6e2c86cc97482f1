//! Bounded output queue with a writer thread. Producers never block on the reader.

mod counters;
mod events;
pub(super) mod messages;
mod socket;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
mod tls_stream;
mod writer;

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

pub(crate) use self::counters::{MessageCounters, OutputCounters};
pub(crate) use self::events::EventSender;
use self::messages::Messages;
use self::socket::Socket;
#[cfg(target_os = "linux")]
pub(crate) use self::writer::EVENTS_WAIT;
use self::writer::{Destination, Writer};
use super::LiveTarget;
use super::error::OutputError;
use super::files::{RotatingFile, Rotation};

use crate::limits::EVENTS_FLUSH_TIMEOUT;

/// Size of a chunk of a queue, in bytes. Larger chunks are not faster to write, smaller ones are slower.
const QUEUE_CHUNK_BYTES: usize = 1 << 16;

/// Maximum number of empty chunks kept for reuse. The queue frees the others after a backlog.
const MAX_SPARE_CHUNKS: usize = 4;

/// Maximum time that shutdown waits for a stalled reader of messages. Messages matter less than events, and this wait
/// comes after that for events.
const MESSAGES_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Bounded queue of lines, with the thread that writes them.
#[derive(Debug)]
pub(crate) struct OutputQueue {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    /// Time that shutdown waits for the writer.
    flush_timeout: Duration,
}

/// Queues lines from any thread, and tells the writer what to do.
pub(crate) type OutputHandle = Arc<Shared>;

impl OutputQueue {
    /// Opens the target and starts the writer thread, which reports errors to `messages`. The queue holds at most
    /// `capacity` bytes.
    pub(crate) fn open(
        target: &LiveTarget,
        rotation: Rotation,
        capacity: usize,
        messages: Messages,
    ) -> Result<Self, OutputError> {
        let destination = match target {
            LiveTarget::Stdout => Destination::stdout().map_err(OutputError::Stdout)?,
            LiveTarget::File(path) => {
                Destination::File(RotatingFile::open(path, rotation, SystemTime::now())?)
            }
            LiveTarget::Socket(collector) if collector.is_resolved() => {
                Destination::Socket(Socket::new(collector.clone()))
            }
            LiveTarget::Socket(collector) => {
                return Err(OutputError::Unresolved { collector: collector.to_string() });
            }
        };
        Self::start("huginn-output", destination, capacity, EVENTS_FLUSH_TIMEOUT, Some(messages))
            .map_err(OutputError::Thread)
    }

    /// Starts a thread that writes what this handle counts. The queue holds at most `capacity` items.
    fn with_writer(
        capacity: usize,
        run: impl FnOnce(Arc<Shared>) + Send + 'static,
    ) -> io::Result<(Self, Arc<Shared>)> {
        let shared = Arc::new(Shared::new(capacity));
        let of_writer = Arc::clone(&shared);
        let writer = thread::Builder::new().name("huginn-output".to_owned()).spawn(move || run(of_writer))?;
        let queue =
            Self { shared: Arc::clone(&shared), writer: Some(writer), flush_timeout: EVENTS_FLUSH_TIMEOUT };
        Ok((queue, shared))
    }

    /// Starts the thread that writes messages to standard error.
    pub(super) fn for_messages(capacity: usize) -> io::Result<Self> {
        Self::start("huginn-messages", Destination::Stderr, capacity, MESSAGES_FLUSH_TIMEOUT, None)
    }

    #[cfg(test)]
    pub(crate) fn to_stdout(file: std::fs::File, capacity: usize) -> Self {
        Self::start("huginn-output", Destination::Stdout(file), capacity, EVENTS_FLUSH_TIMEOUT, None).unwrap()
    }

    fn start(
        name: &str,
        destination: Destination,
        capacity: usize,
        flush_timeout: Duration,
        messages: Option<Messages>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(capacity));
        let writer = Writer::new(Arc::clone(&shared), destination, messages);
        let writer = thread::Builder::new().name(name.to_owned()).spawn(move || writer.run())?;
        Ok(Self { shared, writer: Some(writer), flush_timeout })
    }

    /// Queues a complete line, or a complete block, with its line ending. Never blocks: a full queue drops and counts the
    /// line. Returns `Break` once the reader has closed the pipe.
    #[cfg(test)]
    pub(crate) fn push(&self, text: &[u8]) -> ControlFlow<()> {
        self.shared.push(text)
    }

    /// Sets a callback that the writer thread calls when the reader has closed the pipe.
    pub(crate) fn on_close(&self, callback: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.lock();
        if state.closed {
            drop(state);
            callback();
        } else {
            state.on_close = Some(Box::new(callback));
        }
    }

    pub(crate) fn handle(&self) -> OutputHandle {
        Arc::clone(&self.shared)
    }

    /// Asks the thread to write queued lines and to stop, and does not wait for it.
    pub(crate) fn stop(&self) {
        self.shared.stop();
    }

    /// As [`finish`](Self::finish), but waits until this time.
    pub(crate) fn finish_by(mut self, end: Instant) -> OutputCounters {
        self.flush_timeout = end.saturating_duration_since(Instant::now());
        self.finish()
    }

    /// Writes queued lines and stops the thread. Waits for a stalled reader no longer than the flush timeout.
    pub(crate) fn finish(mut self) -> OutputCounters {
        self.end();
        self.shared.counters()
    }

    fn end(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        // A thread that is still blocked on its reader ends with the program.
        if self.shared.finish(self.flush_timeout) {
            let _ = writer.join();
        }
    }
}

impl Drop for OutputQueue {
    fn drop(&mut self) {
        self.end();
    }
}

/// Consecutive complete lines.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) text: Vec<u8>,
    /// End offset of each line.
    pub(super) ends: Vec<usize>,
}

impl Chunk {
    fn has_room_for(&self, text: &[u8]) -> bool {
        self.text.len().saturating_add(text.len()) <= QUEUE_CHUNK_BYTES
    }

    fn push(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.ends.push(self.text.len());
    }
}

/// Next task of the writer.
#[derive(Debug)]
pub(super) enum Task {
    Write(Chunk),
    Reopen,
    /// The file rotates by another policy.
    Rotate(Rotation),
    /// The requested timeout has elapsed.
    Timeout,
    Finish,
}

/// Reason why a pause of the writer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    Over,
    Reopen,
    Finish,
}

/// State shared by the producers and the writer.
pub(crate) struct Shared {
    capacity: u64,
    state: Mutex<State>,
    /// Signals a new task to the writer.
    changed: Condvar,
    /// Signals the end of the writer.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<Chunk>,
    spare: Vec<Chunk>,
    counters: OutputCounters,
    /// The writer is asleep.
    idle: bool,
    reopen: bool,
    rotation: Option<Rotation>,
    shortens_certificates: bool,
    finish: bool,
    /// No thread waits for the writer any more.
    abandoned: bool,
    ended: bool,
    closed: bool,
    on_close: Option<Box<dyn FnOnce() + Send>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("capacity", &self.capacity)
            .field("counters", &self.counters())
            .finish()
    }
}

impl Shared {
    fn new(capacity: usize) -> Self {
        Self {
            capacity: wide(capacity),
            state: Mutex::default(),
            changed: Condvar::new(),
            ended: Condvar::new(),
        }
    }

    fn push(&self, line: &[u8]) -> ControlFlow<()> {
        if self.try_push(line) || !self.lock().closed {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// Queues a complete line, or a complete block, with its line ending. Never blocks: a full queue drops and counts the
    /// line. Returns whether there was room for it.
    pub(crate) fn try_push(&self, line: &[u8]) -> bool {
        if line.is_empty() {
            return true;
        }
        let mut state = self.lock();
        let bytes = wide(line.len());
        if state.closed || state.counters.queued_bytes.saturating_add(bytes) > self.capacity {
            add(&mut state.counters.dropped_lines, 1);
            add(&mut state.counters.dropped_bytes, bytes);
            if !state.closed {
                add(&mut state.counters.refused_lines, 1);
                add(&mut state.counters.lost_lines, 1);
            }
            return false;
        }
        match state.chunks.back_mut() {
            Some(chunk) if chunk.has_room_for(line) => chunk.push(line),
            _ => {
                let mut chunk = state.spare.pop().unwrap_or_default();
                chunk.push(line);
                state.chunks.push_back(chunk);
            }
        }
        add(&mut state.counters.queued_lines, 1);
        add(&mut state.counters.queued_bytes, bytes);
        if std::mem::take(&mut state.idle) {
            drop(state);
            self.changed.notify_all();
        }
        true
    }

    /// Blocks until the next task of the writer, or until the timeout.
    pub(super) fn next(&self, timeout: Option<Duration>) -> Task {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.reopen) {
                return Task::Reopen;
            }
            if let Some(rotation) = state.rotation.take() {
                return Task::Rotate(rotation);
            }
            if let Some(chunk) = state.chunks.pop_front() {
                return Task::Write(chunk);
            }
            if state.finish {
                return Task::Finish;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Task::Timeout;
            }
            state.idle = true;
            state = self.wait(state, left);
            state.idle = false;
        }
    }

    /// Lets the writer wait until it is called to do something else.
    pub(super) fn pause(&self, time: Duration) -> Pause {
        let until = Instant::now().checked_add(time);
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.reopen) {
                return Pause::Reopen;
            }
            if state.finish {
                return Pause::Finish;
            }
            let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Pause::Over;
            }
            state = self.wait(state, Some(left));
        }
    }

    /// Counts written lines of a chunk.
    pub(super) fn written(&self, lines: u64, bytes: u64) {
        let counters = &mut self.lock().counters;
        add(&mut counters.written_lines, lines);
        add(&mut counters.written_bytes, bytes);
        counters.queued_lines = counters.queued_lines.saturating_sub(lines);
        counters.queued_bytes = counters.queued_bytes.saturating_sub(bytes);
    }

    /// Whether the file has each certificate completely only once.
    pub(super) fn shortens_certificates(&self) -> bool {
        self.lock().shortens_certificates
    }

    /// Counts bytes of queued lines that are not written, because the lines are shortened.
    pub(super) fn shortened(&self, bytes: u64) {
        let counters = &mut self.lock().counters;
        counters.queued_bytes = counters.queued_bytes.saturating_sub(bytes);
    }

    /// Counts lines as lost that were counted as written.
    pub(super) fn unwritten(&self, lines: u64, bytes: u64) {
        let counters = &mut self.lock().counters;
        counters.written_lines = counters.written_lines.saturating_sub(lines);
        counters.written_bytes = counters.written_bytes.saturating_sub(bytes);
        add(&mut counters.dropped_lines, lines);
        add(&mut counters.dropped_bytes, bytes);
        add(&mut counters.lost_lines, lines);
    }

    /// Counts queued lines that are not written.
    pub(super) fn lost(&self, lines: u64, bytes: u64) {
        let counters = &mut self.lock().counters;
        add(&mut counters.dropped_lines, lines);
        add(&mut counters.dropped_bytes, bytes);
        add(&mut counters.lost_lines, lines);
        counters.queued_lines = counters.queued_lines.saturating_sub(lines);
        counters.queued_bytes = counters.queued_bytes.saturating_sub(bytes);
    }

    /// Whether no thread waits for the writer any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.lock().abandoned
    }

    /// Returns whether the file is to be opened again, once for each request.
    pub(super) fn take_reopen(&self) -> bool {
        std::mem::take(&mut self.lock().reopen)
    }

    /// Recycles a written chunk. Returns whether another chunk is queued.
    pub(super) fn recycle(&self, mut chunk: Chunk) -> bool {
        chunk.text.clear();
        chunk.ends.clear();
        let mut state = self.lock();
        // A chunk that grew for a very long line is freed too.
        if state.spare.len() < MAX_SPARE_CHUNKS
            && chunk.text.capacity() <= QUEUE_CHUNK_BYTES.saturating_mul(2)
        {
            state.spare.push(chunk);
        }
        !state.chunks.is_empty()
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut OutputCounters)) {
        count(&mut self.lock().counters);
    }

    /// Closes the queue after the reader has closed the pipe.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        if let Some(callback) = state.on_close.take() {
            drop(state);
            callback();
        }
    }

    /// Marks the writer as ended and drops queued lines.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.drop_rest();
        state.ended = true;
        drop(state);
        self.ended.notify_all();
    }

    pub(crate) fn stop(&self) {
        self.lock().finish = true;
        self.changed.notify_all();
    }

    /// Asks the thread to write queued lines and to stop, and waits for that until this time.
    pub(crate) fn finish_by(&self, end: Instant) {
        self.finish(end.saturating_duration_since(Instant::now()));
    }

    /// Stops the writer and waits for it. Returns whether it ended in time.
    fn finish(&self, flush_timeout: Duration) -> bool {
        self.stop();
        let mut state = self.lock();
        let waited = self.ended.wait_timeout_while(state, flush_timeout, |state| !state.ended);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if !state.ended {
            state.abandoned = true;
            state.drop_rest();
        }
        state.ended
    }

    pub(crate) fn counters(&self) -> OutputCounters {
        self.lock().counters
    }

    /// Whether the reader has closed the pipe.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Requests that the file rotate by another policy.
    pub(crate) fn rotate_by(&self, rotation: Rotation) {
        self.lock().rotation = Some(rotation);
        self.changed.notify_all();
    }

    /// Sets whether the file has each certificate completely only once.
    pub(crate) fn shorten_certificates(&self, shortens: bool) {
        self.lock().shortens_certificates = shortens;
    }

    /// Requests that the file be closed and reopened by its path, or that the socket connect again.
    pub(crate) fn reopen(&self) {
        self.lock().reopen = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic leaves no inconsistent state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, timeout: Option<Duration>) -> MutexGuard<'a, State> {
        match timeout {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                self.changed.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }
}

impl State {
    /// Counts all queued lines as dropped, those that the writer is writing included.
    fn drop_rest(&mut self) {
        self.chunks.clear();
        let counters = &mut self.counters;
        if !self.closed {
            add(&mut counters.lost_lines, counters.queued_lines);
        }
        add(&mut counters.dropped_lines, std::mem::take(&mut counters.queued_lines));
        add(&mut counters.dropped_bytes, std::mem::take(&mut counters.queued_bytes));
    }
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
