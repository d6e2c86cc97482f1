//! One device that ends the connections of a client to many servers.

use std::fmt::{self, Display};
use std::net::IpAddr;

use huginn_net_core::Amount;
use huginn_net_tcp::TcpSignature;
use serde::{Deserialize, Serialize};

use super::stored::at_most;
use crate::limits::MAX_ALIKE_HOPS;

/// Minimum number of networks whose servers answer alike before one device is taken to answer for them. Front ends of one
/// operator have up to seven smaller ones in public captures.
const MIN_ALIKE_NETWORKS: u32 = 8;

/// Maximum number of servers in the list of those that answer alike: 4 KiB.
const MAX_ALIKE_SERVERS: usize = 256;

/// The SYN+ACKs that a client got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answers {
    /// No server with a public address has answered yet.
    #[default]
    None,
    /// All SYN+ACKs are alike until now.
    Alike(Box<AlikeServers>),
    /// The SYN+ACKs differ, or a device would be too far away.
    Different,
}

/// The SYN+ACKs that a server sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum OwnAnswer {
    #[default]
    None,
    /// All are alike until now.
    Alike { signature: Box<TcpSignature>, is_of_device: bool },
    /// They differ: at least some are those of the server.
    Different,
}

/// Servers with public addresses in at least eight networks whose SYN+ACKs to one client are all alike, and near: one
/// device, such as a proxy or a firewall, ends the connections of the client and answers for the servers.
///
/// [`Display`] is a sentence: `31 servers of 21 networks answer alike from 1 hop: one device ends their connections`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AlikeServers {
    /// The signature of all SYN+ACKs, without timestamp.
    pub signature: TcpSignature,
    /// The addresses, sorted.
    #[serde(deserialize_with = "at_most::<MAX_ALIKE_SERVERS, _, _>")]
    pub(super) servers: Vec<IpAddr>,
    /// Whether there are more servers than were counted.
    pub has_more: bool,
    pub(super) networks: u32,
}

impl Answers {
    /// Adds the SYN+ACK of a server with a public address. `is_near`: whether the client is as near as the device must be.
    /// Returns all servers if one device now answers for them.
    pub(super) fn add(
        &mut self,
        signature: &TcpSignature,
        server: IpAddr,
        is_near: bool,
    ) -> Option<&AlikeServers> {
        let signature = comparable(signature);
        match self {
            Self::None if is_near && signature.distance() <= MAX_ALIKE_HOPS => {
                let (servers, has_more) = (vec![server], false);
                *self = Self::Alike(Box::new(AlikeServers { signature, servers, has_more, networks: 1 }));
            }
            Self::Alike(alike) if alike.signature == signature => alike.add(server),
            // A device that was found stays found.
            Self::Alike(alike) if alike.is_by_one_device() => return None,
            Self::None | Self::Alike(_) | Self::Different => *self = Self::Different,
        }
        self.one_device()
    }

    /// The servers for which one device answers, if there is one.
    pub(super) fn one_device(&self) -> Option<&AlikeServers> {
        match self {
            Self::Alike(alike) => Some(&**alike).filter(|alike| alike.is_by_one_device()),
            Self::None | Self::Different => None,
        }
    }

    /// Heap memory, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Alike(alike) => {
                let addresses = alike.servers.capacity().saturating_mul(size_of::<IpAddr>());
                size_of::<AlikeServers>().saturating_add(addresses)
            }
            Self::None | Self::Different => 0,
        }
    }

    /// Takes the device of another profile of the same host, unless this one has one with as many servers.
    pub(super) fn join(&mut self, other: &Self) {
        let count = |answers: &Self| answers.one_device().map_or(0, AlikeServers::count);
        if count(other) > count(self) {
            self.clone_from(other);
        }
    }
}

impl OwnAnswer {
    /// Adds a SYN+ACK.
    pub(super) fn add(&mut self, signature: &TcpSignature) {
        match self {
            Self::None => {
                *self = Self::Alike { signature: Box::new(comparable(signature)), is_of_device: false };
            }
            Self::Alike { signature: known, .. } if **known == comparable(signature) => {}
            Self::Alike { .. } | Self::Different => *self = Self::Different,
        }
    }

