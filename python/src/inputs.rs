//! Captures that are not opened yet.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::{fs, thread};

use huginn_net::capture::MAX_SEARCHED_LEN;
use huginn_net::decrypt::add_sessions;
use huginn_net::{CaptureError, CaptureReader};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::capture::Options;
use crate::errors::{ReadError, ReadErrors};

/// Groups of captures for each thread, so that all threads end at about the same time.
const GROUPS: u64 = 4;
/// What opening a capture costs, in bytes that could be analysed meanwhile.
const OPENING_BYTES: u64 = 1 << 15;
/// Bytes of the captures of a group, at most, unless it is a single one.
const MAX_GROUP_BYTES: u64 = 32 << 20;

/// A capture that is not opened yet.
pub(crate) enum Input {
    Path(PathBuf),
    Bytes(Arc<[u8]>),
    File(PyReader),
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
            Self::Bytes(bytes) => {
                let open = || {
                    let bytes = io::Cursor::new(Arc::clone(&bytes));
                    CaptureReader::from_reader(name.unwrap_or("<bytes>"), bytes)
                };
                let reader = open()?;
                let is_short = bytes.len() as u64 <= MAX_SEARCHED_LEN && reader.compression().is_none();
                add_secrets(open, is_short || reader.has_secrets(None), options)?;
                Ok(reader)
            }
            Self::File(file) => CaptureReader::from_reader(name.unwrap_or("<file>"), file),
            Self::Opener(open) => {
                let name = name.unwrap_or("<file>");
                let file = Python::attach(|py| open.call0(py)).map_err(|error| CaptureError::Open {
                    name: name.to_owned(),
                    source: io::Error::other(error),
                })?;
                CaptureReader::from_reader(name, PyReader(file))
            }
        };
        Ok(reader?.max_compression_ratio(options.max_compression_ratio))
    }
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
pub(crate) struct PyReader(pub(crate) Py<PyAny>);

impl Read for PyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let data = self.0.call_method1(py, "read", (buffer.len(),))?;
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
            Ok(data.len())
        })
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
                    if !options.skips_errors {
                        return (Err(error), errors);
                    }
                }
            }
        }
        (Ok(()), errors)
    }
}
