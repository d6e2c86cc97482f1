//! Which captures are of one network.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use huginn_net::core::{DecodeConfig, Decoder, LinkType, NextFrame, TcpFlags};
use huginn_net::hosts::is_public;
use huginn_net::{Source, Timestamp};

use super::captures::open;
use crate::args::NetworkArguments;
use crate::paths::name_of;
use crate::plan::Inputs;

/// Number of packets at the start of a capture that tell its network.
const MAX_NETWORK_FRAMES: usize = 2000;

/// Maximum number of servers of a capture that are compared: their pairs are kept.
const MAX_NETWORK_SERVERS: usize = 32;

/// Time between the first packets of two captures of a series, in seconds, from which on they may be of two networks.
const MAX_NETWORK_GAP_SECS: u64 = 86_400;

/// The network of each capture. A private, link-local or loopback address is one host within a network.
///
/// Captures are of one network if they share a MAC address or two servers on the Internet, or if less than a day lies between them
/// and their names begin alike. The first packets of each capture decide.
#[derive(Debug, Default)]
pub(crate) struct Networks {
    /// The name of each capture's network; empty if there is one network.
    names: Vec<Arc<str>>,
}

impl Networks {
    /// The networks of captures as the options say, else those that the captures show. Pipes cannot be read twice: each is a network of
    /// its own.
    pub(crate) fn new(args: &NetworkArguments, inputs: &Inputs) -> Self {
        if let Some(name) = &args.network {
            return Self { names: vec![name.as_str().into(); inputs.files.len()] };
        }
        if args.merge || inputs.files.len() < 2 {
            return Self::default();
        }
        let captures: Vec<Traits> = inputs
            .files
            .iter()
            .map(|file| if file.len.is_some() { Traits::read(&file.path, inputs) } else { Traits::default() })
            .collect();
        let mut groups = Groups((0..captures.len()).collect());
        groups.join_by(&captures, |capture| capture.macs.iter().copied().collect());
        groups.join_by(&captures, Traits::pairs_of_servers);
        groups.join_series(inputs, &captures);
        let firsts: Vec<usize> = (0..captures.len()).map(|file| groups.first(file)).collect();
        if firsts.iter().all(|first| *first == 0) {
            return Self::default();
        }
        let name = |first: &usize| {
            inputs.files.get(*first).map_or(Arc::default(), |file| name_of(&file.path).into())
        };
        Self { names: firsts.iter().map(name).collect() }
    }

    /// The name of the network of a capture: that of its first capture. `None` if all captures are of one network.
    pub(crate) fn of(&self, file: usize) -> Option<Arc<str>> {
        self.names.get(file).cloned()
    }

    /// Number of networks.
    pub(crate) fn count(&self) -> usize {
        self.names.iter().collect::<HashSet<_>>().len().max(1)
    }
}

/// What the first packets of a capture show of its network.
#[derive(Debug, Default)]
struct Traits {
    macs: HashSet<[u8; 6]>,
    /// Servers on the Internet, sorted.
    servers: Vec<IpAddr>,
    first: Option<Timestamp>,
}

impl Traits {
    /// Reads the first packets of a capture. A capture that cannot be read has none: the analysis reports its error.
    fn read(path: &Path, inputs: &Inputs) -> Self {
        let mut traits = Self::default();
        let Ok(mut reader) = open(path, inputs.max_ratio) else { return traits };
        let mut decoder = Decoder::new(DecodeConfig::default());
        for _ in 0..MAX_NETWORK_FRAMES {
            let Ok(NextFrame::Frame(frame)) = Source::next_frame(&mut reader) else { break };
            traits.first.get_or_insert(frame.ts);
            if frame.link == LinkType::ETHERNET
                && let Some((destination, rest)) = frame.data.split_first_chunk::<6>()
                && let Some(source) = rest.first_chunk::<6>()
            {
                traits.macs.extend([*destination, *source].into_iter().filter(is_unique));
            }
            decoder.decode(&frame, &mut |segment| {
                let Some(tcp) = segment.tcp().filter(|tcp| tcp.flags.contains(TcpFlags::SYN)) else { return };
                let is_answer = tcp.flags.contains(TcpFlags::ACK);
                let server = if is_answer { segment.source() } else { segment.destination() }.ip();
                if is_public(server)
                    && traits.servers.len() < MAX_NETWORK_SERVERS
                    && let Err(place) = traits.servers.binary_search(&server)
                {
                    traits.servers.insert(place, server);
                }
            });
        }
        traits
    }

