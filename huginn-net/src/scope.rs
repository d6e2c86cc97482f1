//! The scope of the reports: all findings, or those of p0f.

use huginn_net_db::{Database, TcpMatch};
use huginn_net_tcp::{Handshake, TcpSignature};

/// The amount of detail that the analyzer reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Reports all findings.
    #[default]
    Full,
    /// Reports of a flow only what p0f 3.09b reports: the first packet of a user-space tool ends the flow.
    P0f,
}

impl Scope {
    /// Looks up the signature of a handshake.
    pub(crate) fn match_handshake(self, database: &Database, signature: &TcpSignature) -> Option<TcpMatch> {
        match (self, signature.handshake) {
            (Self::P0f, _) => database.match_as_p0f(signature),
            (Self::Full, Handshake::Syn) => database.match_syn(signature),
            (Self::Full, Handshake::SynAck) => database.match_syn_ack(signature),
        }
    }
}
