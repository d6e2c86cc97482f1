//! The capture files of a command line, one after the other.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use huginn_net::core::NextFrame;
use huginn_net::core::{Block, Fill, FirstFrames};
use huginn_net::{CaptureError, CaptureReader, Escaped, Source};
use walkdir::WalkDir;

use crate::args::InputArguments;
use crate::failure::{self, Failure};
use crate::limits::MAX_LIST_BYTES;
use crate::output::Progress;

/// A capture file that the command line names, or that was found.
#[derive(Debug)]
struct Input {
    path: PathBuf,
    /// Length in bytes; `None` unless it is a regular file.
    len: Option<u64>,
    /// Whether it is skipped if it is no capture: it was found in a directory, and its name is not that of a capture.
    is_optional: bool,
}

/// The captures of a command, read one after the other.
pub(crate) struct Captures {
    inputs: Vec<Input>,
    next: usize,
    /// Packets that may still be read.
    left: u64,
    progress: Progress,
    interrupt: Arc<AtomicBool>,
    opened: u64,
    skipped: u64,
    has_failed: bool,
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
}

impl Drop for OpenCapture<'_> {
    fn drop(&mut self) {
        *self.left = self.source.remaining();
    }
}

impl Captures {
    /// Finds the captures. `count`: maximum number of packets, of all captures together.
    pub(crate) fn find(args: &InputArguments, count: Option<u64>) -> Result<Self, Failure> {
        let mut captures = Self {
            inputs: Vec::new(),
            next: 0,
            left: count.unwrap_or(u64::MAX),
            progress: Progress::hidden(),
            interrupt: Arc::default(),
            opened: 0,
            skipped: 0,
            has_failed: false,
        };
        for file in &args.files {
            match file.as_os_str().as_encoded_bytes() {
                [b'@', ..] => captures.add_list(file)?,
                bytes if is_pattern(bytes) && !file.exists() => captures.add_pattern(file)?,
                _ => captures.add(file.clone(), false),
            }
        }
        for directory in &args.directories {
            captures.add_directory(directory)?;
        }
        Ok(captures)
    }

    fn add(&mut self, path: PathBuf, is_optional: bool) {
        let len = fs::metadata(&path).ok().filter(fs::Metadata::is_file).map(|found| found.len());
        self.inputs.push(Input { path, len, is_optional });
    }

