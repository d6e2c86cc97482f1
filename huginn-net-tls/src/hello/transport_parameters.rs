//! The transport parameters of a QUIC client (RFC 9000, sections 7.4 and 18).

use std::fmt;
use std::iter::FusedIterator;
use std::str;

use huginn_net_wire::{Cursor, HexDigits, Joined, Truncated};

use super::{ClientHello, QuicVersion, extension_type as kind};
use crate::names;

/// Transport parameter ids with a meaning here (IANA, "QUIC Transport Parameters").
pub mod transport_parameter_id {
    /// RFC 9000, section 18.2. Only servers send it.
    pub const ORIGINAL_DESTINATION_CONNECTION_ID: u64 = 0x00;
    /// RFC 9000, section 18.2: milliseconds.
    pub const MAX_IDLE_TIMEOUT: u64 = 0x01;
    /// RFC 9000, section 18.2. Only servers send it.
    pub const STATELESS_RESET_TOKEN: u64 = 0x02;
    /// RFC 9000, section 18.2: bytes.
    pub const MAX_UDP_PAYLOAD_SIZE: u64 = 0x03;
    /// RFC 9000, section 18.2: bytes.
    pub const INITIAL_MAX_DATA: u64 = 0x04;
    /// RFC 9000, section 18.2: bytes.
    pub const INITIAL_MAX_STREAM_DATA_BIDI_LOCAL: u64 = 0x05;
    /// RFC 9000, section 18.2: bytes.
    pub const INITIAL_MAX_STREAM_DATA_BIDI_REMOTE: u64 = 0x06;
    /// RFC 9000, section 18.2: bytes.
    pub const INITIAL_MAX_STREAM_DATA_UNI: u64 = 0x07;
    /// RFC 9000, section 18.2.
    pub const INITIAL_MAX_STREAMS_BIDI: u64 = 0x08;
    /// RFC 9000, section 18.2.
    pub const INITIAL_MAX_STREAMS_UNI: u64 = 0x09;
    /// RFC 9000, section 18.2.
    pub const ACK_DELAY_EXPONENT: u64 = 0x0a;
    /// RFC 9000, section 18.2: milliseconds.
    pub const MAX_ACK_DELAY: u64 = 0x0b;
    /// RFC 9000, section 18.2: no value.
    pub const DISABLE_ACTIVE_MIGRATION: u64 = 0x0c;
    /// RFC 9000, section 18.2. Only servers send it.
    pub const PREFERRED_ADDRESS: u64 = 0x0d;
    /// RFC 9000, section 18.2.
    pub const ACTIVE_CONNECTION_ID_LIMIT: u64 = 0x0e;
    /// RFC 9000, section 18.2.
    pub const INITIAL_SOURCE_CONNECTION_ID: u64 = 0x0f;
    /// RFC 9000, section 18.2. Only servers send it.
    pub const RETRY_SOURCE_CONNECTION_ID: u64 = 0x10;
    /// RFC 9368, section 3: the chosen version, then the available ones.
    pub const VERSION_INFORMATION: u64 = 0x11;
    /// RFC 9221, section 3: bytes.
    pub const MAX_DATAGRAM_FRAME_SIZE: u64 = 0x20;
    /// draft-ietf-quic-multipath.
    pub const INITIAL_MAX_PATH_ID: u64 = 0x3e;
    /// draft-ferrieuxhamchaoui-quic-lossbits.
    pub const LOSS_BITS: u64 = 0x1057;
    /// RFC 9287, section 3: no value.
    pub const GREASE_QUIC_BIT: u64 = 0x2ab2;
    /// Google: the round-trip time to the server in an earlier connection, in microseconds.
    pub const INITIAL_RTT: u64 = 0x3127;
    /// Google: tags of four characters.
    pub const GOOGLE_CONNECTION_OPTIONS: u64 = 0x3128;
    /// Google: text.
    pub const USER_AGENT: u64 = 0x3129;
    /// Google: a version.
    pub const GOOGLE_VERSION: u64 = 0x4752;
    /// draft-huitema-quic-ts.
    pub const ENABLE_TIME_STAMP: u64 = 0x7158;
    /// draft-ietf-quic-version-negotiation, before the number of RFC 9368.
    pub const DRAFT_VERSION_INFORMATION: u64 = 0x00ff_73db;
    /// draft-ietf-quic-address-discovery.
    pub const ADDRESS_DISCOVERY: u64 = 0x9f81_a176;
    /// draft-iyengar-quic-delayed-ack-02: microseconds. In use, although it has the form of reserved ids.
    pub const MIN_ACK_DELAY_02: u64 = 0xff02_de1a;
    /// draft-ietf-quic-ack-frequency-01.
    pub const MIN_ACK_DELAY_03: u64 = 0xff03_de1a;
    /// draft-ietf-quic-ack-frequency-05: microseconds.
    pub const MIN_ACK_DELAY: u64 = 0xff04_de1b;
}

