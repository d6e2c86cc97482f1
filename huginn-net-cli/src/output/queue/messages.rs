//! Messages on standard error during live capture. A stalled reader never blocks the program.

use std::fmt::{self, Display};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use huginn_net::alert;
use huginn_net::core::Printable;

use super::{MessageCounters, OutputCounters, OutputHandle, OutputQueue};
use crate::stderr::Severity;

/// Size limit of the queue to standard error, in bytes. Messages are rare, and a dump of all hosts bypasses the queue.
const MESSAGE_QUEUE_BYTES: usize = 1 << 20;

/// A place that messages go to instead, such as a terminal view.
pub(crate) type Redirect = Box<dyn Fn(&dyn Display) + Send>;

/// Prints messages from any thread. Drops messages if the queue is full and later prints how many.
#[derive(Clone)]
pub(crate) struct Messages {
    queue: OutputHandle,
    /// Takes messages instead of standard error, if there is such a place.
    redirect: Arc<Mutex<Option<Redirect>>>,
    /// Number of dropped messages that was printed.
    reported_drops: Arc<AtomicU64>,
}

impl Messages {
    /// Starts the thread that writes messages. It ends with the queue.
    pub(crate) fn start() -> io::Result<(Self, OutputQueue)> {
        let queue = OutputQueue::for_messages(MESSAGE_QUEUE_BYTES)?;
        Ok((Self::to(queue.handle()), queue))
    }

    fn to(queue: OutputHandle) -> Self {
        Self { queue, redirect: Arc::default(), reported_drops: Arc::default() }
    }

    /// Sends messages elsewhere, or prints them again.
    pub(crate) fn redirect(&self, place: Option<Redirect>) {
        *self.redirect.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// Prints one line, with what is not printable escaped. Returns whether it was queued.
    pub(crate) fn print(&self, message: &dyn Display) -> bool {
        self.print_as(Severity::Info, message)
    }

    /// Prints a warning, as [`print`](Self::print) does.
    pub(crate) fn warn(&self, message: &dyn Display) -> bool {
        self.print_as(Severity::Warning, message)
    }

    /// Prints an error, as [`print`](Self::print) does.
    pub(crate) fn error(&self, message: &dyn Display) -> bool {
        self.print_as(Severity::Error, message)
    }

    /// Prints a line about an alert of this severity, as [`print`](Self::print) does. A place that messages go to instead gets none: the
    /// terminal view lists alerts itself.
    pub(crate) fn print_alert(&self, severity: alert::Severity, message: &dyn Display) -> bool {
        let is_elsewhere = self.redirect.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        is_elsewhere || self.print_as(severity.into(), message)
    }

    fn print_as(&self, severity: Severity, message: &dyn Display) -> bool {
        match &*self.redirect.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(redirect) => {
                redirect(message);
                true
            }
            None => {
                let prefix = severity.prefix();
                self.write(format!("{prefix}huginn-net: {:#}\n", Printable(&message.to_string())).as_bytes())
            }
        }
    }

    /// Writes a complete line unchanged. Returns whether it was queued.
    pub(crate) fn write(&self, line: &[u8]) -> bool {
        let counters = self.queue.counters();
        let reported = self.reported_drops.load(Ordering::Relaxed);
        // Only with an empty queue: the notice would be dropped too.
        if counters.dropped_lines > reported && counters.queued_lines == 0 {
            self.reported_drops.store(counters.dropped_lines, Ordering::Relaxed);
            let dropped = counters.dropped_lines.saturating_sub(reported);
            let prefix = Severity::Warning.prefix();
            let _ = self.queue.push(format!("{prefix}huginn-net: {dropped} messages dropped\n").as_bytes());
        }
        // The capture continues without messages.
        self.queue.try_push(line)
    }

    /// The counters of messages.
    pub(crate) fn counters(&self) -> MessageCounters {
        let OutputCounters { written_lines, dropped_lines, .. } = self.queue.counters();
        MessageCounters { written_lines, dropped_lines }
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages").field("queue", &self.queue).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Write, pipe};
    use std::os::fd::OwnedFd;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn reports_count_of_dropped_messages() {
        let (reader, mut writer) = pipe().unwrap();
        // All that the pipe takes.
        writer.write_all(&[b'\n'; 1 << 16]).unwrap();
        let queue = OutputQueue::to_stdout(File::from(OwnedFd::from(writer)), 1000);
        let messages = Messages::to(queue.handle());
        let long = "x".repeat(100);
        let began = Instant::now();
        for _ in 0..2000 {
            messages.print(&long);
        }
        assert!(began.elapsed() < Duration::from_secs(5));
        let dropped = queue.handle().counters().dropped_lines;
        assert!(dropped > 1000, "{dropped}");
        let read =
            move || BufReader::new(reader).lines().map(Result::unwrap).skip(1 << 16).collect::<Vec<_>>();
        let lines = thread::spawn(read);
        while queue.handle().counters().queued_lines > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        messages.print(&"at last");
        let counters = queue.finish();
        drop(messages);
        let lines = lines.join().unwrap();
        let (before, end) = lines.split_last_chunk::<2>().unwrap();
        assert_eq!(
            end,
            &[format!("huginn-net: {dropped} messages dropped"), "huginn-net: at last".to_owned()]
        );
        assert!(before.iter().all(|line| *line == format!("huginn-net: {long}")));
        assert_eq!((counters.dropped_lines, before.len() as u64), (dropped, 2000 - dropped));
    }
}
