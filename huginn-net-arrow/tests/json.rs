//! Each row equals the JSON of its event.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

#[path = "../../captures/tools/captures.rs"]
mod captures;

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use huginn_net::hosts::{Baseline, FindingSettings};
use huginn_net::record::{EventNames, JsonEvent};
use huginn_net::watch::{WatchListHandle, WatchLists};
use huginn_net::{CaptureReader, Configure, Database, Event, HuginnNet, Observers};
use huginn_net_arrow::{ColumnInfo, EventBatchBuilder, columns};
use serde_json::{Value, json};

/// The value of a row as the JSON has it, but for times.
fn value(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => json!(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Timestamp(..) => json!(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        DataType::List(_) => {
            let list = array.as_list::<i32>().value(row);
            (0..list.len()).map(|index| value(&*list, index)).collect()
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter();
            let fields = fields.iter().zip(columns);
            fields.map(|(field, column)| (field.name().clone(), value(column, row))).collect()
        }
        other => panic!("{other}"),
    }
}

/// A value of the JSON as a column of this type has it: times in microseconds, and objects with all fields.
fn in_column(json: &Value, data_type: &DataType) -> Value {
    match (json, data_type) {
        (Value::Null, _) => Value::Null,
        (json, DataType::Timestamp(..)) => micros(json.as_str().unwrap()).0.into(),
        (Value::Array(list), DataType::List(element)) => {
            list.iter().map(|json| in_column(json, element.data_type())).collect()
        }
        (Value::Object(object), DataType::Struct(fields)) => {
            let known = fields.iter().map(|field| field.name()).collect::<BTreeSet<_>>();
            assert!(object.keys().all(|name| known.contains(name)), "{json}");
            let column =
                |name: &str, data_type| in_column(object.get(name).unwrap_or(&Value::Null), data_type);
            let fields = fields.iter();
            fields.map(|field| (field.name().clone(), column(field.name(), field.data_type()))).collect()
        }
        (json, _) => json.clone(),
    }
}

/// The leaves of a JSON event: paths, and values.
fn leaves(prefix: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                leaves(&path, value, found);
            }
        }
        _ => found.push((prefix.to_owned(), value.clone())),
    }
}

/// A time of the JSON in microseconds, and the nanoseconds within the microsecond.
fn micros(text: &str) -> (i64, i64) {
    let (date, time) = text.strip_suffix('Z').unwrap().split_once('T').unwrap();
    let number = |text: &str| text.parse::<i64>().unwrap();
    let date: Vec<i64> = date.split('-').map(number).collect();
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let clock: Vec<i64> = clock.split(':').map(number).collect();
    // Days since the Unix epoch, by the rules of the Gregorian calendar.
    let leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let years: i64 = (1970..date[0]).map(|year| if leap(year) { 366 } else { 365 }).sum();
    let lengths = [31, if leap(date[0]) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let months: i64 = lengths.iter().take(usize::try_from(date[1] - 1).unwrap()).sum();
    let seconds = (years + months + date[2] - 1) * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2];
    let nanos = number(&format!("{fraction:0<9}"));
    (seconds * 1_000_000 + nanos / 1000, nanos % 1000)
}

fn source(columns: &'static [ColumnInfo], event: &str, path: &str) -> &'static ColumnInfo {
    let is_source = |column: &&ColumnInfo| {
        column.sources.iter().any(|(events, field)| events.contains(&event) && *field == path)
    };
    let mut found = columns.iter().filter(is_source);
    let column = found.next().unwrap_or_else(|| panic!("no column for {event}: {path}"));
    assert!(found.next().is_none(), "two columns for {event}: {path}");
    column
}

/// Compares a row with its JSON. Adds the columns that had a value.
fn compare(
    columns: &'static [ColumnInfo],
    batch: &RecordBatch,
    row: usize,
    json: &Value,
    seen: &mut BTreeSet<&'static str>,
) {
    let event = json["event"].as_str().unwrap();
    let mut set = BTreeSet::new();
    let mut fields = Vec::new();
    leaves("", json, &mut fields);
    for (path, expected) in fields {
        // The schema has its own version.
        if path == "v" {
            continue;
        }
        if expected.is_null() && ["software", "label", "ech"].contains(&&*path) {
            // An object that is absent: all its columns are null, which the end of this function checks.
            continue;
        }
        let column = source(columns, event, &path);
        let found = value(batch.column_by_name(&column.name).unwrap(), row);
        match &column.data_type {
            DataType::Timestamp(..) => {
                let (expected, nanos) = micros(expected.as_str().unwrap());
                assert_eq!(found, expected, "{event}: {path}");
                let rest = batch.column_by_name(&format!("{}_nanos", column.name)).unwrap();
                assert_eq!(value(rest, row), nanos, "{event}: {path}");
            }
            DataType::Float64 => assert_eq!(found.as_f64(), expected.as_f64(), "{event}: {path}"),
            data_type => assert_eq!(found, in_column(&expected, data_type), "{event}: {path}"),
        }
        set.insert(&*column.name);
    }
    for column in columns {
        let array = batch.column_by_name(&column.name).unwrap();
        if array.is_valid(row) {
            seen.insert(&column.name);
            let is_extra =
                column.sources.iter().any(|(events, path)| path.is_empty() && events.contains(&event));
            assert!(
                set.contains(&*column.name) || is_extra,
                "{event} has no {}, but a row {}",
                column.name,
                value(array, row)
            );
        }
    }
    let host = if json["subject"] == "client" { &json["client"] } else { &json["server"] };
    assert_eq!(value(batch.column_by_name("host_ip").unwrap(), row), host["ip"]);
}

/// A capture of one HTTP request (raw IPv4, no SYN) with more headers than are read.
fn request_with_many_headers() -> Vec<u8> {
    let request = [b"GET / HTTP/1.1\r\n", "a: b\r\n".repeat(2000).as_bytes(), b"\r\n"].concat();
    let length = u16::try_from(40 + request.len()).unwrap().to_be_bytes();
    let ip = [&[0x45, 0], &length[..], &[0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]].concat();
    let tcp = [0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0];
    let packet = [ip, tcp.to_vec(), request].concat();
    let packet_len = u32::try_from(packet.len()).unwrap();
    // Classic pcap, little-endian, link type 101 (RAW).
    let numbers = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101, 1_700_000_000, 0, packet_len, packet_len];
    numbers.iter().flat_map(|number: &u32| number.to_le_bytes()).chain(packet).collect()
}

