//! Parquet files: their layout, folders of them, and joined ones.
#![cfg(feature = "parquet")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{RecordBatch, RecordBatchReader, StringArray, TimestampMicrosecondArray};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use huginn_net::record::EVENT_NAMES;
use huginn_net::{CaptureReader, Configure, HuginnNet, Observers};
use huginn_net_arrow::{
    CompactError, EventBatches, ParquetCompression, ParquetFolder, ParquetPartition, ParquetWriter,
    SCHEMA_VERSION, columns, compact,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;

/// The events of a capture, with those of connections.
fn events(name: &str) -> RecordBatch {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures").join(name);
    let observers =
        Observers::new(huginn_net::Database::builtin().clone()).connections(true).handshakes(true);
    let analyzer = HuginnNet::builder_with(observers).build();
    let batches = EventBatches::new(analyzer, CaptureReader::open(path).unwrap()).unwrap();
    let schema = batches.schema();
    concat_batches(&schema, &batches.map(Result::unwrap).collect::<Vec<_>>()).unwrap()
}

fn curl() -> RecordBatch {
    events("tls/tls-curl/tls-curl.pcap")
}

fn pages() -> RecordBatch {
    events("http/http-pages/http-pages.pcap")
}

/// Few columns: many rows of all would take long.
fn narrow(batch: &RecordBatch) -> RecordBatch {
    let names = ["ts", "ts_nanos", "event", "client_ip", "tls_sni", "ja4", "certificates"];
    batch.project(&names.map(|name| batch.schema().index_of(name).unwrap())).unwrap()
}

/// A batch again and again, until there are at least this many rows, in batches of thousands.
fn repeated(batch: &RecordBatch, rows: usize) -> Vec<RecordBatch> {
    let times = 4000 / batch.num_rows();
    let long = concat_batches(&batch.schema(), &vec![batch.clone(); times]).unwrap();
    let mut batches = vec![long; rows / (times * batch.num_rows())];
    batches.extend(vec![batch.clone(); (rows % (times * batch.num_rows())).div_ceil(batch.num_rows())]);
    batches
}

/// A batch whose rows are of another day.
fn on_day(batch: &RecordBatch, day: i64) -> RecordBatch {
    let place = batch.schema().index_of("ts").unwrap();
    let mut columns = batch.columns().to_vec();
    let times = vec![day * 86_400_000_000; batch.num_rows()];
    columns[place] = Arc::new(TimestampMicrosecondArray::from(times).with_timezone("UTC"));
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

fn write(path: &Path, batches: &[RecordBatch]) {
    let out = File::create(path).unwrap();
    let mut writer = ParquetWriter::new(out, batches[0].schema(), ParquetCompression::default()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch.clone()).unwrap());
    writer.finish().unwrap();
}

fn read_metadata(path: &Path) -> ParquetMetaData {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    reader.metadata().as_ref().clone()
}

fn read(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = SchemaRef::clone(reader.schema());
    let batches = reader.with_batch_size(1 << 20).build().unwrap().map(Result::unwrap);
    concat_batches(&schema, &batches.collect::<Vec<_>>()).unwrap()
}

/// All rows as text, in any order.
fn rows(batch: &RecordBatch) -> Vec<String> {
    let mut rows: Vec<String> = (0..batch.num_rows())
        .map(|row| {
            let values = batch.columns().iter().map(|column| format!("{:?}", column.slice(row, 1)));
            values.collect()
        })
        .collect();
    rows.sort();
    rows
}

/// The Parquet files in a folder and those within, by their paths in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn has_bloom_filter(metadata: &ParquetMetaData, group: usize, name: &str) -> bool {
    let columns = metadata.row_group(group).columns();
    let column = columns.iter().find(|column| column.column_path().string() == name).unwrap();
    column.bloom_filter_offset().is_some()
}

