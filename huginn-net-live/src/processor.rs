//! Threads that stay on a processor.

use crate::LiveError;

/// Runs a function on a processor, if one is given, so that memory that it allocates lies on the processor's node.
#[cfg(target_os = "linux")]
pub(crate) fn run_on<T>(cpu: Option<usize>, run: impl FnOnce() -> T) -> Result<T, LiveError> {
    use nix::sched::{sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    let Some(cpu) = cpu else { return Ok(run()) };
    let thread = Pid::from_raw(0);
    let before = sched_getaffinity(thread).map_err(|errno| error(cpu, errno))?;
    stay_on(cpu)?;
    let result = run();
    sched_setaffinity(thread, &before).map_err(|errno| error(cpu, errno))?;
    Ok(result)
}

/// Moves the current thread to a processor for good.
#[cfg(target_os = "linux")]
pub(crate) fn stay_on(cpu: usize) -> Result<(), LiveError> {
    use nix::sched::{CpuSet, sched_setaffinity};
    use nix::unistd::Pid;

    let mut only = CpuSet::new();
    only.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only)).map_err(|errno| error(cpu, errno))
}

#[cfg(target_os = "linux")]
fn error(cpu: usize, errno: nix::errno::Errno) -> LiveError {
    LiveError::Processor { cpu, source: errno.into() }
}

/// Other systems have no such processors.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run_on<T>(cpu: Option<usize>, run: impl FnOnce() -> T) -> Result<T, LiveError> {
    cpu.map_or(Ok(()), stay_on)?;
    Ok(run())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn stay_on(cpu: usize) -> Result<(), LiveError> {
    Err(LiveError::Processor { cpu, source: std::io::ErrorKind::Unsupported.into() })
}
