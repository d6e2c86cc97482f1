//! The flags of a TCP connection, as Zeek reports them.

use std::fmt;

use huginn_net_core::{Segment, Side, TcpFlags};

/// Letters of both sides: each side has at most one of each kind.
const MAX_LETTERS: usize = 14;

/// What the packets of a TCP connection were, in the form of Zeek's `history`, and how far each side came.
///
/// [`Display`](fmt::Display) is the history: a letter when a packet of its kind is first sent, in upper case by the client. `s`
/// and `h`: SYN without and with ACK, `a`: acknowledgement alone, `d`: payload, `f`: FIN, `r`: RST, `i`: FIN and RST,
/// `q`: other mixtures of SYN, FIN and RST. Zeek's letters for checksums, gaps, retransmissions and windows are not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHistory {
    letters: [u8; MAX_LETTERS],
    len: u8,
    /// The kinds of packets that each side has sent.
    seen: [u8; 2],
    client: Endpoint,
    server: Endpoint,
}

/// The state of one side, as in Zeek.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Endpoint {
    #[default]
    Inactive,
    SynSent,
    SynAckSent,
    /// Something was sent, but no SYN.
    Partial,
    Established,
    /// A FIN was sent.
    Closed,
    /// A RST was sent.
    Reset {
        after_fin: bool,
    },
}

impl TcpHistory {
    /// Takes a segment.
    pub(crate) fn on_segment(&mut self, segment: &Segment<'_>, sender: Side, payload: u64) {
        let Some(tcp) = segment.tcp() else { return };
        let flags = tcp.flags;
        self.add_letter(flags, sender, payload);
        let (endpoint, peer) = match sender {
            Side::Client => (&mut self.client, &mut self.server),
            Side::Server => (&mut self.server, &mut self.client),
        };
        update(endpoint, peer, flags, sender, payload);
    }

    fn add_letter(&mut self, flags: TcpFlags, sender: Side, payload: u64) {
        let control = flags & (TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST);
        let (kind, letter) = if control == TcpFlags::SYN {
            (1, if flags.contains(TcpFlags::ACK) { b'h' } else { b's' })
        } else if control == TcpFlags::FIN {
            (2, b'f')
        } else if control == TcpFlags::RST {
            (4, b'r')
        } else if control.contains(TcpFlags::FIN | TcpFlags::RST) {
            (8, b'i')
        } else if !control.is_empty() {
            (16, b'q')
        } else if payload > 0 {
            (32, b'd')
        } else if flags.contains(TcpFlags::ACK) {
            (64, b'a')
        } else {
            return;
        };
        let [client, server] = &mut self.seen;
        let seen = sender.choose(client, server);
        if *seen & kind == 0
            && let Some(place) = self.letters.get_mut(usize::from(self.len))
        {
            *seen |= kind;
            *place = if sender == Side::Client { letter.to_ascii_uppercase() } else { letter };
            self.len = self.len.saturating_add(1);
        }
    }

    /// Zeek's `conn_state` of the connection: `SF`, `S0`, `REJ` and others. `has_payload`: whether a side sent payload.
    pub fn state(&self, has_payload: bool) -> &'static str {
        let is_inactive = |side| matches!(side, Endpoint::Inactive | Endpoint::Partial);
        match (self.client, self.server) {
            (Endpoint::SynSent | Endpoint::SynAckSent, Endpoint::Reset { .. }) => "REJ",
            (Endpoint::Reset { .. }, Endpoint::Reset { .. }) if !has_payload => "REJ",
            (client, Endpoint::Reset { .. }) if is_inactive(client) => "RSTRH",
            (_, Endpoint::Reset { .. }) => "RSTR",
            (Endpoint::Reset { .. }, server) if is_inactive(server) => "RSTOS0",
            (Endpoint::Reset { .. }, _) => "RSTO",
            (Endpoint::Closed, Endpoint::Closed) => "SF",
            (Endpoint::Closed, server) if is_inactive(server) => "SH",
            (Endpoint::Closed, _) => "S2",
            (client, Endpoint::Closed) if is_inactive(client) => "SHR",
            (_, Endpoint::Closed) => "S3",
            (Endpoint::SynSent, Endpoint::Inactive) => "S0",
            (Endpoint::Established, Endpoint::Established) => "S1",
            _ => "OTH",
        }
    }

    /// Whether it has no packets.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Display for TcpHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = self.letters.get(..usize::from(self.len)).unwrap_or_default();
        letters.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

