//! A progress bar for long files.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use huginn_net::CaptureReader;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Packets between two looks at the clock.
const STRIDE: u32 = 1 << 14;
/// A file that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// How far a file has been read, on standard error.
pub(crate) struct Progress {
    started: Option<Instant>,
    total: u64,
    countdown: u32,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Progress through this file; silent if told so, where nobody looks, and where the end is not known.
    pub(crate) fn of(reader: &CaptureReader, silent: bool) -> Self {
        let total = reader.input_len().filter(|_| !silent && io::stderr().is_terminal());
        Self {
            started: total.map(|_| Instant::now()),
            total: total.unwrap_or(0),
            countdown: STRIDE,
            bar: None,
        }
    }

    /// Notes that another packet is read.
    pub(crate) fn step(&mut self, reader: &CaptureReader) {
        self.countdown = self.countdown.saturating_sub(1);
        if self.countdown == 0 {
            self.countdown = STRIDE;
            self.show(reader);
        }
    }

    fn show(&mut self, reader: &CaptureReader) {
        let Some(started) = self.started else { return };
        if started.elapsed() < PATIENCE {
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
