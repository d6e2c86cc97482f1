//! Process names in headers and trailers of frames.

use crate::{Cursor, Frame, FrameProcess, LinkType, ProcessEnd, ProcessOrigin, Truncated};

/// PKTAP, and the number that old versions of macOS use for it.
const PKTAP: [LinkType; 2] = [LinkType(258), LinkType(149)];

impl<'a> FrameProcess<'a> {
    /// Reads the process from a PKTAP header or a PCAPdroid trailer; `None` if the frame has neither, or names none.
    ///
    /// A PKTAP header may name two processes: one that owns the socket, and one for which it works. The second one counts,
    /// such as Safari rather than its network process. The layout is that of `struct pktap_header` in `net/pktap.h` of
    /// macOS, its first version.
    ///
    /// [PCAPdroid's trailer](https://emanuele-f.github.io/PCAPdroid/advanced_features#45-pcapdroid-trailer) is 32 bytes
    /// after the IP packet. It names the app that opened the flow, on packets of both directions.
    pub fn from_frame(frame: &Frame<'a>) -> Option<Self> {
        match frame.link {
            LinkType::ETHERNET => pcapdroid(frame.data),
            link if PKTAP.contains(&link) => pktap(frame.data).ok()?,
            _ => None,
        }
    }
}

/// Reads the fields of a PKTAP header, in the byte order of the machine, little-endian.
fn pktap(data: &[u8]) -> Result<Option<FrameProcess<'_>>, Truncated> {
    const INBOUND: u32 = 1;
    const OUTBOUND: u32 = 2;
    let mut cursor = Cursor::new(data);
    let len = usize::try_from(cursor.u32_le()?).unwrap_or(usize::MAX);
    let mut cursor = Cursor::new(data.get(..len).unwrap_or_default());
    // Length, record type, link type, interface name.
    cursor.skip(36)?;
    let flags = cursor.u32_le()?;
    // Protocol family, lengths of link-layer header and trailer, process identifier.
    cursor.skip(16)?;
    let own = cursor.take(20)?;
    // Service class, interface type and unit, identifier of the effective process.
    cursor.skip(12)?;
    let effective = cursor.take(20)?;
    let end = match flags & (INBOUND | OUTBOUND) {
        INBOUND => ProcessEnd::Receiver,
        OUTBOUND => ProcessEnd::Sender,
        _ => ProcessEnd::Unknown,
    };
    // A name has 16 bytes and a NUL; three bytes of padding follow.
    let mut names = [effective, own].into_iter().filter_map(|field| name(field.get(..17)?));
    Ok(names.next().map(|name| FrameProcess { name, end, origin: ProcessOrigin::Pktap }))
}

/// Reads the trailer after the IP packet: magic, user, name of the app, checksum of the frame.
fn pcapdroid(data: &[u8]) -> Option<FrameProcess<'_>> {
    const ETHERNET_HEADER: usize = 14;
    const TRAILER: usize = 32;
    const MAGIC: &[u8] = &[0x01, 0x07, 0x20, 0x21];
    let (packet, trailer) = data.split_at(data.len().checked_sub(TRAILER)?);
    let mut cursor = Cursor::new(trailer.strip_prefix(MAGIC)?);
    // The trailer lies behind the IP packet.
    let packet = packet.get(ETHERNET_HEADER..)?;
    crate::ip_packet_len(packet).ok().flatten().filter(|len| *len <= packet.len())?;
    cursor.skip(4).ok()?;
    let name = name(cursor.take(20).ok()?)?;
    Some(FrameProcess { name, end: ProcessEnd::Client, origin: ProcessOrigin::Pcapdroid })
}

/// A text up to its NUL or the end of its field, unless it is empty.
fn name(field: &[u8]) -> Option<&[u8]> {
    field.split(|byte| *byte == 0).next().filter(|name| !name.is_empty())
}
