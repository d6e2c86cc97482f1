//! The captures of a command line, found but not yet opened.

use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use huginn_net::capture::is_capture_name;
use huginn_net::capture::{FoundFile, find_in_directory, find_matching, is_pattern};
use huginn_net::core::Escaped;
use huginn_net::decrypt::Secrets;

use super::{KeyLog, refusals};
use crate::args::{InputArguments, InputLimits};
use crate::failure::Failure;
use crate::limits::MAX_PATH_BYTES;
use crate::output::Target;
use crate::paths::{is_same_file, name_of};
use crate::read::read_all;
use crate::stderr;

/// Maximum size of a list of captures, in bytes: hundreds of thousands of paths.
const MAX_CAPTURE_LIST_BYTES: u64 = 32 << 20;

/// A capture file that the command line names, or that was found.
#[derive(Debug)]
pub(crate) struct InputFile {
    pub(crate) path: PathBuf,
    /// Length in bytes; `None` unless it is a regular file.
    pub(crate) len: Option<u64>,
    /// Whether it is skipped unless it is a capture: it was found in a directory, and its name is not that of a capture.
    pub(crate) is_optional: bool,
}

#[cfg(unix)]
impl InputFile {
    /// A file that was found in a directory.
    pub(crate) fn found(path: PathBuf) -> Self {
        let is_optional = !path.file_name().is_some_and(is_capture_name);
        Self { len: None, is_optional, path }
    }
}

/// The captures of a command line.
#[derive(Default)]
pub(crate) struct Inputs {
    pub(crate) files: Vec<InputFile>,
    /// Maximum number of packets of all captures together; `None` without a limit.
    pub(crate) count: Option<u64>,
    /// Greatest ratio to which a compressed capture may expand; `None` without a limit.
    pub(crate) max_ratio: Option<NonZeroU32>,
    /// Whether a directory could not be read, or a directory or pattern has no captures.
    pub(crate) has_failed: bool,
    /// The secrets of key logs; those of the captures are added when they are opened.
    pub(crate) secrets: Secrets,
    /// The key logs.
    pub(crate) key_logs: Vec<KeyLog>,
}

impl Inputs {
    /// Finds the captures of a command line. Reports places without captures if there are captures elsewhere.
    pub(crate) fn find(args: &InputArguments, key_logs: &[PathBuf]) -> Result<Self, Failure> {
        Self::find_files(&args.files, args.limits, key_logs)
    }

    pub(super) fn find_files(
        files: &[PathBuf],
        limits: InputLimits,
        key_logs: &[PathBuf],
    ) -> Result<Self, Failure> {
        let InputLimits { count, decompression } = limits;
        let (secrets, max_ratio) = (Secrets::new(), decompression.max_ratio());
        let key_logs = key_logs.iter().map(|path| KeyLog::read_complete(path, max_ratio, &secrets));
        let key_logs = key_logs.collect::<Result<_, Failure>>()?;
        let mut inputs = Self { count, max_ratio, secrets, key_logs, ..Self::default() };
        let mut without_captures = Vec::new();
        for file in files {
            let found = match file.as_os_str().as_encoded_bytes() {
                [b'@', ..] => {
                    inputs.add_list(file)?;
                    Ok(())
                }
                _ if is_pattern(file) && !file.exists() => inputs.add_pattern(file),
                _ if file.is_dir() => inputs.add_directory(file),
                _ => {
                    inputs.add(file.clone(), false);
                    Ok(())
                }
            };
            without_captures.extend(found.err());
        }
        let is_stdin = |file: &&PathBuf| file.as_os_str() == "-" || file.as_os_str() == "@-";
        refusals::STDIN_TWICE.check(files.iter().filter(is_stdin).count() > 1)?;
        inputs.has_failed |= !without_captures.is_empty();
        let last = if inputs.files.is_empty() { without_captures.pop() } else { None };
        without_captures.iter().for_each(|failure| stderr::report(failure));
        last.map_or(Ok(inputs), Err)
    }

    /// Reports key logs without secrets or with malformed lines; with `is_verbose` also how many secrets the others have.
    pub(crate) fn report_key_logs(&self, is_quiet: bool, is_verbose: bool) {
        let reports = self.key_logs.iter().filter_map(|key_log| key_log.report(is_verbose));
        reports.filter(|_| !is_quiet).for_each(|report| stderr::report(&report));
    }

    fn add(&mut self, path: PathBuf, is_optional: bool) {
        let len = fs::metadata(&path).ok().filter(fs::Metadata::is_file).map(|found| found.len());
        self.files.push(InputFile { path, len, is_optional });
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
        for (number, line) in (1..).zip(text.lines().map(str::trim_end)) {
            if line.len() > MAX_PATH_BYTES {
                return Err(Failure::LongPath { path: name, line: number });
            }
            if !line.is_empty() {
                self.add(PathBuf::from(line), false);
            }
        }
        Ok(())
    }

    /// Adds the files that match a pattern that the shell did not expand, sorted by name.
    fn add_pattern(&mut self, pattern: &Path) -> Result<(), Failure> {
        let before = self.files.len();
        find_matching(pattern).into_iter().for_each(|path| self.add(path, false));
        if self.files.len() == before {
            return Err(Failure::NoCaptures { place: name_of(pattern) });
        }
        Ok(())
    }

    /// Adds the regular files of a directory and of those below it, sorted by name. Symbolic links are not followed.
    fn add_directory(&mut self, directory: &Path) -> Result<(), Failure> {
        let before = self.files.len();
        for found in find_in_directory(directory) {
            match found {
                Ok(FoundFile { path, is_named_as_capture, .. }) => self.add(path, !is_named_as_capture),
                Err(error) if error.is_root => {
                    return Err(Failure::Read { path: name_of(directory), source: error.source });
                }
                Err(error) => {
                    stderr::report(&format_args!("{:#}", Escaped(error.to_string().as_bytes())));
                    self.has_failed = true;
                }
            }
        }
        if self.files.len() == before {
            return Err(Failure::NoCaptures { place: name_of(directory) });
        }
        Ok(())
    }

    /// Length of the longest capture in bytes; `None` if one is not a regular file: its length is unknown.
    pub(crate) fn longest(&self) -> Option<u64> {
        self.files.iter().map(|input| input.len).try_fold(0, |longest, len| Some(len?.max(longest)))
    }

    /// The paths of all files, those included that turn out to be no captures.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|input| input.path.clone()).collect()
    }

    /// Fails if a file that the command writes is one of the captures: it would be lost before it is read.
    pub(crate) fn refuse_as_output(&self, output: &Target) -> Result<(), Failure> {
        let Target::File(path) = output else { return Ok(()) };
        let Some(output) = path.canonicalize().ok().filter(|path| path.is_file()) else { return Ok(()) };
        let is_output = |input: &&InputFile| {
            input.path.canonicalize().is_ok_and(|path| path == output) || is_same_file(&input.path, &output)
        };
        match self.files.iter().find(is_output) {
            Some(input) => Err(Failure::OverInput { path: name_of(&input.path) }),
            None => Ok(()),
        }
    }
}

fn read_text(file: impl io::Read, name: &str) -> Result<String, Failure> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8");
    String::from_utf8(read_all(file, name, MAX_CAPTURE_LIST_BYTES)?)
        .map_err(|error| Failure::Read { path: name.to_owned(), source: not_text(error) })
}
