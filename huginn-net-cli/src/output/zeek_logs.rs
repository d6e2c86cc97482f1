//! Zeek's logs of live traffic: a file for each log in a folder, rotated as Zeek does.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use huginn_net::Event;
use huginn_net::record::formats::zeek::{ZeekForm, ZeekLog, ZeekLogs, footer, header};
use huginn_net_live::InterfaceNames;

use super::files::{FileId, RotatedFile, Rotation, StampForm};
use super::own_fields::{OwnFields, ZeekFields};
use super::queue::messages::Messages;
use super::queue::{EventSender, OutputQueue, Shared};
use super::zeek_folder::file_name;
use super::{OutputError, Selected};
use crate::limits::{FILE_CHECK_INTERVAL, WRITE_RETRY_DELAY, WRITE_WARNING_INTERVAL};
use crate::paths::{PathName, open_output, unused_path};

/// Time that rows wait in memory at most, and the interval at which the thread looks whether a file is due.
const FLUSH_INTERVAL: Duration = Duration::from_millis(200);

/// Where logs go, and what they have.
pub(crate) struct LiveZeekLogs {
    pub(crate) folder: PathBuf,
    pub(crate) form: ZeekForm,
    pub(crate) rotation: Rotation,
    pub(crate) own_fields: OwnFields,
    /// The events that have rows. The ends of all connections come, too: they complete rows.
    pub(crate) selected: Selected,
    /// Names of the interfaces, by their index, as conditions know them.
    pub(crate) interfaces: InterfaceNames,
}

/// State of the thread that writes the logs.
struct Writer {
    plan: LiveZeekLogs,
    own: ZeekFields,
    open: BTreeMap<&'static str, OpenLog>,
    shared: Arc<Shared>,
    messages: Messages,
    warned: Option<Instant>,
    /// Events whose rows wait in memory, and the bytes of these rows.
    waiting: (u64, u64),
    flushed: Instant,
    /// The last time that files were found by their names.
    checked: Instant,
}

/// The file of a log.
struct OpenLog {
    file: BufWriter<File>,
    bytes: u64,
    /// The bytes that are in the file for certain.
    kept: u64,
    /// Whether the file may have more than these bytes, which are cut before the next ones.
    needs_cut: bool,
    opened: SystemTime,
    period: u128,
    /// When it could not be rotated.
    failed: Option<Instant>,
}

impl OpenLog {
    fn new(file: File, opened: SystemTime, period: u128) -> Self {
        let file = BufWriter::new(file);
        Self { file, bytes: 0, kept: 0, needs_cut: false, opened, period, failed: None }
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.bytes = self.bytes.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        self.file.write_all(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.kept = self.bytes;
        Ok(())
    }

    /// Forgets what came after the last flush.
    fn without_rest(self) -> Self {
        let (file, _) = self.file.into_parts();
        Self { file: BufWriter::new(file), bytes: self.kept, needs_cut: true, ..self }
    }

    fn cut(&mut self) -> io::Result<()> {
        if self.needs_cut {
            let file = self.file.get_ref();
            // Another program may have cut it.
            let len = file.metadata()?.len().min(self.kept);
            file.set_len(len)?;
            (self.bytes, self.kept, self.needs_cut) = (len, len, false);
        }
        Ok(())
    }

    /// Writes the end of a file that has rows, which [`OpenLog::without_rest`] takes back.
    fn write_end(&mut self, form: ZeekForm) -> io::Result<()> {
        match form {
            ZeekForm::Tsv if self.bytes > 0 => {
                self.file.write_all(footer(SystemTime::now().into()).as_bytes())?
            }
            _ => {}
        }
        self.file.flush()
    }
}

impl LiveZeekLogs {
    /// Starts the thread that writes the logs. The queue holds at most `capacity` events.
    pub(crate) fn write(
        self,
        capacity: usize,
        messages: Messages,
    ) -> Result<(OutputQueue, EventSender), OutputError> {
        EventSender::start(capacity, move |events, shared| Writer::new(self, shared, messages).run(&events))
    }
}

impl Writer {
    fn new(plan: LiveZeekLogs, shared: Arc<Shared>, messages: Messages) -> Self {
        let own = ZeekFields::new(&plan.own_fields, plan.form);
        let (open, now) = (BTreeMap::new(), Instant::now());
        Self { plan, own, open, shared, messages, warned: None, waiting: (0, 0), flushed: now, checked: now }
    }

