//! Files that are read into memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::failure::Failure;
use crate::paths::name_of;

/// Reads a file of at most `limit` bytes.
pub(crate) fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let failed = |source| Failure::Read { path: name_of(path), source };
    read_all(File::open(path).map_err(failed)?, &name_of(path), limit)
}

/// Reads a source of at most `limit` bytes; `name` is that of the file in errors.
pub(crate) fn read_all(file: impl Read, name: &str, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    let read = read.map_err(|source| Failure::Read { path: name.to_owned(), source })?;
    if read as u64 > limit {
        return Err(Failure::LongFile { path: name.to_owned(), limit });
    }
    Ok(bytes)
}
