//! The subcommands, one file each.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use huginn_net::{ClientDatabase, Database};

use crate::failure::Failure;

mod analysis;
pub(crate) mod db;
pub(crate) mod explain;
#[cfg(unix)]
pub(crate) mod interfaces;
pub(crate) mod learn;
#[cfg(unix)]
pub(crate) mod live;
pub(crate) mod pcap;

/// The database of a file, or the built-in one.
fn database(path: Option<&Path>) -> Result<Arc<Database>, Failure> {
    let Some(path) = path else { return Ok(Database::builtin()) };
    let name = || path.display().to_string();
    let bytes = fs::read(path).map_err(|source| Failure::Read { path: name(), source })?;
    let database =
        Database::from_bytes(&bytes).map_err(|source| Failure::Database { path: name(), source })?;
    Ok(Arc::new(database))
}

/// The clients of these tables, and the built-in ones of the other kinds.
fn clients(paths: &[PathBuf]) -> Result<ClientDatabase, Failure> {
    let mut texts = Vec::with_capacity(paths.len());
    for path in paths {
        let name = || path.display().to_string();
        let text = fs::read_to_string(path).map_err(|source| Failure::Read { path: name(), source })?;
        ClientDatabase::parse(&text).map_err(|source| Failure::Clients { path: name(), source })?;
        texts.push(text);
    }
    let clients = ClientDatabase::from_tables(texts.iter().map(String::as_str));
    // Each table has been parsed.
    Ok(clients.unwrap_or_default().or_builtin())
}