    fn pairs_of_servers(&self) -> Vec<(IpAddr, IpAddr)> {
        let others = |index: usize| self.servers.iter().skip(index).skip(1);
        let pairs = self.servers.iter().enumerate();
        pairs.flat_map(|(index, one)| others(index).map(|other| (*one, *other))).collect()
    }
}

/// Whether an address is that of one device: neither a group's, nor one that software chooses (IEEE 802, section 8.2.2).
fn is_unique(mac: &[u8; 6]) -> bool {
    let [first, ..] = mac;
    // Virtual routers share addresses (RFC 9568, section 7.3), and so do machines without one.
    first & 3 == 0 && !mac.starts_with(&[0, 0, 0x5e]) && !mac.starts_with(&[0; 5])
}

/// Groups of captures: the lowest index of each, by way of others of the group.
struct Groups(Vec<usize>);

impl Groups {
    fn first(&mut self, file: usize) -> usize {
        let mut at = file;
        while let Some(next) = self.0.get(at).copied().filter(|next| *next != at) {
            // Each step halves the way of the next one.
            let after = self.0.get(next).copied().unwrap_or(next);
            if let Some(place) = self.0.get_mut(at) {
                *place = after;
            }
            at = after;
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        if let Some(place) = self.0.get_mut(one.max(other)) {
            *place = one.min(other);
        }
    }

    /// Joins captures that share a value.
    fn join_by<T: Eq + std::hash::Hash>(&mut self, captures: &[Traits], values: impl Fn(&Traits) -> Vec<T>) {
        let mut seen: HashMap<T, usize> = HashMap::new();
        for (file, capture) in captures.iter().enumerate() {
            for value in values(capture) {
                let first = *seen.entry(value).or_insert(file);
                self.join(first, file);
            }
        }
    }

    /// Joins captures whose names begin alike, in their order in time, if less than a day lies between them.
    fn join_series(&mut self, inputs: &Inputs, captures: &[Traits]) {
        let mut series: HashMap<String, Vec<(u64, usize)>> = HashMap::new();
        for (file, (input, capture)) in inputs.files.iter().zip(captures).enumerate() {
            let start = series_name(&input.path);
            if let Some(first) = capture.first.filter(|_| !start.is_empty()) {
                series.entry(start).or_default().push((first.as_secs(), file));
            }
        }
        for mut files in series.into_values() {
            files.sort_unstable();
            for ((before, one), (after, other)) in files.iter().zip(files.iter().skip(1)) {
                if after.saturating_sub(*before) < MAX_NETWORK_GAP_SECS {
                    self.join(*one, *other);
                }
            }
        }
    }
}

/// The path of a capture up to the first digit of its name: `/var/dumps/eth0-2026.pcap` is one of `/var/dumps/eth`.
fn series_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let start = name.split(|character: char| character.is_ascii_digit()).next().unwrap_or_default();
    if start.is_empty() || start == name {
        return String::new();
    }
    path.with_file_name(start).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_is_named_up_to_the_first_digit() {
        for (path, name) in [
            ("/d/eth0-2026.pcap", "/d/eth"),
            ("/d/dump.pcap0001", "/d/dump.pcap"),
            ("/d/office.pcap", ""),
            ("2026-11-28.pcap", ""),
        ] {
            assert_eq!(series_name(Path::new(path)), name, "{path}");
        }
    }

    #[test]
    fn groups_join_by_shared_values() {
        let capture = |last: u8| Traits { macs: HashSet::from([[0, 1, 2, 3, 4, last]]), ..Traits::default() };
        let captures = [capture(1), capture(2), capture(1), capture(3), capture(2)];
        let mut groups = Groups((0..captures.len()).collect());
        groups.join_by(&captures, |capture| capture.macs.iter().copied().collect());
        assert_eq!((0..5).map(|file| groups.first(file)).collect::<Vec<_>>(), [0, 1, 0, 3, 1]);
        groups.join(4, 2);
        assert_eq!((0..5).map(|file| groups.first(file)).collect::<Vec<_>>(), [0, 0, 0, 3, 0]);
    }

    #[test]
    fn addresses_of_groups_and_software_identify_no_device() {
        assert!(is_unique(&[0, 0x1b, 0x21, 1, 2, 3]));
        for mac in
            [[0xff; 6], [1, 0, 0x5e, 0, 0, 1], [2, 0x42, 0xac, 0x11, 0, 2], [0, 0, 0x5e, 0, 1, 7], [0; 6]]
        {
            assert!(!is_unique(&mac), "{mac:x?}");
        }
    }
}
