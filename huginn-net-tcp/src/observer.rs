//! Reports the TCP handshakes of a capture, flow by flow.

use huginn_net_core::{Analyzer, Interest, Origin, Protocol, Segment, Side, TcpFlags, TcpHeader, Timestamp};

use crate::limits::{MEASURABLE_MILLIS, MIN_CLOCK_NANOS};
use crate::{Clock, ClockReading, Handshake, Measurement, Mtu, TcpSignature};

/// An analyzer that runs the TCP fingerprinter only.
///
/// ```
/// use huginn_net_core::{Event, Frame, LinkType, Timestamp};
/// use huginn_net_tcp::{HuginnNetTcp, TcpEvent};
///
/// // An IPv4 packet with the SYN of a Linux system.
/// let packet = [
///     0x45, 0, 0, 60, 0x1c, 0x46, 0x40, 0, 61, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
///     0xdc, 0xe2, 0, 80, 0x52, 0x4d, 0x98, 0x43, 0, 0, 0, 0, 0xa0, 2, 0x72, 0x10, 0, 0, 0, 0, // TCP
///     2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0x2e, 0x6b, 0xc4, 0, 0, 0, 0, 1, 3, 3, 7, // options
/// ];
/// let frame = Frame { ts: Timestamp::new(0, 0, 6), link: LinkType::RAW, data: &packet, wire_len: 60 };
/// let mut events: Vec<Event<TcpEvent>> = Vec::new();
/// let mut analyzer = HuginnNetTcp::builder().build();
/// let _ = analyzer.push(&frame, |event| events.push(event));
/// analyzer.finish(|event| events.push(event));
/// assert!(matches!(events[0].kind, TcpEvent::Syn(signature) if signature.mss == 1460));
/// assert!(matches!(events[1].kind, TcpEvent::Mtu(mtu) if mtu.0 == 1500));
/// ```
pub type HuginnNetTcp = Analyzer<TcpObserver>;

/// Reports the signatures, link sizes and timestamp clocks of both ends of each TCP connection whose SYN it sees.
///
/// Follows p0f: a retransmitted SYN is not reported again. A SYN+ACK is reported once, from the addressed side. An ACK
/// before it, a FIN or a RST ends the handshake; the same SYN is then reported again.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpObserver;

/// An event of a [`TcpObserver`]. The subject of the event is the sender that it describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcpEvent {
    /// The signature of a client's SYN.
    Syn(TcpSignature),
    /// The signature of a server's SYN+ACK.
    SynAck(TcpSignature),
    /// The link of the sender of the preceding signature, if that has a maximum segment size.
    Mtu(Mtu),
    /// The SYN of p0f's tool `p0f-sendsyn`. It yields no MTU.
    SendsynProbe(TcpSignature),
    /// The server's SYN+ACK to a `p0f-sendsyn` probe.
    SendsynResponse(TcpSignature),
    /// The timestamp clock of this side, measured from its SYN or SYN+ACK. At most one event per side and connection.
    Clock(Clock),
}

/// The state of one flow in a [`TcpObserver`].
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpFlow {
    phase: Phase,
    /// Timestamp values at the start of the measurement, of client and server; 0 if there is none.
    clocks: [u32; 2],
    /// Capture times (ms) of these values.
    began: [u64; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Before the SYN, after a handshake without a SYN+ACK, or after the end of the connection.
    #[default]
    Closed,
    /// A SYN was seen; its SYN+ACK is outstanding.
    SynSeen { mss: u16, sendsyn: bool },
    /// The SYN+ACK was seen.
    Answered,
}

impl TcpFlow {
    /// Whether both the SYN and its SYN+ACK were seen.
    pub fn is_answered(&self) -> bool {
        matches!(self.phase, Phase::Answered)
    }

    /// Ends the connection: its SYN is reported if it comes again, its SYN+ACK is not.
    ///
    /// p0f does so after it classified either side as a user-space tool, which has no connections.
    pub fn end(&mut self) {
        self.phase = Phase::Closed;
    }
}

impl Protocol for TcpObserver {
    type Flow = TcpFlow;
    type Event = TcpEvent;
    type SharedState = ();
    type Counters = ();

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        *self
    }

    fn counters(&self) {}

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        let handshake = Handshake::from_flags(segment.tcp()?.flags)?;
        (handshake == Handshake::Syn).then_some(Side::Client)
    }

    #[inline]
    fn can_skip(&self, ts: Timestamp, sender: Side, flow: &TcpFlow) -> bool {
        !flow.awaits_answer() && flow.due(sender, ts).is_none()
    }

    #[inline]
    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut TcpFlow,
        emit: &mut impl FnMut(Origin, TcpEvent),
    ) -> Interest {
        let Some(tcp) = segment.tcp() else { return Interest::Done };
        if let Some((began, age)) = flow.due(sender, segment.ts) {
            on_due(began, age, segment, sender, flow, emit);
        }
        if tcp.flags & HANDSHAKE_FLAGS == TcpFlags::ACK {
            if flow.awaits_answer() {
                flow.phase = Phase::Closed;
            }
        } else {
            match Handshake::from_flags(tcp.flags) {
                Some(handshake) => on_handshake(handshake, segment, tcp, sender, flow, emit),
                None if tcp.flags.is_fin_or_rst() => flow.phase = Phase::Closed,
                None => {}
            }
        }
        if flow.is_answered() && flow.clocks == [0, 0] { Interest::Done } else { Interest::More }
    }
}

