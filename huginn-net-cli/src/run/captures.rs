//! The captures of a command, opened and read one after the other.

use std::io;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use huginn_net::capture::LabelledFrame;
use huginn_net::core::{Amount, Block, CancelToken, ChunkReader, Fill, FirstFrames, NextFrame};
use huginn_net::decrypt::{KeyLogSummary, Secrets, add_sessions};
use huginn_net::{CaptureError, CaptureReader, Source};

use super::interrupt::Interrupt;
use crate::output::Progress;
use crate::paths::name_of;
use crate::plan::{InputFile, Inputs};
use crate::stderr;

/// The captures of a command, read one after the other.
pub(crate) struct Captures {
    files: Vec<InputFile>,
    max_ratio: Option<NonZeroU32>,
    secrets: Secrets,
    /// Number of malformed lines in the secrets that captures bring.
    malformed_secrets: u64,
    /// Number of blocks of secrets that the analysis passed without using them.
    unread_secrets: u64,
    /// Number of connections whose sessions were not remembered.
    left_out_sessions: u64,
    /// Whether key logs were named, which may be the captures.
    has_key_logs: bool,
    next: usize,
    /// Packets that may still be read.
    left: u64,
    progress: Progress,
    interrupt: Interrupt,
    opened: u64,
    skipped: u64,
    has_failed: bool,
    /// Whether the files come one by one, and may be gone.
    is_watched: bool,
    /// Whether the last file was gone.
    is_gone: bool,
}

/// A capture that is being read.
pub(crate) struct OpenCapture<'a> {
    pub(crate) path: &'a Path,
    /// The name, if there are several captures.
    pub(crate) name: Option<String>,
    /// Index of the file, from 0.
    pub(crate) index: usize,
    pub(crate) source: FirstFrames<CaptureSource<'a>>,
    left: &'a mut u64,
    /// Counts blocks of secrets, unless they were read before.
    unread_secrets: Option<&'a mut u64>,
}

impl OpenCapture<'_> {
    /// Lends the next frame with its process, without a limit of their number. Returns `None` at the end and after SIGINT.
    pub(crate) fn read_labelled_frame(&mut self) -> Result<Option<LabelledFrame<'_>>, CaptureError> {
        let source = self.source.source_mut();
        if source.is_interrupted() { Ok(None) } else { source.reader.read_labelled_frame() }
    }
}

impl Drop for OpenCapture<'_> {
    fn drop(&mut self) {
        *self.left = self.source.remaining();
        if let Some(unread) = &mut self.unread_secrets {
            **unread = unread.saturating_add(self.source.source_mut().reader.secrets_blocks());
        }
    }
}

impl Captures {
    pub(crate) fn new(inputs: Inputs) -> Self {
        Self {
            files: inputs.files,
            max_ratio: inputs.max_ratio,
            secrets: inputs.secrets,
            malformed_secrets: 0,
            unread_secrets: 0,
            left_out_sessions: 0,
            has_key_logs: !inputs.key_logs.is_empty(),
            next: 0,
            left: inputs.count.unwrap_or(u64::MAX),
            progress: Progress::hidden(),
            interrupt: Interrupt::default(),
            opened: 0,
            skipped: 0,
            has_failed: inputs.has_failed,
            is_watched: false,
            is_gone: false,
        }
    }

    /// Reads another capture next, instead of those before it.
    #[cfg(unix)]
    pub(super) fn set_watched(&mut self, file: InputFile) {
        self.files = vec![file];
        (self.next, self.is_watched, self.is_gone) = (0, true, false);
    }

    /// Whether the last capture of [`Self::set_watched`] was deleted or renamed.
    #[cfg(unix)]
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Shows a progress bar over all captures.
    pub(crate) fn show_progress(&mut self) {
        let total = self.files.iter().try_fold(0_u64, |sum, input| Some(sum.saturating_add(input.len?)));
        self.progress = Progress::new(total);
    }

    /// The flag that ends the analysis once it is set.
    pub(super) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Number of captures that were opened.
    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    /// The name of a capture.
    pub(crate) fn name(&self, index: usize) -> Option<String> {
        Some(name_of(&self.files.get(index)?.path))
    }

    /// The path of a capture.
    pub(crate) fn path(&self, index: usize) -> Option<&Path> {
        self.files.get(index).map(|input| &*input.path)
    }

