//! The programs that captures, or lists beside them, name as senders.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use huginn_net::core::{
    DecodeConfig, Decoder, FlowId, FrameProcess, ProcessEnd, ProcessOrigin, Segment, TransportKind,
};
use huginn_net::{Event, Frame, Side};

use super::clues::{TextId, Texts};
use crate::failure::Failure;
use crate::limits::MAX_LABELLED_ENDS;
use crate::plan::ProgramList;

/// A program that sent a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Program {
    pub(super) name: TextId,
    /// `None` if only the name is known.
    pub(super) version: Option<TextId>,
    pub(super) origin: ProgramOrigin,
}

/// What names a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ProgramOrigin {
    Capture(ProcessOrigin),
    List,
}

impl fmt::Display for ProgramOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture(origin) => origin.fmt(f),
            Self::List => f.write_str("a list of programs"),
        }
    }
}

/// One end of a flow: its address and that of the peer, the transport, and the key of the tunnel.
type End = (SocketAddr, SocketAddr, TransportKind, u64);

/// The programs of the flows of one capture.
pub(super) struct Programs {
    decoder: Decoder,
    /// Programs that frames name. Those of a client have both ends as keys.
    named: HashMap<End, NamedEnd>,
    /// Lists for all captures.
    lists: Vec<ProgramList>,
    /// The list beside the capture.
    beside: Option<ProgramList>,
    /// Number of frames whose process has no direction.
    pub(super) without_direction: u64,
    /// Number of frames whose program was not remembered, at the limit.
    pub(super) left_out: u64,
}

struct NamedEnd {
    program: Program,
    /// Whether the program has this end only if it is the client.
    is_client: bool,
}

impl Programs {
    pub(super) fn new(lists: Vec<ProgramList>) -> Self {
        Self {
            decoder: Decoder::new(DecodeConfig::default()),
            named: HashMap::new(),
            lists,
            beside: None,
            without_direction: 0,
            left_out: 0,
        }
    }

    /// Starts another capture, with the list beside it.
    pub(super) fn start_file(&mut self, capture: &Path) -> Result<(), Failure> {
        self.decoder = Decoder::new(DecodeConfig::default());
        self.named.clear();
        self.beside = None;
        self.beside = ProgramList::beside(capture).map(|path| ProgramList::read(&path)).transpose()?;
        Ok(())
    }

    /// Takes the process of a frame, before the frame is analysed.
    pub(super) fn learn(&mut self, frame: &Frame<'_>, process: FrameProcess<'_>, texts: &mut Texts) {
        let FrameProcess { name, end, origin, .. } = process;
        if end == ProcessEnd::Unknown {
            self.without_direction = self.without_direction.saturating_add(1);
            return;
        }
        let Some(name) = texts.intern(name) else { return };
        let program = Program { name, version: None, origin: ProgramOrigin::Capture(origin) };
        let is_client = end == ProcessEnd::Client;
        let Self { decoder, named, left_out, .. } = self;
        decoder.decode(frame, &mut |segment| {
            for end in ends(segment, end) {
                if named.len() < MAX_LABELLED_ENDS || named.contains_key(&end) {
                    named.insert(end, NamedEnd { program, is_client });
                } else {
                    *left_out = left_out.saturating_add(1);
                }
            }
        });
    }

    /// The program that caused an event.
    pub(super) fn of(&self, event: &Event, texts: &mut Texts) -> Option<Program> {
        let FlowId { client, server, transport, .. } = event.flow;
        let (own, peer) = event.subject.choose((client, server), (server, client));
        let named = self.named.get(&(own, peer, transport, event.flow.tunnel_key()));
        if let Some(named) = named.filter(|named| !named.is_client || event.subject == Side::Client) {
            return Some(named.program);
        }
        let mut lists = self.beside.iter().chain(&self.lists);
        let listed = lists.find_map(|list| list.get(transport, own, peer, event.ts))?;
        Some(Program {
            name: texts.intern(listed.name.as_bytes())?,
            version: listed.version.as_ref().and_then(|version| texts.intern(version.as_bytes())),
            origin: ProgramOrigin::List,
        })
    }
}

/// The ends of a segment's flow that a process may have.
fn ends(segment: &Segment<'_>, end: ProcessEnd) -> impl Iterator<Item = End> + use<> {
    let flow = FlowId::from_segment(segment, Side::Client);
    let end_at = |own, peer| (own, peer, flow.transport, flow.tunnel_key());
    let sender = (end != ProcessEnd::Receiver).then(|| end_at(flow.client, flow.server));
    let receiver = (end != ProcessEnd::Sender).then(|| end_at(flow.server, flow.client));
    sender.into_iter().chain(receiver)
}
