//! The TCP handshakes of a capture, watched flow by flow.

use huginn_net_core::{Analyzer, Interest, Protocol, Segment, Side, TcpFlags, TcpHeader, Timestamp};

use crate::clock::MEASURABLE_MILLIS;
use crate::{Clock, ClockReading, Handshake, Measurement, Mtu, TcpSignature};

/// The analyzer of TCP handshakes alone.
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
/// let _ = analyzer.push(&frame, &mut events);
/// analyzer.finish();
/// assert!(matches!(events[0].kind, TcpEvent::Syn(signature) if signature.mss == 1460));
/// assert!(matches!(events[1].kind, TcpEvent::Mtu(mtu) if mtu.0 == 1500));
/// ```
pub type HuginnNetTcp = Analyzer<TcpObserver>;

/// Reports the signatures, link sizes and timestamp clocks of both ends of each TCP connection whose SYN it sees.
///
/// What counts is what counts for p0f: a retransmitted SYN is not news; a SYN+ACK is, once, from the side that was
/// addressed; an ACK before it, a FIN or an RST ends the handshake, and the same SYN after that is news again.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpObserver;

/// What a [`TcpObserver`] learns. The event's subject is whom it describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcpEvent {
    /// The signature of a client's SYN.
    Syn(TcpSignature),
    /// The signature of a server's SYN+ACK.
    SynAck(TcpSignature),
    /// The link of whom the signature just before was of; only if that told a maximum segment size.
    Mtu(Mtu),
    /// The SYN of p0f's tool `p0f-sendsyn`; see [`TcpSignature::is_sendsyn`]. Tells nothing of a link.
    SendsynProbe(TcpSignature),
    /// What the server answered to it.
    SendsynResponse(TcpSignature),
    /// The clock behind the timestamps of this side, measured from its SYN or SYN+ACK on. Once a connection at most.
    Clock(Clock),
}

/// What a [`TcpObserver`] remembers of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpFlow {
    phase: Phase,
    /// The values from which the clocks of client and server are measured; 0 where there is nothing to measure.
    clocks: [u32; 2],
    /// When (ms) the clocks had them.
    began: [u64; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No SYN yet, or the handshake ended without a SYN+ACK, or the connection ended.
    #[default]
    Closed,
    /// A SYN is waiting for its SYN+ACK.
    SynSeen { mss: u16, sendsyn: bool },
    /// The SYN+ACK was seen.
    Answered,
}

impl TcpFlow {
    /// Whether the SYN was answered by a SYN+ACK, both of them seen.
    pub fn is_answered(&self) -> bool {
        matches!(self.phase, Phase::Answered)
    }

    /// Takes the connection for ended, so that its SYN is news when it comes again and its SYN+ACK is not.
    ///
    /// p0f does so once it took either side for a user-space tool: such a tool has no connections.
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
        let handshake = Handshake::of(segment.tcp()?.flags)?;
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
        emit: &mut impl FnMut(Side, TcpEvent),
    ) -> Interest {
        let Some(tcp) = segment.tcp() else { return Interest::Done };
        if let Some((began, age)) = flow.due(sender, segment.ts) {
            on_due(began, age, segment, sender, flow, emit);
        }
        if tcp.flags & PART == TcpFlags::ACK {
            if flow.awaits_answer() {
                flow.phase = Phase::Closed;
            }
        } else {
            match Handshake::of(tcp.flags) {
                Some(handshake) => on_handshake(handshake, segment, tcp, sender, flow, emit),
                None if tcp.flags.is_fin_or_rst() => flow.phase = Phase::Closed,
                None => {}
            }
        }
        if flow.is_answered() && flow.clocks == [0, 0] { Interest::Done } else { Interest::More }
    }
}

/// The flags that tell a segment's part in the connection.
const PART: TcpFlags = TcpFlags::SYN.union(TcpFlags::ACK).union(TcpFlags::FIN).union(TcpFlags::RST);

/// For how long (ns) a clock is let run. p0f takes what it finds after 25 ms, of which a segment that waits on its way
/// takes away a good part.
const MIN_NANOS: u64 = 500 * NANOS_A_MILLI;
const NANOS_A_MILLI: u64 = 1_000_000;

impl TcpFlow {
    /// Whether a SYN is waiting for its SYN+ACK.
    #[inline]
    fn awaits_answer(&self) -> bool {
        matches!(self.phase, Phase::SynSeen { .. })
    }

    /// From which reading on a sender's clock is to be measured, and for how long (ms) it has run; if it is time.
    #[inline]
    fn due(&self, sender: Side, ts: Timestamp) -> Option<(ClockReading, u64)> {
        let ([client, server], [client_began, server_began]) = (self.clocks, self.began);
        let value = sender.choose(client, server);
        if value == 0 {
            return None;
        }
        let began = ClockReading { value, at_millis: sender.choose(client_began, server_began) };
        // The same as by milliseconds, as these are whole where it began, and without a division.
        let due_at = began.at_millis.wrapping_mul(NANOS_A_MILLI).saturating_add(MIN_NANOS);
        (ts.as_nanos() >= due_at).then(|| (began, ts.as_millis().saturating_sub(began.at_millis)))
    }
}

/// Measures the sender's clock, for which the time has come; it is then measured, or given up, for good.
#[inline(never)]
fn on_due(
    began: ClockReading,
    age: u64,
    segment: &Segment<'_>,
    sender: Side,
    flow: &mut TcpFlow,
    emit: &mut impl FnMut(Side, TcpEvent),
) {
    let [client, server] = &mut flow.clocks;
    if let Some(clock) = measure(began, age, segment, sender.choose(client, server)) {
        emit(sender, TcpEvent::Clock(clock));
    }
}

/// Measures a clock that has run for `age` milliseconds since it `began`; its value becomes 0 unless that tells nothing.
fn measure(began: ClockReading, age: u64, segment: &Segment<'_>, value: &mut u32) -> Option<Clock> {
    let measurement = if MEASURABLE_MILLIS.contains(&age) {
        ClockReading::of(segment)?.since(began)
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

/// Takes a SYN or SYN+ACK.
#[inline(never)]
fn on_handshake(
    handshake: Handshake,
    segment: &Segment<'_>,
    tcp: &TcpHeader<'_>,
    sender: Side,
    flow: &mut TcpFlow,
    emit: &mut impl FnMut(Side, TcpEvent),
) {
    let (peer_mss, answers_sendsyn) = match (handshake, sender, flow.phase) {
        // The engine hands a SYN that begins another connection to a flow of its own: here it can only be the first
        // or its retransmission.
        (Handshake::Syn, Side::Client, Phase::Closed) => (None, false),
        (Handshake::SynAck, Side::Server, Phase::SynSeen { mss, sendsyn }) => (Some(mss), sendsyn),
        _ => return,
    };
    let signature = TcpSignature::of_handshake(handshake, segment, tcp, peer_mss);
    // A SYN+ACK is none by itself, but by the SYN that it answers.
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
        sender,
        match (handshake, sendsyn) {
            (Handshake::Syn, false) => TcpEvent::Syn(signature),
            (Handshake::Syn, true) => TcpEvent::SendsynProbe(signature),
            (Handshake::SynAck, false) => TcpEvent::SynAck(signature),
            (Handshake::SynAck, true) => TcpEvent::SendsynResponse(signature),
        },
    );
    if let Some(mtu) = Mtu::from_mss(version, mss).filter(|_| !sendsyn) {
        emit(sender, TcpEvent::Mtu(mtu));
    }
}
