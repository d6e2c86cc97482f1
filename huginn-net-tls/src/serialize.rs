//! `Serialize` for fingerprints, versions, transports and times, and `Deserialize` for JA4, times and families of clients.

use huginn_net_wire::{deserialize_from_text, serialize_as_text};
use serde::de::{Deserialize, Deserializer, Error};

#[cfg(feature = "certificates")]
use crate::CertificateTime;
use crate::{
    ClientFamily, Ja3, Ja3Hash, Ja3s, Ja4, Ja4Hash, Ja4Head, Ja4Raw, QuicFingerprint, Transport, Version,
};

serialize_as_text!(Ja4, Ja4Hash, Ja4Head, Ja4Raw, Ja3, Ja3s, Ja3Hash, QuicFingerprint);
serialize_as_text!(ClientFamily, Transport, Version);
deserialize_from_text!(Ja4);

#[cfg(feature = "certificates")]
serialize_as_text!(CertificateTime);
#[cfg(feature = "certificates")]
deserialize_from_text!(CertificateTime);

impl<'de> Deserialize<'de> for ClientFamily {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name)
            .ok_or_else(|| D::Error::custom(format_args!("no family of TLS clients is {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QuicVersion, TransportParameters};

    #[test]
    fn quic_fingerprint_is_its_text() {
        let parameters = TransportParameters::from_bytes(&[0x0f, 0x02, 0xaa, 0xbb, 0x04, 0x01, 0x05]);
        let fingerprint = QuicFingerprint::sorted(QuicVersion::V1, parameters);
        assert_eq!(serde_json::to_value(fingerprint).ok(), Some("1|4:5;f*2".into()));
    }
}
