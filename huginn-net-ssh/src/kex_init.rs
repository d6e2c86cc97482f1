//! SSH_MSG_KEXINIT (RFC 4253, section 7.1).

use std::borrow::Cow;
use std::fmt;

use huginn_net_wire::{Cursor, Parsed};

use crate::limits::{MAX_PACKET_LEN, MAX_PACKETS_BEFORE_KEX_INIT};
use crate::packet::message;
use crate::{BinaryPacket, NameList, SshError, SshField};

/// Length of `cookie` in bytes.
const COOKIE_LEN: usize = 16;
/// Offset of the first list in bytes, after message number and `cookie`.
const HEAD_LEN: usize = COOKIE_LEN + 1;
/// Length in bytes of the length field of a list.
const LIST_LENGTH_LEN: usize = 4;

/// The lists in the order of the wire.
const LISTS: [SshField; 10] = [
    SshField::KexAlgorithms,
    SshField::ServerHostKeyAlgorithms,
    SshField::EncryptionClientToServer,
    SshField::EncryptionServerToClient,
    SshField::MacClientToServer,
    SshField::MacServerToClient,
    SshField::CompressionClientToServer,
    SshField::CompressionServerToClient,
    SshField::LanguagesClientToServer,
    SshField::LanguagesServerToClient,
];

/// An SSH_MSG_KEXINIT: the algorithms that a client or server offers.
///
/// ```
/// use huginn_net_ssh::{Hassh, HasshAlgorithms, Identification, KexInit};
///
/// // The first bytes of an OpenSSH 9.2 client.
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/streams/openssh-client.bin"));
/// let identification = Identification::parse(bytes)?.expect("a complete line");
/// let kex_init = KexInit::parse(&bytes[identification.consumed..])?.expect("a complete message").value;
/// assert_eq!(identification.value.software_version(), b"OpenSSH_9.2p1");
/// assert_eq!(kex_init.compression_client_to_server().as_bytes(), b"none,zlib@openssh.com,zlib");
/// assert_eq!(Hassh::from_client(&kex_init).to_string(), "472b5de333ad665af5cbf10ff892c4df");
/// # Ok::<(), huginn_net_ssh::SshError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KexInit<'a> {
    message: Cow<'a, [u8]>,
    /// End offset of each list in the message.
    ends: [u16; LISTS.len()],
    first_kex_packet_follows: bool,
}

