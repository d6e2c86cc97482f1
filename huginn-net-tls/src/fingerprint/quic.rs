//! The QUIC fingerprint: the transport parameters of a client as text (docs/quic-fingerprint.md).

use std::fmt::{self, Write};

use huginn_net_wire::HexDigits;
use smallvec::SmallVec;

use crate::hello::{QuicVersion, TransportParameter, TransportParameters, transport_parameter_id as id};
use crate::limits::{
    INLINE_TRANSPORT_PARAMETERS, MAX_FINGERPRINTED_VALUE_LEN, MAX_FINGERPRINTED_VERSIONS,
    MAX_LISTED_PARAMETERS, TYPICAL_QUIC_FINGERPRINT_LEN,
};

/// A text that identifies the QUIC implementation of a client: its version and its transport parameters, without values
/// that vary by connection. `docs/quic-fingerprint.md` specifies it.
///
/// ```
/// use huginn_net_tls::{QuicFingerprint, QuicVersion, TransportParameters};
///
/// let parameters = TransportParameters::from_bytes(&[0x0f, 0x02, 0xaa, 0xbb, 0x04, 0x01, 0x05, 0x1b, 0x00]);
/// assert_eq!(QuicFingerprint::sorted(QuicVersion::V1, parameters).as_str(), "1|4:5;f*2;g");
/// assert_eq!(QuicFingerprint::original(QuicVersion::V1, parameters).as_str(), "1|f*2;4:5;g");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuicFingerprint(String);

impl QuicFingerprint {
    /// The fingerprint of a client that may shuffle its parameters: sorted by id, and without parameters that vary by
    /// connection.
    pub fn sorted(version: QuicVersion, parameters: TransportParameters<'_>) -> Self {
        Self::new(version, parameters, true)
    }

