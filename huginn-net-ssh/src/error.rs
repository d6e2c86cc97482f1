//! Errors of the parsers.

use huginn_net_wire::Truncated;

use crate::limits::{
    MAX_BYTES_BEFORE_IDENTIFICATION, MAX_LINE_LEN, MAX_LINES_BEFORE_IDENTIFICATION, MAX_PACKET_LEN,
    MAX_PACKETS_BEFORE_KEX_INIT,
};

/// Error of parsing SSH. Missing bytes are not an error as long as more may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SshError {
    /// A line before the identification string contains a NUL byte, so it is not text (RFC 4253, section 4.2).
    #[error("no identification string: NUL byte in line {line}")]
    NotText {
        /// Number of the line, counted from 1.
        line: usize,
    },
    /// A line is too long.
    #[error("line {line} has more than {MAX_LINE_LEN} bytes")]
    LineTooLong {
        /// Number of the line, counted from 1.
        line: usize,
    },
    /// Too many lines without an identification string.
    #[error("no identification string in {MAX_LINES_BEFORE_IDENTIFICATION} lines")]
    TooManyLines,
    /// Too many bytes without an identification string.
    #[error("no identification string in {MAX_BYTES_BEFORE_IDENTIFICATION} bytes")]
    TooManyBytes,
    /// The length of a packet is invalid or exceeds the limit (RFC 4253, section 6).
    #[error("packet length {announced}: not from 2 to {}", MAX_PACKET_LEN.saturating_sub(4))]
    PacketLength {
        /// The value of `packet_length`, which does not count itself.
        announced: u32,
    },
    /// The padding of a packet leaves no payload (RFC 4253, section 6).
    #[error("padding length {padding} leaves no payload in a packet of length {packet}")]
    PaddingLength {
        /// The value of `padding_length`.
        padding: u8,
        /// The value of `packet_length`.
        packet: u32,
    },
    /// Too many packets without an SSH_MSG_KEXINIT.
    #[error("no SSH_MSG_KEXINIT in {MAX_PACKETS_BEFORE_KEX_INIT} packets")]
    TooManyPackets,
    /// The sender closed the connection before its SSH_MSG_KEXINIT, by SSH_MSG_DISCONNECT (RFC 4253, section 11.1).
    #[error("SSH_MSG_DISCONNECT before SSH_MSG_KEXINIT")]
    Disconnected,
    /// A message of another type.
    #[error("message of type {0}, not SSH_MSG_KEXINIT (20)")]
    NotKexInit(u8),
    /// The message exceeds the longest packet.
    #[error("message of {len} bytes: the longest packet has {MAX_PACKET_LEN}")]
    MessageTooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// An SSH_MSG_KEXINIT ends within a field.
    #[error("{field}: {source}")]
    Truncated {
        /// The field.
        field: SshField,
        /// Offset of the field in the message, bytes needed and bytes left.
        source: Truncated,
    },
}

huginn_net_wire::named! {
    /// A field of an SSH_MSG_KEXINIT (RFC 4253, section 7.1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum SshField {
        /// The message number.
        MessageNumber = "message number",
        /// `cookie`.
        Cookie = "cookie",
        /// `kex_algorithms`.
        KexAlgorithms = "kex_algorithms",
        /// `server_host_key_algorithms`.
        ServerHostKeyAlgorithms = "server_host_key_algorithms",
        /// `encryption_algorithms_client_to_server`.
        EncryptionClientToServer = "encryption_algorithms_client_to_server",
        /// `encryption_algorithms_server_to_client`.
        EncryptionServerToClient = "encryption_algorithms_server_to_client",
        /// `mac_algorithms_client_to_server`.
        MacClientToServer = "mac_algorithms_client_to_server",
        /// `mac_algorithms_server_to_client`.
        MacServerToClient = "mac_algorithms_server_to_client",
        /// `compression_algorithms_client_to_server`.
        CompressionClientToServer = "compression_algorithms_client_to_server",
        /// `compression_algorithms_server_to_client`.
        CompressionServerToClient = "compression_algorithms_server_to_client",
        /// `languages_client_to_server`.
        LanguagesClientToServer = "languages_client_to_server",
        /// `languages_server_to_client`.
        LanguagesServerToClient = "languages_server_to_client",
        /// `first_kex_packet_follows`.
        FirstKexPacketFollows = "first_kex_packet_follows",
    }
}
