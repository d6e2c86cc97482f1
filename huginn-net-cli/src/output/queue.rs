//! Events on their way out: whoever has them never waits for whoever takes them.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use super::counters::OutputCounters;
use super::error::OutputError;
use super::messages::Messages;
use super::rotation::{RotatingFile, Rotation};
use super::writer::{Destination, Writer};

/// How much is written at a time under load. More saves no time, and less costs some.
const CHUNK: usize = 1 << 16;
/// Chunks that are kept for reuse; those of a jam are given back to the system.
const SPARE_CHUNKS: usize = 4;
/// How long the end waits for a reader of events that does not read.
const EVENTS_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it does for one of messages.
const MESSAGES_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Where events go.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Standard output.
    Stdout,
    /// A file, which is appended to.
    File(PathBuf),
}

/// A bounded queue, and the thread that writes what is in it.
#[derive(Debug)]
pub(crate) struct OutputQueue {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    /// How long the end waits.
    patience: Duration,
}

/// What others may do with an [`OutputQueue`].
#[derive(Clone, Debug)]
pub(crate) struct OutputHandle(Arc<Shared>);

impl OutputQueue {
    /// Opens the target and starts the thread, which says here what goes wrong. The queue holds at most this many bytes.
    pub(crate) fn open(
        target: &Target,
        rotation: Rotation,
        capacity: usize,
        messages: Messages,
    ) -> Result<Self, OutputError> {
        let destination = match target {
            Target::Stdout if rotation.is_enabled() => return Err(OutputError::StdoutRotated),
            Target::Stdout => Destination::stdout().map_err(OutputError::Stdout)?,
            Target::File(path) => Destination::File(RotatingFile::open(path, rotation, SystemTime::now())?),
        };
        Self::start("huginn-output", destination, capacity, EVENTS_FLUSH_TIMEOUT, Some(messages))
            .map_err(OutputError::Thread)
    }

    /// Starts the thread that writes messages to standard error.
    pub(super) fn for_messages(capacity: usize) -> io::Result<Self> {
        Self::start("huginn-messages", Destination::Stderr, capacity, MESSAGES_FLUSH_TIMEOUT, None)
    }

    #[cfg(test)]
    pub(super) fn to_stdout(file: std::fs::File, capacity: usize) -> Self {
        Self::start("huginn-output", Destination::Stdout(file), capacity, EVENTS_FLUSH_TIMEOUT, None).unwrap()
    }

    fn start(
        name: &str,
        destination: Destination,
        capacity: usize,
        patience: Duration,
        messages: Option<Messages>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(capacity));
        let writer = Writer::new(Arc::clone(&shared), destination, messages);
        let writer = thread::Builder::new().name(name.to_owned()).spawn(move || writer.run())?;
        Ok(Self { shared, writer: Some(writer), patience })
    }

    /// Takes a whole line, or a whole block, with its end of line. Never waits: where there is no room for it, it is
    /// dropped and counted. Breaks when nobody will ever read it, as the reader has closed the pipe.
    pub(crate) fn push(&self, text: &[u8]) -> ControlFlow<()> {
        self.shared.push(text)
    }

    /// Has this called, in another thread, when the reader of the pipe is found to have gone.
    pub(crate) fn on_close(&self, told: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.lock();
        if state.closed {
            drop(state);
            told();
        } else {
            state.on_close = Some(Box::new(told));
        }
    }

    pub(crate) fn handle(&self) -> OutputHandle {
        OutputHandle(Arc::clone(&self.shared))
    }

    /// Writes what is left and ends. Waits some seconds at most for a reader that does not read, for one of messages one.
    pub(crate) fn finish(mut self) -> OutputCounters {
        self.end();
        self.shared.counters()
    }

    fn end(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        // A thread that still waits for its reader is left to it; it ends with the program.
        if self.shared.finish(self.patience) {
            let _ = writer.join();
        }
    }
}

impl Drop for OutputQueue {
    fn drop(&mut self) {
        self.end();
    }
}

impl OutputHandle {
    /// As [`OutputQueue::push`].
    pub(super) fn push(&self, text: &[u8]) -> ControlFlow<()> {
        self.0.push(text)
    }

