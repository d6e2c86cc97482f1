//! What flows tell of hosts.

use huginn_net_db::{HttpMatch, TcpMatch};
use huginn_net_http::HttpSignature;
use huginn_net_tcp::{Clock, ClockReading, TcpSignature};

use super::clocks::P0fClock;
use crate::{HttpVerdict, SystemCheck};

/// What a flow tells [`Hosts`](crate::Hosts) of the host that is the event's subject.
#[derive(Clone, Debug)]
pub struct HostNote(pub(super) Note);

impl From<Note> for HostNote {
    fn from(note: Note) -> Self {
        Self(note)
    }
}

/// The kinds of notes.
#[derive(Clone, Debug)]
pub(crate) enum Note {
    /// A SYN or SYN+ACK.
    Tcp(TcpNote),
    /// A measured clock.
    Clock(Clock),
    /// A timestamp that p0f looks at.
    Timestamp(ClockReading, P0fClock),
    /// The head of a request or response.
    Http(HttpNote),
}

/// A SYN or SYN+ACK, and what it was found to be.
#[derive(Clone, Debug)]
pub(crate) struct TcpNote {
    pub(crate) signature: TcpSignature,
    pub(crate) matched: Option<TcpMatch>,
    /// Where p0f's way is followed, the clocks of the connection.
    pub(crate) clock: Option<P0fClock>,
}

/// The head of a request or response, and what it was found to be.
#[derive(Clone, Debug)]
pub(crate) struct HttpNote {
    pub(crate) signature: HttpSignature,
    pub(crate) matched: Option<HttpMatch>,
    pub(crate) system: SystemCheck,
    /// Whether p0f looks at it: the first of its direction, of a kind that p0f reads.
    pub(crate) counts: bool,
}

impl HttpNote {
    pub(crate) fn new(verdict: &HttpVerdict, counts: bool) -> Self {
        let HttpVerdict { signature, matched, system, .. } = verdict;
        Self { signature: signature.clone(), matched: matched.clone(), system: system.clone(), counts }
    }
}
