//! Sizes of what the analyzer has per flow, event and host.

use huginn_net_core::ParserSlot;
use huginn_net_http::HttpParser;
use huginn_net_ssh::SshParser;
use huginn_net_tcp::TcpFlow;
use huginn_net_tls::TlsParser;

use super::FlowOutput;
use super::flow_state::{FlowState, ProtocolStates, TransportState, UdpState};
use super::stream_parsers::Parsers;
use crate::hosts::{Host, HostUpdate};
use crate::sizes::check_size;
use crate::{Event, Observation};

#[test]
fn sizes_have_reasons() {
    check_size::<FlowState>(
        208,
        "per flow: the protocols, the limits of events, the progress of the handshake, two boxes that most lack",
    );
    check_size::<ProtocolStates>(
        168,
        "per flow: 80 for TCP streams or UDP, 32 for TCP clocks, 24 for systems, 24 for three boxes that most lack",
    );
    check_size::<TransportState>(80, "per flow: a TCP stream; UDP is smaller");
    check_size::<UdpState>(72, "per UDP flow: QUIC and DTLS, and a box for decryption");
    check_size::<TcpFlow>(32, "per flow: first timestamp of each side, and its capture time");
    check_size::<Parsers>(272, "per connection with payload: three slots, and a box for decryption");
    check_size::<ParserSlot<HttpParser>>(
        24,
        "per connection with payload: the parser, and which sides it reads",
    );
    check_size::<ParserSlot<TlsParser>>(
        216,
        "per connection with payload: TLS may begin on either side at any time",
    );
    check_size::<ParserSlot<SshParser>>(
        24,
        "per connection with payload: the parser, and which sides it reads",
    );
    check_size::<Event>(240, "per event: two socket addresses, a time, two packets, and the observation");
    check_size::<Observation>(
        120,
        "per event, moved often: the limit is what the compiler moves without memcpy",
    );
    check_size::<HostUpdate>(96, "per update of a host: facts of a handshake or head, the long ones boxed");
    check_size::<Host>(152, "per host: clocks of both roles, and boxes that few hosts have");
    check_size::<FlowOutput>(120, "per event or update on its way to the sink: an observation is the larger");
}