    /// The fingerprint in the order of the hello.
    pub fn original(version: QuicVersion, parameters: TransportParameters<'_>) -> Self {
        Self::new(version, parameters, false)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn new(version: QuicVersion, mut parameters: TransportParameters<'_>, is_sorted: bool) -> Self {
        let mut listed: SmallVec<[TransportParameter<'_>; INLINE_TRANSPORT_PARAMETERS]> =
            parameters.by_ref().take(MAX_LISTED_PARAMETERS).collect();
        let mut has_reserved = false;
        if is_sorted {
            listed.retain(|parameter| {
                has_reserved |= parameter.is_reserved();
                !parameter.is_reserved() && parameter.id != id::INITIAL_RTT
            });
            listed.sort_by_key(|parameter| parameter.id);
        }
        let mut writer = Writer { text: String::with_capacity(TYPICAL_QUIC_FINGERPRINT_LEN), is_sorted };
        let _ = writer.version(version);
        writer.text.push('|');
        let mut separator = "";
        for parameter in &listed {
            writer.text.push_str(separator);
            let _ = writer.parameter(parameter);
            separator = ";";
        }
        let ends = [(has_reserved, "g"), (parameters.next().is_some(), "+")];
        for (_, end) in ends.into_iter().filter(|(is_set, _)| *is_set) {
            writer.text.push_str(separator);
            writer.text.push_str(end);
            separator = ";";
        }
        Self(writer.text)
    }
}

impl fmt::Display for QuicFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Appends the parts of a fingerprint. Writing to a string cannot fail.
struct Writer {
    text: String,
    is_sorted: bool,
}

impl Writer {
    fn version(&mut self, version: QuicVersion) -> fmt::Result {
        if version.is_reserved() { self.text.write_char('g') } else { write!(self.text, "{version}") }
    }

    fn parameter(&mut self, parameter: &TransportParameter<'_>) -> fmt::Result {
        let TransportParameter { id, value } = parameter;
        let len = value.len();
        if parameter.is_reserved() {
            return self.text.write_char('g');
        }
        write!(self.text, "{id:x}")?;
        match *id {
            id::INITIAL_RTT => self.text.write_char('*'),
            id::ORIGINAL_DESTINATION_CONNECTION_ID
            | id::STATELESS_RESET_TOKEN
            | id::PREFERRED_ADDRESS
            | id::INITIAL_SOURCE_CONNECTION_ID
            | id::RETRY_SOURCE_CONNECTION_ID => write!(self.text, "*{len}"),
            _ if value.is_empty() => Ok(()),
            _ => {
                self.text.push(':');
                if let Some(number) = parameter.integer() {
                    return write!(self.text, "{number}");
                }
                if let Some(versions) = parameter.versions() {
                    return self.versions(versions);
                }
                let start = value.get(..MAX_FINGERPRINTED_VALUE_LEN).unwrap_or(value);
                write!(self.text, "x{}", HexDigits(start))?;
                if start.len() < len { write!(self.text, "*{len}") } else { Ok(()) }
            }
        }
    }

    /// Writes the chosen version and the available ones. In the sorted form, reserved ones among these follow the others,
    /// as one.
    fn versions(&mut self, versions: impl Iterator<Item = QuicVersion> + Clone) -> fmt::Result {
        let has_more = versions.clone().nth(MAX_FINGERPRINTED_VERSIONS).is_some();
        let mut has_reserved = false;
        for (nth, version) in versions.take(MAX_FINGERPRINTED_VERSIONS).enumerate() {
            if nth > 0 && self.is_sorted && version.is_reserved() {
                has_reserved = true;
                continue;
            }
            if nth > 0 {
                self.text.push(',');
            }
            self.version(version)?;
        }
        self.text.push_str(if has_reserved { ",g" } else { "" });
        self.text.push_str(if has_more { ",+" } else { "" });
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    /// A parameter as RFC 9000, section 18, encodes it, with an id below 64.
    fn parameter(id: u8, value: &[u8]) -> Vec<u8> {
        let len = u16::try_from(value.len()).unwrap() | 0x4000;
        [&[id][..], &len.to_be_bytes(), value].concat()
    }

    fn both(data: &[u8]) -> [String; 2] {
        let parameters = TransportParameters::from_bytes(data);
        [QuicFingerprint::sorted, QuicFingerprint::original].map(|form| form(QuicVersion::V1, parameters).0)
    }

    #[test]
    fn more_parameters_than_the_limit_are_marked() {
        let data: Vec<u8> = (0..MAX_LISTED_PARAMETERS).flat_map(|_| parameter(4, &[5])).collect();
        let all = ["4:5"; MAX_LISTED_PARAMETERS].join(";");
        assert_eq!(both(&data), [format!("1|{all}"), format!("1|{all}")]);
        let more = [&data[..], &parameter(1, &[5])].concat();
        assert_eq!(both(&more), [format!("1|{all};+"), format!("1|{all};+")]);
    }

    #[test]
    fn text_is_bounded_for_any_extension() {
        let longest = parameter(0x30, &[0xff; 1000]);
        let versions = parameter(0x11, &[0xfe; 1000]);
        for part in [longest, versions, parameter(27, &[]), parameter(4, &[0xff; 8])] {
            let data: Vec<u8> = part.iter().copied().cycle().take(0xffff).collect();
            for text in both(&data) {
                assert!(text.len() < 16_000, "{} bytes", text.len());
            }
        }
    }

    #[test]
    fn repeated_and_empty_parameters_remain() {
        let data =
            [parameter(5, &[1]), parameter(4, &[]), parameter(5, &[2]), parameter(4, &[0x40])].concat();
        assert_eq!(both(&data), ["1|4;4:x40;5:1;5:2", "1|5:1;4;5:2;4:x40"]);
        assert_eq!(both(&[]), ["1|", "1|"]);
    }

    #[test]
    fn long_values_end_with_their_length() {
        let data = parameter(0x30, &[0xab; MAX_FINGERPRINTED_VALUE_LEN + 1]);
        let digits = "ab".repeat(MAX_FINGERPRINTED_VALUE_LEN);
        let wanted = format!("1|30:x{digits}*{}", MAX_FINGERPRINTED_VALUE_LEN + 1);
        assert_eq!(both(&data), [wanted.clone(), wanted]);
    }
}
