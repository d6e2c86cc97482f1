//! Process information blocks of macOS, and the options of packets that refer to them: block type `PCAPNG_BT_PIB` and
//! options `PCAPNG_EPB_PIB_INDEX` and `PCAPNG_EPB_E_PIB_INDEX` of Apple's libpcap (`pcap/pcap-ng.h`).

use super::options::Options;
use crate::byte_order::ByteOrder;
use crate::error::{Defect, ReadError};
use crate::limits::{MAX_PROCESS_NAME_LEN, MAX_PROCESSES};
use huginn_net_core::{Cursor, FrameProcess, ProcessEnd, ProcessOrigin};

/// Type of a process information block, from the range for local use.
pub(super) const PROCESS_INFORMATION: u32 = 0x8000_0001;

const NAME: u16 = 2;
const FLAGS: u16 = 2;
const PROCESS: u16 = 0x8001;
/// The process for which the first one works.
const EFFECTIVE_PROCESS: u16 = 0x8003;

/// The processes of a section, and that of the latest packet.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// Names in the order of the blocks; empty if a block has none.
    names: Vec<Box<[u8]>>,
    latest: Option<(usize, ProcessEnd)>,
    /// The first defect since the last packet, and the offset of its block.
    defect: Option<(u64, Defect)>,
}

impl Processes {
    /// Starts another section.
    pub(super) fn clear(&mut self) {
        self.names.clear();
    }

    /// Reads the body of a process information block at an offset of the capture.
    pub(super) fn add(&mut self, order: ByteOrder, body: &[u8], offset: u64) {
        if self.names.len() >= MAX_PROCESSES {
            return self.note(offset, Defect::TooManyProcesses { max: MAX_PROCESSES }.into());
        }
        let name = process_name(order, body).unwrap_or_else(|error| {
            self.note(offset, error);
            &[]
        });
        self.names.push(name.into());
    }

    /// Reads the options of a packet at an offset of the capture.
    pub(super) fn begin_packet(&mut self, order: ByteOrder, options: &[u8], offset: u64) {
        self.latest = match self.find(order, options) {
            Ok(found) => found,
            Err(error) => {
                self.note(offset, error);
                None
            }
        };
    }

    fn find(&self, order: ByteOrder, options: &[u8]) -> Result<Option<(usize, ProcessEnd)>, ReadError> {
        let mut options = Options::new(order, Cursor::new(options));
        let (mut own, mut effective, mut end) = (None, None, ProcessEnd::Unknown);
        while let Some(option) = options.next()? {
            let word = || Ok::<_, ReadError>(order.u32(&mut Cursor::new(&option.array::<4>()?))?);
            match option.code {
                PROCESS => own = Some(self.index(word()?)?),
                EFFECTIVE_PROCESS => effective = Some(self.index(word()?)?),
                // Bits 0 and 1 of `epb_flags` are the direction.
                FLAGS => {
                    end = match word()? & 3 {
                        1 => ProcessEnd::Receiver,
                        2 => ProcessEnd::Sender,
                        _ => ProcessEnd::Unknown,
                    }
                }
                _ => {}
            }
        }
        let has_name = |index: &usize| self.names.get(*index).is_some_and(|name| !name.is_empty());
        Ok(effective.filter(has_name).or(own.filter(has_name)).map(|index| (index, end)))
    }

    fn index(&self, index: u32) -> Result<usize, Defect> {
        let known = self.names.len();
        let found = usize::try_from(index).ok().filter(|index| *index < known);
        found.ok_or(Defect::UnknownProcess { index, known })
    }

    /// Remembers the first defect.
    fn note(&mut self, offset: u64, error: ReadError) {
        if let ReadError::Defect(defect) = error {
            self.defect.get_or_insert((offset, defect));
        }
    }

    /// Returns the process of the latest packet, or the first defect since the packet before it with the offset of its block.
    pub(crate) fn latest(&mut self) -> Result<Option<FrameProcess<'_>>, (u64, Defect)> {
        if let Some(defect) = self.defect.take() {
            return Err(defect);
        }
        let process = self.latest.and_then(|(index, end)| {
            let name = self.names.get(index)?;
            Some(FrameProcess::new(name, end, ProcessOrigin::ProcessBlock))
        });
        Ok(process)
    }
}

/// Returns the name in the body of a process information block, cut to the limit; empty if it has none.
fn process_name(order: ByteOrder, body: &[u8]) -> Result<&[u8], ReadError> {
    let mut body = Cursor::new(body);
    let _process_id = order.u32(&mut body)?;
    let mut options = Options::new(order, body);
    while let Some(option) = options.next()? {
        if option.code == NAME {
            let name = option.value.split(|byte| *byte == 0).next().unwrap_or_default();
            return Ok(name.get(..MAX_PROCESS_NAME_LEN).unwrap_or(name));
        }
    }
    Ok(&[])
}
