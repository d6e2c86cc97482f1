//! The native part of the Python package `huginn_net`.

mod bytes;
mod capture;
mod events;
mod stream;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::bytes::{ClientHello, Http2Client, TcpSyn, client_hello, http2_client, tcp_syn};
    #[pymodule_export]
    use crate::capture::Capture;
    #[pymodule_export]
    use crate::events::Events;
    #[pymodule_export]
    use crate::{event_names, schema};
}

/// The schema as a table of `(column, type, meaning)`, with the types of Arrow.
#[pyfunction]
fn schema() -> Vec<(&'static str, String, &'static str)> {
    let columns = huginn_net_arrow::columns().into_iter();
    columns.map(|column| (column.name, column.data_type.to_string(), column.meaning)).collect()
}

/// The names of all events.
#[pyfunction]
fn event_names() -> Vec<&'static str> {
    huginn_net::json::EVENT_NAMES.to_vec()
}
