//! Two protocols of the program's own, DNS and MQTT, beside the built-in ones: all events in one Parquet file.
//!
//! `cargo run -p huginn-net-arrow --example dns_and_mqtt CAPTURE TABLE.parquet`

use std::{env, error::Error, fs::File, ops::RangeInclusive};

use huginn_net::{CaptureReader, Configure, HuginnNet, core::*, own_event};
use huginn_net_arrow::{Batches, EventBatchBuilder, schema};
use parquet::arrow::ArrowWriter;

own_event!(Dns = "dns", Mqtt = "mqtt_connect");

#[derive(Debug, serde::Serialize)]
struct Dns {
    id: u16,
    questions: u16,
}

/// Reads the header of a DNS message (RFC 1035, section 4.1.1).
fn dns(segment: &Segment<'_>) -> Option<Dns> {
    let (source, destination) = segment.transport.ports();
    let [id @ .., _, _, high, low] = *segment.payload.first_chunk::<6>()?;
    let (id, questions) = (u16::from_be_bytes(id), u16::from_be_bytes([high, low]));
    (source == 53 || destination == 53).then_some(Dns { id, questions })
}

#[derive(Debug, serde::Serialize)]
struct Mqtt {
    level: u8,
}

/// Reads the CONNECT packet of a client (MQTT 3.1.1, section 3.1), whose remaining length is one byte.
impl StreamPrefix for Mqtt {
    const SENDER: Side = Side::Client;
    const LEN: RangeInclusive<usize> = 9..=9;

    fn parse(prefix: &[u8]) -> PrefixParse<Self> {
        let [0x10, _, 0, 4, b'M', b'Q', b'T', b'T', level] = *prefix else { return PrefixParse::NotForUs };
        PrefixParse::Event(Self { level })
    }
}

pub(crate) fn write(capture: &str, table: &str) -> Result<(), Box<dyn Error>> {
    let own = HuginnNet::builder().with(DatagramObserver::new(dns)).with(PrefixObserver::<Mqtt>::default());
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
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [capture, table] = &*arguments else { return Err("usage: CAPTURE TABLE.parquet".into()) };
    write(capture, table)
}