    /// Adds the files that a list names, one on each line.
    fn add_list(&mut self, file: &Path) -> Result<(), Failure> {
        let name = name_of(file);
        let read = |source| Failure::Read { path: name.clone(), source };
        let list = file.as_os_str().as_encoded_bytes().get(1..).unwrap_or_default();
        let text = if list == b"-" {
            read_text(io::stdin(), &name)?
        } else {
            let path = file.to_str().and_then(|path| path.strip_prefix('@'));
            let path = path.ok_or_else(|| read(io::ErrorKind::InvalidInput.into()))?;
            read_text(fs::File::open(path).map_err(read)?, &name)?
        };
        for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            self.add(PathBuf::from(line), false);
        }
        Ok(())
    }

    /// Adds the files that match a pattern that the shell did not expand, sorted by name.
    fn add_pattern(&mut self, pattern: &Path) -> Result<(), Failure> {
        let no_match = || Failure::NoCaptures { place: name_of(pattern) };
        let paths = glob::glob(pattern.to_str().ok_or_else(no_match)?).map_err(|_| no_match())?;
        let before = self.inputs.len();
        paths.flatten().for_each(|path| self.add(path, false));
        if self.inputs.len() == before { Err(no_match()) } else { Ok(()) }
    }

    /// Adds the regular files of a directory and of those below it, sorted by name. Symbolic links are not followed.
    fn add_directory(&mut self, directory: &Path) -> Result<(), Failure> {
        let before = self.inputs.len();
        for entry in WalkDir::new(directory).sort_by_file_name() {
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    let is_optional = !is_capture_name(entry.file_name());
                    self.add(entry.into_path(), is_optional);
                }
                Ok(_) => {}
                Err(error) if error.depth() == 0 => {
                    return Err(Failure::Read { path: name_of(directory), source: error.into() });
                }
                Err(error) => {
                    failure::report(&format_args!("{:#}", Escaped(error.to_string().as_bytes())));
                    self.has_failed = true;
                }
            }
        }
        if self.inputs.len() == before {
            return Err(Failure::NoCaptures { place: name_of(directory) });
        }
        Ok(())
    }

    /// Shows a progress bar over all captures.
    pub(crate) fn show_progress(&mut self) {
        let total = self.inputs.iter().try_fold(0_u64, |sum, input| Some(sum.saturating_add(input.len?)));
        self.progress = total.map_or_else(Progress::hidden, Progress::new);
    }

    /// Ends the analysis on SIGINT, so that what was found so far is written. A second SIGINT ends the program, unless
    /// it has a pager, which handles SIGINT in its own way.
    #[cfg(unix)]
    pub(crate) fn end_on_interrupt(&self, has_pager: bool) -> Result<(), Failure> {
        use signal_hook::consts::SIGINT;
        use signal_hook::flag;

        let failed = |source| Failure::Start { doing: "signal handling", source };
        if !has_pager {
            flag::register_conditional_default(SIGINT, Arc::clone(&self.interrupt)).map_err(failed)?;
        }
        flag::register(SIGINT, Arc::clone(&self.interrupt)).map_err(failed)?;
        Ok(())
    }

    #[cfg(not(unix))]
    pub(crate) fn end_on_interrupt(&self, _has_pager: bool) -> Result<(), Failure> {
        Ok(())
    }

    /// The flag that ends the analysis once it is set.
    pub(crate) fn interrupt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.interrupt)
    }

    /// Number of captures that were opened.
    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    /// Number of files, those included that turn out to be no captures.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether SIGINT ended the analysis.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Length of the longest capture in bytes; `None` if one is no regular file, and its length unknown.
    pub(crate) fn longest(&self) -> Option<u64> {
        self.inputs.iter().map(|input| input.len).try_fold(0, |longest, len| Some(len?.max(longest)))
    }

    /// The paths of all files, those included that turn out to be no captures.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.inputs.iter().map(|input| input.path.clone()).collect()
    }

    /// The name of a capture.
    pub(crate) fn name(&self, index: usize) -> Option<String> {
        Some(name_of(&self.inputs.get(index)?.path))
    }

    /// Fails if a file that the command writes is one of the captures: it would be lost before it is read.
    pub(crate) fn refuse_as_output(&self, output: Option<&Path>) -> Result<(), Failure> {
        let Some(output) = output.and_then(|path| path.canonicalize().ok()).filter(|path| path.is_file())
        else {
            return Ok(());
        };
        let is_output = |input: &&Input| input.path.canonicalize().is_ok_and(|path| path == output);
        match self.inputs.iter().find(is_output) {
            Some(input) => Err(Failure::OverInput { path: name_of(&input.path) }),
            None => Ok(()),
        }
    }

    /// Opens the next capture; `None` after the last one, after the last packet that was asked for, and after SIGINT. A file
    /// that cannot be opened is returned as an error, unless it was found in a directory and neither is nor is named as a capture.
    pub(crate) fn open_next(&mut self) -> Option<Result<OpenCapture<'_>, CaptureError>> {
        loop {
            if self.left == 0 || self.is_interrupted() {
                return None;
            }
            let index = self.next;
            let Input { len, is_optional, path } = self.inputs.get(index)?;
            let (len, is_optional) = (len.unwrap_or(0), *is_optional);
            self.next = index.saturating_add(1);
            match open(path) {
                Ok(reader) => {
                    let name = (self.inputs.len() > 1).then(|| name_of(path));
                    self.opened = self.opened.saturating_add(1);
                    self.progress.begin(index, self.inputs.len());
                    let source = CaptureSource {
                        reader,
                        len,
                        progress: &mut self.progress,
                        interrupt: &self.interrupt,
                        shown: 0,
                    };
                    return Some(Ok(OpenCapture {
                        path: &self.inputs.get(index)?.path,
                        name,
                        index,
                        source: FirstFrames::new(source, self.left),
                        left: &mut self.left,
                    }));
                }
                Err(CaptureError::NotACapture { .. } | CaptureError::Empty { .. }) if is_optional => {
                    self.skipped = self.skipped.saturating_add(1);
                    self.progress.skip(len);
                }
                Err(error) => {
                    self.has_failed = true;
                    self.progress.skip(len);
                    return Some(Err(error));
                }
            }
        }
    }

    /// Clears the progress bar, and reports files that were skipped unless `quiet`. Returns whether a directory or a file
    /// could not be read, or all files were skipped.
    pub(crate) fn finish(&mut self, quiet: bool) -> bool {
        self.progress = Progress::hidden();
        if self.skipped > 0 && !quiet {
            let plural =
                if self.skipped == 1 { "file that is no capture" } else { "files that are no captures" };
            failure::report(&format_args!("skipped {} {plural}", self.skipped));
        }
        self.has_failed || self.opened == 0 && self.skipped > 0
    }
}

