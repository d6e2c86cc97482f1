//! Tables as Parquet files: one layout for the program, Python and Rust.

mod compact;
mod folder;
mod layout;
mod rows;
mod writer;

pub use self::compact::{CompactError, Compacted, compact};
pub use self::folder::{ParquetFolder, ParquetPartition};
pub use self::layout::{PARQUET_BATCH_ROWS, ParquetCompression, UnknownLevel};
pub use self::writer::ParquetWriter;