/// A list with two entries for the ClientHello of `tls-curl.pcap`, and one for the client of `ssh-dropbear.pcap`.
const LIST: &str = "fingerprint,label,watch
t13d3112h2_e8f1e7e78f70_b26ce05bbdd6,curl,yes
t13d3112h2_e8f1e7e78f70_b26ce05bbdd6,\"a, b\",no
16574631849ea8d13c926c9905839928,Dropbear,no
";

#[test]
fn rows_equal_json() {
    let columns = columns();
    let mut lists = WatchLists::default();
    lists.add("list", LIST.as_bytes()).unwrap();
    let lists = WatchListHandle::new(lists);
    let of = |number| NonZeroU32::new(number).unwrap();
    // Thresholds that short captures reach.
    let findings = FindingSettings::default().scan_ports(of(10)).scan_hosts(of(10)).beacon_contacts(of(3));
    let time = "2026-11-21T10:59:59Z";
    let header = format!(r#"{{"huginn_net_baseline":2,"first":"{time}","last":"{time}"}}"#);
    let baseline = Baseline::parse("known.jsonl", header.as_bytes()).unwrap();
    let mut seen = BTreeSet::new();
    let mut rows = 0;
    let mut readers: Vec<CaptureReader> = captures::with_extension(&["pcap", "pcapng"])
        .into_iter()
        .chain([captures::folder().join("evasion/decoy-low-ttl-each-tls4.pcap")])
        .map(|path| CaptureReader::open(path).unwrap())
        .collect();
    let request = std::io::Cursor::new(request_with_many_headers());
    readers.push(CaptureReader::from_reader("request.pcap", request).unwrap());
    for reader in readers {
        let observers = Observers::new(Database::builtin().clone())
            .connections(true)
            .handshakes(true)
            .findings(Some(findings))
            .baseline(Some(baseline.clone()))
            .watch_lists(lists.clone());
        let mut builder = EventBatchBuilder::new().connection_ids(true);
        let mut lines: Vec<Value> = Vec::new();
        let file = Some("a \"name\"");
        let names = EventNames { file, interface: None, connection_id: true };
        // The events before the damage of damaged captures count, too.
        let _ = HuginnNet::builder_with(observers).build().analyze(reader, &mut |event: Event| {
            let mut line = Vec::new();
            JsonEvent::write_with(&event, names, &mut line);
            lines.push(serde_json::from_slice(&line).unwrap());
            builder.append(&event, file);
        });
        let batch = builder.finish().unwrap();
        assert_eq!(batch.num_rows(), lines.len());
        for (row, line) in lines.iter().enumerate() {
            compare(columns, &batch, row, line, &mut seen);
        }
        rows += lines.len();
    }
    assert!(rows > 5000, "{rows} rows");
    let never: Vec<&str> =
        columns.iter().map(|column| &*column.name).filter(|name| !seen.contains(name)).collect();
    // These need several interfaces, a regular contact of a service, secrets, an imitation of a browser in
    // its TLS, an extension without a name, a QUIC connection that is closed before its ServerHello, and protocols of the caller's own,
    // whose rows `own_protocols.rs` compares.
    assert_eq!(
        never,
        [
            "interface",
            "http_decrypted",
            "http3",
            "software_imitates",
            "software_differs",
            "tls_decrypted",
            "tls_unknown_extensions",
            "tls_quic_error",
            "finding_service",
            "finding_program",
            "own"
        ]
    );
}

#[test]
fn page_about_schema_is_current() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema.md")).unwrap();
    assert_eq!(
        page,
        huginn_net_arrow::schema_page(),
        "write it: cargo run -p huginn-net-arrow --example schema"
    );
}
