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

/// Serializes `identification`, `hassh`, `hassh_algorithms` and `kex_init`.
#[cfg(feature = "serde")]
impl serde::Serialize for SshPeer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;

        let mut fields = serializer.serialize_struct("SshPeer", 4)?;
        fields.serialize_field("identification", &self.identification)?;
        fields.serialize_field("hassh", &self.hassh())?;
        fields.serialize_field("hassh_algorithms", &self.hassh_algorithms())?;
        fields.serialize_field("kex_init", &self.kex_init)?;
        fields.end()
    }
}