#[test]
fn file_has_values_types_and_versions_of_table() {
    let folder = tempfile::tempdir().unwrap();
    for batch in [curl(), pages()] {
        let path = folder.path().join("events.parquet");
        write(&path, from_ref(&batch));
        let found = read(&path);
        // With the metadata, the zone of times and the names of elements.
        assert!(found.schema() == batch.schema());
        assert!(rows(&found) == rows(&batch));
        let metadata = read_metadata(&path);
        let of_file = metadata.file_metadata();
        let keys = of_file.key_value_metadata().unwrap().iter();
        let keys: Vec<_> = keys.map(|entry| (&*entry.key, entry.value.as_deref().unwrap())).collect();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(keys, [("huginn_net.schema", SCHEMA_VERSION), ("huginn_net.version", version)]);
        assert_eq!(of_file.created_by().unwrap(), format!("huginn-net version {version}"));
        assert!(matches!(metadata.row_group(0).column(0).compression(), Compression::ZSTD(_)));
    }
}

#[test]
fn bloom_filters_and_page_index_are_in_large_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let (batch, path) = (narrow(&curl()), folder.path().join("events.parquet"));
    for rows in [1, 9_000, 10_000, 70_000, 140_000] {
        let batches = repeated(&batch, rows);
        write(&path, &batches);
        let metadata = read_metadata(&path);
        let is_large = rows >= 10_000;
        for group in 0..metadata.num_row_groups() {
            assert!(!is_large || metadata.row_group(group).num_rows() >= 10_000, "{rows}");
            for name in ["ja4", "client_ip", "tls_sni", "certificates.list.element.sha256"] {
                assert_eq!(has_bloom_filter(&metadata, group, name), is_large, "{rows}: {name}");
            }
            assert!(!has_bloom_filter(&metadata, group, "event"));
            assert_eq!(metadata.row_group(group).column(0).offset_index_offset().is_some(), is_large);
            // The filter of few values is short.
            let filters: i32 = metadata
                .row_group(group)
                .columns()
                .iter()
                .filter_map(|column| column.bloom_filter_length())
                .sum();
            assert!(filters < 10_000, "{filters}");
        }
        let all: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(usize::try_from(metadata.file_metadata().num_rows()), Ok(all));
        assert!(is_large || metadata.num_row_groups() == 1);
    }
}

#[test]
fn bloom_filters_are_in_files_that_begin_with_few_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (batch, path) = (narrow(&curl()), folder.path().join("events.parquet"));
    let out = File::create(&path).unwrap();
    let mut writer = ParquetWriter::new(out, batch.schema(), ParquetCompression::default()).unwrap();
    writer.write(batch.slice(0, 1)).unwrap();
    writer.flush().unwrap();
    repeated(&batch, 20_000).into_iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    let metadata = read_metadata(&path);
    assert_eq!(metadata.row_group(0).num_rows(), 1);
    assert!(metadata.row_group(1).num_rows() >= 20_000);
    for name in ["ja4", "client_ip", "tls_sni", "certificates.list.element.sha256"] {
        assert!(has_bloom_filter(&metadata, 1, name), "{name}");
    }
}

#[test]
fn rows_of_row_groups_are_sorted_and_declared_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.parquet");
    // Each repetition goes back in time.
    let (curl, pages) = (narrow(&curl()), narrow(&pages()));
    let batches = [repeated(&curl, 40_000), repeated(&pages, 40_000)].concat();
    write(&path, &batches);
    let metadata = read_metadata(&path);
    let found = read(&path);
    let times = found.column_by_name("ts").unwrap().as_primitive::<TimestampMicrosecondType>();
    let mut start = 0;
    assert_eq!(metadata.num_row_groups(), 2);
    for group in 0..2 {
        let group = metadata.row_group(group);
        let sorting: Vec<_> =
            group.sorting_columns().unwrap().iter().map(|column| column.column_idx).collect();
        assert_eq!(sorting, [0, 1]);
        let end = start + usize::try_from(group.num_rows()).unwrap();
        assert!(times.values()[start..end].is_sorted());
        start = end;
    }
    let all = concat_batches(&curl.schema(), &batches).unwrap();
    assert!(!all.column(0).as_primitive::<TimestampMicrosecondType>().values().is_sorted());
    assert!(rows(&found) == rows(&all));

    // Without times no order is declared.
    let places = [2, 3];
    write(&path, &[curl.project(&places).unwrap(), pages.project(&places).unwrap()]);
    assert!(read_metadata(&path).row_group(0).sorting_columns().is_none());
}

