//! Captures that are not opened yet.

use std::collections::VecDeque;
use std::ffi::CString;
use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{fs, thread};

use huginn_net::capture::MAX_SEARCHED_LEN;
use huginn_net::core::CancelToken;
use huginn_net::decrypt::add_sessions;
use huginn_net::{CaptureError, CaptureReader};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{ReadError, ReadErrors};
use crate::options::Options;

/// Groups of captures for each thread, so that all threads end at about the same time.
const GROUPS: u64 = 4;
/// What opening a capture costs, in bytes that could be analysed meanwhile.
const OPENING_BYTES: u64 = 1 << 15;
/// The first bytes of a pcapng file.
const PCAPNG_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Pause after a read that found nothing.
const NO_DATA_INTERVAL: Duration = Duration::from_millis(1);
/// Bytes of the captures of a group, at most, unless it is a single one.
const MAX_GROUP_BYTES: u64 = 32 << 20;

/// A capture that is not opened yet.
pub(crate) enum Input {
    Path(PathBuf),
    Bytes(Arc<[u8]>),
    File(Py<PyAny>),
    /// A function that opens a file-like object.
    Opener(Py<PyAny>),
}

impl Input {
    /// Opens the capture. `name`: the name in errors, if it is not that of the input.
    pub(crate) fn open(self, name: Option<&str>, options: &Options) -> Result<CaptureReader, CaptureError> {
        let reader = match self {
            Self::Path(path) => {
                let reader = CaptureReader::open(&path)?;
                if reader.input_len().is_some() {
                    add_secrets(|| CaptureReader::open(&path), reader.has_secrets(Some(&path)), options)?;
                }
                Ok(reader)
            }
            Self::Bytes(bytes) => open_bytes(name.unwrap_or("<bytes>"), &bytes, options),
            Self::File(file) => open_object(name.unwrap_or("<file>"), file, options),
            Self::Opener(open) => {
                let name = name.unwrap_or("<file>");
                let file = Python::attach(|py| open.call0(py)).map_err(|error| CaptureError::Open {
                    name: name.to_owned(),
                    source: io::Error::other(error),
                })?;
                open_object(name, file, options)
            }
        };
        Ok(reader?.max_compression_ratio(options.max_compression_ratio))
    }
}

/// Opens a capture in memory.
fn open_bytes(name: &str, bytes: &Arc<[u8]>, options: &Options) -> Result<CaptureReader, CaptureError> {
    let open = || CaptureReader::from_reader(name, io::Cursor::new(Arc::clone(bytes)));
    let reader = open()?;
    let is_short = bytes.len() as u64 <= MAX_SEARCHED_LEN && reader.compression().is_none();
    add_secrets(open, is_short || reader.has_secrets(None), options)?;
    Ok(reader)
}

/// Opens a file-like object. One that can seek is read from here on, twice if it brings secrets. A pcapng file of at most 64 MiB may
/// have them anywhere: it is read into memory.
fn open_object(name: &str, file: Py<PyAny>, options: &Options) -> Result<CaptureReader, CaptureError> {
    let file = PyReader { file, cancel: options.cancel.clone() };
    let Some(mut file) = Seekable::new(&file) else { return open_stream(name, file, options) };
    let failed = |source| CaptureError::Open { name: name.to_owned(), source };
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(PCAPNG_MAGIC.len() as u64).read_to_end(&mut head).map_err(failed)?;
    // Some objects seek from their start only.
    let len = if head == PCAPNG_MAGIC { file.seek(SeekFrom::End(0)).ok() } else { None };
    if len.is_some_and(|len| len <= MAX_SEARCHED_LEN) {
        let mut bytes = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(failed)?;
        return open_bytes(name, &bytes.into(), options);
    }
    let start = file.clone();
    let open = || {
        let mut file = start.clone();
        file.rewind().map_err(failed)?;
        CaptureReader::from_reader(name, file)
    };
    let reader = open()?;
    let position = file.stream_position().map_err(failed)?;
    let has_secrets = match len {
        Some(_) => reader.has_secrets_at_ends(file.clone()).map_err(failed)?,
        None => reader.has_secrets(None),
    };
    add_secrets(open, has_secrets, options)?;
    file.seek(SeekFrom::Start(position)).map_err(failed)?;
    Ok(reader)
}

