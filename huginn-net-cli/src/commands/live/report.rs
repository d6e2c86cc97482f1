//! What is told beside events: losses, counters, hosts.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use huginn_net::{Counters, HostProfile, JsonHost, Timestamp};
use huginn_net_live::Notice;
use serde::Serialize;

use super::standing::Standing;
use crate::ask::counters::{CaptureCounters, LiveCounters};
use crate::failure;

/// How often it is looked whether anything was lost.
const LOOK: Duration = Duration::from_secs(1);
/// How often at most it is said.
const WARN: Duration = Duration::from_secs(60);
/// Notices that wait to be read at most.
const NOTICES: usize = 64;

/// The thread that passes on notices, writes counters at intervals, and warns of losses: whoever has something to say
/// does not wait for whoever reads standard error.
#[derive(Debug)]
pub(super) struct Ticker {
    notices: SyncSender<Notice>,
    thread: JoinHandle<()>,
}

impl Ticker {
    /// Starts it. Without an interval it writes no counters.
    pub(super) fn start(standing: Arc<Standing>, interval: Option<Duration>) -> io::Result<Self> {
        let (notices, told) = sync_channel(NOTICES);
        let run = move || tick(&standing, interval, &told);
        let thread = thread::Builder::new().name("huginn-ticker".to_owned()).spawn(run)?;
        Ok(Self { notices, thread })
    }

    /// What takes notices, and drops those for which there is no room.
    pub(super) fn notices(&self) -> impl FnMut(&Notice) + Send + 'static {
        let notices = self.notices.clone();
        move |notice| _ = notices.try_send(notice.clone())
    }

    /// Passes on what is left and ends; whoever [gives notices](Self::notices) must have ended.
    pub(super) fn stop(self) {
        drop(self.notices);
        let _ = self.thread.join();
    }
}

fn tick(standing: &Standing, interval: Option<Duration>, notices: &Receiver<Notice>) {
    let mut warned = Warned::default();
    let mut looked = Instant::now();
    let mut written = looked;
    loop {
        match notices.recv_timeout(LOOK.saturating_sub(looked.elapsed())) {
            Ok(notice) => {
                failure::report(&notice);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let counters = standing.counters();
        let now = Instant::now();
        warned.look(Losses::of(&counters), now, &|message| failure::report(message));
        if interval.is_some_and(|interval| now.saturating_duration_since(written) >= interval) {
            write_counters(&counters);
            written = now;
        }
        looked = now;
    }
}

/// What was lost, by place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Losses {
    interface: u64,
    kernel: u64,
    queues: u64,
    limits: u64,
    output: u64,
}

impl Losses {
    fn of(counters: &LiveCounters) -> Self {
        let sum = |count: fn(&CaptureCounters) -> u64| {
            counters.capture.values().fold(0_u64, |sum, interface| sum.saturating_add(count(interface)))
        };
        let (flows, hosts) = (&counters.engine.flows, &counters.hosts);
        let evicted = [flows.evicted, flows.evicted_for_memory, hosts.evicted, hosts.evicted_for_memory];
        Self {
            interface: sum(|interface| interface.interface_dropped.unwrap_or(0)),
            kernel: sum(|interface| interface.kernel_dropped),
            queues: counters.engine.segments_dropped,
            limits: evicted.into_iter().fold(0, u64::saturating_add),
            output: counters.output.dropped_lines,
        }
    }

    /// What came since.
    fn since(self, before: Self) -> Self {
        Self {
            interface: self.interface.saturating_sub(before.interface),
            kernel: self.kernel.saturating_sub(before.kernel),
            queues: self.queues.saturating_sub(before.queues),
            limits: self.limits.saturating_sub(before.limits),
            output: self.output.saturating_sub(before.output),
        }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = [
            (self.interface, "packets dropped by interfaces"),
            (self.kernel, "packets dropped by the kernel, its buffer being full"),
            (self.queues, "segments dropped, the queues of workers being full"),
            (self.limits, "flows or hosts given up, their limits being reached"),
            (self.output, "events dropped, the output being full"),
        ];
        let mut lost = places.into_iter().filter(|(count, _)| *count > 0);
        let Some((count, place)) = lost.next() else { return f.write_str("nothing was lost") };
        write!(f, "{count} {place}")?;
        lost.try_for_each(|(count, place)| write!(f, "; {count} {place}"))
    }
}

/// Of which losses was warned, and when.
#[derive(Debug, Default)]
struct Warned {
    losses: Losses,
    at: Option<Instant>,
}

impl Warned {
    /// Warns of what was lost since the last warning, unless that is not long ago.
    fn look(&mut self, losses: Losses, now: Instant, warn: &dyn Fn(&dyn fmt::Display)) {
        if losses == self.losses || self.at.is_some_and(|at| now.saturating_duration_since(at) < WARN) {
            return;
        }
        warn(&losses.since(self.losses));
        *self = Self { losses, at: Some(now) };
    }
}

/// The counters at a time, as events are written.
#[derive(Serialize)]
struct Line<'a> {
    ts: String,
    event: &'static str,
    #[serde(flatten)]
    counters: &'a LiveCounters,
}

