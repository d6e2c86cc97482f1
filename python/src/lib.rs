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
    use crate::schema;
}

/// The schema as a table of `(column, meaning)`.
#[pyfunction]
fn schema() -> Vec<(&'static str, &'static str)> {
    huginn_net_arrow::columns().into_iter().map(|column| (column.name, column.meaning)).collect()
}
