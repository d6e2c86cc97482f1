//! Batches of a reader.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

#[path = "../../captures/tools/captures.rs"]
mod captures;

use std::fs::File;
use std::io::{Cursor, Read};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatchReader};
use huginn_net::core::{Analyzer, SharedState};
use huginn_net::hosts::HostUpdateRecord;
use huginn_net::observers::WithoutHosts;
use huginn_net::record::JsonEvent;
use huginn_net::{CaptureReader, Configure, Database, Event, HuginnNet, Observers};
use huginn_net_arrow::{
    EventBatchBuilder, EventBatches, HOST_RECORD_ORDER, HostRecordBatches, host_record_schema, schema,
};

/// A capture of this one repeated.
fn repeated(name: &str, times: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(captures::path(name)).unwrap().read_to_end(&mut bytes).unwrap();
    let packets = bytes.split_off(24);
    bytes.extend(packets.repeat(times));
    bytes
}

fn batches(bytes: Vec<u8>) -> EventBatches {
    let reader = CaptureReader::from_reader("test", Cursor::new(bytes)).unwrap();
    EventBatches::new(HuginnNet::builder().build(), reader).unwrap()
}

#[test]
fn batches_have_all_events_in_order() {
    let bytes = repeated("http-pages.pcap", 200);
    let mut events: Vec<Event> = Vec::new();
    let reader = CaptureReader::from_reader("test", Cursor::new(bytes.clone())).unwrap();
    HuginnNet::builder().build().analyze(reader, |event| events.push(event)).unwrap();
    assert!(events.len() > 10_000);

    let batches = batches(bytes);
    assert_eq!(batches.schema(), schema());
    let mut times = Vec::new();
    for batch in batches {
        let batch = batch.unwrap();
        assert!(batch.num_rows() <= 8192);
        let ts = batch.column_by_name("ts").unwrap();
        let ts = arrow_array::cast::as_primitive_array::<arrow_array::types::TimestampMicrosecondType>(ts);
        times.extend(ts.values().iter().copied());
    }
    let expected: Vec<i64> =
        events.iter().map(|event| i64::try_from(event.ts.as_nanos() / 1000).unwrap()).collect();
    assert_eq!(times, expected);
}

#[test]
fn length_of_texts_is_that_of_the_batch() {
    let reader = CaptureReader::open(captures::path("tls-curl.pcap")).unwrap();
    let mut builder = EventBatchBuilder::new();
    HuginnNet::builder().build().analyze(reader, &mut |event: Event| builder.append(&event, None)).unwrap();
    let len = builder.text_len();
    let batch = builder.finish().unwrap();
    let texts = batch.columns().iter().filter_map(|column| {
        let lists = column.as_list_opt::<i32>().and_then(|lists| lists.values().as_string_opt::<i32>());
        column.as_string_opt::<i32>().or(lists)
    });
    assert_eq!(len, texts.map(|texts| texts.value_data().len()).sum::<usize>());
    assert!(len > 10_000);
    assert_eq!(builder.text_len(), 0);
}

#[test]
fn only_selected_columns_and_events_are_built() {
    let reader = CaptureReader::from_reader("test", Cursor::new(repeated("tls-curl.pcap", 1))).unwrap();
    let unknown = EventBatchBuilder::new().columns(&["ja4", "nonsense"]).unwrap_err();
    assert_eq!(unknown.to_string(), "no column and no field of events is named \"nonsense\"");
    let of_fields = EventBatchBuilder::new().columns(&["sni", "client", "label.name"]).unwrap();
    let names: Vec<&str> = of_fields.schema().fields().iter().map(|field| &**field.name()).collect();
    assert_eq!(names, ["client_ip", "client_port", "label_name", "tls_sni"]);

    let builder = EventBatchBuilder::new().columns(&["ja4", "ts"]).unwrap().events(&["tls_client"]);
    let batches = EventBatches::of_analyzer(HuginnNet::builder().build(), reader, builder, None).unwrap();
    let names: Vec<String> = batches.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["ts", "ja4"]);
    for batch in batches {
        let batch = batch.unwrap();
        assert!(batch.num_rows() > 2);
        assert_eq!((batch.num_columns(), batch.column(1).null_count()), (2, 0));
    }
}

