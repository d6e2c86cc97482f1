//! Drop counters of interfaces and their drivers.

/// Reads the counters of all interfaces in this thread's network namespace, if available (`proc_net_dev(5)`).
///
/// `sysfs` would show the namespace in which it was mounted.
pub(crate) fn read() -> Option<String> {
    if cfg!(target_os = "linux") { std::fs::read_to_string("/proc/thread-self/net/dev").ok() } else { None }
}

/// Parses the receive drops of an interface since it was created: frames dropped and frames lost in a full queue.
pub(crate) fn parse_drops(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    // Columns: bytes, packets, errors, dropped (missed ones included), FIFO overruns.
    let mut columns = line.split_ascii_whitespace().skip(3).map(str::parse::<u64>);
    let (dropped, full) = (columns.next()?.ok()?, columns.next()?.ok()?);
    Some(dropped.saturating_add(full))
}

/// Converts a system counter that restarts with its interface to a total since the capture started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeviceDrops {
    last: Option<u64>,
    total: u64,
}

impl DeviceDrops {
    /// Adds a reading of the counter, and returns the total.
    pub(crate) fn add_reading(&mut self, count: u64) -> u64 {
        let more = self.last.map_or(0, |last| count.checked_sub(last).unwrap_or(count));
        self.last = Some(count);
        self.total = self.total.saturating_add(more);
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of `cat /proc/net/dev` on Linux 6.18, with invented numbers.
    const TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1060612    1021    0    0    0     0          0         0  1060612    1021    0    0    0     0       0          0
  eth0:89741223  134217    1   20    3     0          0         0  7653211   55443    0    9    0     0       0          0
 eth01: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
";

    #[test]
    fn parses_drops_by_interface_name() {
        assert_eq!(parse_drops(TEXT, "lo"), Some(0));
        assert_eq!(parse_drops(TEXT, "eth0"), Some(23));
        assert_eq!(parse_drops(TEXT, "eth01"), Some(9));
        assert_eq!(parse_drops(TEXT, "eth"), None);
        assert_eq!(parse_drops("eth0: 1 2 3 x", "eth0"), None);
    }

    #[test]
    fn restarted_counter_adds_up() {
        let mut drops = DeviceDrops::default();
        let totals = [100, 100, 130, 5, 7].map(|count| drops.add_reading(count));
        assert_eq!(totals, [0, 0, 30, 35, 37]);
    }
}