#[test]
fn footer_of_few_rows_is_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.parquet");
    write(&path, &[curl().slice(0, 14)]);
    let bytes = fs::read(&path).unwrap();
    let (rest, _) = bytes.split_last_chunk::<4>().unwrap();
    let (_, len) = rest.split_last_chunk::<4>().unwrap();
    let footer = u32::from_le_bytes(*len);
    assert!(bytes.len() < 40_000 && footer < 30_000, "{}, {footer}", bytes.len());
}

fn write_folder(
    folder: &Path,
    by_kind: bool,
    partition: Option<ParquetPartition>,
    stem: Option<&str>,
    batches: &[RecordBatch],
) -> Vec<String> {
    fs::create_dir(folder).unwrap();
    let compression = ParquetCompression::default();
    let mut writer =
        ParquetFolder::new(folder.to_owned(), &batches[0].schema(), by_kind, partition, compression).unwrap();
    if let Some(stem) = stem {
        writer = writer.stem(stem);
    }
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap()
}

#[test]
fn each_kind_has_a_table_with_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tables");
    let batches = [curl(), pages()];
    let names = write_folder(&path, true, None, None, &batches);
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    let kinds = all.column_by_name("event").unwrap().as_string::<i32>();
    let kinds: BTreeSet<&str> = kinds.iter().flatten().collect();
    assert_eq!(names, kinds.iter().map(|kind| format!("{kind}.parquet")).collect::<Vec<_>>());
    assert!(names.contains(&"connection.parquet".to_owned()));
    let mut found = 0;
    for kind in kinds {
        let table = read(&path.join(format!("{kind}.parquet")));
        let wanted =
            columns().iter().filter(|column| column.sources.iter().any(|(kinds, _)| kinds.contains(&kind)));
        let wanted: Vec<&str> = wanted.map(|column| &*column.name).collect();
        let schema = table.schema();
        assert_eq!(schema.fields().iter().map(|field| &**field.name()).collect::<Vec<_>>(), wanted);
        assert!(wanted.len() < columns().len() / 2, "{kind}");
        // Columns of other kinds have no value in these rows: those that are left out lose none.
        let is_kind = |batch: &RecordBatch, row: usize| {
            batch.column_by_name("event").unwrap().as_string::<i32>().value(row) == kind
        };
        let of_kind: Vec<RecordBatch> =
            (0..all.num_rows()).filter(|row| is_kind(&all, *row)).map(|row| all.slice(row, 1)).collect();
        let of_kind = concat_batches(&all.schema(), &of_kind).unwrap();
        let (known, others): (Vec<usize>, Vec<usize>) =
            (0..all.num_columns()).partition(|place| wanted.contains(&&**all.schema().field(*place).name()));
        assert!(
            others.iter().all(|place| of_kind.column(*place).null_count() == of_kind.num_rows()),
            "{kind}"
        );
        assert!(rows(&table) == rows(&of_kind.project(&known).unwrap()), "{kind}");
        found += table.num_rows();
    }
    assert_eq!(found, all.num_rows());
    assert!(EVENT_NAMES.len() > 5);
}

#[test]
fn partitions_have_each_row_once() {
    let folder = tempfile::tempdir().unwrap();
    let batches = [curl(), pages(), on_day(&curl(), 20_000)];
    let all = rows(&concat_batches(&batches[0].schema(), &batches).unwrap());
    let day = write_folder(&folder.path().join("day"), false, Some(ParquetPartition::Day), None, &batches);
    assert!(
        day.len() > 1 && day.iter().all(|path| path.starts_with("day=20") && path.ends_with("/part.parquet"))
    );
    let read_all = |name: &str, files: &[String]| {
        let batches: Vec<_> = files.iter().map(|path| read(&folder.path().join(name).join(path))).collect();
        rows(&concat_batches(&batches[0].schema(), &batches).unwrap())
    };
    assert!(read_all("day", &day) == all);
    let both =
        write_folder(&folder.path().join("both"), true, Some(ParquetPartition::Day), Some("x"), &batches);
    assert!(both.iter().any(|path| path.starts_with("tls_client/day=20") && path.ends_with("/x.parquet")));
    let stems = write_folder(&folder.path().join("stem"), false, None, Some("x-1"), &batches);
    assert_eq!(stems, ["x-1.parquet"]);
    assert!(read_all("stem", &stems) == all);

    // Names of captures are escaped, and the column is the folder.
    let schema = batches[0].schema();
    let place = schema.index_of("file").unwrap();
    let named = |name: Option<&str>| {
        let mut columns = batches[0].columns().to_vec();
        let names = vec![name; batches[0].num_rows()];
        columns[place] = Arc::new(StringArray::from(names));
        RecordBatch::try_new(SchemaRef::clone(&schema), columns).unwrap()
    };
    let file = write_folder(
        &folder.path().join("file"),
        false,
        Some(ParquetPartition::File),
        None,
        &[named(Some("../a b.pcap")), named(None)],
    );
    assert_eq!(file, ["file=..%2Fa%20b.pcap/part.parquet", "file=__HIVE_DEFAULT_PARTITION__/part.parquet"]);
    let table = read(&folder.path().join("file").join(&file[0]));
    assert!(table.column_by_name("file").is_none());
    assert_eq!(table.num_rows(), batches[0].num_rows());
    assert!(ParquetPartition::File.check_name(&"x".repeat(251)).is_err());
    assert!(ParquetPartition::File.check_name(&"x".repeat(250)).is_ok());
    assert!(ParquetPartition::Day.check_name(&"x".repeat(300)).is_ok());
}