    /// Writes events until their sender is gone.
    fn run(mut self, events: &Receiver<Event>) {
        let mut logs = ZeekLogs::new(self.plan.form);
        loop {
            match events.recv_timeout(FLUSH_INTERVAL) {
                Ok(event) => self.append(&mut logs, &event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.flushed.elapsed() >= FLUSH_INTERVAL {
                self.flush();
                let now = SystemTime::now();
                self.rotate(|plan, log| plan.rotation.period(now) != log.period);
            }
            if self.checked.elapsed() >= FILE_CHECK_INTERVAL {
                self.end_replaced();
            }
            if self.shared.take_reopen() {
                self.flush();
                self.rotate(|_, _| true);
            }
        }
        logs.finish(&mut |log, row| self.write(log, row));
        self.flush();
        self.end_all();
        self.shared.end();
    }

    fn append(&mut self, logs: &mut ZeekLogs, event: &Event) {
        let interface = self.plan.interfaces.get(event.ts.interface());
        let is_selected = self.plan.selected.contains(event, None, interface.as_deref());
        self.waiting.0 = self.waiting.0.saturating_add(1);
        let mut write = |log, row: &[u8]| self.write(log, row);
        if is_selected {
            logs.add(event, None, &mut write);
        } else {
            logs.end_connection(event, &mut write);
        }
    }

    /// Adds a row to its file, which the first one creates.
    fn write(&mut self, log: ZeekLog, row: &[u8]) {
        let with_own = self.own.add_to_row(row);
        let row = with_own.as_deref().unwrap_or(row);
        let len = u64::try_from(row.len()).unwrap_or(u64::MAX);
        let is_full = |open: &OpenLog| {
            let most = self.plan.rotation.max_bytes.unwrap_or(u64::MAX);
            open.bytes > 0 && open.bytes.saturating_add(len) > most
        };
        if self.open.get(log.name()).is_some_and(is_full) {
            self.rotate_log(log.name());
        }
        match self.open(log).and_then(|open| open.write(row)) {
            Ok(()) => self.waiting.1 = self.waiting.1.saturating_add(len),
            Err(error) => self.fail(log.name(), &error),
        }
    }

    /// The file of a log.
    fn open(&mut self, log: ZeekLog) -> io::Result<&mut OpenLog> {
        let name = log.name();
        if !self.open.contains_key(name) {
            let (path, now) = (self.plan.folder.join(file_name(log)), SystemTime::now());
            match fs::metadata(&path) {
                Ok(found) if found.is_file() && found.len() == 0 => fs::remove_file(&path)?,
                // What an earlier run wrote stays.
                Ok(found) => self.archive(name, found.modified()?)?,
                Err(_) => {}
            }
            let file = open_output(&path, OpenOptions::new().create_new(true).append(true), 0)?;
            self.open.insert(name, OpenLog::new(file, now, self.plan.rotation.period(now)));
        }
        let open = self.open.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        open.cut()?;
        if self.plan.form == ZeekForm::Tsv && open.bytes == 0 {
            open.write(self.own.add_to_header(&header(log, open.opened.into())).as_bytes())?;
        }
        Ok(open)
    }

    /// Writes what waits, and counts its events.
    fn flush(&mut self) {
        self.flushed = Instant::now();
        let failed: Vec<(&'static str, io::Error)> =
            self.open.iter_mut().filter_map(|(name, open)| Some((*name, open.flush().err()?))).collect();
        if failed.is_empty() {
            let (events, bytes) = std::mem::take(&mut self.waiting);
            self.shared.written(events, bytes);
        }
        for (name, error) in failed {
            self.fail(name, &error);
        }
    }

    /// Forgets the rows of a failed write, and waits before the next attempt. Meanwhile the queue fills. The file stays open: it is not one
    /// of an earlier run.
    fn fail(&mut self, name: &'static str, error: &io::Error) {
        self.take_back(name);
        self.count_lost();
        self.shared.count(|counters| counters.write_errors = counters.write_errors.saturating_add(1));
        self.warn(&format_args!("{name}.log: {error}"));
        let _ = self.shared.pause(WRITE_RETRY_DELAY);
    }

    /// Counts the events that wait as lost, at most: some of their rows may be there. Without one, rows of earlier events were lost.
    fn count_lost(&mut self) {
        match std::mem::take(&mut self.waiting) {
            (0, _) if self.shared.counters().written_lines == 0 => {}
            (0, _) => self.shared.unwritten(1, 0),
            (events, _) => self.shared.lost(events, 0),
        }
    }

    /// Ends the files that are due, and gives them names with their time.
    fn rotate(&mut self, is_due: impl Fn(&LiveZeekLogs, &OpenLog) -> bool) {
        let due: Vec<&'static str> =
            self.open.iter().filter(|(_, open)| is_due(&self.plan, open)).map(|(name, _)| *name).collect();
        due.into_iter().for_each(|name| self.rotate_log(name));
    }

    /// Ends files that were moved or deleted: the next row begins another one.
    fn end_replaced(&mut self) {
        self.checked = Instant::now();
        let is_replaced = |name: &str, open: &OpenLog| {
            let found = fs::metadata(self.plan.folder.join(format!("{name}.log"))).ok();
            let (found, own) = (found.as_ref().map(FileId::from), open.file.get_ref().metadata().ok());
            found != own.as_ref().map(FileId::from)
        };
        let replaced: Vec<&'static str> =
            self.open.iter().filter(|(name, open)| is_replaced(name, open)).map(|(name, _)| *name).collect();
        replaced.into_iter().for_each(|name| self.end(name));
    }

    fn take_back(&mut self, name: &'static str) {
        if let Some(open) = self.open.remove(name) {
            self.open.insert(name, open.without_rest());
        }
    }

    /// Ends a file and renames it. It stays open if that fails.
    fn rotate_log(&mut self, name: &'static str) {
        let Some(open) = self.open.get_mut(name) else { return };
        if open.failed.is_some_and(|failed| failed.elapsed() < WRITE_RETRY_DELAY) {
            return;
        }
        if let Err(error) = open.cut().and_then(|()| open.flush()) {
            return self.fail(name, &error);
        }
        if open.bytes == 0 {
            open.period = self.plan.rotation.period(SystemTime::now());
            return;
        }
        let (opened, ended) = (open.opened, open.write_end(self.plan.form));
        match ended.and_then(|()| self.archive(name, opened)) {
            Ok(()) => {
                self.open.remove(name);
                self.shared.count(|counters| counters.rotations = counters.rotations.saturating_add(1));
            }
            // Another program moved it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => _ = self.open.remove(name),
            Err(error) => {
                self.take_back(name);
                if let Some(open) = self.open.get_mut(name) {
                    open.failed = Some(Instant::now());
                }
                self.fail_rotation(&format_args!("{name}.log cannot be rotated: {error}"));
            }
        }
    }

    fn fail_rotation(&mut self, message: &dyn std::fmt::Display) {
        self.shared.count(|counters| counters.rotation_errors = counters.rotation_errors.saturating_add(1));
        self.warn(message);
    }

    fn end_all(&mut self) {
        let names: Vec<&'static str> = self.open.keys().copied().collect();
        names.into_iter().for_each(|name| self.end(name));
    }

    /// Writes the end of a file and closes it.
    fn end(&mut self, name: &'static str) {
        let Some(mut open) = self.open.remove(name) else { return };
        let flushed = open.cut().and_then(|()| open.flush());
        if let Err(error) = flushed.and_then(|()| open.write_end(self.plan.form)) {
            self.shared.count(|counters| counters.write_errors = counters.write_errors.saturating_add(1));
            self.warn(&format_args!("{name}.log: {error}"));
            let _ = open.without_rest().cut();
            self.count_lost();
        }
    }

    /// Gives the file of a log the name of a rotated one, `conn.2026-11-30-07-00-00.log`, and removes the oldest beyond the number to keep.
    fn archive(&mut self, name: &str, opened: SystemTime) -> io::Result<()> {
        let stamp = StampForm::Zeek.format(opened);
        let path = |number: &str| self.plan.folder.join(format!("{name}.{stamp}{number}.log"));
        let rotated = unused_path(u32::MAX, path).ok_or(io::ErrorKind::AlreadyExists)?;
        fs::rename(self.plan.folder.join(format!("{name}.log")), &rotated)?;
        let Some(keep) = self.plan.rotation.keep else { return Ok(()) };
        let (log, now) = (self.plan.folder.join(name), SystemTime::now());
        if let Err(error) = RotatedFile::remove_oldest(&log, StampForm::Zeek, ".log", keep, &rotated, now) {
            self.fail_rotation(&format_args!("{name}.log: old files cannot be removed: {error}"));
        }
        Ok(())
    }

    fn warn(&mut self, message: &dyn std::fmt::Display) {
        if self.warned.is_none_or(|warned| warned.elapsed() >= WRITE_WARNING_INTERVAL) {
            self.warned = Some(Instant::now());
            let folder = PathName(self.plan.folder.clone());
            self.messages.warn(&format_args!("cannot write output: {folder}/{message}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use huginn_net::{CaptureReader, Configure, HuginnNet};

    use super::*;
    use crate::output::queue::OutputCounters;

    fn logs(folder: &Path, form: ZeekForm, rotation: Rotation) -> LiveZeekLogs {
        LiveZeekLogs {
            folder: folder.to_owned(),
            form,
            rotation,
            own_fields: OwnFields::default(),
            selected: Selected::default(),
            interfaces: InterfaceNames::default(),
        }
    }

    fn events() -> Vec<Event> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
        let mut events = Vec::new();
        let mut analyzer = HuginnNet::builder().connections(true).build();
        analyzer.analyze(CaptureReader::open(path).unwrap(), &mut |event: Event| events.push(event)).unwrap();
        events
    }

    fn connections(events: &[Event]) -> usize {
        events.iter().filter(|event| matches!(event.kind, huginn_net::Observation::Connection(_))).count()
    }

    /// Names of the files of a log, and their lines.
    fn files(folder: &Path, log: &str) -> Vec<(String, Vec<String>)> {
        let names =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(&format!("{log}."))).collect();
        names.sort();
        let lines = |name: &String| {
            fs::read_to_string(folder.join(name)).unwrap().lines().map(str::to_owned).collect()
        };
        names.iter().map(|name| (name.clone(), lines(name))).collect()
    }

    /// Writes events with a request to open files again between them.
    fn write(logs: LiveZeekLogs, parts: &[&[Event]]) {
        let (messages, _queue) = Messages::start().unwrap();
        let (queue, sender) = logs.write(1 << 16, messages).unwrap();
        for part in parts {
            assert!(part.iter().all(|event| sender.push(event.clone())));
            let start = Instant::now();
            while queue.handle().counters().queued_lines > 0 {
                assert!(start.elapsed() < Duration::from_secs(60));
                std::thread::sleep(Duration::from_millis(5));
            }
            let rotations = queue.handle().counters().rotations;
            queue.handle().reopen();
            while queue.handle().counters().rotations == rotations {
                assert!(start.elapsed() < Duration::from_secs(60));
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        drop(sender);
        let counters = queue.finish();
        assert_eq!(counters.written_lines, parts.iter().map(|part| part.len() as u64).sum::<u64>());
        assert_eq!((counters.dropped_lines, counters.rotation_errors), (0, 0));
    }

    #[test]
    fn rotated_logs_have_headers_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let events = events();
        fs::write(folder.path().join("conn.log"), "earlier\n").unwrap();
        write(logs(folder.path(), ZeekForm::Tsv, Rotation::default()), &[&events, &events]);
        let conn = files(folder.path(), "conn");
        assert_eq!(conn.len(), 3, "{conn:?}");
        let (earlier, written): (Vec<_>, Vec<_>) = conn.iter().partition(|(_, lines)| lines[0] == "earlier");
        assert_eq!(earlier.len(), 1);
        let wanted = connections(&events);
        for (name, lines) in written {
            assert!(name.len() >= "conn.2026-11-30-07-00-00.log".len(), "{name}");
            assert!(
                lines[0].starts_with("#separator") && lines[lines.len() - 1].starts_with("#close\t"),
                "{lines:?}"
            );
            assert_eq!(lines.iter().filter(|line| !line.starts_with('#')).count(), wanted);
        }
    }

    #[test]
    fn files_are_rotated_by_size_and_the_oldest_removed() {
        let folder = tempfile::tempdir().unwrap();
        let events = events();
        let rotation = Rotation { max_bytes: Some(1), keep: Some(2), ..Rotation::default() };
        write(logs(folder.path(), ZeekForm::Json, rotation), &[&events]);
        let conn = files(folder.path(), "conn");
        assert_eq!(conn.len(), 2, "{conn:?}");
        assert!(conn.iter().all(|(_, lines)| lines.len() == 1 && lines[0].starts_with('{')), "{conn:?}");
    }

    #[test]
    fn only_rotated_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let others = [
            "conn.2020-01-01-00-00-00.summary.log",
            "conn.2020-01-01-00-00-00.1x.log",
            "conn.2020-01-01-00-00.log",
            "conn.2020-01-01-00:00:00.log",
            "conn.------------------1.log",
        ];
        let rotated = ["conn.2020-01-01-00-00-00.log", "conn.2020-01-01-00-00-00.1.log"];
        others.iter().chain(&rotated).for_each(|name| fs::write(folder.path().join(name), "").unwrap());
        // A folder cannot be removed as a file: the others are, still.
        fs::create_dir(folder.path().join("conn.2020-01-01-00-00-00.2.log")).unwrap();
        let rotation = Rotation { keep: Some(1), ..Rotation::default() };
        let counters = with_writer(logs(folder.path(), ZeekForm::Json, rotation), |writer| {
            append(writer, &events());
            writer.rotate(|_, _| true);
        });
        assert_eq!((counters.rotations > 0, counters.rotation_errors), (true, 1), "{counters:?}");
        assert!(others.iter().all(|name| folder.path().join(name).exists()));
        assert!(!rotated.iter().any(|name| folder.path().join(name).exists()));
    }

    #[test]
    fn files_are_rotated_by_time_without_events() {
        let folder = tempfile::tempdir().unwrap();
        let events = events();
        let rotation = Rotation { every: Some(Duration::from_secs(1)), ..Rotation::default() };
        let (messages, _queue) = Messages::start().unwrap();
        let (queue, sender) = logs(folder.path(), ZeekForm::Tsv, rotation).write(1 << 16, messages).unwrap();
        assert!(events.iter().all(|event| sender.push(event.clone())));
        let start = Instant::now();
        while folder.path().join("conn.log").exists() || files(folder.path(), "conn").is_empty() {
            assert!(start.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(sender);
        assert!(queue.finish().rotations > 0);
        let conn = files(folder.path(), "conn");
        assert!(conn.iter().all(|(_, lines)| lines[lines.len() - 1].starts_with("#close\t")), "{conn:?}");
    }

    #[test]
    fn deleted_log_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let events = events();
        let (messages, _queue) = Messages::start().unwrap();
        let logs = logs(folder.path(), ZeekForm::Tsv, Rotation::default());
        let (queue, sender) = logs.write(1 << 16, messages).unwrap();
        let start = Instant::now();
        for _ in 0..2 {
            // Events come until one of them is in a new file.
            while !folder.path().join("conn.log").exists() {
                assert!(start.elapsed() < Duration::from_secs(60));
                assert!(events.iter().all(|event| sender.push(event.clone())));
                std::thread::sleep(Duration::from_millis(100));
            }
            fs::remove_file(folder.path().join("conn.log")).unwrap();
        }
        drop(sender);
        assert_eq!(queue.finish().rotation_errors, 0);
    }

    /// Runs a writer by hand.
    fn with_writer(logs: LiveZeekLogs, check: impl FnOnce(&mut Writer) + Send + 'static) -> OutputCounters {
        let (done, ended) = std::sync::mpsc::channel();
        let (messages, _queue) = Messages::start().unwrap();
        let (queue, sender) = EventSender::start(1, move |_, shared| {
            let mut writer = Writer::new(logs, shared, messages);
            check(&mut writer);
            writer.flush();
            writer.end_all();
            writer.shared.end();
            done.send(()).unwrap();
        })
        .unwrap();
        ended.recv_timeout(Duration::from_secs(60)).unwrap();
        drop(sender);
        queue.finish()
    }

    fn append(writer: &mut Writer, events: &[Event]) {
        let mut logs = ZeekLogs::new(writer.plan.form);
        events.iter().for_each(|event| writer.append(&mut logs, event));
        logs.finish(&mut |log, row| writer.write(log, row));
    }

    #[test]
    fn own_file_is_continued_after_a_failed_write() {
        for form in [ZeekForm::Tsv, ZeekForm::Json] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("conn.2026-01-01-00-00-00.log"), "earlier\n").unwrap();
            let rotation = Rotation { keep: Some(1), ..Rotation::default() };
            let counters = with_writer(logs(folder.path(), form, rotation), move |writer| {
                append(writer, &events());
                // The first write fails, and a later one, each in a row.
                for _ in 0..2 {
                    let file = writer.open.get_mut("conn").unwrap();
                    file.write(b"part of a r").unwrap();
                    file.file.flush().unwrap();
                    writer.fail("conn", &io::ErrorKind::StorageFull.into());
                    append(writer, &events());
                    writer.flush();
                }
            });
            assert_eq!((counters.write_errors, counters.rotation_errors), (2, 0));
            let conn = files(folder.path(), "conn");
            let [(_, earlier), (name, lines)] = &conn[..] else { panic!("{conn:?}") };
            assert_eq!((&earlier[..], name.as_str()), (&["earlier".to_owned()][..], "conn.log"));
            let count = |start| lines.iter().filter(|line| line.starts_with(start)).count();
            let is_row = |line: &&String| !line.starts_with('#') && !line.starts_with("part");
            let headers = usize::from(form == ZeekForm::Tsv);
            assert_eq!((count("#separator"), count("#close")), (headers, headers), "{lines:?}");
            assert_eq!(
                (lines.iter().filter(is_row).count(), count("part")),
                (2 * connections(&events()), 0),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn file_that_cannot_be_rotated_is_continued() {
        let folder = tempfile::tempdir().unwrap();
        let counters = with_writer(logs(folder.path(), ZeekForm::Tsv, Rotation::default()), |writer| {
            append(writer, &events());
            writer.flush();
            // A path below a file that is no folder.
            let folder = std::mem::replace(&mut writer.plan.folder, "/dev/null".into());
            writer.rotate(|_, _| true);
            writer.plan.folder = folder;
            append(writer, &events());
        });
        assert!(counters.rotation_errors > 0 && counters.write_errors == 0, "{counters:?}");
        let conn = files(folder.path(), "conn");
        let [(_, lines)] = &conn[..] else { panic!("{conn:?}") };
        let count = |start| lines.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((count("#separator"), count("#close")), (1, 1), "{lines:?}");
        assert!(lines[lines.len() - 1].starts_with("#close"));
        assert_eq!(lines.iter().filter(|line| !line.starts_with('#')).count(), 2 * connections(&events()));
    }

    #[test]
    #[ignore = "needs root: mounts a file system"]
    fn full_disk_counts_lost_events_and_rotates_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let run = |program: &str, args: &[&str]| {
            assert!(Command::new(program).args(args).arg(folder.path()).status().unwrap().success());
        };
        run("mount", &["-t", "tmpfs", "-o", "size=8k", "tmpfs"]);
        fs::write(folder.path().join("ballast"), [0; 8 << 10]).unwrap();
        let events = events();
        let (messages, _queue) = Messages::start().unwrap();
        let logs = logs(folder.path(), ZeekForm::Tsv, Rotation::default());
        let (queue, sender) = logs.write(1 << 16, messages).unwrap();
        let (start, mut pushed) = (Instant::now(), 0);
        while queue.handle().counters().write_errors < 4 {
            assert!(start.elapsed() < Duration::from_secs(60));
            assert!(events.iter().all(|event| sender.push(event.clone())));
            pushed += events.len() as u64;
            std::thread::sleep(Duration::from_millis(100));
        }
        drop(sender);
        let counters = queue.finish();
        let conn = files(folder.path(), "conn");
        run("umount", &[]);
        // Events without a row need no room.
        assert!(
            counters.lost_lines > 0 && counters.written_lines + counters.lost_lines == pushed,
            "{counters:?}"
        );
        assert!(conn.iter().all(|(name, lines)| name == "conn.log" && lines.is_empty()), "{conn:?}");
    }

    #[test]
    fn times_in_names_are_utc() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_022_000);
        assert_eq!(StampForm::Zeek.format(at), "2026-11-30-07-00-00");
    }
}
