//! A thread that reads a sensor's standard output and notes when each event arrives.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::SystemTime;

use anyhow::Context;
use hdrhistogram::Histogram;

use super::events::Format;
use super::row::Late;

/// Keeps the lines in a file, because parsing them would take a core from the sensor; only the arrival of every
/// [`SAMPLED`]th line is noted with it.
pub(super) struct Reader {
    thread: JoinHandle<anyhow::Result<Vec<Arrival>>>,
    lines: Arc<AtomicU64>,
}

/// The time at which a line arrived.
struct Arrival {
    line: String,
    time: f64,
}

const SAMPLED: u64 = 16;
/// Microseconds; longer ones count as this.
const MAX_LATE: u64 = 3_600_000_000;

impl Reader {
    pub(super) fn start(output: impl Read + Send + 'static, file: &Path) -> anyhow::Result<Self> {
        let file = File::create(file).with_context(|| format!("cannot create {}", file.display()))?;
        let lines = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&lines);
        let thread = std::thread::spawn(move || read(output, file, &count));
        Ok(Self { thread, lines })
    }

    pub(super) fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    /// Waits for the end of the output and returns how late its events were.
    pub(super) fn finish(self, format: Format) -> anyhow::Result<Option<Late>> {
        let arrivals = self
            .thread
            .join()
            .map_err(|_| anyhow::anyhow!("the reader of the sensor's output panicked"))??;
        let mut micros: Histogram<u64> = Histogram::new_with_bounds(1, MAX_LATE, 3)?;
        for Arrival { line, time } in &arrivals {
            if let Some(sent) = format.parse(line).and_then(|event| event.time) {
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the cast saturates"
                )]
                micros.saturating_record(((time - sent) * 1e6) as u64);
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "microseconds need less than 53 bits")]
        let ms = |micros: u64| micros as f64 / 1e3;
        let quantile = |q| ms(micros.value_at_quantile(q));
        Ok((!micros.is_empty()).then(|| Late {
            p50: quantile(0.5),
            p99: quantile(0.99),
            max: ms(micros.max()),
        }))
    }
}

fn read(output: impl Read, file: File, count: &AtomicU64) -> anyhow::Result<Vec<Arrival>> {
    let mut output = BufReader::with_capacity(1 << 20, output);
    let mut file = BufWriter::with_capacity(1 << 20, file);
    let mut arrivals = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if output.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        file.write_all(&line)?;
        if count.fetch_add(1, Ordering::Relaxed).is_multiple_of(SAMPLED) {
            let time =
                SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            let line = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
            arrivals.push(Arrival { line, time });
        }
    }
    file.flush()?;
    Ok(arrivals)
}