/// Writes the counters to standard error, as one JSON object in one line.
pub(super) fn write_counters(counters: &LiveCounters) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let ts = Timestamp::new(now.as_secs(), now.subsec_nanos(), 6).to_string();
    if let Ok(mut line) = serde_json::to_vec(&Line { ts, event: "counters", counters }) {
        line.push(b'\n');
        // Where nobody can be told, the watch goes on all the same.
        let _ = io::stderr().lock().write_all(&line);
    }
}

/// Says in a line what came of it all.
pub(super) fn tell_end(counters: &LiveCounters) {
    let Counters { frames, events, .. } = counters.engine;
    failure::report(&format_args!("{frames} packets, {events} events; {}", Losses::of(counters)));
}

/// Writes what is known of all hosts to this file, which it replaces, or to standard error. In a thread of its own: it
/// may be much, and read slowly.
pub(super) fn dump_hosts(standing: &Arc<Standing>, file: Option<Arc<Path>>) {
    let standing = Arc::clone(standing);
    let dump = move || {
        let hosts: Option<Vec<HostProfile>> = standing.ask(|hosts| hosts.profiles().cloned().collect());
        let Some(hosts) = hosts else { return };
        let outcome = match &file {
            Some(file) => replace(file, &hosts),
            None => write_hosts(io::stderr(), &hosts),
        };
        if let Err(error) = outcome {
            failure::report(&format_args!("cannot write what is known of hosts: {error}"));
        }
    };
    if let Err(error) = thread::Builder::new().name("huginn-hosts".to_owned()).spawn(dump) {
        failure::report(&format_args!("cannot start the thread that writes what is known of hosts: {error}"));
    }
}

/// Whoever reads the file finds the old one or the new one, never a part.
fn replace(file: &Path, hosts: &[HostProfile]) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let mut options = OpenOptions::new();
    write_hosts(options.write(true).create(true).truncate(true).mode(0o640).open(&name)?, hosts)?;
    std::fs::rename(name, file)
}

fn write_hosts(out: impl Write, hosts: &[HostProfile]) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let mut text = Vec::new();
    for host in hosts {
        text.clear();
        JsonHost { host, file: None }.write_to(&mut text);
        text.push(b'\n');
        out.write_all(&text)?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn losses_are_warned_of_once_a_minute_with_what_came_since() {
        let said = RefCell::new(Vec::new());
        let warn = |message: &dyn fmt::Display| said.borrow_mut().push(message.to_string());
        let mut warned = Warned::default();
        let start = Instant::now();
        for (seconds, kernel, output) in [(0, 0, 0), (1, 5, 0), (30, 7, 1), (61, 8, 1), (200, 8, 1)] {
            let losses = Losses { kernel, output, ..Losses::default() };
            warned.look(losses, start.checked_add(Duration::from_secs(seconds)).unwrap_or(start), &warn);
        }
        assert_eq!(
            said.take(),
            [
                "5 packets dropped by the kernel, its buffer being full",
                "3 packets dropped by the kernel, its buffer being full; 1 events dropped, the output being full",
            ]
        );
        assert_eq!(Losses::default().to_string(), "nothing was lost");
    }
}