/// Moves the sender to its next state.
fn update(endpoint: &mut Endpoint, peer: &mut Endpoint, flags: TcpFlags, sender: Side, payload: u64) {
    let has = |flag| flags.contains(flag);
    match *endpoint {
        Endpoint::Inactive => start(endpoint, peer, flags, sender, payload),
        Endpoint::SynSent | Endpoint::SynAckSent => {
            if has(TcpFlags::FIN) {
                *endpoint = Endpoint::Closed;
            }
            if has(TcpFlags::RST) {
                *endpoint = Endpoint::Reset { after_fin: false };
            }
        }
        Endpoint::Established | Endpoint::Partial => {
            let is_initial = has(TcpFlags::SYN) && !has(TcpFlags::ACK);
            if *endpoint == Endpoint::Partial && *peer == Endpoint::Inactive && is_initial {
                *endpoint = Endpoint::SynSent;
            }
            if has(TcpFlags::RST) {
                *endpoint = Endpoint::Reset { after_fin: false };
            } else if has(TcpFlags::FIN) {
                *endpoint = Endpoint::Closed;
                if *peer == (Endpoint::Reset { after_fin: true }) {
                    *peer = Endpoint::Closed;
                }
            }
        }
        Endpoint::Closed if has(TcpFlags::RST) && *peer != Endpoint::Closed => {
            *endpoint = Endpoint::Reset { after_fin: true };
        }
        Endpoint::Closed | Endpoint::Reset { .. } => {}
    }
}

/// Gives a sender its first state.
fn start(endpoint: &mut Endpoint, peer: &mut Endpoint, flags: TcpFlags, sender: Side, payload: u64) {
    let has = |flag| flags.contains(flag);
    if has(TcpFlags::SYN) {
        *endpoint = match (sender, has(TcpFlags::ACK)) {
            (Side::Client, true) => Endpoint::SynAckSent,
            (Side::Client, false) => Endpoint::SynSent,
            (Side::Server, _) => Endpoint::Established,
        };
        if sender == Side::Server && *peer == Endpoint::SynSent {
            *peer = Endpoint::Established;
        }
    }
    if has(TcpFlags::FIN) {
        *endpoint = Endpoint::Closed;
    }
    if has(TcpFlags::RST) {
        *endpoint = Endpoint::Reset { after_fin: false };
    }
    let control = TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST;
    let acknowledges_syn = sender == Side::Server && payload == 0 && *peer == Endpoint::SynSent;
    if !flags.intersects(control) && !acknowledges_syn {
        let is_late = has(TcpFlags::ACK) && *peer == Endpoint::Established;
        *endpoint = if is_late { Endpoint::Established } else { Endpoint::Partial };
    }
}

#[cfg(test)]
mod tests {
    use huginn_net_core::{Segment, Side, TcpFlags, TcpHeader};

    use super::TcpHistory;

    /// Packets as letters of Zeek: upper case by the client; `x` is payload with FIN.
    fn history(packets: &str) -> (String, &'static str) {
        let mut history = TcpHistory::default();
        let mut has_payload = false;
        for letter in packets.chars() {
            let flags = match letter.to_ascii_lowercase() {
                's' => TcpFlags::SYN,
                'h' => TcpFlags::SYN | TcpFlags::ACK,
                'f' | 'x' => TcpFlags::FIN | TcpFlags::ACK,
                'r' => TcpFlags::RST,
                'i' => TcpFlags::FIN | TcpFlags::RST,
                'q' => TcpFlags::SYN | TcpFlags::FIN,
                'n' => TcpFlags::empty(),
                _ => TcpFlags::ACK,
            };
            let sender = if letter.is_ascii_uppercase() { Side::Client } else { Side::Server };
            let payload = u64::from("dx".contains(letter.to_ascii_lowercase()));
            has_payload |= payload > 0;
            let tcp = TcpHeader {
                src_port: 1,
                dst_port: 2,
                seq: 0,
                ack: 0,
                flags,
                window: 0,
                urgent: 0,
                options: &[],
            };
            history.on_segment(&Segment::from_tcp(tcp, &[]), sender, payload);
        }
        (history.to_string(), history.state(has_payload))
    }

    #[test]
    fn states_and_letters_are_those_of_zeek() {
        let cases = [
            ("ShADDdadFfA", "ShADdaFf", "SF"),
            ("S", "S", "S0"),
            ("SS", "S", "S0"),
            ("Sr", "Sr", "REJ"),
            ("Sh", "Sh", "S1"),
            ("ShR", "ShR", "RSTO"),
            ("ShADr", "ShADr", "RSTR"),
            ("ShADaFr", "ShADaFr", "RSTR"),
            ("ShAFdR", "ShAFdR", "RSTO"),
            ("ShAFRf", "ShAFRf", "SF"),
            ("ShAFfR", "ShAFfR", "SF"),
            ("ShAF", "ShAF", "S2"),
            ("ShAf", "ShAf", "S3"),
            ("SF", "SF", "SH"),
            ("SR", "SR", "RSTOS0"),
            ("h", "h", "OTH"),
            ("hf", "hf", "SHR"),
            ("hr", "hr", "RSTRH"),
            ("Da", "Da", "OTH"),
            ("DdFf", "DdFf", "SF"),
            ("DN", "D", "OTH"),
            ("ShXx", "ShFf", "SF"),
            ("SaA", "SaA", "S0"),
            ("hA", "hA", "S1"),
            ("SI", "SI", "RSTOS0"),
            ("Q", "Q", "SH"),
        ];
        for (packets, letters, state) in cases {
            assert_eq!(history(packets), (letters.to_owned(), state), "{packets}");
        }
    }
}