/// Opens a file-like object that is read once. Secrets count once they are read.
fn open_stream(name: &str, file: PyReader, options: &Options) -> Result<CaptureReader, CaptureError> {
    let (secrets, capture, mut has_warned) = (options.secrets.clone(), name.to_owned(), false);
    Ok(CaptureReader::from_reader(name, file)?.on_key_log(move |text, packets| {
        let _ = secrets.add_key_log(text);
        if packets > 0 && !has_warned {
            has_warned = true;
            warn(&format!(
                "{capture}: secrets of TLS after packet {packets}: connections before it may stay encrypted; \
                 give a path, a URL or a file that can seek"
            ));
        }
    }))
}

/// Warns as `warnings.warn` does.
fn warn(message: &str) {
    let Ok(message) = CString::new(message) else { return };
    Python::attach(|py| {
        if let Err(error) = PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1) {
            // A filter makes an error of it, and no caller can raise that.
            error.write_unraisable(py, None);
        }
    });
}

/// Adds the secrets that a capture brings, if `has_secrets`, and those of TLS 1.2 for all connections of their sessions.
fn add_secrets(
    open: impl Fn() -> Result<CaptureReader, CaptureError>,
    has_secrets: bool,
    options: &Options,
) -> Result<(), CaptureError> {
    let open = || Ok(open()?.max_compression_ratio(options.max_compression_ratio));
    // The analysis reports damage.
    if has_secrets {
        let _ = open()?.read_key_logs(|text| _ = options.secrets.add_key_log(text));
    }
    if options.secrets.has_sessions() {
        let _ = add_sessions(open()?, &options.secrets, options.cancel.clone());
    }
    Ok(())
}

/// A Python object with a method `read`.
struct PyReader {
    file: Py<PyAny>,
    cancel: CancelToken,
}

impl Read for PyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(len) = self.try_read(buffer)? {
                return Ok(len);
            }
            if self.cancel.is_cancelled() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(NO_DATA_INTERVAL);
        }
    }
}

impl PyReader {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { file: self.file.clone_ref(py), cancel: self.cancel.clone() }
    }

    /// Reads what is there; `None` if the object has nothing yet, as one that does not block.
    fn try_read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        Python::attach(|py| {
            let data = self.file.call_method1(py, "read", (buffer.len(),))?;
            if data.is_none(py) {
                return Ok(None);
            }
            let data = data.bind(py);
            // Other objects with bytes, such as a memoryview, become bytes; a text is an error.
            let data = match data.cast::<PyBytes>() {
                Ok(data) => data.clone(),
                Err(_) => {
                    py.get_type::<PyBytes>().call1((data,))?.cast_into::<PyBytes>().map_err(PyErr::from)?
                }
            };
            let data = data.as_bytes();
            let target = buffer.get_mut(..data.len()).ok_or(io::ErrorKind::InvalidData)?;
            target.copy_from_slice(data);
            Ok(Some(data.len()))
        })
    }
}

/// A Python object with methods `read` and `seek`, from the position on that it had.
struct Seekable {
    file: PyReader,
    start: u64,
}

impl Seekable {
    /// `None` if the object cannot seek.
    fn new(file: &PyReader) -> Option<Self> {
        Python::attach(|py| {
            let object = file.file.bind(py);
            let can_seek = object.call_method0("seekable").and_then(|can| can.extract()).unwrap_or(false);
            let start = object.call_method0("tell").and_then(|start| start.extract()).ok();
            start.filter(|_| can_seek).map(|start| Self { file: file.clone_ref(py), start })
        })
    }
}

impl Clone for Seekable {
    /// The same object, with the same position.
    fn clone(&self) -> Self {
        Self { file: Python::attach(|py| self.file.clone_ref(py)), start: self.start }
    }
}

impl Read for Seekable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Seek for Seekable {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (offset, whence) = match to {
            SeekFrom::Start(offset) => (i128::from(self.start.saturating_add(offset)), 0),
            SeekFrom::Current(offset) => (i128::from(offset), 1),
            SeekFrom::End(offset) => (i128::from(offset), 2),
        };
        let position: u64 = Python::attach(|py| {
            self.file.file.call_method1(py, "seek", (offset, whence))?;
            self.file.file.call_method0(py, "tell")?.extract(py)
        })?;
        Ok(position.saturating_sub(self.start))
    }
}

/// A capture that is not opened yet, among those of an analysis.
struct NamedInput {
    /// Its place: bytes have no name.
    index: usize,
    input: Input,
    name: Option<String>,
}

