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
mod tests;
