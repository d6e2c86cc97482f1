//! Parquet files of live capture: one after the other, each complete before it gets its name.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use std::time::SystemTime;

use huginn_net::core::Amount;
use huginn_net::{Event, Timestamp};
use huginn_net_live::InterfaceNames;

use super::batches::{BatchWriter, TableColumns};
use crate::limits::WRITE_RETRY_DELAY;
use crate::output::OutputError;
use crate::output::files::{Rotation, StampedFiles};
use crate::output::queue::messages::Messages;
use crate::output::queue::{EventSender, OutputQueue, Pause, Shared};
use crate::paths::PathName;
use crate::paths::parent_directory;

/// Interval at which that thread looks whether a file is due, without events.
#[cfg(all(unix, feature = "parquet"))]
const TABLE_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Names and contents of the files.
pub(crate) struct TableFiles {
    pub(crate) names: StampedFiles,
    pub(crate) rotation: Rotation,
    /// Whether files go to folders `date=2026-11-23/hour=22`, by the time at which they begin.
    pub(crate) hour_folders: bool,
    /// Names of the interfaces, if there are several.
    pub(crate) interfaces: InterfaceNames,
    pub(crate) columns: TableColumns,
}

/// A file that is being written.
struct OpenFile {
    table: BatchWriter,
    name: PathBuf,
    rows: u64,
    period: u128,
    hour: u64,
}

/// State of the thread that writes the files.
pub(super) struct TableWriter {
    pub(super) files: TableFiles,
    pub(super) events: Receiver<Event>,
    pub(super) shared: Arc<Shared>,
    pub(super) messages: Messages,
    current: Option<OpenFile>,
}

impl TableFiles {
    /// Starts the thread that writes the files. The queue holds at most `capacity` events.
    pub(crate) fn write(
        self,
        capacity: usize,
        messages: Messages,
    ) -> Result<(OutputQueue, EventSender), OutputError> {
        EventSender::start(capacity, move |events, shared| {
            TableWriter::new(self, events, shared, messages).run()
        })
    }

    /// Creates the next file.
    fn create(&self, now: SystemTime) -> io::Result<OpenFile> {
        let name = self.unused_name(now)?;
        let builder = self.columns.builder().map_err(io::Error::other)?;
        let interfaces = self.interfaces.clone();
        let builder = builder.interfaces(move |interface| interfaces.get(interface));
        let table = BatchWriter::new_parquet_file(&name, builder)?;
        Ok(OpenFile { table, name, rows: 0, period: self.rotation.period(now), hour: hour(now) })
    }

    /// Returns the name of a file that begins now, and creates its folder.
    fn unused_name(&self, now: SystemTime) -> io::Result<PathBuf> {
        let mut folder = parent_directory(self.names.path());
        if self.hour_folders {
            let (year, month, day, hour, ..) = Timestamp::from(now).civil();
            folder.push(format!("date={year:04}-{month:02}-{day:02}"));
            folder.push(format!("hour={hour:02}"));
            DirBuilder::new().recursive(true).mode(0o750).create(&folder)?;
        }
        self.names.unused_name(&folder, now)
    }

    /// Whether a file must be finished before the next event.
    fn is_due(&self, file: &OpenFile, now: SystemTime) -> bool {
        let is_full = self.rotation.max_bytes.is_some_and(|most| file.table.parquet_bytes() >= most);
        // Compare with `!=`: a clock that was set back must not stop rotation.
        let is_next_hour = self.hour_folders && hour(now) != file.hour;
        is_full || is_next_hour || self.rotation.period(now) != file.period
    }

    /// Removes the oldest files beyond the number to keep.
    fn remove_oldest(&self, last: &Path, now: SystemTime) -> io::Result<()> {
        let Some(keep) = self.rotation.keep else { return Ok(()) };
        self.names.remove_oldest(keep, last, now)
    }
}

impl TableWriter {
    pub(super) fn new(
        files: TableFiles,
        events: Receiver<Event>,
        shared: Arc<Shared>,
        messages: Messages,
    ) -> Self {
        Self { files, events, shared, messages, current: None }
    }

