//! Databases that name fingerprints, read from files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use huginn_net::clients::NamingDatabases;
use huginn_net::{ClientDatabase, Database};

use crate::args::DatabaseArguments;
use crate::failure::Failure;
use crate::limits::MAX_DATABASE_BYTES;
use crate::paths::name_of;
use crate::read::read_file;

/// Maximum size of a table of clients, in bytes: the built-in ones have 1 MB together.
const MAX_CLIENTS_BYTES: u64 = 64 << 20;

/// The databases of a command line.
pub(crate) fn read_databases(args: &DatabaseArguments) -> Result<NamingDatabases, Failure> {
    let clients = match &*args.clients {
        [] => None,
        paths => Some(Arc::new(clients(paths)?)),
    };
    Ok(NamingDatabases::new(signatures(args.db.as_deref())?, clients))
}

/// The database of a file, or the built-in one.
pub(crate) fn signatures(path: Option<&Path>) -> Result<Arc<Database>, Failure> {
    let Some(path) = path else { return Ok(Database::builtin().clone()) };
    let bytes = read_file(path, MAX_DATABASE_BYTES)?;
    let database =
        Database::from_bytes(&bytes).map_err(|source| Failure::Database { path: name_of(path), source })?;
    Ok(Arc::new(database))
}

/// The clients of these tables, and the built-in ones of the other kinds.
fn clients(paths: &[PathBuf]) -> Result<ClientDatabase, Failure> {
    let mut texts = Vec::with_capacity(paths.len());
    for path in paths {
        let name = || name_of(path);
        let text = String::from_utf8(read_file(path, MAX_CLIENTS_BYTES)?).map_err(|_| Failure::Read {
            path: name(),
            source: io::Error::new(io::ErrorKind::InvalidData, "not UTF-8"),
        })?;
        ClientDatabase::parse(&text).map_err(|source| Failure::Clients { path: name(), source })?;
        texts.push(text);
    }
    let clients = ClientDatabase::from_tables(texts.iter().map(String::as_str));
    // Each table has been parsed.
    Ok(clients.unwrap_or_default().or_builtin())
}