    /// Notes that a device which sends such SYN+ACKs answers for the server.
    pub(super) fn mark(&mut self, of_device: &TcpSignature) {
        if let Self::Alike { signature, is_of_device } = self {
            *is_of_device |= **signature == comparable(of_device);
        }
    }

    /// Whether every SYN+ACK is that of a device.
    pub(super) fn is_of_device(&self) -> bool {
        matches!(self, Self::Alike { is_of_device: true, .. })
    }

    /// Adds the SYN+ACKs of another profile of the same host.
    pub(super) fn join(&mut self, other: &Self) {
        match (&mut *self, other) {
            (_, Self::None) => {}
            (Self::None, _) => self.clone_from(other),
            (
                Self::Alike { signature, is_of_device },
                Self::Alike { signature: other, is_of_device: of_device },
            ) if signature == other => *is_of_device |= of_device,
            _ => *self = Self::Different,
        }
    }

    /// Heap memory, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Alike { .. } => size_of::<TcpSignature>(),
            Self::None | Self::Different => 0,
        }
    }
}

/// A signature without what differs between connections: the timestamp and the class of the traffic.
fn comparable(signature: &TcpSignature) -> TcpSignature {
    let mut signature = *signature;
    (signature.timestamp, signature.traffic_class) = (0, 0);
    signature
}

impl AlikeServers {
    pub(super) fn add(&mut self, server: IpAddr) {
        let Err(index) = self.servers.binary_search(&server) else { return };
        if self.servers.len() >= MAX_ALIKE_SERVERS {
            self.has_more = true;
            return;
        }
        // Sorted addresses of one network are neighbours.
        let neighbours = [index.checked_sub(1), Some(index)].into_iter().flatten();
        let mut neighbours = neighbours.filter_map(|index| self.servers.get(index));
        if !neighbours.any(|other| network(*other) == network(server)) {
            self.networks = self.networks.saturating_add(1);
        }
        self.servers.insert(index, server);
    }

    fn is_by_one_device(&self) -> bool {
        self.networks >= MIN_ALIKE_NETWORKS
    }

    /// The addresses of the servers, sorted, at most 256.
    pub fn servers(&self) -> impl Iterator<Item = IpAddr> {
        self.servers.iter().copied()
    }

    /// Number of servers, at most 256.
    pub fn count(&self) -> u32 {
        u32::try_from(self.servers.len()).unwrap_or(u32::MAX)
    }

    /// Number of networks of the [servers](Self::servers): those of the first 8 bits of IPv4, or 32 bits of IPv6 addresses.
    pub fn networks(&self) -> u32 {
        self.networks
    }

    /// Distance of the device, in hops.
    pub fn hops(&self) -> u8 {
        self.signature.distance()
    }
}

impl Display for AlikeServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.has_more { "more than " } else { "" };
        let servers = Amount(self.count().into(), "server(s)");
        let networks = Amount(self.networks.into(), "network(s)");
        let hops = Amount(self.hops().into(), "hop(s)");
        let at_least = if self.has_more { "at least " } else { "" };
        write!(
            f,
            "{more}{servers} of {at_least}{networks} answer alike from {hops}: one device ends their connections"
        )
    }
}

