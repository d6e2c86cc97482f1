//! Events as a folder of Zeek's logs.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use huginn_net::record::formats::zeek::{ZeekForm, ZeekLog, ZeekLogs, footer, header};
use huginn_net::{Event, Timestamp};

use super::own_fields::{OwnFields, ZeekFields};
use crate::paths::create_output;

/// Size of the buffer of each of Zeek's logs, in bytes: rows have up to some kB.
const ZEEK_BUFFER_BYTES: usize = 64 << 10;

/// Writes a file for each log that has rows.
pub(crate) struct ZeekFolder {
    logs: ZeekLogs,
    files: LogFiles,
}

/// The files of the logs.
struct LogFiles {
    folder: PathBuf,
    form: ZeekForm,
    own: ZeekFields,
    open: Vec<(ZeekLog, BufWriter<File>)>,
    /// Time of the latest event.
    now: Timestamp,
    outcome: io::Result<()>,
}

impl ZeekFolder {
    /// Creates the folder, and removes the logs that it has: this run may have none of some kinds.
    pub(crate) fn create(folder: PathBuf, form: ZeekForm, own: &OwnFields) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        for &log in ZeekLog::ALL {
            match fs::remove_file(folder.join(file_name(log))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let now = Timestamp::default();
        let own = ZeekFields::new(own, form);
        let files = LogFiles { folder, form, own, open: Vec::new(), now, outcome: Ok(()) };
        Ok(Self { logs: ZeekLogs::new(form), files })
    }

    /// Takes an event. `file`: the capture file, if several are read. `is_selected`: whether it has a row.
    pub(crate) fn append(&mut self, event: &Event, file: Option<&str>, is_selected: bool) -> io::Result<()> {
        let Self { logs, files } = self;
        files.now = event.ts;
        if is_selected {
            logs.add(event, file, &mut |log, row| files.write(log, row));
        } else {
            logs.end_connection(event, &mut |log, row| files.write(log, row));
        }
        files.check()
    }

    /// Writes the rows of open connections, and the end of each file.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let Self { logs, files } = &mut self;
        logs.finish(&mut |log, row| files.write(log, row));
        files.check()?;
        for (_, file) in &mut files.open {
            if files.form == ZeekForm::Tsv {
                file.write_all(footer(files.now).as_bytes())?;
            }
            file.flush()?;
        }
        Ok(())
    }
}

impl LogFiles {
    /// Writes a row. The first error stays.
    fn write(&mut self, log: ZeekLog, row: &[u8]) {
        if self.outcome.is_ok() {
            let with_own = self.own.add_to_row(row);
            let row = with_own.as_deref().unwrap_or(row);
            self.outcome = self.file(log).and_then(|file| file.write_all(row));
        }
    }

    /// The file of a log, which its first row creates.
    fn file(&mut self, log: ZeekLog) -> io::Result<&mut BufWriter<File>> {
        let number = match self.open.iter().position(|(name, _)| *name == log) {
            Some(number) => number,
            None => {
                let mut file = BufWriter::with_capacity(
                    ZEEK_BUFFER_BYTES,
                    create_output(&self.folder.join(file_name(log)))?,
                );
                if self.form == ZeekForm::Tsv {
                    file.write_all(self.own.add_to_header(&header(log, self.now)).as_bytes())?;
                }
                self.open.push((log, file));
                self.open.len().saturating_sub(1)
            }
        };
        self.open.get_mut(number).map(|(_, file)| file).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn check(&mut self) -> io::Result<()> {
        std::mem::replace(&mut self.outcome, Ok(()))
    }
}

pub(super) fn file_name(log: ZeekLog) -> String {
    format!("{}.log", log.name())
}