/// More days than files may be open: each has all of its rows.
#[test]
fn many_partitions_are_completed_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let batch = curl().slice(0, 1);
    let days: Vec<RecordBatch> = (0..100).chain(0..100).map(|day| on_day(&batch, day)).collect();
    let path = folder.path().join("days");
    let files = write_folder(&path, false, Some(ParquetPartition::Day), None, &days);
    assert_eq!(files.len(), 200);
    assert_eq!(&files[..2], ["day=1970-01-01/part-1.parquet", "day=1970-01-01/part.parquet"]);
    assert_eq!(files.iter().map(|file| read(&path.join(file)).num_rows()).sum::<usize>(), 200);
}

/// A time after all files.
fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(60)
}

#[test]
fn small_files_are_joined_with_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let hour = folder.path().join("hour=01");
    fs::create_dir(&hour).unwrap();
    let (curl, pages) = (curl(), pages());
    for (name, batch) in [("a.parquet", &curl), ("b.parquet", &pages), ("c.parquet", &curl)] {
        write(&hour.join(name), from_ref(batch));
    }
    write(&hour.join("d.parquet"), &repeated(&narrow(&curl), 1 << 16));
    fs::write(hour.join(".e.parquet.unfinished"), "").unwrap();
    fs::write(folder.path().join("notes.txt"), "").unwrap();
    let wanted = rows(&concat_batches(&curl.schema(), &[curl.clone(), pages.clone(), curl.clone()]).unwrap());
    let compression = ParquetCompression::default();

    // Those that may change stay.
    let earlier = SystemTime::now() - Duration::from_secs(60);
    assert!(compact(folder.path(), earlier, compression).unwrap().joined.is_empty());
    let joined = hour.join("a.joined.parquet");
    assert_eq!(compact(folder.path(), later(), compression).unwrap().joined, [(joined.clone(), 3)]);
    assert!(rows(&read(&joined)) == wanted);
    let all = [&hour.join(".e.parquet.unfinished"), &joined, &hour.join("d.parquet")].map(PathBuf::clone);
    assert_eq!(files(&hour), all);
    assert!(compact(folder.path(), later(), compression).unwrap().joined.is_empty());

    // A joined file takes in later ones.
    write(&hour.join("f.parquet"), from_ref(&pages));
    assert_eq!(compact(folder.path(), later(), compression).unwrap().joined, [(joined.clone(), 2)]);
    assert_eq!(read(&joined).num_rows(), wanted.len() + pages.num_rows());
    assert_eq!(files(&hour), all);
}

