//! Where events come from.

use std::net::IpAddr;
use std::sync::Arc;

use huginn_net::hosts::is_local;

/// Where events come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// Index of the capture file.
    pub(crate) file: usize,
    /// Name of its network, if there are several.
    pub(crate) network: Option<Arc<str>>,
}

impl Origin {
    /// The network of an address: equal local addresses of two networks are two hosts.
    pub(super) fn network_of(&self, ip: IpAddr) -> Option<Arc<str>> {
        self.network.clone().filter(|_| is_local(ip))
    }
}
