//! Frames that the caller has.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use huginn_net::hosts::ObservationPoint;
use huginn_net::hosts::state::{StateContent, StateWriter, restore};
use huginn_net::{Event, Frame, HuginnNet, LinkType, Timestamp};
use huginn_net_arrow::EventBatchBuilder;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyCapsule;
use serde::de::IgnoredAny;

use crate::events::{counters, write_hosts};
use crate::options::{Arguments, Options};
use crate::stream::{Table, schema_capsule};

/// An analysis of frames, which goes on from call to call.
#[pyclass(frozen, subclass)]
pub(crate) struct Analyzer {
    options: Options,
    /// In a box: Python aligns its objects less than an analyzer asks for.
    state: Mutex<Box<State>>,
}

struct State {
    analyzer: HuginnNet,
    rows: Rows,
    frames: u64,
}

/// The rows of a call.
struct Rows {
    builder: EventBatchBuilder,
    batches: Vec<RecordBatch>,
    error: Option<ArrowError>,
}

impl Rows {
    fn append(&mut self, event: &Event, options: &Options) {
        if !options.takes(event, None) {
            return;
        }
        self.builder.append(event, None);
        if self.builder.is_complete() {
            self.complete();
        }
    }

    fn complete(&mut self) {
        match self.builder.finish() {
            Ok(batch) => self.batches.push(batch),
            Err(error) => self.error = Some(error),
        }
    }

    fn take(&mut self) -> PyResult<Table> {
        if !self.builder.is_empty() {
            self.complete();
        }
        let batches = std::mem::take(&mut self.batches);
        match self.error.take() {
            Some(error) => Err(PyValueError::new_err(error.to_string())),
            None => Ok(Table::new(self.builder.schema(), batches)),
        }
    }
}

#[pymethods]
impl Analyzer {
    /// `profiles`: whether hosts have profiles.
    #[new]
    fn new(options: Arguments, profiles: bool) -> PyResult<Self> {
        let options = Options::new(options)?;
        let rows = Rows { builder: options.builder(), batches: Vec::new(), error: None };
        let state = State { analyzer: options.live_analyzer(profiles), rows, frames: 0 };
        Ok(Self { options, state: Mutex::new(Box::new(state)) })
    }

    /// The schema of the tables: the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = SchemaRef::clone(self.lock().rows.builder.schema());
        schema_capsule(py, &schema)
    }

    /// Analyses frames: the time in nanoseconds since 1970, the bytes, and the length on the wire, if it is another one.
    fn push_frames(
        &self,
        py: Python<'_>,
        frames: Vec<(u64, PyBackedBytes, Option<u32>)>,
        link_type: u16,
    ) -> PyResult<Table> {
        py.detach(|| {
            let State { analyzer, rows, frames: number } = &mut **self.lock();
            for (nanos, data, wire_len) in &frames {
                // As a capture has it: a capture in microseconds has no further digits.
                let ts = Timestamp::from_nanos(*nanos, if nanos % 1000 == 0 { 6 } else { 9 });
                let wire_len = wire_len.unwrap_or_else(|| data.len().try_into().unwrap_or(u32::MAX));
                let frame = Frame { ts, link: LinkType(link_type), data, wire_len };
                let _ = analyzer.push(&frame, |event| rows.append(&event, &self.options));
                *number = number.saturating_add(1);
            }
            rows.take()
        })
    }

    /// Ends all connections, as the end of a capture does.
    fn finish_frames(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| {
            let State { analyzer, rows, .. } = &mut **self.lock();
            analyzer.finish(|event| rows.append(&event, &self.options));
            rows.take()
        })
    }

    /// Number of frames so far.
    fn frames(&self) -> u64 {
        self.lock().frames
    }

    /// Returns the JSON of the hosts, one host on each line.
    fn hosts(&self, py: Python<'_>) -> Vec<u8> {
        py.detach(|| {
            let mut text = Vec::new();
            write_hosts(self.lock().analyzer.shared_state(), &mut text);
            text
        })
    }

    /// Returns the JSON of the counters.
    fn stats(&self, py: Python<'_>) -> String {
        py.detach(|| counters(&self.lock().analyzer))
    }

    /// Writes what is known of hosts to a file, which it replaces, and returns the number of hosts for which it has no room.
    fn save_state(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        Ok(py.detach(|| {
            let mut unfinished = path.clone().into_os_string();
            unfinished.push(".unfinished");
            let written = self.write_state(&unfinished.clone().into());
            let outcome = written.and_then(|left_out| fs::rename(&unfinished, &path).map(|()| left_out));
            if outcome.is_err() {
                let _ = fs::remove_file(&unfinished);
            }
            outcome
        })?)
    }

    /// Adds the hosts of a file, before the first frame. Returns how many have names that the database lacks.
    fn restore_state(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        let file = File::open(&path).map_err(|error| crate::options::failed("state", &path, &error))?;
        py.detach(|| {
            let State { analyzer, .. } = &mut **self.lock();
            restore(file, analyzer.shared_state_mut(), self.options.database(), None)
        })
        .map(|content: StateContent<IgnoredAny>| content.left_out.map_or(0, |(hosts, _)| hosts))
        .map_err(|error| PyValueError::new_err(format!("{}: {error}", path.display())))
    }
}

impl Analyzer {
    fn lock(&self) -> MutexGuard<'_, Box<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_state(&self, path: &PathBuf) -> io::Result<u64> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // Others do not learn who is here.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut out = BufWriter::new(options.open(path)?);
        let mut writer = StateWriter::new(&mut out, &ObservationPoint::default(), SystemTime::now().into())?;
        let state = self.lock();
        let hosts = state.analyzer.shared_state();
        for id in hosts.ids_by_age() {
            hosts.saved(id).map_or(Ok(()), |host| writer.add(&host))?;
        }
        let left_out = writer.finish(hosts.learned().as_ref())?;
        out.flush()?;
        out.get_ref().sync_all()?;
        Ok(left_out)
    }
}
