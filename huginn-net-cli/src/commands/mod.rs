//! The subcommands, one file each.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use huginn_net::Database;

use crate::failure::Failure;

mod analysis;
pub(crate) mod db;
pub(crate) mod explain;
#[cfg(unix)]
pub(crate) mod interfaces;
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
