//! Events as tables: Parquet files and Arrow streams.

mod batches;
#[cfg(unix)]
mod files;

pub(crate) use self::batches::{BatchWriter, TableColumns, TableFormat, is_column};
#[cfg(unix)]
pub(crate) use self::files::TableFiles;