    /// Has the file closed, and opened by its name again.
    pub(crate) fn reopen(&self) {
        self.0.lock().reopen = true;
        self.0.changed.notify_all();
    }

    pub(crate) fn counters(&self) -> OutputCounters {
        self.0.counters()
    }
}

/// Whole lines, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) text: Vec<u8>,
    /// Where each line ends.
    pub(super) ends: Vec<usize>,
}

impl Chunk {
    fn has_room_for(&self, text: &[u8]) -> bool {
        self.text.len().saturating_add(text.len()) <= CHUNK
    }

    fn push(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.ends.push(self.text.len());
    }
}

/// What the writer is to do next.
#[derive(Debug)]
pub(super) enum Task {
    Write(Chunk),
    Reopen,
    /// The time that it wanted to wait at most is over.
    Timeout,
    Finish,
}

/// What ended a pause of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    Over,
    Reopen,
    Finish,
}

/// What both sides of a queue see.
pub(super) struct Shared {
    capacity: u64,
    state: Mutex<State>,
    /// There is something to do for the writer.
    changed: Condvar,
    /// The writer has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<Chunk>,
    spare: Vec<Chunk>,
    counters: OutputCounters,
    /// The writer sleeps until it is woken.
    idle: bool,
    reopen: bool,
    finish: bool,
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
        if line.is_empty() {
            return ControlFlow::Continue(());
        }
        let mut state = self.lock();
        let bytes = wide(line.len());
        if state.closed || state.counters.queued_bytes.saturating_add(bytes) > self.capacity {
            add(&mut state.counters.dropped_lines, 1);
            add(&mut state.counters.dropped_bytes, bytes);
            return if state.closed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
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
        ControlFlow::Continue(())
    }

    /// The writer's next task, for which it waits; no longer than this, if it says so.
    pub(super) fn next(&self, most: Option<Duration>) -> Task {
        let until = most.and_then(|most| Instant::now().checked_add(most));
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.reopen) {
                return Task::Reopen;
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

    /// Lets the writer wait, until it is told to do something else.
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

    /// Counts lines of a chunk that have been written.
    pub(super) fn written(&self, lines: u64, bytes: u64) {
        let counters = &mut self.lock().counters;
        add(&mut counters.written_lines, lines);
        add(&mut counters.written_bytes, bytes);
        counters.queued_lines = counters.queued_lines.saturating_sub(lines);
        counters.queued_bytes = counters.queued_bytes.saturating_sub(bytes);
    }

    /// Takes back a chunk that is done with. Whether there is another to be written.
    pub(super) fn recycle(&self, mut chunk: Chunk) -> bool {
        chunk.text.clear();
        chunk.ends.clear();
        let mut state = self.lock();
        // One that held a very long line is not kept either.
        if state.spare.len() < SPARE_CHUNKS && chunk.text.capacity() <= CHUNK.saturating_mul(2) {
            state.spare.push(chunk);
        }
        !state.chunks.is_empty()
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut OutputCounters)) {
        count(&mut self.lock().counters);
    }

    /// Nothing will be written any more, as nobody reads.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        if let Some(told) = state.on_close.take() {
            drop(state);
            told();
        }
    }

    /// The last word of the writer.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.drop_rest();
        state.ended = true;
        drop(state);
        self.ended.notify_all();
    }

    /// Tells the writer to end, and waits for it. Whether it did.
    fn finish(&self, patience: Duration) -> bool {
        let mut state = self.lock();
        state.finish = true;
        self.changed.notify_all();
        let waited = self.ended.wait_timeout_while(state, patience, |state| !state.ended);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if !state.ended {
            state.drop_rest();
        }
        state.ended
    }

    fn counters(&self) -> OutputCounters {
        self.lock().counters
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No state is left half changed by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Option<Duration>) -> MutexGuard<'a, State> {
        match most {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(most) => self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0,
        }
    }
}

impl State {
    /// Counts what is queued, in the hands of the writer included, as dropped.
    fn drop_rest(&mut self) {
        self.chunks.clear();
        let counters = &mut self.counters;
        if !self.closed {
            add(&mut counters.left_lines, counters.queued_lines);
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

#[cfg(test)]
mod tests;