impl Input {
    /// Length in bytes, if it is known.
    fn len(&self) -> Option<u64> {
        match self {
            Self::Path(path) => fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|data| data.len()),
            Self::Bytes(bytes) => u64::try_from(bytes.len()).ok(),
            Self::File(_) | Self::Opener(_) => None,
        }
    }
}

/// Whether a capture could not be opened or read, so that it may be readable later; otherwise its content is wrong.
fn is_outage(error: &ReadError) -> bool {
    let ReadError::Source(error) = error else { return false };
    matches!(error, CaptureError::Open { .. } | CaptureError::IsDirectory { .. } | CaptureError::Io { .. })
}

/// Captures that are opened one after the other.
pub(crate) struct Inputs {
    inputs: VecDeque<NamedInput>,
    pub(crate) options: Options,
    /// Where the captures are listed that cannot be read to their end.
    pub(crate) errors: ReadErrors,
}

impl Inputs {
    pub(crate) fn new(
        inputs: impl Iterator<Item = (Input, Option<String>)>,
        options: Options,
        errors: ReadErrors,
    ) -> Self {
        let inputs = inputs.enumerate().map(|(index, (input, name))| NamedInput { index, input, name });
        Self { inputs: inputs.collect(), options, errors }
    }

    /// Splits captures into groups that are analysed at the same time, and returns how many of these may run. The captures of a
    /// group are read one after the other, and their rows share batches. File-like objects may share a position: they are one
    /// group.
    pub(crate) fn split(self) -> (VecDeque<Self>, NonZeroUsize) {
        let Self { inputs, mut options, .. } = self;
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = options.workers.unwrap_or_else(cores);
        let is_shared = inputs.iter().any(|input| matches!(input.input, Input::File(_)));
        let sizes: Vec<Option<u64>> = inputs
            .iter()
            .map(|input| input.input.len().map(|len| len.saturating_add(OPENING_BYTES)))
            .collect();
        let total = sizes.iter().flatten().fold(0, |total: u64, size| total.saturating_add(*size));
        let groups_wanted = u64::try_from(threads.get()).unwrap_or(u64::MAX).saturating_mul(GROUPS);
        let group_bytes = (total / groups_wanted.max(1)).min(MAX_GROUP_BYTES);

        let mut groups: VecDeque<VecDeque<NamedInput>> = VecDeque::new();
        let mut group_size = None;
        for (input, size) in inputs.into_iter().zip(sizes) {
            let together = group_size.zip(size).map(|(group, size): (u64, u64)| group.saturating_add(size));
            match groups.back_mut() {
                Some(group) if is_shared || together.is_some_and(|size| size <= group_bytes) => {
                    group.push_back(input);
                    group_size = together;
                }
                _ => {
                    groups.push_back([input].into());
                    group_size = size;
                }
            }
        }
        let threads = match NonZeroUsize::new(groups.len()) {
            Some(number) if number > NonZeroUsize::MIN => threads.min(number),
            _ => NonZeroUsize::MIN,
        };
        if groups.len() > 1 {
            // Each has one thread.
            options.workers = None;
        }
        let group = |inputs| Self { inputs, options: options.clone(), errors: ReadErrors::default() };
        (groups.into_iter().map(group).collect(), threads)
    }

    /// Opens and reads each capture; notes the error of one that cannot be read to its end, and goes on if errors are
    /// skipped. Stops if `read` breaks. Returns the error that ended it, and all errors.
    pub(crate) fn for_each(
        self,
        mut read: impl FnMut(CaptureReader, Option<&str>, &Options) -> Result<ControlFlow<()>, ReadError>,
    ) -> (Result<(), ReadError>, ReadErrors) {
        let Self { inputs, options, errors } = self;
        for NamedInput { index, input, name } in inputs {
            let reader = input.open(name.as_deref(), &options).map_err(ReadError::from);
            let outcome = reader.and_then(|reader| read(reader, name.as_deref(), &options));
            options.captures_read.fetch_add(1, Ordering::Relaxed);
            match outcome {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(error) => {
                    errors.push(index, name.as_deref(), &error);
                    let is_skipped = options.skips_errors && (options.skips_outages || !is_outage(&error));
                    if !is_skipped {
                        return (Err(error), errors);
                    }
                }
            }
        }
        (Ok(()), errors)
    }
}