use transport_parameter_id as id;

/// A transport parameter (RFC 9000, section 18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportParameter<'a> {
    /// The id.
    pub id: u64,
    /// The value, without its length.
    pub value: &'a [u8],
}

/// The transport parameters of a QUIC client in wire order, up to the first truncated one. Repeated ones are not removed.
///
/// ```
/// use huginn_net_tls::TransportParameters;
///
/// let mut parameters = TransportParameters::from_bytes(&[0x01, 0x02, 0x67, 0x10, 0x0c, 0x00]);
/// let timeout = parameters.next().expect("two parameters");
/// assert_eq!(timeout.name(), Some("max_idle_timeout"));
/// assert_eq!(timeout.integer(), Some(10_000));
/// assert_eq!(parameters.next().and_then(|parameter| parameter.name()), Some("disable_active_migration"));
/// assert_eq!(parameters.next(), None);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TransportParameters<'a> {
    rest: &'a [u8],
    encoding: Encoding,
}

/// The encoding of ids and lengths.
#[derive(Clone, Copy, Debug, Default)]
enum Encoding {
    /// Variable-length integers.
    #[default]
    Variable,
    /// Two bytes each, before draft 27.
    TwoBytes,
}

impl ClientHello<'_> {
    /// The transport parameters of the extension quic_transport_parameters (RFC 9001, section 8.2), or of its number in
    /// drafts; empty without the extension.
    pub fn transport_parameters(&self) -> TransportParameters<'_> {
        match self.extension(kind::QUIC_TRANSPORT_PARAMETERS) {
            Some(data) => TransportParameters::from_bytes(data),
            None => self
                .extension(kind::DRAFT_QUIC_TRANSPORT_PARAMETERS)
                .map(TransportParameters::from_draft_bytes)
                .unwrap_or_default(),
        }
    }
}

impl<'a> TransportParameters<'a> {
    /// Iterates over the data of an extension quic_transport_parameters (RFC 9000, section 18).
    pub const fn from_bytes(data: &'a [u8]) -> Self {
        Self { rest: data, encoding: Encoding::Variable }
    }

    /// Iterates over the data of the extension with its number in drafts. Up to draft 26, the parameters follow the length
    /// of their list, and ids and lengths have two bytes.
    pub fn from_draft_bytes(data: &'a [u8]) -> Self {
        if let Some((len, list)) = data.split_first_chunk()
            && usize::from(u16::from_be_bytes(*len)) == list.len()
        {
            let parameters = Self { rest: list, encoding: Encoding::TwoBytes };
            if parameters.is_well_formed() {
                return parameters;
            }
        }
        Self::from_bytes(data)
    }

    /// Whether the remaining parameters exactly fill the extension.
    pub fn is_well_formed(mut self) -> bool {
        self.by_ref().for_each(drop);
        self.rest.is_empty()
    }
}

impl<'a> Iterator for TransportParameters<'a> {
    type Item = TransportParameter<'a>;

    fn next(&mut self) -> Option<TransportParameter<'a>> {
        let mut cursor = Cursor::new(self.rest);
        let parameter = match self.encoding {
            Encoding::Variable => read(&mut cursor, Cursor::varint),
            Encoding::TwoBytes => read(&mut cursor, |cursor| cursor.u16_be().map(u64::from)),
        };
        let parameter = parameter.ok()?;
        self.rest = cursor.rest();
        Some(parameter)
    }
}

