//! Key logs: files of `--keylog`.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::num::NonZeroU32;
use std::path::Path;

use huginn_net::CaptureReader;
use huginn_net::core::Amount;
use huginn_net::decrypt::{KeyLogSummary, Secrets};

use crate::failure::Failure;
use crate::limits::KEY_LOG_BUFFER_LEN;
use crate::paths::name_of;

/// Adds the secrets of a key log, or of the Decryption Secrets Blocks of a pcapng file, to a set.
pub(super) fn read(
    path: &Path,
    max_ratio: Option<NonZeroU32>,
    secrets: &Secrets,
) -> Result<KeyLogSummary, Failure> {
    let mut summary = KeyLogSummary::default();
    let read = |source| Failure::Read { path: name_of(path), source };
    let mut file = File::open(path).map_err(read)?;
    if file.metadata().map_err(read)?.is_file()
        && let Ok(capture) = CaptureReader::open(path)
    {
        let capture = capture.max_compression_ratio(max_ratio);
        // What precedes damage counts. The analysis reports damage of a capture.
        let _ = capture.read_key_logs(|text| secrets.add_key_log_lines(text, &mut summary));
        return Ok(summary);
    }
    let mut buffer = Secrets::text_buffer(KEY_LOG_BUFFER_LEN);
    let mut len = 0;
    loop {
        let room = buffer.get_mut(len..).unwrap_or_default();
        let count = match file.read(room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            outcome => outcome.map_err(read)?,
        };
        len = len.saturating_add(count);
        let text = buffer.get(..len).unwrap_or_default();
        let lines = match text.iter().rposition(|byte| *byte == b'\n') {
            _ if count == 0 => len,
            Some(last) => last.saturating_add(1),
            // A line that does not fit is malformed.
            None if len == buffer.len() => len,
            None => continue,
        };
        secrets.add_key_log_lines(text.get(..lines).unwrap_or_default(), &mut summary);
        if count == 0 {
            return Ok(summary);
        }
        buffer.copy_within(lines..len, 0);
        len = len.saturating_sub(lines);
    }
}

/// What a key log contained, as a message.
pub(super) struct Summary<'a> {
    pub(super) name: &'a str,
    pub(super) summary: &'a KeyLogSummary,
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
