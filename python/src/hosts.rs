//! The second stage of an analysis in two stages.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use huginn_net::core::SharedState;
use huginn_net::hosts::{HostUpdateRecord, Hosts};
use huginn_net::{Configure, Database, Observers};
use huginn_net_arrow::{EventBatchBuilder, UnknownColumn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::events::write_hosts;
use crate::options::open_database;
use crate::stream::Table;

/// The hosts of several captures or shards.
#[pyclass(frozen, subclass)]
pub(crate) struct HostTable {
    database: Arc<Database>,
    stage: Mutex<Stage>,
}

struct Stage {
    hosts: Hosts,
    builder: EventBatchBuilder,
    files: Files,
}

/// The files of the records so far.
enum Files {
    None,
    One(Option<String>),
    Several,
}

impl Files {
    fn add(&mut self, file: &Option<String>) {
        *self = match std::mem::replace(self, Self::Several) {
            Self::None => Self::One(file.clone()),
            Self::One(name) if name == *file => Self::One(name),
            Self::One(_) | Self::Several => Self::Several,
        };
    }

    /// The file of an event of an earlier record.
    fn only(&self) -> Option<&str> {
        match self {
            Self::One(name) => name.as_deref(),
            Self::None | Self::Several => None,
        }
    }
}

#[pymethods]
impl HostTable {
    #[new]
    #[pyo3(signature = (db=None, columns=Vec::new()))]
    fn new(db: Option<PathBuf>, columns: Vec<String>) -> PyResult<Self> {
        let database = open_database(db)?;
        let hosts = Observers::new(Arc::clone(&database)).profiles(true).host_table();
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let builder = EventBatchBuilder::new();
        let unknown = |error: UnknownColumn| PyValueError::new_err(error.to_string());
        let builder = if names.is_empty() { builder } else { builder.columns(&names).map_err(unknown)? };
        Ok(Self { database, stage: Mutex::new(Stage { hosts, builder, files: Files::None }) })
    }

    /// Takes records in the order of time, with the names of their files, and returns the events of hosts.
    fn feed_records(
        &self,
        py: Python<'_>,
        records: Vec<String>,
        files: Vec<Option<String>>,
    ) -> PyResult<Table> {
        if records.len() != files.len() {
            return Err(PyValueError::new_err("each record has a file, or None"));
        }
        py.detach(|| {
            let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let Stage { hosts, builder, files: seen } = &mut *stage;
            for (text, file) in records.iter().zip(&files) {
                let record: HostUpdateRecord =
                    serde_json::from_str(text).map_err(|error| error.to_string())?;
                let update = record.into_event(&self.database).map_err(|error| error.to_string())?;
                seen.add(file);
                let of_record = (update.ts, update.packet_number);
                hosts.on_update(update, &mut |event| {
                    let is_own = (event.ts, event.packet_number) == of_record;
                    builder.append(&event, if is_own { file.as_deref() } else { seen.only() });
                });
            }
            let batch = builder.finish().map_err(|error| error.to_string())?;
            Ok(Table::new(builder.schema(), vec![batch]))
        })
        .map_err(|error: String| PyValueError::new_err(format!("host record: {error}")))
    }

    /// Returns the events of hosts that show only when all records are there.
    fn finish_records(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| {
            let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            let Stage { hosts, builder, files } = &mut *stage;
            hosts.on_end(&mut |event| builder.append(&event, files.only()));
            let batch = builder.finish().map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(Table::new(builder.schema(), vec![batch]))
        })
    }

    /// Returns the JSON of the hosts, one host on each line.
    fn hosts(&self, py: Python<'_>) -> Vec<u8> {
        py.detach(|| {
            let mut text = Vec::new();
            let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
            write_hosts(&stage.hosts, &mut text);
            text
        })
    }
}
