//! A progress bar over all captures.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use huginn_net::core::Amount;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Delay before a progress bar is shown: a bar that vanishes at once would only flicker.
const PROGRESS_DELAY: Duration = Duration::from_millis(100);

/// Progress of reading captures, on standard error.
pub(crate) struct Progress {
    /// `None` if it is hidden.
    bar: Option<ProgressBar>,
    started: Instant,
    is_drawn: bool,
    /// Bytes of the captures before the current one.
    done: u64,
    packets: u64,
    /// Number of the current file, and of all files.
    file: (usize, usize),
}

impl Progress {
    /// Packets between two updates, which read the clock.
    pub(crate) const STRIDE: u64 = 1 << 12;

    /// A bar that is not shown.
    pub(crate) fn hidden() -> Self {
        Self { bar: None, started: Instant::now(), is_drawn: false, done: 0, packets: 0, file: (0, 0) }
    }

    /// A bar over this number of bytes, or what was read if it is unknown; hidden unless standard error is a terminal.
    pub(crate) fn new(total: Option<u64>) -> Self {
        let is_shown = io::stderr().is_terminal();
        let bar = is_shown.then(|| ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden()));
        let template = if total.is_some() { "{wide_bar} {percent}% {msg}" } else { "{binary_bytes} {msg}" };
        let bar = bar.map(|bar| match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        });
        Self { bar, ..Self::hidden() }
    }

    /// Begins a file, counted from 0, of `files`.
    pub(crate) fn begin(&mut self, index: usize, files: usize) {
        self.file = (index.saturating_add(1), files);
        self.show(0, 0);
    }

    /// Adds a file of this length to what was read.
    pub(crate) fn skip(&mut self, len: u64) {
        self.done = self.done.saturating_add(len);
    }

    /// Updates the bar: `consumed` bytes of the current file were read, and `packets` since the last call.
    #[cold]
    pub(crate) fn show(&mut self, consumed: u64, packets: u64) {
        let Some(bar) = &self.bar else { return };
        self.packets = self.packets.saturating_add(packets);
        let elapsed = self.started.elapsed();
        if elapsed < PROGRESS_DELAY {
            return;
        }
        if !self.is_drawn {
            self.is_drawn = true;
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let read = self.done.saturating_add(consumed);
        let (packets, rate) = (Amount(self.packets, "packet(s)"), per_second(read, elapsed));
        bar.set_position(read);
        bar.set_message(match self.file {
            (file, files @ 2..) => format!("{packets}, {rate}/s, file {file} of {files}"),
            _ => format!("{packets}, {rate}/s"),
        });
    }
}

/// The mean rate in bytes.
fn per_second(bytes: u64, time: Duration) -> ByteSize {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    ByteSize(bytes.saturating_mul(1000).checked_div(millis).unwrap_or(bytes))
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
