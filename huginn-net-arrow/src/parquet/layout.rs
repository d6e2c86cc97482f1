//! The layout of Parquet files: row groups, encodings, statistics, Bloom filters.

use std::error::Error;
use std::fmt;

use arrow_schema::Schema;
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::{ColumnPath, SchemaDescriptor};

/// Rows of a row group: engines read row groups in parallel.
pub(super) const GROUP_ROWS: usize = 1 << 16;

/// Bytes of buffered rows from which on they are a row group: packets choose how long texts are.
pub(super) const GROUP_BYTES: usize = 40 << 20;

/// Rows that a file needs for Bloom filters and a page index. No row group of such a file has fewer, unless texts are long.
pub(super) const MIN_GROUP_ROWS: usize = 10_000;

/// Rows of a batch that suits [`ParquetWriter`](super::ParquetWriter): a short one needs little memory for columns that few of its rows have.
pub const PARQUET_BATCH_ROWS: usize = 2048;

/// The columns of the time, by which the rows of a row group are sorted.
pub(super) const TIME_COLUMNS: [&str; 2] = ["ts", "ts_nanos"];

/// The paths of the columns with Bloom filters: queries look for one of their values.
const BLOOM_COLUMNS: [&str; 24] = [
    "client_ip",
    "server_ip",
    "host_ip",
    "community_id",
    "connection_id",
    "sig",
    "http_host",
    "http_user_agent",
    "http_akamai_hash",
    "tls_sni",
    "ja4",
    "ja4_r",
    "ja4_o",
    "ja4_stable",
    "ja3_hash",
    "ja3s_hash",
    "hassh",
    "ssh_banner",
    "connection_host",
    "connection_tls_client",
    "connection_hassh_server",
    "connection_certificate_sha256",
    "certificates.list.element.sha256",
    "match_value",
];

/// The columns whose numbers grow from row to row.
const GROWING_COLUMNS: [&str; 2] = ["ts", "packet"];

/// Values that are absent and found in a Bloom filter nevertheless: one in 100.
const FALSE_POSITIVES: f64 = 0.01;

/// Level of Zstandard that compresses well without costing more than the analysis.
const ZSTD_LEVEL: i32 = 3;

/// The compression of a Parquet file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParquetCompression {
    /// Zstandard (RFC 8878), with a level from 1 to 22.
    Zstd(i32),
    /// Snappy.
    Snappy,
    /// None.
    Uncompressed,
}

/// A level that Zstandard does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownLevel {
    /// The level.
    pub level: i32,
}

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zstandard has no level {}: choose 1 to 22", self.level)
    }
}

impl Error for UnknownLevel {}

impl Default for ParquetCompression {
    fn default() -> Self {
        Self::Zstd(ZSTD_LEVEL)
    }
}

impl ParquetCompression {
    /// Zstandard with a level, or its default.
    ///
    /// # Errors
    ///
    /// [`UnknownLevel`], unless it is from 1 to 22.
    pub fn zstd(level: Option<i32>) -> Result<Self, UnknownLevel> {
        match level.unwrap_or(ZSTD_LEVEL) {
            level @ 1..=22 => Ok(Self::Zstd(level)),
            level => Err(UnknownLevel { level }),
        }
    }

    fn codec(self) -> Compression {
        match self {
            Self::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level).unwrap_or_default()),
            Self::Snappy => Compression::SNAPPY,
            Self::Uncompressed => Compression::UNCOMPRESSED,
        }
    }
}

/// The columns of a file, as Parquet has them.
pub(super) struct Layout {
    columns: SchemaDescriptor,
    pub(super) metadata: Vec<KeyValue>,
    compression: ParquetCompression,
}

impl Layout {
    /// The metadata of the schema become those of the file.
    pub(super) fn new(schema: &Schema, compression: ParquetCompression) -> Result<Self, ParquetError> {
        let columns = ArrowSchemaConverter::new().convert(schema)?;
        let mut metadata: Vec<KeyValue> =
            schema.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        metadata.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { columns, metadata, compression })
    }

    /// The properties of a file of fewer rows than [`MIN_GROUP_ROWS`]. `is_absent`: whether the column at a place has no value.
    pub(super) fn small(&self, is_absent: impl Fn(usize) -> bool) -> WriterProperties {
        let mut builder = self.properties().set_statistics_enabled(EnabledStatistics::Chunk);
        for (place, (path, _)) in self.paths().enumerate() {
            if is_absent(self.columns.get_column_root_idx(place)) {
                builder = builder
                    .set_column_statistics_enabled(path.clone(), EnabledStatistics::None)
                    .set_column_compression(path.clone(), Compression::UNCOMPRESSED)
                    .set_column_dictionary_enabled(path.clone(), false);
            }
        }
        builder.set_offset_index_disabled(true).build()
    }

    /// The properties of other files.
    pub(super) fn large(&self) -> WriterProperties {
        let most_values = u64::try_from(GROUP_ROWS.saturating_add(MIN_GROUP_ROWS)).unwrap_or(u64::MAX);
        let with_filter = self.paths().filter(|(path, _)| BLOOM_COLUMNS.contains(&&*path.string()));
        let builder = with_filter.fold(self.properties(), |builder, (path, _)| {
            builder
                .set_column_bloom_filter_fpp(path.clone(), FALSE_POSITIVES)
                .set_column_bloom_filter_max_ndv(path.clone(), most_values)
        });
        builder.set_statistics_enabled(EnabledStatistics::Page).build()
    }

    /// What all files have.
    fn properties(&self) -> WriterPropertiesBuilder {
        let places = TIME_COLUMNS.iter().filter_map(|time| self.paths().position(|(_, name)| name == *time));
        let sorted: Vec<SortingColumn> = places
            .filter_map(|place| i32::try_from(place).ok())
            .map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: false })
            .collect();
        let is_sorted = self.paths().any(|(_, name)| Some(&name) == TIME_COLUMNS.first());
        let builder = WriterProperties::builder()
            .set_compression(self.compression.codec())
            .set_created_by(concat!("huginn-net version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(self.metadata.clone()))
            .set_sorting_columns(is_sorted.then_some(sorted))
            // Row groups are those of the writer.
            .set_max_row_group_row_count(None);
        // Numbers that mostly grow.
        let growing = self.paths().filter(|(_, name)| GROWING_COLUMNS.contains(name));
        growing.fold(builder, |builder, (path, _)| {
            builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
        })
    }

    /// The values of all columns, each with the name of its column.
    fn paths(&self) -> impl Iterator<Item = (&ColumnPath, &str)> {
        let columns = self.columns.columns().iter();
        columns.map(|column| (column.path(), column.path().parts().first().map_or("", |name| name)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn columns_with_bloom_filters_are_in_schema() {
        let layout = Layout::new(&crate::schema(), ParquetCompression::default()).unwrap();
        let paths: Vec<String> = layout.paths().map(|(path, _)| path.string()).collect();
        for path in BLOOM_COLUMNS {
            assert!(paths.iter().any(|found| found == path), "{path}");
        }
    }
}
