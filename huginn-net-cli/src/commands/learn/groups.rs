//! Groups of equal fingerprints without a name.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::net::SocketAddr;

use huginn_net::Timestamp;
use huginn_net::core::{FlowId, TransportKind};
use huginn_net::hosts::HostId;

use super::clues::{Clues, Texts};
use super::http_shape::HttpShape;
use super::programs::Program;
use crate::limits::{
    MAX_GROUP_HOSTS, MAX_LABELLED_ENDS, MAX_LEARNED_GROUPS, MAX_LEARNED_HOSTS, MAX_LEARNED_TEXTS,
};

/// One host of one file: captures of different networks often have the same addresses.
#[derive(Debug)]
pub(super) struct Host {
    /// The address, and the key of its tunnel.
    pub(super) id: HostId,
    pub(super) clues: Clues,
}

huginn_net::core::table_enum! {
    /// The kind of a fingerprint, in the order of the report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub(super) enum Kind {
        Syn: "tcp-syn", ("SYN", "SYNs");
        SynAck: "tcp-syn-ack", ("SYN+ACK", "SYN+ACKs");
        HttpRequest: "http-request", ("request", "requests");
        HttpResponse: "http-response", ("response", "responses");
        Tls: "tls", ("ClientHello", "ClientHellos");
        Http2: "http2", ("HTTP/2 request", "HTTP/2 requests");
        Ssh: "ssh", ("client", "clients");
    }
    /// The start of the names of samples.
    pub(super) fn file_prefix -> &'static str = 0;
    /// One observation and several, in words.
    pub(super) fn observations -> (&'static str, &'static str) = 1;
}

/// The position of a frame in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FrameIndex {
    /// Index of the file.
    pub(super) file: usize,
    /// Index of the frame in its file.
    pub(super) frame: u64,
}

/// A flow, as both its directions identify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FlowEnds {
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
    transport: TransportKind,
    tunnel: u64,
}

impl FlowEnds {
    pub(super) fn new(flow: &FlowId) -> Self {
        Self {
            client: flow.client,
            server: flow.server,
            transport: flow.transport,
            tunnel: flow.tunnel_key(),
        }
    }
}

/// What the report prints for the database.
#[derive(Debug)]
pub(super) enum Entry {
    /// A TCP signature in p0f's syntax.
    Tcp(String),
    Http(HttpShape),
    /// The values of a row, by column.
    Row(Vec<(&'static str, String)>),
}

/// Observations of one fingerprint.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) kind: Kind,
    /// The program that sent all observations, where it is named.
    pub(super) program: Option<Program>,
    pub(super) entry: Entry,
    pub(super) count: u64,
    /// Indices of its hosts: one for each file and address.
    pub(super) hosts: HashSet<u32>,
    /// Texts of the observations themselves.
    pub(super) own: Clues,
    pub(super) first_at: FrameIndex,
    pub(super) first_time: Timestamp,
    pub(super) flow: FlowEnds,
    /// The name of its sample.
    pub(super) sample: Option<String>,
}

impl Group {
    /// Number of distinct addresses.
    pub(super) fn host_count(&self, hosts: &[Host]) -> usize {
        let host = |id: &u32| hosts.get(usize::try_from(*id).ok()?).map(|host| host.id);
        self.hosts.iter().filter_map(host).collect::<HashSet<_>>().len()
    }
}

/// The result of learning.
pub(super) struct Groups {
    /// Sorted by kind, then by program, those without one last, then by descending count.
    pub(super) sorted: Vec<Group>,
    pub(super) hosts: Vec<Host>,
    pub(super) texts: Texts,
    pub(super) left_out: LeftOut,
}

/// What the limits left out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeftOut {
    /// Observations of fingerprints for which there was no group left.
    pub(super) groups: u64,
    /// Observations of fingerprints that are too long.
    pub(super) long: u64,
    /// Observations of hosts that were not remembered.
    pub(super) hosts: u64,
    /// Groups without a sample.
    pub(super) samples: u64,
    /// Frames whose process may be either end of the flow.
    pub(super) without_direction: u64,
    /// Frames of flows whose programs were not remembered.
    pub(super) programs: u64,
}

impl Groups {
    pub(super) fn new(mut sorted: Vec<Group>, hosts: Vec<Host>, texts: Texts, left_out: LeftOut) -> Self {
        sorted.sort_by_cached_key(|group| {
            let program = group.program.map(|program| {
                let text = |id| texts.get(id).to_owned();
                (text(program.name), program.version.map(text), program.origin)
            });
            let (count, hosts) = (Reverse(group.count), Reverse(group.host_count(&hosts)));
            (group.kind, program.is_none(), program, count, hosts, group.first_at)
        });
        Self { sorted, hosts, texts, left_out }
    }

    /// Warnings of the limits that were reached.
    pub(super) fn limit_messages(&self) -> Vec<String> {
        let LeftOut { groups, long, hosts, samples, without_direction, programs } = self.left_out;
        let all = [
            (
                groups,
                format!(
                    "the limit of {MAX_LEARNED_GROUPS} groups of a kind was reached: {groups} observations left out"
                ),
            ),
            (long, format!("{long} observations left out: their fingerprint is too long for a database")),
            (
                hosts,
                format!(
                    "the limit of {MAX_LEARNED_HOSTS} hosts, or of {MAX_GROUP_HOSTS} hosts in groups, was reached: \
                     numbers of hosts are too low"
                ),
            ),
            (
                self.texts.left_out,
                format!("the limit of {MAX_LEARNED_TEXTS} texts was reached: lists of texts are incomplete"),
            ),
            (
                samples,
                format!(
                    "groups without a sample: {samples}; their flow is too long, or has too many samples"
                ),
            ),
            (
                without_direction,
                format!(
                    "{without_direction} packets name a process but not whether it sent or received them: no program learned"
                ),
            ),
            (
                programs,
                format!(
                    "the limit of {MAX_LABELLED_ENDS} ends of flows was reached: {programs} packets name a program that was not learned"
                ),
            ),
        ];
        all.into_iter().filter(|(count, _)| *count > 0).map(|(_, message)| message).collect()
    }
}