    /// Opens the next capture; `None` after the last one, after the last packet that was asked for, and after SIGINT. A file
    /// that cannot be opened is returned as an error, unless it was found in a directory and neither is nor is named as a capture.
    pub(crate) fn open_next(&mut self) -> Option<Result<OpenCapture<'_>, CaptureFailure>> {
        loop {
            if self.left == 0 || self.interrupt.is_set() {
                return None;
            }
            let index = self.next;
            let InputFile { len, is_optional, path } = self.files.get(index)?;
            let (len, is_optional) = (len.unwrap_or(0), *is_optional);
            self.next = index.saturating_add(1);
            match open(path, self.max_ratio) {
                Ok(reader) => {
                    let is_file = reader.input_len().is_some();
                    let has_read_secrets = is_file && reader.has_secrets(Some(path));
                    if has_read_secrets {
                        let malformed = read_secrets(path, self.max_ratio, &self.secrets);
                        self.malformed_secrets = self.malformed_secrets.saturating_add(malformed);
                    }
                    if is_file && self.secrets.has_sessions() {
                        let left_out =
                            add_sessions_of(path, self.max_ratio, self.left, &self.interrupt, &self.secrets);
                        self.left_out_sessions = self.left_out_sessions.saturating_add(left_out);
                    }
                    let name = (self.is_watched || self.files.len() > 1).then(|| name_of(path));
                    self.opened = self.opened.saturating_add(1);
                    self.progress.begin(index, self.files.len());
                    let source = CaptureSource {
                        reader,
                        len,
                        progress: &mut self.progress,
                        interrupt: &self.interrupt,
                        shown: 0,
                    };
                    return Some(Ok(OpenCapture {
                        path: &self.files.get(index)?.path,
                        name,
                        index,
                        source: FirstFrames::new(source, self.left),
                        left: &mut self.left,
                        unread_secrets: (!has_read_secrets && !self.has_key_logs)
                            .then_some(&mut self.unread_secrets),
                    }));
                }
                Err(CaptureError::NotACapture { .. } | CaptureError::Empty { .. }) if is_optional => {
                    self.skipped = self.skipped.saturating_add(1);
                    self.progress.skip(len);
                }
                Err(CaptureError::Open { source, .. })
                    if self.is_watched && source.kind() == io::ErrorKind::NotFound =>
                {
                    self.is_gone = true;
                }
                Err(error) => {
                    self.has_failed = true;
                    self.progress.skip(len);
                    return Some(Err(error.into()));
                }
            }
        }
    }

    /// Clears the progress bar, and reports files that were skipped unless `quiet`. Returns whether a directory or a file
    /// could not be read, or all files were skipped.
    pub(crate) fn finish(&mut self, quiet: bool) -> bool {
        self.progress = Progress::hidden();
        if self.malformed_secrets > 0 && !quiet {
            let lines = Amount(self.malformed_secrets, "malformed line(s)");
            stderr::report(&format_args!("Decryption Secrets Blocks: {lines}"));
        }
        if self.unread_secrets > 0 && !quiet {
            let blocks = Amount(self.unread_secrets, "Decryption Secrets Block(s)");
            let advice = "in the middle of captures not used; try '--keylog FILE FILE'";
            stderr::report(&format_args!("{blocks} {advice}"));
        }
        if self.secrets.dropped() > 0 && !quiet {
            let dropped = Amount(self.secrets.dropped(), "secret(s) dropped");
            stderr::report(&format_args!("{dropped}: the oldest did not fit"));
        }
        if self.left_out_sessions > 0 && !quiet {
            let connections = Amount(self.left_out_sessions, "connection(s)");
            stderr::report(&format_args!(
                "sessions of {connections} not remembered: too many in one capture"
            ));
        }
        if self.skipped > 0 && !quiet {
            let plural =
                if self.skipped == 1 { "file that is not a capture" } else { "files that are not captures" };
            stderr::report(&format_args!("skipped {} {plural}", self.skipped));
        }
        self.has_failed || !self.is_watched && self.opened == 0 && self.skipped > 0
    }
}

/// Adds the secrets that a capture brings to a set, wherever they are: the analysis may need them before. Their reader ends at
/// damage, which the analysis reports. Returns the number of malformed lines.
fn read_secrets(path: &Path, max_ratio: Option<NonZeroU32>, secrets: &Secrets) -> u64 {
    let mut summary = KeyLogSummary::default();
    if let Ok(capture) = open(path, max_ratio) {
        let _ = capture.read_key_logs(|text| secrets.add_key_log_lines(text, &mut summary));
    }
    summary.malformed
}

