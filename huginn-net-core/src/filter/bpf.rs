//! BPF filter expressions, compiled and run by libpcap.

use std::fmt;
use std::sync::Arc;

use huginn_net_bpf::{FilterError, Program};

use crate::{Block, ChunkReader, Fill, Frame, LinkType, NextFrame, Source};

/// A filter expression (`pcap-filter(7)`), compiled for usual link types at once, and for others on first use.
///
/// A frame of a link type that the expression cannot be compiled for (`ether host` on raw IP) does not pass.
/// `len`, `greater` and `less` see the captured length, not that on the wire.
#[derive(Clone)]
pub struct Bpf {
    expression: String,
    programs: Vec<(LinkType, Option<Arc<Program>>)>,
}

/// Link types of live captures, whose programs are compiled at once: a program that has confined itself can no longer read the files
/// that names of hosts and ports come from.
const USUAL_LINKS: [LinkType; 4] =
    [LinkType::RAW, LinkType::LINUX_SLL, LinkType::LINUX_SLL2, LinkType::IEEE802_11_RADIOTAP];

impl Bpf {
    /// Compiles an expression for Ethernet and usual link types; others follow when they occur.
    ///
    /// # Errors
    /// If the system has no libpcap, or libpcap refuses the expression for Ethernet.
    pub fn new(expression: impl Into<String>) -> Result<Self, BpfError> {
        let expression = expression.into();
        match compile(&expression, LinkType::ETHERNET) {
            Ok(program) => {
                let others = USUAL_LINKS.map(|link| (link, compile(&expression, link).ok()));
                let programs = std::iter::once((LinkType::ETHERNET, Some(program))).chain(others).collect();
                Ok(Self { expression, programs })
            }
            Err(source) => Err(BpfError { expression, source }),
        }
    }

    /// Whether a frame passes.
    pub fn passes(&mut self, frame: &Frame<'_>) -> bool {
        let existing = self.programs.iter().position(|(link, _)| *link == frame.link);
        let index = existing.unwrap_or_else(|| {
            self.programs.push((frame.link, compile(&self.expression, frame.link).ok()));
            self.programs.len().saturating_sub(1)
        });
        match self.programs.get(index) {
            Some((_, Some(program))) => {
                program.passes(frame.data.get(link_header(frame.link)..).unwrap_or_default())
            }
            _ => false,
        }
    }
}

/// A source that removes the frames that an expression rejects from each block.
pub(crate) struct BpfSource<'a, S> {
    source: S,
    bpf: Option<&'a mut Bpf>,
}

impl<'a, S> BpfSource<'a, S> {
    /// Wraps a source. Without an expression all frames pass.
    pub(crate) fn new(source: S, bpf: Option<&'a mut Bpf>) -> Self {
        Self { source, bpf }
    }
}

impl<'f, S: Source<'f>> Source<'f> for BpfSource<'_, S> {
    type Error = S::Error;

    fn is_live(&self) -> bool {
        self.source.is_live()
    }

    fn lends(&self) -> bool {
        self.source.lends()
    }

    fn next_frame(&mut self) -> Result<NextFrame<'_>, S::Error> {
        self.source.next_frame()
    }

    fn chunks(&mut self, block_bytes: usize) -> Option<Arc<dyn ChunkReader>> {
        self.source.chunks(block_bytes)
    }

    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, S::Error> {
        let outcome = self.source.fill(block);
        if let Some(bpf) = &mut self.bpf {
            block.filter(|frame| bpf.passes(frame));
        }
        outcome
    }
}

impl fmt::Debug for Bpf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bpf").field(&self.expression).finish()
    }
}

fn compile(expression: &str, link: LinkType) -> Result<Arc<Program>, FilterError> {
    Program::compile(expression, dlt(link).into()).map(Arc::new)
}

/// Length of the header that is removed before the program runs, in bytes. BSD loopback stores the address family in
/// the byte order of the capturing machine; libpcap expects that of the reading machine. The IP version is in the
/// packet as well.
fn link_header(link: LinkType) -> usize {
    if matches!(link, LinkType::NULL | LinkType::LOOP) { 4 } else { 0 }
}

/// Converts a `LINKTYPE_` of a file to the `DLT_` number of libpcap. Among the decoded types, only raw IP and
/// loopback differ.
fn dlt(link: LinkType) -> u16 {
    match link {
        LinkType::RAW | LinkType::RAW_OPENBSD | LinkType::NULL | LinkType::LOOP => LinkType::RAW_BSD.0,
        other => other.0,
    }
}

/// A filter expression that could not be compiled.
#[derive(Debug, thiserror::Error)]
#[error("filter expression '{expression}': {source}")]
#[non_exhaustive]
pub struct BpfError {
    /// The expression.
    pub expression: String,
    /// The reason.
    pub source: FilterError,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    /// An Ethernet frame with an empty UDP datagram from port 53 to port 1024.
    const UDP_FRAME: &[u8] = &[
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x08, 0x00, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0,
        0, 1, 10, 0, 0, 2, 0, 53, 4, 0, 0, 8, 0, 0,
    ];

    fn frame(link: LinkType, data: &[u8]) -> Frame<'_> {
        Frame { ts: Timestamp::default(), link, data, wire_len: 42 }
    }

    #[test]
    fn expression_compiles_for_every_link_type() {
        let mut bpf = Bpf::new("udp port 53").unwrap();
        assert!(bpf.passes(&frame(LinkType::ETHERNET, UDP_FRAME)));
        let mut loopback = vec![0, 0, 0, 2];
        loopback.extend(&UDP_FRAME[14..]);
        assert!(
            bpf.passes(&frame(LinkType::NULL, &loopback)) && bpf.passes(&frame(LinkType::LOOP, &loopback))
        );
        assert!(bpf.passes(&frame(LinkType::RAW, &UDP_FRAME[14..])));
        assert!(!Bpf::new("tcp").unwrap().passes(&frame(LinkType::ETHERNET, UDP_FRAME)));
    }

    #[test]
    fn expression_rejects_frames_of_unsuitable_link_type() {
        let mut bpf = Bpf::new("ether host 01:02:03:04:05:06").unwrap();
        assert!(bpf.passes(&frame(LinkType::ETHERNET, UDP_FRAME)));
        assert!(!bpf.passes(&frame(LinkType::RAW, &UDP_FRAME[14..])));
    }

    #[test]
    fn error_names_invalid_expression() {
        let error = Bpf::new("tcp prot 80").unwrap_err();
        assert!(error.to_string().starts_with("filter expression 'tcp prot 80': "), "{error}");
    }
}