impl FusedIterator for TransportParameters<'_> {}

fn read<'a>(
    cursor: &mut Cursor<'a>,
    number: impl Fn(&mut Cursor<'a>) -> Result<u64, Truncated>,
) -> Result<TransportParameter<'a>, Truncated> {
    let id = number(cursor)?;
    let len = number(cursor)?;
    Ok(TransportParameter { id, value: cursor.take(usize::try_from(len).unwrap_or(usize::MAX))? })
}

impl<'a> TransportParameter<'a> {
    /// The name in IANA's registry "QUIC Transport Parameters", or the one that implementations use.
    pub fn name(&self) -> Option<&'static str> {
        names::transport_parameter(self.id)
    }

    /// Whether the id is reserved so that peers tolerate unknown parameters: 31 · N + 27 (RFC 9000, section 18.1). A draft
    /// assigned one of these ids, [`MIN_ACK_DELAY_02`](id::MIN_ACK_DELAY_02).
    pub const fn is_reserved(&self) -> bool {
        self.id % 31 == 27 && self.id != id::MIN_ACK_DELAY_02
    }

    /// The value as an integer; `None` if the parameter has values of another kind, or if the value is not one integer.
    pub fn integer(&self) -> Option<u64> {
        if !self.has_integer() {
            return None;
        }
        let mut cursor = Cursor::new(self.value);
        cursor.varint().ok().filter(|_| cursor.is_empty())
    }

    /// The versions of version_information (RFC 9368, section 3): the chosen one, then the available ones. `None` of other
    /// parameters, and if the value is not a list of versions.
    pub fn versions(&self) -> Option<impl Iterator<Item = QuicVersion> + Clone + use<'a>> {
        let (versions, rest) = self.value.as_chunks();
        let is_list = matches!(self.id, id::VERSION_INFORMATION | id::DRAFT_VERSION_INFORMATION)
            && rest.is_empty()
            && !versions.is_empty();
        is_list.then(|| versions.iter().map(|bytes| QuicVersion(u32::from_be_bytes(*bytes))))
    }

    /// The value as text: an integer, versions separated by commas, the text of a parameter of Google, or hexadecimal digits.
    pub fn value_text(self) -> impl fmt::Display + Send + Sync + 'a {
        ValueText(self)
    }

    /// Whether values of this parameter are integers.
    const fn has_integer(&self) -> bool {
        matches!(
            self.id,
            id::MAX_IDLE_TIMEOUT | id::MAX_UDP_PAYLOAD_SIZE
                ..=id::MAX_ACK_DELAY
                    | id::ACTIVE_CONNECTION_ID_LIMIT
                    | id::MAX_DATAGRAM_FRAME_SIZE
                    | id::INITIAL_MAX_PATH_ID
                    | id::LOSS_BITS
                    | id::INITIAL_RTT
                    | id::ENABLE_TIME_STAMP
                    | id::ADDRESS_DISCOVERY
                    | id::MIN_ACK_DELAY_02
                    | id::MIN_ACK_DELAY_03
                    | id::MIN_ACK_DELAY
        )
    }
}

/// The value of a parameter as text.
struct ValueText<'a>(TransportParameter<'a>);

