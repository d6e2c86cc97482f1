//! The distinct ClientHellos in the captures of this project.

use std::collections::BTreeSet;
use std::path::PathBuf;

use huginn_net_capture::CaptureReader;
use huginn_net_core::Event;
use huginn_net_tls::{ClientHello, HuginnNetTls, TlsEvent};

/// Returns the distinct hellos of these captures, in the order of the captures.
pub(crate) fn from_captures(captures: &[PathBuf]) -> Vec<ClientHello<'static>> {
    let (mut hellos, mut seen) = (Vec::new(), BTreeSet::new());
    for path in captures {
        let mut sink = |event: Event<TlsEvent>| {
            let TlsEvent::Client(client) = event.kind else { return };
            if seen.insert(client.hello.message().to_vec()) {
                hellos.push(client.hello);
            }
        };
        let mut reader = CaptureReader::open(path).unwrap();
        let mut analyzer = HuginnNetTls::builder().build();
        while let Some(frame) = reader.read_frame().unwrap() {
            let _ = analyzer.push(&frame, &mut sink);
        }
    }
    hellos
}