impl<'a> KexInit<'a> {
    /// Parses the binary packets after an identification string, up to the SSH_MSG_KEXINIT.
    ///
    /// The packet of the message counts as consumed, and so do packets before it, such as SSH_MSG_IGNORE and SSH_MSG_DEBUG.
    /// Returns `None` if bytes are missing. Each call looks at the length of each packet again, and parses only complete ones:
    /// [`SshReader`](crate::SshReader) takes bytes piece by piece, and reads each once.
    ///
    /// # Errors
    /// An [`SshError`] if a packet or the message is invalid, if the sender disconnects first, or if
    /// [`MAX_PACKETS_BEFORE_KEX_INIT`] is exceeded.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<Parsed<Self>>, SshError> {
        let mut rest = bytes;
        for _ in 0..=MAX_PACKETS_BEFORE_KEX_INIT {
            let Some(Parsed { value: packet, consumed }) = BinaryPacket::parse(rest)? else {
                return Ok(None);
            };
            rest = rest.get(consumed..).unwrap_or_default();
            if let Some(kex_init) = Self::from_packet(packet)? {
                return Ok(Some(Parsed::new(kex_init, bytes.len().saturating_sub(rest.len()))));
            }
        }
        Err(SshError::TooManyPackets)
    }

    /// Parses the message of a packet. Returns `None` for another message that may precede SSH_MSG_KEXINIT.
    pub(crate) fn from_packet(packet: BinaryPacket<'a>) -> Result<Option<Self>, SshError> {
        match packet.message() {
            message::KEXINIT => Self::from_payload(packet.payload()).map(Some),
            message::DISCONNECT => Err(SshError::Disconnected),
            _ => Ok(None),
        }
    }

    /// Parses the payload of a packet, which begins with the message number (20). Ignores bytes after
    /// `first_kex_packet_follows`.
    ///
    /// # Errors
    /// [`SshError::NotKexInit`] if the message has another number, [`SshError::MessageTooLong`] if it has more than
    /// [`MAX_PACKET_LEN`] bytes, [`SshError::Truncated`] if it ends within a field.
    pub fn from_payload(payload: &'a [u8]) -> Result<Self, SshError> {
        let len = payload.len();
        if len > MAX_PACKET_LEN {
            return Err(SshError::MessageTooLong { len });
        }
        let mut cursor = Cursor::new(payload);
        let truncated = |field| move |source| SshError::Truncated { field, source };
        match cursor.u8().map_err(truncated(SshField::MessageNumber))? {
            message::KEXINIT => {}
            other => return Err(SshError::NotKexInit(other)),
        }
        cursor.skip(COOKIE_LEN).map_err(truncated(SshField::Cookie))?;
        let mut ends = [0; LISTS.len()];
        for (end, field) in ends.iter_mut().zip(LISTS) {
            let len = cursor.u32_be().map_err(truncated(field))?;
            cursor.skip(usize::try_from(len).unwrap_or(usize::MAX)).map_err(truncated(field))?;
            *end = u16::try_from(cursor.position())
                .map_err(|_| SshError::MessageTooLong { len: payload.len() })?;
        }
        let first_kex_packet_follows = cursor.u8().map_err(truncated(SshField::FirstKexPacketFollows))? != 0;
        Ok(Self { message: Cow::Borrowed(payload), ends, first_kex_packet_follows })
    }

    /// Returns the complete message: the payload of its packet.
    pub fn as_bytes(&self) -> &[u8] {
        &self.message
    }

    /// Returns `cookie`: random bytes.
    pub fn cookie(&self) -> &[u8] {
        self.message.get(1..HEAD_LEN).unwrap_or_default()
    }

    /// Returns `kex_algorithms`: key exchange methods.
    pub fn kex_algorithms(&self) -> NameList<'_> {
        self.list(0)
    }

    /// Returns `server_host_key_algorithms`.
    pub fn server_host_key_algorithms(&self) -> NameList<'_> {
        self.list(1)
    }

    /// Returns `encryption_algorithms_client_to_server`.
    pub fn encryption_client_to_server(&self) -> NameList<'_> {
        self.list(2)
    }

    /// Returns `encryption_algorithms_server_to_client`.
    pub fn encryption_server_to_client(&self) -> NameList<'_> {
        self.list(3)
    }

    /// Returns `mac_algorithms_client_to_server`.
    pub fn mac_client_to_server(&self) -> NameList<'_> {
        self.list(4)
    }

    /// Returns `mac_algorithms_server_to_client`.
    pub fn mac_server_to_client(&self) -> NameList<'_> {
        self.list(5)
    }

    /// Returns `compression_algorithms_client_to_server`.
    pub fn compression_client_to_server(&self) -> NameList<'_> {
        self.list(6)
    }

    /// Returns `compression_algorithms_server_to_client`.
    pub fn compression_server_to_client(&self) -> NameList<'_> {
        self.list(7)
    }

    /// Returns `languages_client_to_server`.
    pub fn languages_client_to_server(&self) -> NameList<'_> {
        self.list(8)
    }

    /// Returns `languages_server_to_client`.
    pub fn languages_server_to_client(&self) -> NameList<'_> {
        self.list(9)
    }

    /// Returns `first_kex_packet_follows`: the sender guesses the key exchange method and sends its first packet at once.
    pub const fn first_kex_packet_follows(&self) -> bool {
        self.first_kex_packet_follows
    }

    /// Copies the bytes, so that the message owns them.
    pub fn into_owned(self) -> KexInit<'static> {
        let Self { message, ends, first_kex_packet_follows } = self;
        KexInit { message: Cow::Owned(message.into_owned()), ends, first_kex_packet_follows }
    }

    fn list(&self, index: usize) -> NameList<'_> {
        let before = index.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = before.map_or(HEAD_LEN, |end| usize::from(*end)).saturating_add(LIST_LENGTH_LEN);
        let end = self.ends.get(index).map_or(start, |end| usize::from(*end));
        NameList(self.message.get(start..end).unwrap_or_default())
    }

    /// Iterates over the lists with their names, in the order of the wire.
    fn lists(&self) -> impl Iterator<Item = (&'static str, NameList<'_>)> {
        LISTS.iter().enumerate().map(|(index, field)| (field.name(), self.list(index)))
    }
}

