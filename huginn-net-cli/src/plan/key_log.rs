//! Key logs: files of `--keylog`.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::num::NonZeroU32;
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;

use huginn_net::CaptureReader;
use huginn_net::core::Amount;
use huginn_net::decrypt::{KeyLogReader, KeyLogSummary, Secrets};

use crate::failure::Failure;
use crate::paths::name_of;

/// The secrets of a key log, or of the Decryption Secrets Blocks of a pcapng file.
pub(crate) struct KeyLog {
    name: String,
    summary: KeyLogSummary,
    /// What may still grow: a key log that is a regular file.
    rest: Option<Rest>,
}

/// A key log after the lines that were read.
struct Rest {
    file: File,
    /// Number of bytes that were read from the file.
    position: u64,
    reader: KeyLogReader,
}

impl KeyLog {
    /// Adds the secrets of a file to a set.
    pub(super) fn read(
        path: &Path,
        max_ratio: Option<NonZeroU32>,
        secrets: &Secrets,
    ) -> Result<Self, Failure> {
        let mut key_log = Self { name: name_of(path), summary: KeyLogSummary::default(), rest: None };
        let failed = |source| Failure::Read { path: name_of(path), source };
        let file = File::open(path).map_err(failed)?;
        let is_regular = file.metadata().map_err(failed)?.is_file();
        if is_regular && let Ok(capture) = CaptureReader::open(path) {
            let capture = capture.max_compression_ratio(max_ratio);
            // What precedes damage counts. The analysis reports damage of a capture.
            let _ = capture.read_key_logs(|text| secrets.add_key_log_lines(text, &mut key_log.summary));
            return Ok(key_log);
        }
        let mut rest = Rest { file, position: 0, reader: KeyLogReader::new() };
        rest.read(secrets, &mut key_log.summary).map_err(failed)?;
        key_log.rest = is_regular.then_some(rest);
        Ok(key_log)
    }

    /// Adds the secrets of a file that does not grow.
    pub(super) fn read_complete(
        path: &Path,
        max_ratio: Option<NonZeroU32>,
        secrets: &Secrets,
    ) -> Result<Self, Failure> {
        let mut key_log = Self::read(path, max_ratio, secrets)?;
        key_log.end(secrets);
        Ok(key_log)
    }

    /// Adds the last line, even if it is not complete.
    fn end(&mut self, secrets: &Secrets) {
        let Some(Rest { reader, .. }) = self.rest.take() else { return };
        reader.finish(secrets, &mut self.summary);
    }

    /// Adds the complete lines that were written since. Of a file that became shorter, all lines are read again.
    ///
    /// # Errors
    /// If the file cannot be read; it is not read again.
    #[cfg(unix)]
    pub(crate) fn read_on(&mut self, secrets: &Secrets) -> Result<(), Failure> {
        let Some(rest) = &mut self.rest else { return Ok(()) };
        let outcome = rest.read(secrets, &mut self.summary);
        outcome.map_err(|source| {
            self.rest = None;
            Failure::Read { path: self.name.clone(), source }
        })
    }

    /// What to report: a key log without secrets or with malformed lines; with `is_verbose` also how many secrets it had.
    pub(crate) fn report(&self, is_verbose: bool) -> Option<impl fmt::Display> {
        let Self { name, summary, .. } = self;
        let is_reported = is_verbose || summary.secrets == 0 || summary.malformed > 0;
        is_reported.then_some(Summary { name, summary })
    }
}

/// Key logs that are read again as they grow.
#[cfg(unix)]
pub(crate) struct GrowingKeyLogs {
    key_logs: Vec<KeyLog>,
    secrets: Secrets,
}

#[cfg(unix)]
impl GrowingKeyLogs {
    /// Reads what key logs contain now; `None` without key logs. The set is growing if one of them can grow.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Option<Self>, Failure> {
        if paths.is_empty() {
            return Ok(None);
        }
        for path in paths {
            let failed = |source| Failure::Read { path: name_of(path), source };
            if !path.metadata().map_err(failed)?.is_file() {
                let name = name_of(path);
                return Err(Failure::Usage(format!("{name}: a key log that grows is a regular file").into()));
            }
        }
        let secrets = Secrets::new();
        let key_logs = paths.iter().map(|path| KeyLog::read(path, NonZeroU32::new(1000), &secrets));
        let key_logs: Vec<_> = key_logs.collect::<Result<_, _>>()?;
        secrets.set_growing(key_logs.iter().any(|key_log| key_log.rest.is_some()));
        Ok(Some(Self { key_logs, secrets }))
    }

    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Adds what was written since. Files that cannot be read are reported once; without others, no secret can come any more.
    pub(crate) fn read_on(&mut self, report: &dyn Fn(&Failure)) {
        for key_log in &mut self.key_logs {
            if let Err(error) = key_log.read_on(&self.secrets) {
                report(&error);
            }
        }
        if self.key_logs.iter().all(|key_log| key_log.rest.is_none()) {
            self.secrets.set_growing(false);
        }
    }

    /// Reports key logs without secrets or with malformed lines; with `is_verbose` also how many secrets the others have.
    pub(crate) fn report(&self, is_verbose: bool, report: &dyn Fn(&dyn fmt::Display)) {
        let reports = self.key_logs.iter().filter_map(|key_log| key_log.report(is_verbose));
        reports.for_each(|summary| report(&summary));
    }
}

impl Rest {
    /// Adds the complete lines of the rest of the file.
    fn read(&mut self, secrets: &Secrets, summary: &mut KeyLogSummary) -> io::Result<()> {
        let Self { file, position, reader } = self;
        if *position > 0 && file.metadata()?.len() < *position {
            file.seek(SeekFrom::Start(0))?;
            *position = 0;
            reader.restart();
        }
        let count = reader.read(file, secrets, summary)?;
        *position = position.saturating_add(count);
        Ok(())
    }
}

/// What a key log contained, as a message.
struct Summary<'a> {
    name: &'a str,
    summary: &'a KeyLogSummary,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyLogSummary { secrets, malformed, malformed_lines, .. } = self.summary;
        write!(f, "{}: {}", self.name, Amount(*secrets, "secret(s)"))?;
        if *malformed == 0 {
            return Ok(());
        }
        write!(f, ", {}:", Amount(*malformed, "malformed line(s)"))?;
        for (n, line) in malformed_lines.iter().enumerate() {
            write!(f, "{} {line}", if n == 0 { "" } else { "," })?;
        }
        if *malformed > malformed_lines.len() as u64 { f.write_str(" and others") } else { Ok(()) }
    }
}
