//! The native part of the Python package `huginn_net`.

mod analyzer;
mod bytes;
mod capture;
mod column;
mod errors;
mod events;
mod hosts;
mod in_order;
mod inputs;
mod interrupt;
mod live;
mod names;
mod options;
mod parquet;
mod stream;

use std::path::PathBuf;

use huginn_net::capture::{FoundFile, find_in_directory, find_matching, is_pattern};
use huginn_net_arrow::EventBatchBuilder;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::analyzer::Analyzer;
    #[pymodule_export]
    use crate::bytes::{
        ClientHello, Http2Client, TcpSyn, client_fingerprint, client_hello, explain, http2_client, tcp_syn,
    };
    #[pymodule_export]
    use crate::capture::Capture;
    #[pymodule_export]
    use crate::column::{Column, fingerprint_column};
    #[pymodule_export]
    use crate::errors::{CaptureError, CaptureWarning};
    #[pymodule_export]
    use crate::events::Events;
    #[pymodule_export]
    use crate::hosts::HostTable;
    #[pymodule_export]
    use crate::live::Live;
    #[pymodule_export]
    use crate::names::name_clients;
    #[pymodule_export]
    use crate::options::kinds_of_condition;
    #[pymodule_export]
    use crate::parquet::{table_columns, write_parquet};
    #[pymodule_export]
    use crate::stream::Table;
    #[pymodule_export]
    use crate::{
        event_names, find_captures, host_record_order, is_capture_name, matching_names, path_name, schema,
        unknown_column,
    };
}

/// The columns with their meaning.
#[pyfunction]
fn schema() -> Vec<(&'static str, &'static str)> {
    let columns = huginn_net_arrow::columns().iter();
    columns.map(|column| (&*column.name, &*column.meaning)).collect()
}

/// The first of these names that no column has, and no field in JSON.
#[pyfunction]
fn unknown_column(names: Vec<String>) -> Option<String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    EventBatchBuilder::new().columns(&names).err().map(|error| error.name)
}

/// The captures that a path names, in the order of the program: a pattern, a directory, or the path itself.
#[pyfunction]
fn find_captures(path: PathBuf) -> PyResult<Vec<PathBuf>> {
    if is_pattern(&path) && !path.exists() {
        return Ok(find_matching(&path).into_iter().filter(|path| !path.is_dir()).collect());
    }
    if !path.is_dir() {
        return Ok(vec![path]);
    }
    let is_capture_file =
        |found: &FoundFile| found.is_named_as_capture || huginn_net::CaptureReader::open(&found.path).is_ok();
    let mut paths = Vec::new();
    for found in find_in_directory(&path) {
        match found {
            Ok(found) if is_capture_file(&found) => paths.push(found.path),
            Ok(_) => {}
            // One that was deleted since.
            Err(error) if !error.is_root && error.source.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(PyOSError::new_err(error.to_string())),
        }
    }
    Ok(paths)
}

/// The names that match a pattern as [`find_captures`] has it: keys of objects.
#[pyfunction]
fn matching_names(pattern: &str, names: Vec<String>) -> Vec<String> {
    let names = names.iter().map(String::as_str);
    huginn_net::capture::matching_names(pattern, names).into_iter().map(str::to_owned).collect()
}

/// The name of a path in the column `file`: bytes that are not UTF-8, and control characters, are escaped as `\\xNN`.
#[pyfunction]
fn path_name(path: PathBuf) -> String {
    format!("{:#}", huginn_net::core::Escaped(path.as_os_str().as_encoded_bytes()))
}

/// Whether a name is that of a capture.
#[pyfunction]
fn is_capture_name(name: PathBuf) -> bool {
    name.file_name().is_some_and(huginn_net::capture::is_capture_name)
}

/// The names of all events.
#[pyfunction]
fn event_names() -> Vec<&'static str> {
    huginn_net::record::EVENT_NAMES.to_vec()
}

/// The columns that order host records.
#[pyfunction]
fn host_record_order() -> Vec<&'static str> {
    huginn_net_arrow::HOST_RECORD_ORDER.to_vec()
}
