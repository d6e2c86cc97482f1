//! Events of own protocols in a Parquet file beside those of the built-in ones.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

#[path = "../../examples/dns_and_mqtt.rs"]
mod dns_and_mqtt;

use std::fs;

use arrow_array::cast::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// An IPv4 packet from 192.0.2.1 to 192.0.2.2 without checksum of the transport.
fn ipv4(protocol: u8, transport: &[u8]) -> Vec<u8> {
    let len = u8::try_from(transport.len() + 20).unwrap();
    let head = [0x45, 0, 0, len, 0, 0, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    [&head, transport].concat()
}

fn tcp(seq: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let head =
        [&[0xc0, 0, 0x07, 0x5b][..], &seq.to_be_bytes(), &[0, 0, 0, 0, 0x50, flags, 0x20, 0, 0, 0, 0, 0]]
            .concat();
    ipv4(6, &[&head, payload].concat())
}

/// A pcap file of raw IP packets, one a second.
fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 262_144, 101].map(u32::to_be_bytes).concat();
    for (second, packet) in (1_u32..).zip(packets) {
        let len = u32::try_from(packet.len()).unwrap();
        file.extend([second, 0, len, len].map(u32::to_be_bytes).concat());
        file.extend(packet);
    }
    file
}

#[test]
fn own_events_are_rows_of_the_same_table() {
    let query = [&[0xc0, 1, 0, 53, 0, 20, 0, 0][..], &[0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]].concat();
    let connect = b"\x10\x12\x00\x04MQTT\x04\x02\x00\x3c\x00\x06client";
    let packets =
        [ipv4(17, &query), tcp(1, 2, b""), tcp(2, 0x18, &connect[..8]), tcp(10, 0x18, &connect[8..])];
    let folder = std::env::temp_dir().join(format!("huginn-own-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let [capture, table] =
        ["x.pcap", "x.parquet"].map(|name| folder.join(name).into_os_string().into_string().unwrap());
    fs::write(&capture, pcap(&packets)).unwrap();
    dns_and_mqtt::write(&capture, &table).unwrap();

    let reader =
        ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&table).unwrap()).unwrap().build().unwrap();
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        let column = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
        let (events, own, servers) = (column("event"), column("own"), column("server_ip"));
        for row in 0..batch.num_rows() {
            rows.push(format!(
                "{} {} {:?}",
                events.value(row),
                servers.value(row),
                own.iter().nth(row).flatten()
            ));
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(
        rows,
        [
            r#"dns 192.0.2.2 Some("{\"id\":4660,\"questions\":1}")"#,
            "tcp_syn 192.0.2.2 None",
            r#"mqtt_connect 192.0.2.2 Some("{\"level\":4}")"#,
        ]
    );
}