impl fmt::Display for ValueText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(parameter) = self;
        let value = parameter.value;
        if let Some(number) = parameter.integer() {
            return write!(f, "{number}");
        }
        if let Some(versions) = parameter.versions() {
            return write!(f, "{}", Joined(versions, ","));
        }
        let is_text = matches!(parameter.id, id::GOOGLE_CONNECTION_OPTIONS | id::USER_AGENT)
            && value.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
        match str::from_utf8(value) {
            Ok(text) if is_text => f.write_str(text),
            _ => write!(f, "{}", HexDigits(value)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(data: &[u8]) -> Vec<(u64, Vec<u8>)> {
        TransportParameters::from_bytes(data)
            .map(|parameter| (parameter.id, parameter.value.to_vec()))
            .collect()
    }

    /// The integers of RFC 9000, appendix A.1.
    #[test]
    fn integers_of_rfc_9000() {
        let vectors: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (bytes, number) in vectors {
            let parameter = TransportParameter { id: id::INITIAL_MAX_DATA, value: bytes };
            assert_eq!(parameter.integer(), Some(number));
        }
    }

    #[test]
    fn value_that_is_not_one_integer_has_none() {
        for value in [&[][..], &[0x40], &[0x25, 0x00]] {
            assert_eq!(TransportParameter { id: id::INITIAL_MAX_DATA, value }.integer(), None);
        }
        let value = &[0x25];
        assert_eq!(TransportParameter { id: id::INITIAL_SOURCE_CONNECTION_ID, value }.integer(), None);
    }

    /// RFC 9000, section 18.1.
    #[test]
    fn ids_31_n_plus_27_are_reserved() {
        let is_reserved = |id| TransportParameter { id, value: &[] }.is_reserved();
        for n in [0, 1, 2, 1000, 148_764_065_110_560_898] {
            assert!(is_reserved(31 * n + 27));
            assert!(!is_reserved(31 * n + 26) && !is_reserved(31 * n + 28));
        }
    }

    #[test]
    fn truncated_parameter_ends_the_list() {
        let whole = [0x04, 0x01, 0x05, 0x0f, 0x02, 0xaa, 0xbb];
        assert_eq!(parse(&whole), [(4, vec![5]), (0xf, vec![0xaa, 0xbb])]);
        assert!(TransportParameters::from_bytes(&whole).is_well_formed());
        for len in 3..whole.len() {
            assert_eq!(parse(&whole[..len]), [(4, vec![5])], "{len} bytes");
            assert_eq!(TransportParameters::from_bytes(&whole[..len]).is_well_formed(), len == 3);
        }
    }

    #[test]
    fn length_beyond_the_end_yields_nothing() {
        let longest = [&[0x04][..], &[0xff; 8], &[0; 100]].concat();
        assert_eq!(parse(&longest), []);
    }

    /// draft-ietf-quic-transport-26, section 18: `initial_max_data` of 5, `idle_timeout` of 7.
    #[test]
    fn drafts_have_either_encoding() {
        let old = [0, 10, 0, 4, 0, 1, 5, 0, 1, 0, 1, 7];
        let parameters: Vec<_> = TransportParameters::from_draft_bytes(&old).collect();
        assert_eq!(
            parameters,
            [TransportParameter { id: 4, value: &[5] }, TransportParameter { id: 1, value: &[7] }]
        );
        let new = [0x04, 0x01, 0x05, 0x01, 0x01, 0x07];
        let parameters: Vec<_> = TransportParameters::from_draft_bytes(&new).collect();
        assert_eq!(
            parameters,
            [TransportParameter { id: 4, value: &[5] }, TransportParameter { id: 1, value: &[7] }]
        );
    }

    #[test]
    fn versions_are_the_chosen_one_and_the_available_ones() {
        let versions = |id, value| {
            let versions = TransportParameter { id, value }.versions();
            versions.map(|versions| versions.map(|version| version.0).collect::<Vec<_>>())
        };
        let value = [0, 0, 0, 1, 0x5a, 0xaa, 0xda, 0x4a, 0, 0, 0, 1];
        assert_eq!(versions(0x11, &value), Some(vec![1, 0x5aaa_da4a, 1]));
        assert_eq!(versions(0xff_73db, &value), Some(vec![1, 0x5aaa_da4a, 1]));
        assert_eq!(versions(0x11, &value[..11]), None);
        assert_eq!(versions(0x11, &[]), None);
        assert_eq!(versions(0x12, &value), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(data in prop::collection::vec(any::<u8>(), 0..200)) {
            for parameters in [TransportParameters::from_bytes(&data), TransportParameters::from_draft_bytes(&data)] {
                let len: usize = parameters.map(|parameter| parameter.value.len() + 2).sum();
                prop_assert!(len <= data.len());
                for parameter in parameters {
                    let _ = (parameter.integer(), parameter.versions().map(Iterator::count), parameter.name());
                }
            }
        }
    }
}