#[test]
fn rows_before_damage_come_before_the_error() {
    let mut bytes = repeated("tls-curl.pcap", 1);
    bytes.truncate(bytes.len() - 10);
    let mut batches = batches(bytes);
    assert!(batches.next().unwrap().unwrap().num_rows() > 20);
    let error = batches.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("packet"), "{error}");
    assert!(batches.next().is_none());
}

#[test]
fn reader_that_is_dropped_ends_the_analysis() {
    let mut batches = batches(repeated("http-pages.pcap", 200));
    batches.next().unwrap().unwrap();
    let analyzer = batches.finish().unwrap();
    assert!(analyzer.counters().events > 0);
}

#[test]
fn dictionaries_have_the_same_texts() {
    let mut plain = EventBatchBuilder::new();
    let mut stored = EventBatchBuilder::new().dictionaries();
    let reader = CaptureReader::open(captures::path("tls-curl.pcap")).unwrap();
    HuginnNet::builder()
        .build()
        .analyze(reader, &mut |event: Event| {
            plain.append(&event, None);
            stored.append(&event, None);
        })
        .unwrap();
    let schema = stored.schema().clone();
    let (plain, stored) = (plain.finish().unwrap(), stored.finish().unwrap());
    assert_eq!(stored.schema(), schema);
    let mut texts = 0;
    for (plain, stored) in plain.columns().iter().zip(stored.columns()) {
        let Some(plain) = plain.as_string_opt::<i32>() else {
            assert_eq!(plain, stored);
            continue;
        };
        let stored = stored.as_dictionary::<Int32Type>().downcast_dict::<arrow_array::StringArray>().unwrap();
        assert!(plain.iter().eq(stored.into_iter()));
        texts += plain.len() - plain.null_count();
    }
    assert!(texts > 100);
}

#[test]
fn host_records_give_events_of_hosts() {
    let bytes = std::fs::read(captures::path("http-pages.pcap")).unwrap();
    let read = || CaptureReader::from_reader("test", Cursor::new(bytes.clone())).unwrap();
    let mut want = HuginnNet::builder_with(Observers::default().profiles(true)).build();
    let mut events = Vec::new();
    want.analyze(read(), &mut |event: Event| events.push(JsonEvent::new(&event).to_string())).unwrap();

    let first = Analyzer::builder_with(WithoutHosts::new(Observers::default().profiles(true))).build();
    let batches = HostRecordBatches::new(first, read(), Some("pages".to_owned())).unwrap();
    assert_eq!(batches.schema(), host_record_schema());
    let database = Database::builtin();
    let mut hosts = Observers::default().profiles(true).host_table();
    let (mut position, mut of_hosts) = (0, Vec::new());
    for batch in batches {
        let batch = batch.unwrap();
        let packets = batch.column_by_name("packet").unwrap().as_primitive::<Int64Type>().clone();
        assert!(packets.values().is_sorted());
        for text in batch.column_by_name("record").unwrap().as_string::<i32>().iter().flatten() {
            let record: HostUpdateRecord = serde_json::from_str(text).unwrap();
            let update = record.into_event(database).unwrap();
            hosts.on_update(update, &mut |event| of_hosts.push(event));
            position += 1;
        }
    }
    assert!(position > 10);
    let profiles: Vec<_> = hosts.profiles().map(|host| format!("{host:?}")).collect();
    let expected: Vec<_> = want.shared_state().profiles().map(|host| format!("{host:?}")).collect();
    assert_eq!(profiles, expected);
    for event in &of_hosts {
        assert!(events.contains(&JsonEvent::new(event).to_string()));
    }
    assert!(HOST_RECORD_ORDER.iter().all(|name| host_record_schema().column_with_name(name).is_some()));
}