/// A call that is killed before it has removed the files leaves the rest to the next one.
#[test]
fn replaced_files_are_removed_by_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let curl = curl();
    for name in ["a.parquet", "b.parquet"] {
        write(&folder.path().join(name), from_ref(&curl));
    }
    let before = fs::read(folder.path().join("b.parquet")).unwrap();
    let changed = fs::metadata(folder.path().join("b.parquet")).unwrap().modified().unwrap();
    compact(folder.path(), later(), ParquetCompression::default()).unwrap();
    let write_at = |time| {
        fs::write(folder.path().join("b.parquet"), &before).unwrap();
        File::options()
            .append(true)
            .open(folder.path().join("b.parquet"))
            .unwrap()
            .set_modified(time)
            .unwrap();
        compact(folder.path(), SystemTime::UNIX_EPOCH, ParquetCompression::default()).unwrap();
        folder.path().join("b.parquet").exists()
    };
    // A later one of the same length is another.
    assert!(write_at(changed + Duration::from_nanos(1000)));
    assert!(!write_at(changed));
    // Another file of that name is not among those that were joined.
    write(&folder.path().join("a.parquet"), &[curl.slice(0, 3)]);
    compact(folder.path(), SystemTime::UNIX_EPOCH, ParquetCompression::default()).unwrap();
    let left = [folder.path().join("a.joined.parquet"), folder.path().join("a.parquet")];
    assert_eq!(files(folder.path()), left);
    compact(folder.path(), later(), ParquetCompression::default()).unwrap();
    assert_eq!(files(folder.path()), [folder.path().join("a.joined.parquet")]);
    assert_eq!(read(&folder.path().join("a.joined.parquet")).num_rows(), 2 * curl.num_rows() + 3);
}

#[test]
fn unreadable_files_are_skipped_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let curl = curl();
    for name in ["a.parquet", "b.parquet", "c.parquet"] {
        write(&folder.path().join(name), from_ref(&curl));
    }
    fs::write(folder.path().join("d.parquet"), "no table").unwrap();
    // The footer is whole, the rows are not.
    let mut bytes = fs::read(folder.path().join("b.parquet")).unwrap();
    bytes[4..2000].fill(0xff);
    fs::write(folder.path().join("b.parquet"), bytes).unwrap();
    let done = compact(folder.path(), later(), ParquetCompression::default()).unwrap();
    let joined = folder.path().join("a.joined.parquet");
    assert_eq!(done.joined, [(joined.clone(), 2)]);
    assert_eq!(read(&joined).num_rows(), 2 * curl.num_rows());
    let skipped: Vec<PathBuf> = done.skipped.into_iter().map(|(path, _)| path).collect();
    let left = ["b.parquet", "d.parquet"].map(|name| folder.path().join(name));
    assert_eq!(skipped.iter().collect::<BTreeSet<_>>(), left.iter().collect());
    assert_eq!(files(folder.path()), [joined, left[0].clone(), left[1].clone()]);
}

#[cfg(unix)]
#[test]
fn joined_file_has_permissions_of_first_and_no_more() {
    use std::os::unix::fs::PermissionsExt;

    for (mode, wanted) in [(0o600, 0o600), (0o644, 0o640)] {
        let folder = tempfile::tempdir().unwrap();
        let curl = curl();
        for name in ["a.parquet", "b.parquet"] {
            write(&folder.path().join(name), from_ref(&curl));
        }
        fs::set_permissions(folder.path().join("a.parquet"), fs::Permissions::from_mode(mode)).unwrap();
        compact(folder.path(), later(), ParquetCompression::default()).unwrap();
        let joined = fs::metadata(folder.path().join("a.joined.parquet")).unwrap();
        assert_eq!(joined.permissions().mode() & 0o777, wanted);
    }
}

#[test]
fn versions_are_not_mixed_and_other_columns_not_joined() {
    let folder = tempfile::tempdir().unwrap();
    let curl = curl();
    write(&folder.path().join("a.parquet"), from_ref(&curl));
    write(&folder.path().join("b.parquet"), &[curl.project(&[0, 1, 2]).unwrap()]);
    assert!(compact(folder.path(), later(), ParquetCompression::default()).unwrap().joined.is_empty());
    let mut metadata = curl.schema().metadata().clone();
    metadata.insert("huginn_net.schema".to_owned(), "0.9".to_owned());
    let old = SchemaRef::new(curl.schema().as_ref().clone().with_metadata(metadata));
    write(&folder.path().join("c.parquet"), &[RecordBatch::try_new(old, curl.columns().to_vec()).unwrap()]);
    let before = files(folder.path());
    let error = compact(folder.path(), later(), ParquetCompression::default()).unwrap_err();
    assert!(matches!(error, CompactError::MixedVersions { .. }));
    let text = error.to_string();
    for part in ["a.parquet", SCHEMA_VERSION, "c.parquet", "0.9"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(files(folder.path()), before);
}
