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

/// Reads the CONNECT packet of an MQTT client (MQTT 3.1.1, section 3.1).
struct Mqtt(Vec<u8>);

impl StreamParser for Mqtt {
    type Event = Connect;
    type Counters = ();
    type Settings = ();

    fn probe(_: Side, first: &[u8]) -> Probe {
        if first.get(4..8) == Some(b"MQTT") { Probe::Certain } else { Probe::NotForUs }
    }

    fn new(_: StreamStart, (): ()) -> Self {
        Self(Vec::new())
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        _: &mut (),
        emit: &mut impl FnMut(Side, Connect),
    ) {
        if let StreamData::Bytes(bytes) = data {
            self.0.extend(bytes.iter().take(10));
        }
        if let [0x10, _, _, _, _, _, _, _, level, flags, ..] = *self.0 {
            emit(side, Connect { level, clean_session: flags & 2 != 0 });
        }
    }

    fn reads(&self, side: Side) -> bool {
        side == Side::Client && self.0.len() < 10
    }

    fn buffered_bytes(&self) -> usize {
        self.0.capacity()
    }
}

pub(crate) fn write(capture: &str, table: &str) -> Result<(), Box<dyn Error>> {
    let own = HuginnNet::builder().with(DatagramObserver::new(dns)).with(StreamObserver::<Mqtt>::default());
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
