//! Clients and servers of SSH.

use huginn_net_core::Side;

use crate::{Hassh, HasshAlgorithms, Identification, KexInit};

/// A client or server of SSH: what it sent before encryption began.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SshPeer {
    /// Whether it is the client or the server.
    pub side: Side,
    /// Its identification string.
    pub identification: Identification<'static>,
    /// Its SSH_MSG_KEXINIT. Absent if the sender speaks version 1 or ends the connection first, and if the capture lacks
    /// a part of the message or it cannot be read.
    pub kex_init: Option<KexInit<'static>>,
}

impl SshPeer {
    /// HASSH of a client, HASSHServer of a server.
    pub fn hassh(&self) -> Option<Hassh> {
        self.hassh_algorithms().map(|algorithms| algorithms.hash())
    }

    /// `hasshAlgorithms` of a client, `hasshServerAlgorithms` of a server.
    pub fn hassh_algorithms(&self) -> Option<HasshAlgorithms<'_>> {
        let kex_init = self.kex_init.as_ref()?;
        Some(match self.side {
            Side::Client => HasshAlgorithms::from_client(kex_init),
            Side::Server => HasshAlgorithms::from_server(kex_init),
        })
    }
}

/// `protocol`, `banner`, `hassh` and `hassh_algorithms` (null without a whole KEXINIT), as in the JSON events. Bytes that
/// are not UTF-8 are escaped.
#[cfg(feature = "serde")]
impl serde::Serialize for SshPeer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use huginn_net_core::Escaped;
        use serde::ser::SerializeStruct;

        let algorithms = self.hassh_algorithms();
        let text = algorithms.map(|algorithms| algorithms.to_bytes());
        let mut fields = serializer.serialize_struct("SshPeer", 4)?;
        fields.serialize_field("protocol", &Escaped(self.identification.protocol_version()))?;
        fields.serialize_field("banner", &Escaped(self.identification.as_bytes()))?;
        fields.serialize_field("hassh", &algorithms.map(|algorithms| algorithms.hash()))?;
        fields.serialize_field("hassh_algorithms", &text.as_deref().map(Escaped))?;
        fields.end()
    }
}