impl fmt::Debug for KexInit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("KexInit");
        self.lists().for_each(|(name, list)| _ = debug.field(name, &list));
        debug.field("first_kex_packet_follows", &self.first_kex_packet_follows).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds the message with these lists.
    pub(crate) fn kex_init_message(lists: &[Vec<u8>], follows: u8) -> Vec<u8> {
        let mut message = vec![message::KEXINIT];
        message.extend(0..16);
        for list in lists {
            message.extend(u32::try_from(list.len()).unwrap().to_be_bytes());
            message.extend(list);
        }
        message.extend([follows, 0, 0, 0, 0]);
        message
    }

    /// Builds a packet with this payload, padded as RFC 4253, section 6, requires.
    pub(crate) fn binary_packet(payload: &[u8]) -> Vec<u8> {
        let padding = 4 + (8 - (payload.len() + 9) % 8) % 8;
        let len = u32::try_from(1 + payload.len() + padding).unwrap();
        [&len.to_be_bytes()[..], &[u8::try_from(padding).unwrap()], payload, &vec![0; padding]].concat()
    }

    proptest! {
        #[test]
        fn reads_every_list(
            lists in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 10), follows in 0_u8..2,
        ) {
            let message = kex_init_message(&lists, follows);
            let kex_init = KexInit::from_payload(&message).unwrap();
            let read: Vec<_> = kex_init.lists().map(|(_, list)| list.as_bytes().to_vec()).collect();
            prop_assert_eq!(read, lists);
            prop_assert_eq!(kex_init.first_kex_packet_follows(), follows != 0);
            prop_assert_eq!(kex_init.cookie(), (0..16).collect::<Vec<u8>>());
            let complete_len = message.len() - 4;
            for len in 0..complete_len {
                let is_truncated = matches!(KexInit::from_payload(&message[..len]), Err(SshError::Truncated { .. }));
                prop_assert!(is_truncated);
            }
            prop_assert_eq!(KexInit::from_payload(&message[..complete_len]).unwrap().first_kex_packet_follows(), follows != 0);
        }
    }

    #[test]
    fn skips_packets_before_it() {
        let kex_init = binary_packet(&kex_init_message(&vec![b"a".to_vec(); 10], 0));
        let ignore = binary_packet(&[message::IGNORE, 0, 0, 0, 0]);
        let bytes = [ignore.repeat(MAX_PACKETS_BEFORE_KEX_INIT), kex_init.clone(), b"rest".to_vec()].concat();
        let Parsed { value: read, consumed } = KexInit::parse(&bytes).unwrap().unwrap();
        assert_eq!((read.kex_algorithms(), consumed), (NameList(b"a"), bytes.len() - 4));
        let bytes = [ignore.repeat(MAX_PACKETS_BEFORE_KEX_INIT + 1), kex_init.clone()].concat();
        assert_eq!(KexInit::parse(&bytes), Err(SshError::TooManyPackets));
        let bytes = [binary_packet(&[message::DISCONNECT]), kex_init].concat();
        assert_eq!(KexInit::parse(&bytes), Err(SshError::Disconnected));
    }

    #[test]
    fn other_message_is_an_error() {
        assert_eq!(KexInit::from_payload(&[21]), Err(SshError::NotKexInit(21)));
        let len = MAX_PACKET_LEN + 1;
        assert_eq!(KexInit::from_payload(&vec![20; len]), Err(SshError::MessageTooLong { len }));
    }
}
