//! Lines of events that are kept for each host: the first and the last ones.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::limits::MAX_VIEW_HOST_LINES;
use crate::views::store::bounded::{Bounded, increment};

/// Maximum number of hosts in the terminal view.
const MAX_VIEW_HOSTS: usize = 1 << 16;

/// Maximum number of lines of all hosts in the terminal view, about 200 bytes each: each host keeps fewer where there are
/// more, at least its first and its last one.
const MAX_VIEW_KEPT_LINES: usize = 2 * MAX_VIEW_HOSTS;

/// An event as a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventLine {
    /// Number of earlier lines.
    pub(super) number: u64,
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
    /// Whether it is about its host rather than about a packet: a tool, a contradiction, a change.
    pub(super) is_alarm: bool,
    pub(super) text: Box<str>,
}

/// The first and the last lines of each host. All hosts together have a bounded number: where they have more, each keeps
/// fewer.
#[derive(Debug)]
pub(super) struct KeptLines {
    hosts: Bounded<IpAddr, HostLines, MAX_VIEW_HOSTS>,
    /// Number of lines of all hosts.
    kept: usize,
    /// Maximum number of first lines, and of last lines, of a host.
    limit: usize,
    /// Number of lines that were added.
    lines: u64,
}

#[derive(Debug, Default)]
struct HostLines {
    first: Vec<Arc<EventLine>>,
    last: VecDeque<Arc<EventLine>>,
    /// Number of lines that were added.
    all: u64,
}

/// Lines of a host, the newest first.
#[derive(Default)]
pub(super) struct Earlier<'a> {
    pub(super) last: Vec<&'a Arc<EventLine>>,
    pub(super) first: Vec<&'a Arc<EventLine>>,
    /// Number of all lines of the host, those that are not kept included.
    pub(super) all: u64,
}

impl Default for KeptLines {
    fn default() -> Self {
        Self { hosts: Bounded::default(), kept: 0, limit: MAX_VIEW_HOST_LINES / 2, lines: 0 }
    }
}

impl KeptLines {
    /// The number of the next line.
    pub(super) fn next_number(&self) -> u64 {
        self.lines
    }

    /// Adds a line to its client and its server.
    pub(super) fn add(&mut self, line: &Arc<EventLine>) {
        increment(&mut self.lines);
        let (client, server) = (line.client.ip(), line.server.ip());
        self.add_to(client, line);
        if server != client {
            self.add_to(server, line);
        }
        while self.kept > MAX_VIEW_KEPT_LINES && self.limit > 1 {
            self.halve();
        }
    }

    fn add_to(&mut self, ip: IpAddr, line: &Arc<EventLine>) {
        let Some(host) = self.hosts.entry(ip) else { return };
        let is_first = host.first.len() as u64 == host.all && host.first.len() < self.limit;
        increment(&mut host.all);
        if is_first {
            host.first.push(Arc::clone(line));
        } else {
            host.last.push_back(Arc::clone(line));
        }
        if host.last.len() > self.limit {
            host.last.pop_front();
        } else {
            self.kept = self.kept.saturating_add(1);
        }
    }

    /// Lets each host keep half as many lines.
    fn halve(&mut self) {
        self.limit /= 2;
        self.kept = 0;
        for host in self.hosts.values_mut() {
            let later = host.first.split_off(self.limit.min(host.first.len()));
            host.first.shrink_to_fit();
            later.into_iter().rev().for_each(|line| host.last.push_front(line));
            let more = host.last.len().saturating_sub(self.limit);
            host.last.drain(..more);
            host.last.shrink_to_fit();
            self.kept = self.kept.saturating_add(host.first.len()).saturating_add(host.last.len());
        }
    }

    /// The lines of a host before that of this number.
    pub(super) fn before(&self, ip: IpAddr, number: u64) -> Earlier<'_> {
        let Some(host) = self.hosts.get(&ip) else { return Earlier::default() };
        let is_earlier = |line: &&Arc<EventLine>| line.number < number;
        Earlier {
            last: host.last.iter().rev().filter(is_earlier).collect(),
            first: host.first.iter().rev().filter(is_earlier).collect(),
            all: host.all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, client: [u8; 4]) -> Arc<EventLine> {
        let (client, server) = ((client, 40000).into(), ([192, 0, 2, 2], 443).into());
        Arc::new(EventLine { number, client, server, is_alarm: false, text: number.to_string().into() })
    }

    fn numbers(lines: &[&Arc<EventLine>]) -> Vec<u64> {
        lines.iter().map(|line| line.number).collect()
    }

    #[test]
    fn first_and_last_lines_of_a_host_are_kept() {
        let mut kept = KeptLines { limit: 2, ..KeptLines::default() };
        (0..9).for_each(|number| kept.add(&line(number, [192, 0, 2, 1])));
        let client = [192, 0, 2, 1].into();
        let earlier = kept.before(client, u64::MAX);
        assert_eq!((numbers(&earlier.last), numbers(&earlier.first)), (vec![8, 7], vec![1, 0]));
        assert_eq!((earlier.all, kept.kept), (9, 8), "the server has them, too");
        let earlier = kept.before(client, 8);
        assert_eq!((numbers(&earlier.last), numbers(&earlier.first)), (vec![7], vec![1, 0]));
        assert_eq!(kept.before([192, 0, 2, 3].into(), u64::MAX).all, 0);
    }

    #[test]
    fn other_hosts_do_not_displace_the_lines_of_a_host() {
        let mut kept = KeptLines::default();
        kept.add(&line(0, [192, 0, 2, 1]));
        for number in 1..200_000_u32 {
            let [_, b, c, d] = number.to_be_bytes();
            kept.add(&line(number.into(), [10, b, c, d]));
        }
        assert_eq!(numbers(&kept.before([192, 0, 2, 1].into(), u64::MAX).first), [0]);
        assert_eq!(kept.hosts.len(), MAX_VIEW_HOSTS);
        let count = kept.hosts.values().map(|host| host.first.len() + host.last.len()).sum::<usize>();
        assert!(count == kept.kept && count <= MAX_VIEW_KEPT_LINES, "{count} {}", kept.kept);
    }

    #[test]
    fn hosts_with_many_lines_keep_fewer_each() {
        let mut kept = KeptLines::default();
        for number in 0..300_000_u32 {
            let [_, _, c, d] = (number % 10_000).to_be_bytes();
            kept.add(&line(number.into(), [10, 0, c, d]));
        }
        assert!(kept.kept <= MAX_VIEW_KEPT_LINES && kept.limit < MAX_VIEW_HOST_LINES / 2, "{}", kept.kept);
        let earlier = kept.before([10, 0, 0, 5].into(), u64::MAX);
        assert_eq!((earlier.first.last().unwrap().number, earlier.last[0].number), (5, 290_005));
        assert_eq!(earlier.all, 30);
    }
}