/// The flags that define the role of a segment in the connection.
const HANDSHAKE_FLAGS: TcpFlags =
    TcpFlags::SYN.union(TcpFlags::ACK).union(TcpFlags::FIN).union(TcpFlags::RST);

const NANOS_PER_MILLI: u64 = 1_000_000;

impl TcpFlow {
    /// Whether a SYN awaits its SYN+ACK.
    #[inline]
    fn awaits_answer(&self) -> bool {
        matches!(self.phase, Phase::SynSeen { .. })
    }

    /// Returns the first reading of a sender's clock and its age (ms), if the clock is due for measurement.
    #[inline]
    fn due(&self, sender: Side, ts: Timestamp) -> Option<(ClockReading, u64)> {
        let ([client, server], [client_began, server_began]) = (self.clocks, self.began);
        let value = sender.choose(client, server);
        if value == 0 {
            return None;
        }
        let began = ClockReading { value, at_millis: sender.choose(client_began, server_began) };
        // Equals the comparison in milliseconds, because the start is in whole milliseconds, and avoids a division.
        let due_at = began.at_millis.wrapping_mul(NANOS_PER_MILLI).saturating_add(MIN_CLOCK_NANOS);
        (ts.as_nanos() >= due_at).then(|| (began, ts.as_millis().saturating_sub(began.at_millis)))
    }
}

/// Measures the sender's clock once it is due. The result is final.
#[inline(never)]
fn on_due(
    began: ClockReading,
    age: u64,
    segment: &Segment<'_>,
    sender: Side,
    flow: &mut TcpFlow,
    emit: &mut impl FnMut(Origin, TcpEvent),
) {
    let [client, server] = &mut flow.clocks;
    if let Some(clock) = measure(began, age, segment, sender.choose(client, server)) {
        emit(sender.into(), TcpEvent::Clock(clock));
    }
}

/// Measures a clock `age` milliseconds after it `began`. Sets its value to 0 unless the result is inconclusive.
fn measure(began: ClockReading, age: u64, segment: &Segment<'_>, value: &mut u32) -> Option<Clock> {
    let measurement = if MEASURABLE_MILLIS.contains(&age) {
        ClockReading::from_segment(segment)?.since(began)
    } else {
        Measurement::NoClock
    };
    if measurement != Measurement::Nothing {
        *value = 0;
    }
    match measurement {
        Measurement::Clock(clock) => Some(clock),
        Measurement::Nothing | Measurement::NoClock => None,
    }
}

/// Handles a SYN or SYN+ACK.
#[inline(never)]
fn on_handshake(
    handshake: Handshake,
    segment: &Segment<'_>,
    tcp: &TcpHeader<'_>,
    sender: Side,
    flow: &mut TcpFlow,
    emit: &mut impl FnMut(Origin, TcpEvent),
) {
    let (peer_mss, answers_sendsyn) = match (handshake, sender, flow.phase) {
        // The engine starts a new flow for a SYN of another connection, so this is the first SYN or a retransmission.
        (Handshake::Syn, Side::Client, Phase::Closed) => (None, false),
        (Handshake::SynAck, Side::Server, Phase::SynSeen { mss, sendsyn }) => (Some(mss), sendsyn),
        _ => return,
    };
    let signature = TcpSignature::from_handshake(handshake, segment, tcp, peer_mss);
    // A SYN+ACK counts as a response to `p0f-sendsyn` because of the SYN that it answers.
    let (mss, sendsyn) = (signature.mss, answers_sendsyn || signature.is_sendsyn());
    let millis = segment.ts.as_millis();
    match handshake {
        Handshake::Syn => {
            flow.phase = Phase::SynSeen { mss, sendsyn };
            (flow.clocks, flow.began) = ([signature.timestamp, 0], [millis, 0]);
        }
        Handshake::SynAck if sendsyn => flow.phase = Phase::Closed,
        Handshake::SynAck => {
            flow.phase = Phase::Answered;
            let ([_, server], [_, server_began]) = (&mut flow.clocks, &mut flow.began);
            (*server, *server_began) = (signature.timestamp, millis);
        }
    }
    let version = signature.version;
    emit(
        sender.into(),
        match (handshake, sendsyn) {
            (Handshake::Syn, false) => TcpEvent::Syn(signature),
            (Handshake::Syn, true) => TcpEvent::SendsynProbe(signature),
            (Handshake::SynAck, false) => TcpEvent::SynAck(signature),
            (Handshake::SynAck, true) => TcpEvent::SendsynResponse(signature),
        },
    );
    if let Some(mtu) = Mtu::from_mss(version, mss).filter(|_| !sendsyn) {
        emit(sender.into(), TcpEvent::Mtu(mtu));
    }
}
