//! Two protocols of the program's own, DNS and MQTT, beside the built-in ones: all events in one Parquet file.
//!
//! `cargo run -p huginn-net-arrow --example dns_and_mqtt CAPTURE TABLE.parquet`

use std::{env, error::Error, fs::File};

use huginn_net::core::*;
use huginn_net::observation::OwnEvent;
use huginn_net::{CaptureReader, Configure, HuginnNet};
use huginn_net_arrow::{Batches, EventBatchBuilder, schema};
use parquet::arrow::ArrowWriter;

#[derive(Debug, serde::Serialize)]
struct Dns {
    id: u16,
    response: bool,
    questions: u16,
}

impl OwnEvent for Dns {
    const NAME: &'static str = "dns";
}

/// Reads the header of a DNS message (RFC 1035, section 4.1.1).
fn dns(segment: &Segment<'_>) -> Option<Dns> {
    let (source, destination) = segment.transport.ports();
    let [id @ .., flags, _, high, low] = *segment.payload.first_chunk::<6>()?;
    let (id, questions) = (u16::from_be_bytes(id), u16::from_be_bytes([high, low]));
    (source == 53 || destination == 53).then_some(Dns { id, response: flags >> 7 == 1, questions })
}

#[derive(Debug, serde::Serialize)]
struct Connect {
    level: u8,
    clean_session: bool,
}

impl OwnEvent for Connect {
    const NAME: &'static str = "mqtt_connect";
}

/// Reads the CONNECT packet of a client (MQTT 3.1.1, section 3.1), whose remaining length is one byte.
impl StreamPrefix for Connect {
    const SENDER: Side = Side::Client;
    const MAX_LEN: usize = 10;

    fn parse(prefix: &[u8]) -> PrefixParse<Self> {
        match *prefix {
            [0x10, _, 0, 4, b'M', b'Q', b'T', b'T', level, flags, ..] => {
                PrefixParse::Event(Self { level, clean_session: flags & 2 != 0 })
            }
            [0x10] | [0x10, 0..=0x7f] | [0x10, 0..=0x7f, 0, ..] if prefix.len() < 10 => PrefixParse::NeedMore,
            _ => PrefixParse::NotForUs,
        }
    }
}

pub(crate) fn write(capture: &str, table: &str) -> Result<(), Box<dyn Error>> {
    let own =
        HuginnNet::builder().with(DatagramObserver::new(dns)).with(PrefixObserver::<Connect>::default());
    let mut writer = ArrowWriter::try_new(File::create(table)?, schema(), None)?;
    let source = CaptureReader::open(capture)?;
    for batch in Batches::of_analyzer(own.build(), source, EventBatchBuilder::new(), None)? {
        writer.write(&batch?)?;
    }
    writer.close()?;
    Ok(())
}

#[allow(dead_code, reason = "a test calls write")]
fn main() -> Result<(), Box<dyn Error>> {
    match &*env::args().collect::<Vec<_>>() {
        [_, capture, table] => write(capture, table),
        _ => Err("usage: dns_and_mqtt CAPTURE TABLE.parquet".into()),
    }
}
