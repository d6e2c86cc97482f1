//! Contents of a report.

use huginn_net::Timestamp;
use huginn_net::hosts::JoinedHosts;

use crate::blind_spots::LocatedSpot;
use crate::output::Zone;
use crate::views::store::Store;

/// Contents of a report.
pub(crate) struct Report<'a> {
    pub(crate) title: &'a str,
    /// Number of captures that were read.
    pub(crate) captures: usize,
    /// Number of networks that the captures are of.
    pub(crate) networks: usize,
    pub(crate) packets: u64,
    pub(crate) flows: u64,
    /// Number of connections that were decrypted with logged secrets.
    pub(crate) decrypted: u64,
    /// Times of the earliest and of the latest packet.
    pub(crate) span: Option<(Timestamp, Timestamp)>,
    /// Whether SIGINT ended the analysis.
    pub(crate) is_cut: bool,
    pub(crate) store: &'a Store,
    /// The folder of all captures with the separator after it; empty if they have none in common.
    pub(crate) folder: &'a str,
    /// Names a file below that folder by its index.
    pub(crate) file_name: &'a dyn Fn(usize) -> Option<String>,
    /// The captures as arguments of a shell in that folder.
    pub(crate) arguments: Option<&'a str>,
    pub(crate) hosts: &'a JoinedHosts,
    /// Number of hosts that the host table did not keep.
    pub(crate) not_kept: u64,
    pub(crate) blind_spots: &'a [LocatedSpot],
    pub(crate) zone: &'a Zone,
}
