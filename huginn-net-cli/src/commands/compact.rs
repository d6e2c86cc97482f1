//! `huginn-net compact`: joins small Parquet files.

#[cfg(feature = "parquet")]
use std::{
    io::{self, Write},
    time::SystemTime,
};

#[cfg(feature = "parquet")]
use huginn_net_arrow::{ParquetCompression, compact};

use crate::args::CompactArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
#[cfg(feature = "parquet")]
use crate::{paths::name_of, stderr};

#[cfg(feature = "parquet")]
pub(super) fn run(args: &CompactArguments) -> Result<Outcome, Failure> {
    let CompactArguments { folder, older_than } = args;
    #[cfg(unix)]
    let _lock = lock(folder)?;
    let before = SystemTime::now().checked_sub(*older_than).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut out = io::stdout().lock();
    let done = compact(folder, before, ParquetCompression::default())?;
    for (path, files) in done.joined {
        writeln!(out, "{} has the rows of {files} files", name_of(&path))?;
    }
    out.flush()?;
    for (path, error) in &done.skipped {
        stderr::report(&format_args!("{}: not joined: {error}", name_of(path)));
    }
    Ok(if done.skipped.is_empty() { Outcome::Complete } else { Outcome::Failed })
}

/// Keeps other processes from joining files of the folder.
#[cfg(all(feature = "parquet", unix))]
fn lock(folder: &std::path::Path) -> Result<crate::state_lock::StateLock, Failure> {
    if !folder.is_dir() {
        return Err(Failure::Read { path: name_of(folder), source: io::ErrorKind::NotADirectory.into() });
    }
    crate::state_lock::StateLock::take(&folder.join(".compact")).map_err(|failure| match failure {
        Failure::StateInUse { .. } => Failure::CompactTwice { path: name_of(folder) },
        failure => failure,
    })
}

#[cfg(not(feature = "parquet"))]
pub(super) fn run(args: &CompactArguments) -> Result<Outcome, Failure> {
    let CompactArguments { folder, older_than } = args;
    let _ = (folder, older_than);
    Err(Failure::NoTables)
}
