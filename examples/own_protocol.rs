//! A protocol of the program's own, the greetings of FTP servers, beside the built-in ones.
//!
//! `cargo run -p huginn-net --example own_protocol CAPTURE`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use huginn_net::core::{Probe, StreamData, StreamObserver, StreamParser, StreamStart};
use huginn_net::observation::OwnEvent;
use huginn_net::record::JsonEvent;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Side};

/// Reads the greeting of FTP servers: the first data of the server.
#[derive(Debug)]
struct Ftp {
    is_done: bool,
}

#[derive(Debug, serde::Serialize)]
struct Greeting {
    greeting: String,
}

impl OwnEvent for Greeting {
    const NAME: &'static str = "ftp_server";
}

impl StreamParser for Ftp {
    type Event = Greeting;
    type Counters = ();
    type Settings = ();

    fn probe(sender: Side, first: &[u8]) -> Probe {
        match sender == Side::Server && first.starts_with(b"220") {
            true => Probe::Certain,
            false => Probe::NotForUs,
        }
    }

    fn new(_: StreamStart, (): ()) -> Self {
        Self { is_done: false }
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        _: &mut (),
        emit: &mut impl FnMut(Side, Greeting),
    ) {
        if let StreamData::Bytes(bytes) = data {
            emit(side, Greeting { greeting: String::from_utf8_lossy(bytes).into_owned() });
        }
        self.is_done = true;
    }

    fn reads(&self, side: Side) -> bool {
        side == Side::Server && !self.is_done
    }

    fn buffered_bytes(&self) -> usize {
        0
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let capture = std::env::args().nth(1).ok_or("usage: own_protocol CAPTURE")?;
    let mut analyzer = HuginnNet::builder().with(StreamObserver::<Ftp>::default()).build();
    analyzer.analyze(CaptureReader::open(capture)?, &mut |event: Event| {
        println!("{}", JsonEvent { event: &event, file: None });
    })?;
    Ok(())
}