/// The first 8 bits of an IPv4 address, or 32 bits of an IPv6 address: one operator may have neighbours of smaller networks.
fn network(ip: IpAddr) -> (bool, u32) {
    match ip {
        IpAddr::V4(ip) => (false, ip.to_bits() >> 24),
        IpAddr::V6(ip) => {
            let [one, two, ..] = ip.segments();
            (true, (u32::from(one) << 16) | u32::from(two))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: &str = "4:63+1:0:1206:mss*44,8:mss,nop,nop,sok,nop,ws:df:0";

    fn answer(sig: &str) -> TcpSignature {
        sig.parse().unwrap()
    }

    /// Adds an answer of each server.
    fn answers(sig: &str, servers: impl IntoIterator<Item = [u8; 4]>) -> Answers {
        let mut answers = Answers::default();
        for server in servers {
            answers.add(&answer(sig), server.into(), true);
        }
        answers
    }

    fn text(answers: &Answers) -> Option<String> {
        answers.one_device().map(ToString::to_string)
    }

    #[test]
    fn alike_answers_of_eight_networks_come_from_one_device() {
        let seven = answers(NEAR, (20..=140).step_by(20).map(|n| [n, 7, 0, 1]));
        assert_eq!(text(&seven), None);
        let eight =
            answers(NEAR, (20..=160).step_by(20).flat_map(|n| [[n, 7, 0, 1], [n, 7, 0, 2], [n, 7, 0, 1]]));
        let sentence = "16 servers of 8 networks answer alike from 1 hop: one device ends their connections";
        assert_eq!(text(&eight).as_deref(), Some(sentence));
    }

    #[test]
    fn servers_of_one_operator_and_far_servers_have_no_device() {
        let rows: [(&str, Vec<[u8; 4]>); 2] = [
            (NEAR, (1..100).map(|n| [11, n, n, 1]).collect()),
            (
                "4:56+8:0:1460:65535,8:mss,sok,ts,nop,ws::0",
                (4..120).step_by(4).map(|n| [n, 7, 0, 1]).collect(),
            ),
        ];
        for (sig, servers) in rows {
            assert_eq!(text(&answers(sig, servers)), None, "{sig}");
        }
    }

    #[test]
    fn far_client_has_no_device() {
        let mut answers = Answers::default();
        for n in (20..=160).step_by(20) {
            answers.add(&answer(NEAR), [n, 7, 0, 1].into(), false);
        }
        assert_eq!(answers, Answers::Different);
    }

    #[test]
    fn server_with_another_answer_is_not_behind_the_device() {
        let (near, other) = (answer(NEAR), answer("4:56+8:0:1460:65535,8:mss,sok,ts,nop,ws::0"));
        let mut own = OwnAnswer::default();
        own.add(&near);
        assert!(!own.is_of_device());
        own.mark(&near);
        own.add(&near);
        assert!(own.is_of_device());
        let mut elsewhere = OwnAnswer::default();
        elsewhere.add(&other);
        elsewhere.mark(&near);
        assert!(!elsewhere.is_of_device());
        let mut joined = own.clone();
        joined.join(&OwnAnswer::None);
        assert!(joined.is_of_device());
        joined.join(&elsewhere);
        assert_eq!(joined, OwnAnswer::Different);
        own.add(&other);
        assert_eq!(own, OwnAnswer::Different);
    }

    #[test]
    fn another_answer_before_the_eighth_network_decides_for_good() {
        let mut answers = answers(NEAR, (20..=140).step_by(20).map(|n| [n, 7, 0, 1]));
        answers.add(
            &answer("4:62+2:0:1206:mss*44,8:mss,nop,nop,sok,nop,ws:df:0"),
            [30, 1, 1, 1].into(),
            true,
        );
        for n in (10..200).step_by(10) {
            answers.add(&answer(NEAR), [n, 7, 0, 1].into(), true);
        }
        assert_eq!(answers, Answers::Different);
    }

    #[test]
    fn servers_beyond_limit_are_not_counted() {
        let mut answers = Answers::default();
        for n in 0..=u16::MAX {
            let [high, low] = n.to_be_bytes();
            answers.add(&answer(NEAR), [20 + low % 60, low, high, 1].into(), true);
        }
        let alike = answers.one_device().unwrap();
        assert_eq!((alike.count(), alike.has_more, alike.servers().count()), (256, true, 256));
        assert!(alike.to_string().starts_with("more than 256 servers of "), "{alike}");
        assert!(answers.heap_bytes() < 12 << 10, "{}", answers.heap_bytes());
    }
}
