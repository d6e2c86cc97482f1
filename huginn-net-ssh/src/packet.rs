//! Binary packets before encryption begins (RFC 4253, section 6).

use huginn_net_wire::{Cursor, Parsed};

use crate::SshError;
use crate::limits::MAX_PACKET_LEN;

/// A binary packet without encryption and authentication, like every packet before SSH_MSG_NEWKEYS.
///
/// ```
/// use huginn_net_ssh::{BinaryPacket, Parsed, message};
///
/// let bytes = [0, 0, 0, 12, 10, message::NEWKEYS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff];
/// let Parsed { value: packet, consumed } = BinaryPacket::parse(&bytes)?.expect("a complete packet");
/// assert_eq!(packet.payload(), [message::NEWKEYS]);
/// assert_eq!(packet.message(), message::NEWKEYS);
/// assert_eq!(consumed, 16);
/// # Ok::<(), huginn_net_ssh::SshError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryPacket<'a> {
    message: u8,
    payload: &'a [u8],
}

impl<'a> BinaryPacket<'a> {
    /// Length of `packet_length` in bytes.
    pub(crate) const LENGTH_LEN: usize = 4;

    /// Parses the packet at the start of the bytes.
    ///
    /// The padding counts as consumed. Returns `None` if bytes are missing.
    ///
    /// # Errors
    /// [`SshError::PacketLength`] or [`SshError::PaddingLength`] if its lengths contradict each other or the packet has more
    /// than [`MAX_PACKET_LEN`] bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<Parsed<Self>>, SshError> {
        let Some(len) = Self::packet_len(bytes)? else { return Ok(None) };
        let mut cursor = Cursor::new(bytes.get(Self::LENGTH_LEN..).unwrap_or_default());
        let Ok(padding) = cursor.u8() else { return Ok(None) };
        let body = len.saturating_sub(Self::LENGTH_LEN).saturating_sub(1);
        let contradiction = || {
            let packet = u32::try_from(len.saturating_sub(Self::LENGTH_LEN)).unwrap_or(u32::MAX);
            SshError::PaddingLength { padding, packet }
        };
        let payload_len =
            body.checked_sub(padding.into()).filter(|len| *len > 0).ok_or_else(contradiction)?;
        let Ok(body) = cursor.take(body) else { return Ok(None) };
        let payload = body.get(..payload_len).unwrap_or_default();
        let message = payload.first().copied().ok_or_else(contradiction)?;
        Ok(Some(Parsed::new(Self { message, payload }, len)))
    }

    /// Returns the length of the packet at the start of the bytes, length field included; `None` if that field is truncated.
    pub(crate) fn packet_len(bytes: &[u8]) -> Result<Option<usize>, SshError> {
        let Ok(announced) = Cursor::new(bytes).u32_be() else { return Ok(None) };
        let len = usize::try_from(announced).unwrap_or(usize::MAX).saturating_add(Self::LENGTH_LEN);
        // One byte of padding_length and one of payload.
        if announced < 2 || len > MAX_PACKET_LEN {
            return Err(SshError::PacketLength { announced });
        }
        Ok(Some(len))
    }

    /// Returns the payload, which begins with the message number.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Returns the message number, the first byte of the payload; see [`message`].
    pub const fn message(&self) -> u8 {
        self.message
    }
}

/// Message numbers (RFC 4250, section 4.1.2).
pub mod message {
    /// SSH_MSG_DISCONNECT.
    pub const DISCONNECT: u8 = 1;
    /// SSH_MSG_IGNORE.
    pub const IGNORE: u8 = 2;
    /// SSH_MSG_UNIMPLEMENTED.
    pub const UNIMPLEMENTED: u8 = 3;
    /// SSH_MSG_DEBUG.
    pub const DEBUG: u8 = 4;
    /// SSH_MSG_KEXINIT.
    pub const KEXINIT: u8 = 20;
    /// SSH_MSG_NEWKEYS.
    pub const NEWKEYS: u8 = 21;
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn contradicting_lengths_are_errors() {
        assert_eq!(BinaryPacket::parse(&[0, 0, 0, 1]), Err(SshError::PacketLength { announced: 1 }));
        assert_eq!(BinaryPacket::parse(b"HTTP/1.1"), Err(SshError::PacketLength { announced: 0x4854_5450 }));
        let error = Err(SshError::PaddingLength { padding: 4, packet: 5 });
        assert_eq!(BinaryPacket::parse(&[0, 0, 0, 5, 4, 1, 0, 0, 0]), error);
        assert_eq!(BinaryPacket::parse(&[0, 0, 0, 5, 4]), error, "before the packet is complete");
    }

    #[test]
    fn longest_packet_is_accepted() {
        let longest = u32::try_from(MAX_PACKET_LEN - BinaryPacket::LENGTH_LEN).unwrap();
        assert_eq!(BinaryPacket::parse(&longest.to_be_bytes()), Ok(None));
        let announced = longest + 1;
        assert_eq!(BinaryPacket::parse(&announced.to_be_bytes()), Err(SshError::PacketLength { announced }));
    }
}
