//! A progress bar for long files.

use std::io::{self, IsTerminal};
use std::time::Instant;

use huginn_net::CaptureReader;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::limits::PROGRESS_DELAY;

/// Progress of reading a file, on standard error.
pub(crate) struct Progress {
    started: Option<Instant>,
    total: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Packets between two updates, which read the clock.
    pub(crate) const STRIDE: u64 = 1 << 14;

    /// Creates a bar for this file; hidden if asked, without a terminal, and if the length is unknown.
    pub(crate) fn from_reader(reader: &CaptureReader, silent: bool) -> Self {
        let total = reader.input_len().filter(|_| !silent && io::stderr().is_terminal());
        Self { started: total.map(|_| Instant::now()), total: total.unwrap_or(0), bar: None }
    }

    /// Updates the bar. Callers call it once per [`Self::STRIDE`] packets.
    #[cold]
    pub(crate) fn show(&mut self, reader: &CaptureReader) {
        let Some(started) = self.started else { return };
        if started.elapsed() < PROGRESS_DELAY {
            return;
        }
        let total = self.total;
        let bar = self.bar.get_or_insert_with(|| bar(total));
        bar.set_position(reader.consumed());
        bar.set_message(format!("{} packets", reader.packets()));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let template = "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {msg} {eta}";
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
