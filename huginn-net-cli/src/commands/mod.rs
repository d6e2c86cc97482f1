//! The subcommands, one file each.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use huginn_net::fingerprint_list::FingerprintList;
use huginn_net::{ClientDatabase, Database};

use crate::commands::captures::name_of;
use crate::failure::{self, Failure};
use crate::limits::MAX_LIST_BYTES;

mod analysis;
pub(crate) mod captures;
pub(crate) mod db;
pub(crate) mod explain;
pub(crate) mod generate;
#[cfg(unix)]
pub(crate) mod interfaces;
pub(crate) mod learn;
#[cfg(unix)]
pub(crate) mod live;
pub(crate) mod p0f;
pub(crate) mod pcap;
pub(crate) mod report;
#[cfg(feature = "parquet")]
mod tables;
pub(crate) mod top;

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

/// The entries of lists of fingerprints, in the order of the files.
fn fingerprint_list(paths: &[PathBuf]) -> Result<FingerprintList, Failure> {
    let mut list = FingerprintList::default();
    for path in paths {
        let name = || name_of(path);
        let mut text = Vec::new();
        let file = File::open(path).map_err(|source| Failure::Read { path: name(), source })?;
        let limit = MAX_LIST_BYTES.saturating_add(1);
        let read = file.take(limit).read_to_end(&mut text);
        if read.map_err(|source| Failure::Read { path: name(), source })? as u64 == limit {
            return Err(Failure::LongList { path: name() });
        }
        let before = list.len();
        let rows_before = list.rows_without_fingerprint();
        list.add(&text).map_err(|source| Failure::List { path: name(), source })?;
        let skipped = list.rows_without_fingerprint().saturating_sub(rows_before);
        if list.len() == before && skipped > 0 {
            failure::report(&format_args!("{}: none of {skipped} rows has a JA4 or a JA3 hash", name()));
        }
    }
    Ok(list)
}
