//! Answers for those who ask while an interface is watched: Prometheus, and clients of p0f.
//!
//! One thread serves all of them; what an answer is made of is asked for in threads that come and go, so that an analysis
//! that is busy holds up nobody but who asks for it.

mod clients;
pub(crate) mod counters;
mod exposition;
mod families;
mod metrics;
mod p0f_socket;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use huginn_net::p0f::P0fAnswer;
use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;

use self::counters::LiveCounters;
pub(crate) use self::p0f_socket::SocketConfig;
use self::p0f_socket::SocketFile;

/// What is known of the host of an address. It may wait for the analysis.
pub(crate) type QueryHost = Arc<dyn Fn(IpAddr) -> P0fAnswer + Send + Sync>;

/// What was counted. It may wait for the analysis.
pub(crate) type ReadCounters = Arc<dyn Fn() -> LiveCounters + Send + Sync>;

/// Why nobody can ask.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    /// Metrics cannot be offered there.
    #[error("--metrics {address}: {source}")]
    Metrics { address: SocketAddr, source: io::Error },
    /// The socket cannot be made.
    #[error("--p0f-socket {}: {source}", .path.display())]
    Socket { path: PathBuf, source: io::Error },
    /// Somebody answers there already.
    #[error("--p0f-socket {}: another program answers there", .path.display())]
    SocketInUse { path: PathBuf },
    /// There is a file that is no socket, and may be of use to somebody.
    #[error("--p0f-socket {}: there is a file already, and it is no socket", .path.display())]
    NotASocket { path: PathBuf },
}

/// For how long to wait where connections cannot be accepted, as for want of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);
/// Threads that ask the analysis, at most.
const MAX_QUERY_THREADS: usize = 8;
/// How long an answer that is under way may hold up the end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Where answers are given: bound before rights are dropped, served after.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    metrics: Option<TcpListener>,
    p0f: Option<SocketFile>,
}

impl Sockets {
    /// Binds what is asked for. The socket of p0f gets its owner and permissions before anybody can connect.
    pub(crate) fn bind(
        metrics: Option<SocketAddr>,
        p0f: Option<&SocketConfig>,
    ) -> Result<Self, ControlError> {
        let listen =
            |address| TcpListener::bind(address).map_err(|source| ControlError::Metrics { address, source });
        Ok(Self { metrics: metrics.map(listen).transpose()?, p0f: p0f.map(SocketFile::bind).transpose()? })
    }

    /// Where metrics are offered: the port that was chosen, if 0 was asked for.
    pub(crate) fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref()?.local_addr().ok()
    }

    /// Answers in a thread of its own, until [stopped](ControlServer::stop). None where nothing was bound.
    pub(crate) fn serve(self, hosts: QueryHost, counters: ReadCounters) -> io::Result<Option<ControlServer>> {
        let Self { metrics, p0f } = self;
        if metrics.is_none() && p0f.is_none() {
            return Ok(None);
        }
        let runtime = runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(MAX_QUERY_THREADS)
            .build()?;
        {
            let _context = runtime.enter();
            if let Some(listener) = metrics {
                listener.set_nonblocking(true)?;
                let listener = tokio::net::TcpListener::from_std(listener)?;
                runtime.spawn(metrics::serve(listener, counters));
            }
            if let Some(socket) = &p0f {
                runtime.spawn(p0f_socket::serve(socket.listener()?, hosts));
            }
        }
        let (stop, stopped) = oneshot::channel();
        let thread =
            thread::Builder::new().name("huginn-control".into()).spawn(move || run(runtime, stopped, p0f))?;
        Ok(Some(ControlServer { stop, thread }))
    }
}

fn run(runtime: Runtime, stopped: oneshot::Receiver<()>, p0f: Option<SocketFile>) {
    // Who drops the other end wants an end, too.
    let _ = runtime.block_on(stopped);
    drop(p0f);
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
}

/// The thread that answers.
#[derive(Debug)]
pub(crate) struct ControlServer {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl ControlServer {
    /// Ends all connections, takes away the socket of p0f, and waits for the thread.
    pub(crate) fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}
