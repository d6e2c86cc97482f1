//! SSH clients and servers.

use huginn_net_wire::Side;

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
