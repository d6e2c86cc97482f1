//! SSH clients and servers.

use huginn_net_core::Side;

use crate::{Hassh, HasshAlgorithms, Identification, KexInit};

/// An SSH client or server, described by its unencrypted messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SshPeer {
    /// Whether this is the client or the server.
    pub side: Side,
    /// The identification string.
    pub identification: Identification<'static>,
    /// The SSH_MSG_KEXINIT. Absent if a side supports only version 1, if the connection ends first, or if the message is
    /// malformed or only partly captured.
    pub kex_init: Option<KexInit<'static>>,
}

impl SshPeer {
    /// Computes the HASSH of a client or the HASSHServer of a server.
    pub fn hassh(&self) -> Option<Hassh> {
        self.hassh_algorithms().map(|algorithms| algorithms.hash())
    }

    /// Returns `hasshAlgorithms` of a client, or `hasshServerAlgorithms` of a server.
    pub fn hassh_algorithms(&self) -> Option<HasshAlgorithms<'_>> {
        let kex_init = self.kex_init.as_ref()?;
        Some(match self.side {
            Side::Client => HasshAlgorithms::from_client(kex_init),
            Side::Server => HasshAlgorithms::from_server(kex_init),
        })
    }
}

/// Serializes as `protocol`, `banner`, `hassh` and `hassh_algorithms` (null without a complete KEXINIT), as in the JSON
/// events. Escapes bytes that are not UTF-8.
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
