//! Names of clients for columns of fingerprints.

use huginn_net::clients::{ClientDatabase, ClientValue, ClientValueKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Name, library, application, versions, candidates, how it was matched, and what differs from the recorded hello.
type ClientName =
    (String, Option<String>, Option<String>, Option<String>, Vec<String>, &'static str, Option<String>);

/// The clients that send these fingerprints.
///
/// Raises ValueError for another kind than ja4, ja3, hassh, akamai and any.
#[pyfunction]
pub(crate) fn name_clients(fingerprints: Vec<String>, kind: &str) -> PyResult<Vec<Option<ClientName>>> {
    let kind = kind.parse::<ClientValueKind>().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let clients = ClientDatabase::builtin();
    let name = |text: &String| {
        let found = ClientValue::parse(kind, text)?.find(clients)?;
        let software = &found.software;
        let owned = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        Some((
            software.to_string(),
            owned(&software.library),
            owned(&software.application),
            owned(&software.versions),
            software.candidates.iter().map(|name| (**name).to_owned()).collect(),
            found.kind.name(),
            found.variant.as_ref().map(ToString::to_string),
        ))
    };
    Ok(fingerprints.iter().map(name).collect())
}
