//! Resources of this process, with the names that the client libraries of Prometheus use.

use std::fmt;
use std::fs;

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::sys::time::TimeVal;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// Resources of this process. The kernel may refuse some of them.
#[derive(Debug)]
pub(super) struct ProcessResources {
    /// User and system time of all threads.
    cpu_seconds: Option<f64>,
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    threads: Option<u64>,
    open_fds: Option<u64>,
    /// The soft limit.
    max_fds: Option<u64>,
    /// Seconds since the Unix epoch.
    started: f64,
}

impl ProcessResources {
    /// Reads the resources. `started` is in seconds since the Unix epoch.
    pub(super) fn read(started: f64) -> Self {
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        // Of /proc, a hardened unit shows only the processes.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        #[allow(clippy::useless_conversion, reason = "32-bit systems have 32-bit limits")]
        let max_fds = getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(soft, _)| u64::from(soft));
        let kib = |name| field(&status, name).map(|kib| kib.saturating_mul(1024));
        Self {
            cpu_seconds: usage.map(|usage| seconds(usage.user_time()) + seconds(usage.system_time())),
            resident_bytes: kib("VmRSS"),
            virtual_bytes: kib("VmSize"),
            threads: field(&status, "Threads"),
            open_fds: open_fds(),
            max_fds,
            started,
        }
    }
}

/// Returns a number of `/proc/self/status` (proc(5)).
fn field(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse().ok()
}

/// Returns the number of open descriptors, without the one that counts them.
fn open_fds() -> Option<u64> {
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    u64::try_from(count.saturating_sub(1)).ok()
}

#[expect(clippy::cast_precision_loss, reason = "exact for 285 million years")]
fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

impl Collector for ProcessResources {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self { cpu_seconds, resident_bytes, virtual_bytes, threads, open_fds, max_fds, started } = self;
        if let Some(cpu_seconds) = cpu_seconds {
            encoder
                .encode_descriptor("process_cpu_seconds", "Processor time used", None, MetricType::Counter)?
                .encode_counter::<NoLabelSet, _, u64>(cpu_seconds, None)?;
        }
        for (name, help, value) in [
            (
                "process_resident_memory_bytes",
                "Memory resident, the kernel's packet buffers included",
                resident_bytes,
            ),
            ("process_virtual_memory_bytes", "Memory mapped", virtual_bytes),
            ("process_threads", "Threads", threads),
            ("process_open_fds", "Open file descriptors", open_fds),
            ("process_max_fds", "Limit of open file descriptors", max_fds),
        ] {
            if let Some(value) = value {
                encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(value)?;
            }
        }
        encoder
            .encode_descriptor(
                "process_start_time_seconds",
                "Time of the start, in seconds since the Unix epoch",
                None,
                MetricType::Gauge,
            )?
            .encode_gauge(started)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn finds_numbers_of_status() {
        let status = "Name:\tVmRSS: 7\nVmRSSX:\t1 kB\nVmRSS:\t   6128 kB\nThreads:\t3\n";
        assert_eq!((field(status, "VmRSS"), field(status, "Threads")), (Some(6128), Some(3)));
        assert_eq!(
            (field(status, "VmSize"), field("", "VmRSS"), field("VmRSS:\n", "VmRSS")),
            (None, None, None)
        );
    }

    #[test]
    fn reads_this_process() {
        let before = ProcessResources::read(0.0);
        let files: Vec<File> = (0..50).map(|_| File::open("/dev/null").unwrap()).collect();
        let ProcessResources {
            cpu_seconds, resident_bytes, virtual_bytes, threads, open_fds, max_fds, ..
        } = ProcessResources::read(0.0);
        assert!(cpu_seconds >= before.cpu_seconds && threads >= Some(1));
        assert!(resident_bytes > Some(1 << 20) && virtual_bytes > resident_bytes);
        // Other tests open and close files meanwhile.
        assert!(open_fds > Some(files.len() as u64) && max_fds >= open_fds);
    }
}
