//! Statements about hosts, with the packets that show them.

use std::fmt;
use std::net::IpAddr;

use super::bounded::increment;
use crate::limits::MAX_ALERT_TEXT;
use crate::output::last_boundary;

/// Maximum number of packets of an alert.
const MAX_ALERT_PACKETS: usize = 8;

/// A statement about a host, which several events may make.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) host: IpAddr,
    pub(crate) reason: String,
    /// The first packets.
    pub(crate) packets: Packets,
    /// Number of events.
    pub(crate) events: u64,
    /// Number of captures with these events.
    pub(crate) captures: u64,
    /// Index of the file of the latest event.
    last_file: usize,
}

impl Statement {
    pub(super) fn new(host: IpAddr, reason: String, packets: &[u64], file: usize) -> Self {
        let packets = Packets { numbers: packets.to_vec(), file };
        let mut statement = Self { host, reason, packets, events: 1, captures: 1, last_file: file };
        statement.cut();
        statement
    }

    /// Counts a later event. Returns whether it is of the file of the packets.
    pub(super) fn count(&mut self, file: usize) -> bool {
        increment(&mut self.events);
        self.captures = self.captures.saturating_add(u64::from(self.last_file != file));
        self.last_file = file;
        self.packets.file == file
    }

    /// Replaces the reason and the packets.
    pub(super) fn update(&mut self, reason: String, packets: &[u64]) {
        (self.reason, self.packets.numbers) = (reason, packets.to_vec());
        self.cut();
    }

    /// Adds further packets.
    pub(super) fn add_packets(&mut self, packets: &[u64]) {
        let numbers = &mut self.packets.numbers;
        for packet in packets {
            if numbers.len() < MAX_ALERT_PACKETS && !numbers.contains(packet) {
                numbers.push(*packet);
            }
        }
    }

    fn cut(&mut self) {
        self.reason.truncate(last_boundary(&self.reason, MAX_ALERT_TEXT));
    }
}

/// Numbers of packets of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packets {
    pub(crate) numbers: Vec<u64>,
    /// Index of the file.
    pub(crate) file: usize,
}

impl fmt::Display for Packets {
    /// Writes `packets 3, 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.numbers.len() == 1 { "" } else { "s" };
        write!(f, "packet{plural} {}", self.list())
    }
}

impl Packets {
    pub(crate) fn one(number: u64, file: usize) -> Self {
        Self { numbers: vec![number], file }
    }

    /// The display filter of Wireshark for them.
    pub(crate) fn display_filter(&self) -> String {
        match &*self.numbers {
            [number] => format!("frame.number == {number}"),
            _ => format!("frame.number in {{{}}}", self.list()),
        }
    }

    fn list(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(ToString::to_string).collect();
        numbers.join(", ")
    }
}