    /// Writes events until their senders are gone.
    pub(super) fn run(mut self) {
        loop {
            match self.events.recv_timeout(TABLE_CHECK_INTERVAL) {
                Ok(event) => {
                    self.finish_if_due();
                    self.append(&event);
                }
                Err(RecvTimeoutError::Timeout) => self.finish_if_due(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.shared.take_reopen() {
                self.finish_file();
            }
        }
        self.finish_file();
        self.shared.end();
    }

    /// Appends an event. Waits and tries again while no file can be created.
    fn append(&mut self, event: &Event) {
        let file = loop {
            if let Some(file) = &mut self.current {
                break file;
            }
            match self.files.create(SystemTime::now()) {
                Ok(file) => self.current = Some(file),
                Err(error) => {
                    self.report(&format_args!(
                        "cannot write output: {error}; events are buffered until the queue is full"
                    ));
                    if self.shared.pause(WRITE_RETRY_DELAY) == Pause::Finish {
                        return;
                    }
                }
            }
        };
        match file.table.append(event, None) {
            Ok(()) => file.rows = file.rows.saturating_add(1),
            Err(error) => {
                file.rows = file.rows.saturating_add(1);
                self.give_up(&error);
            }
        }
    }

    fn finish_if_due(&mut self) {
        let now = SystemTime::now();
        if self.current.as_ref().is_some_and(|file| self.files.is_due(file, now)) {
            self.finish_file();
        }
    }

    /// Completes the file, if there is one.
    fn finish_file(&mut self) {
        let Some(OpenFile { table, name, rows, .. }) = self.current.take() else { return };
        if let Err(error) = table.finish() {
            self.lose(rows, &error);
            return;
        }
        let bytes = fs::metadata(&name).map_or(0, |found| found.len());
        self.shared.written(rows, bytes);
        self.shared.count(|counters| counters.rotations = counters.rotations.saturating_add(1));
        if let Err(error) = self.files.remove_oldest(&name, SystemTime::now()) {
            self.shared
                .count(|counters| counters.rotation_errors = counters.rotation_errors.saturating_add(1));
            self.messages.warn(&format_args!("cannot remove the oldest file: {error}"));
        }
    }

    /// Removes the file after a failed write.
    fn give_up(&mut self, error: &io::Error) {
        if let Some(file) = self.current.take() {
            self.lose(file.rows, error);
        }
    }

    fn lose(&self, rows: u64, error: &io::Error) {
        self.report(&format_args!("cannot write output: {error}; lost {}", Amount(rows, "event(s)")));
        self.shared.lost(rows, 0);
    }

    fn report(&self, message: &dyn std::fmt::Display) {
        self.shared.count(|counters| counters.write_errors = counters.write_errors.saturating_add(1));
        self.messages.error(&format_args!("{}: {message}", PathName(self.files.names.path().to_owned())));
    }
}

/// Number of the hour since 1970 (UTC).
fn hour(now: SystemTime) -> u64 {
    Timestamp::from(now).as_secs() / 3600
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may panic")]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use huginn_net::HuginnNet;

    use super::*;

    fn files(folder: &Path, hour_folders: bool) -> TableFiles {
        let rotation = Rotation { every: Some(Duration::from_secs(60)), ..Rotation::default() };
        let names = StampedFiles::new(folder.join("events.parquet"), ".parquet");
        TableFiles {
            names,
            rotation,
            hour_folders,
            interfaces: InterfaceNames::default(),
            columns: TableColumns::default(),
        }
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn names_have_time_and_are_not_used_twice() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), false);
        for name in ["events.20200913T122640Z.parquet", "events.20200913T122640Z.1.parquet"] {
            let path = files.unused_name(at(1_600_000_000)).unwrap();
            assert_eq!(path, folder.path().join(name));
            fs::write(path, "").unwrap();
        }
    }

    #[test]
    fn folders_have_date_and_hour() {
        let folder = tempfile::tempdir().unwrap();
        let path = files(folder.path(), true).unused_name(at(1_600_000_000)).unwrap();
        assert_eq!(path, folder.path().join("date=2020-09-13/hour=12/events.20200913T122640Z.parquet"));
        assert!(path.parent().unwrap().is_dir());
    }

    #[test]
    fn file_is_due_after_interval_or_hour() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(folder.path(), false);
        let file = files.create(at(1_600_000_000)).unwrap();
        assert!(!files.is_due(&file, at(1_600_000_019)));
        assert!(files.is_due(&file, at(1_600_000_020)));
        files.rotation.every = None;
        let file = files.create(at(1_600_000_000)).unwrap();
        assert!(!files.is_due(&file, at(1_600_009_000)));
        files.hour_folders = true;
        assert!(!files.is_due(&file, at(1_600_001_999)));
        assert!(files.is_due(&file, at(1_600_002_000)));
        files.rotation.max_bytes = Some(1);
        assert!(files.is_due(&file, at(1_600_000_000)));
    }

    /// A Parquet file is written when it is complete; the file system is full then.
    #[test]
    #[ignore = "needs root: mounts a file system"]
    fn full_disk_counts_lost_events() {
        let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
        let mut events = Vec::new();
        let source = huginn_net::CaptureReader::open(capture).unwrap();
        HuginnNet::builder().build().analyze(source, &mut |event: Event| events.push(event)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let run = |program: &str, args: &[&str]| {
            assert!(Command::new(program).args(args).arg(folder.path()).status().unwrap().success());
        };
        run("mount", &["-t", "tmpfs", "-o", "size=8k", "tmpfs"]);
        fs::write(folder.path().join("ballast"), [0; 8 << 10]).unwrap();
        let (messages, _queue) = Messages::start().unwrap();
        let (queue, sender) = files(folder.path(), false).write(1 << 10, messages).unwrap();
        let count = events.len() as u64;
        assert!(events.into_iter().all(|event| sender.push(event)));
        drop(sender);
        let counters = queue.finish();
        run("umount", &[]);
        assert!(count > 0);
        assert_eq!((counters.written_lines, counters.dropped_lines, counters.lost_lines), (0, count, count));
    }

    #[test]
    fn oldest_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(folder.path(), false);
        files.rotation.keep = Some(2);
        for second in 0..4 {
            fs::write(files.unused_name(at(1_600_000_000 + second)).unwrap(), "").unwrap();
        }
        fs::write(folder.path().join("events.parquet"), "").unwrap();
        let last = folder.path().join("events.20200913T122643Z.parquet");
        files.remove_oldest(&last, at(1_600_000_100)).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(
            left,
            ["events.20200913T122642Z.parquet", "events.20200913T122643Z.parquet", "events.parquet"]
        );
    }
}
