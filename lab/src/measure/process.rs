//! Processes that are measured: CPU time and memory of all their threads and children.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const POLL: Duration = Duration::from_millis(20);

/// A child that is killed on drop.
pub(super) struct Process(Child);

/// What a process has used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// CPU time of all threads.
    pub(super) cpu: Duration,
    /// Resident memory, in bytes.
    pub(super) memory: u64,
}

impl Process {
    pub(super) fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        Ok(Self(child))
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Waits for the end of the process, at most this long.
    pub(super) fn wait(&mut self, limit: Duration) -> anyhow::Result<()> {
        let start = Instant::now();
        // Sensors report lost packets and signals by their status, which is therefore no error.
        while self.0.try_wait()?.is_none() {
            if start.elapsed() > limit {
                bail!("process {} did not end within {limit:?}", self.id());
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Sends SIGTERM, on which every sensor writes what it has and ends.
    pub(super) fn terminate(&self) -> anyhow::Result<()> {
        kill(Pid::from_raw(self.id().try_into()?), Signal::SIGTERM)?;
        Ok(())
    }

    /// Sums CPU time and memory of the process and of its children, such as tshark's dumpcap.
    pub(super) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        let mut ids = vec![self.id()];
        while let Some(id) = ids.pop() {
            usage.cpu = usage.cpu.saturating_add(cpu(id));
            usage.memory = usage.memory.saturating_add(memory(id));
            ids.extend(children(id));
        }
        usage
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn threads(id: u32) -> impl Iterator<Item = std::path::PathBuf> {
    fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Time on a processor by the scheduler's clock, in nanoseconds (proc_pid_schedstat(5)); threads that ended are missing.
fn cpu(id: u32) -> Duration {
    let nanos = threads(id).filter_map(|thread| {
        let text = fs::read_to_string(thread.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// Resident memory in bytes, from `VmRSS` (proc_pid_status(5)).
fn memory(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0).saturating_mul(1024)
}

fn children(id: u32) -> Vec<u32> {
    let lists = threads(id).filter_map(|thread| fs::read_to_string(thread.join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn usage_contains_children() {
        let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 30";
        let process = Process::spawn(Command::new("sh").args(["-c", &format!("({busy}); true")])).unwrap();
        let start = Instant::now();
        while process.usage().cpu < Duration::from_millis(50) {
            assert!(start.elapsed() < Duration::from_secs(20));
            std::thread::sleep(POLL);
        }
        assert!(process.usage().memory > 100_000);
    }

    #[test]
    fn sigterm_ends_a_process() {
        let mut process = Process::spawn(Command::new("sleep").arg("30")).unwrap();
        assert!(process.wait(Duration::from_millis(50)).is_err());
        process.terminate().unwrap();
        process.wait(Duration::from_secs(10)).unwrap();
    }
}