fn is_pattern(path: &[u8]) -> bool {
    path.iter().any(|byte| b"*?[".contains(byte))
}

/// Whether a name is that of a capture: `x.pcap`, `x.pcapng.gz`, and `x.pcap3` as `tcpdump -C` writes.
fn is_capture_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').is_some_and(|(_, extension)| {
        let extension = extension.trim_end_matches(|digit: char| digit.is_ascii_digit());
        matches!(extension, "pcap" | "pcapng" | "cap")
    })
}

fn read_text(file: impl io::Read, name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let limit = MAX_LIST_BYTES.saturating_add(1);
    let read = io::Read::read_to_string(&mut io::Read::take(file, limit), &mut text);
    let read = read.map_err(|source| Failure::Read { path: name.to_owned(), source })?;
    if read as u64 == limit { Err(Failure::LongList { path: name.to_owned() }) } else { Ok(text) }
}

/// Formats a path with control characters escaped.
pub(crate) fn name_of(path: &Path) -> String {
    format!("{:#}", Escaped(path.as_os_str().as_encoded_bytes()))
}

/// Opens a capture file, or standard input.
pub(crate) fn open(path: &Path) -> Result<CaptureReader, CaptureError> {
    if path == Path::new("-") {
        return CaptureReader::from_reader("standard input", io::stdin());
    }
    let capture = CaptureReader::open(path)?;
    // A pipe may be written to for as long as anybody likes, and the thread would wait for it.
    Ok(if capture.input_len().is_some() { capture.decompress_ahead() } else { capture })
}

/// A capture that updates the progress bar, and ends on SIGINT.
pub(crate) struct CaptureSource<'a> {
    pub(crate) reader: CaptureReader,
    len: u64,
    progress: &'a mut Progress,
    interrupt: &'a AtomicBool,
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
        self.interrupt.load(Ordering::Relaxed)
    }
}

impl Drop for CaptureSource<'_> {
    fn drop(&mut self) {
        self.progress.show(self.reader.consumed(), self.reader.packets().saturating_sub(self.shown));
        self.progress.skip(self.len);
    }
}

impl Source for CaptureSource<'_> {
    type Error = CaptureError;

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, CaptureError> {
        if self.is_interrupted() {
            return Ok(NextFrame::End);
        }
        Source::next_frame(&mut self.reader)
    }

    fn fill(&mut self, block: &mut Block) -> Result<Fill, CaptureError> {
        if self.is_interrupted() {
            return Ok(Fill::End);
        }
        self.reader.fill(block)
    }
}