/// Makes secrets that programs log once known for all connections of their sessions, in the first `count` packets. The analysis reports
/// damage. Returns the number of connections that were left out.
fn add_sessions_of(
    path: &Path,
    max_ratio: Option<NonZeroU32>,
    count: u64,
    interrupt: &Interrupt,
    secrets: &Secrets,
) -> u64 {
    let Ok(reader) = open(path, max_ratio) else { return 0 };
    let mut progress = Progress::hidden();
    let source = CaptureSource { reader, len: 0, progress: &mut progress, interrupt, shown: 0 };
    add_sessions(FirstFrames::new(source, count), secrets, CancelToken::default()).0
}

/// Opens a capture file, or standard input.
pub(crate) fn open(path: &Path, max_ratio: Option<NonZeroU32>) -> Result<CaptureReader, CaptureError> {
    if path == Path::new("-") {
        let capture = CaptureReader::from_reader("standard input", io::stdin())?;
        return Ok(capture.max_compression_ratio(max_ratio));
    }
    let capture = CaptureReader::open(path)?.max_compression_ratio(max_ratio);
    // A pipe may be written to for as long as anybody likes, and the thread would wait for it.
    Ok(if capture.input_len().is_some() { capture.decompress_ahead() } else { capture })
}

/// An error of a capture, with what avoids it.
#[derive(Debug, thiserror::Error)]
#[error("{0}{hint}", hint = self.hint())]
pub(crate) struct CaptureFailure(#[from] CaptureError);

impl CaptureFailure {
    fn hint(&self) -> &'static str {
        match &self.0 {
            CaptureError::CompressionRatio { .. } => "; --max-compression-ratio sets another limit, or none",
            CaptureError::NotACapture { head, .. } if head.starts_with(b"\xfd7zXZ\0") => {
                "; try 'xz -dc FILE | huginn-net pcap -'"
            }
            CaptureError::NotACapture { head, .. } if head.starts_with(b"BZh") => {
                "; try 'bzip2 -dc FILE | huginn-net pcap -'"
            }
            CaptureError::NotACapture { head, .. } if head.starts_with(b"PK\x03\x04") => {
                "; unpack it first: 'unzip FILE', then 'huginn-net pcap DIR'"
            }
            CaptureError::NotACapture { name, .. } if is_tar(name) => {
                "; unpack it first: 'tar -xf FILE', then 'huginn-net pcap DIR'"
            }
            _ => "",
        }
    }
}

/// Whether a name is that of an archive of tar, perhaps compressed.
fn is_tar(name: &str) -> bool {
    [".tar", ".tar.gz", ".tgz", ".tar.zst"].iter().any(|end| name.ends_with(end))
}

/// A capture that updates the progress bar, and ends on SIGINT.
pub(crate) struct CaptureSource<'a> {
    pub(crate) reader: CaptureReader,
    len: u64,
    progress: &'a mut Progress,
    interrupt: &'a Interrupt,
    /// Packets read when the bar was last updated.
    shown: u64,
}

impl CaptureSource<'_> {
    /// Updates the bar. Returns whether the analysis shall end.
    #[inline]
    fn is_interrupted(&mut self) -> bool {
        let packets = self.reader.packets();
        if packets.saturating_sub(self.shown) >= Progress::STRIDE {
            self.progress.show(self.reader.consumed(), packets.saturating_sub(self.shown));
            self.shown = packets;
        }
        self.interrupt.is_set()
    }
}

impl Drop for CaptureSource<'_> {
    fn drop(&mut self) {
        self.progress.show(self.reader.consumed(), self.reader.packets().saturating_sub(self.shown));
        self.progress.skip(self.len);
    }
}

impl<'f> Source<'f> for CaptureSource<'_> {
    type Error = CaptureError;

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, CaptureError> {
        if self.is_interrupted() {
            return Ok(NextFrame::End);
        }
        // Returns the reader's result unchanged, so that the frame is not copied.
        Source::next_frame(&mut self.reader)
    }

    fn chunks(&mut self, block_bytes: usize) -> Option<Arc<dyn ChunkReader>> {
        self.reader.chunks(block_bytes)
    }

    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, CaptureError> {
        if self.is_interrupted() {
            return Ok(Fill::End);
        }
        self.reader.fill(block)
    }
}
