//! Control sockets of live capture: Prometheus metrics over HTTP, p0f's query API, and requests of `huginn-net reload`.
//!
//! One thread serves all clients. Queries to the analysis run in blocking threads, so a busy analysis delays only the
//! clients that query it.

mod clients;
pub(crate) mod counters;
mod exposition;
mod families;
mod metrics;
mod metrics_config;
mod p0f_socket;
#[cfg(target_os = "linux")]
mod process;
mod requests;
mod socket_file;
#[cfg(test)]
mod tests;

use std::fmt;
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
pub(crate) use self::metrics_config::{MetricsAccess, MetricsConfig, MetricsFiles};
pub(crate) use self::requests::{ControlAnswer, ControlRequest};
pub(crate) use self::socket_file::SocketConfig;
use self::socket_file::SocketFile;
use crate::limits::ACCEPT_RETRY_DELAY;
use crate::paths::PathName;

/// Maximum number of threads that query the analysis. Each of them waits until the analysis answers, so that more
/// threads would not answer faster.
const MAX_QUERY_THREADS: usize = 8;

/// Maximum time that pending answers delay shutdown; short, because the program has nothing else left to do.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Looks up the host of an address; `None` after the analysis has ended. May block on the analysis.
pub(crate) type QueryHost = Arc<dyn Fn(IpAddr) -> Option<P0fAnswer> + Send + Sync>;

/// Starts a reload, and returns where its outcome comes: an error has a line for each reason.
pub(crate) type StartReload = Arc<dyn Fn() -> oneshot::Receiver<Result<(), String>> + Send + Sync>;

/// What clients may read.
pub(crate) struct Readings {
    /// Reads the counters. May block on the analysis.
    pub(crate) counters: Box<dyn Fn() -> LiveCounters + Send + Sync>,
    /// Judges the capture. Never blocks on the analysis.
    pub(crate) health: Box<dyn Fn() -> Health + Send + Sync>,
}

/// State of the capture, as `/healthz` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// Packets are taken from an interface that is up.
    Capturing,
    /// The program waits for its interfaces: each is down or gone.
    NoInterface,
    /// The thread that takes packets from the kernel makes no progress.
    Stalled,
    /// The capture has failed or was stopped; the program is about to exit.
    Ended,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capturing => "capturing",
            Self::NoInterface => "no interface is up",
            Self::Stalled => "the capture makes no progress",
            Self::Ended => "the capture has ended",
        })
    }
}

/// Error of opening a control socket.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    /// The metrics address cannot be bound.
    #[error("--metrics {address}: {source}")]
    Metrics { address: SocketAddr, source: io::Error },
    /// A Unix socket cannot be created.
    #[error("{option} {}: {source}", PathName(.path.clone()))]
    Socket { option: &'static str, path: PathBuf, source: io::Error },
    /// Another program listens on the Unix socket.
    #[error("{option} {}: another program is listening on it", PathName(.path.clone()))]
    SocketInUse { option: &'static str, path: PathBuf },
    /// The path names a file that is not a socket.
    #[error("{option} {}: the file exists and is not a socket", PathName(.path.clone()))]
    NotASocket { option: &'static str, path: PathBuf },
}

/// The sockets that are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlConfig {
    pub(crate) metrics: Option<MetricsConfig>,
    pub(crate) p0f: Option<SocketConfig>,
    pub(crate) requests: Option<SocketConfig>,
}

impl ControlConfig {
    /// The Unix sockets.
    pub(crate) fn files(&self) -> impl Iterator<Item = &SocketConfig> {
        self.p0f.iter().chain(&self.requests)
    }
}

/// Listening sockets: bound before privileges are dropped, served afterwards.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    metrics: Option<(TcpListener, MetricsConfig)>,
    p0f: Option<SocketFile>,
    requests: Option<SocketFile>,
}

impl Sockets {
    /// Binds the requested sockets. Unix sockets have their owner and permissions before a client can connect.
    pub(crate) fn bind(config: &ControlConfig) -> Result<Self, ControlError> {
        let ControlConfig { metrics, p0f, requests } = config;
        let listen = |config: &MetricsConfig| {
            let address = config.address;
            let listener = TcpListener::bind(address);
            let listener = listener.map_err(|source| ControlError::Metrics { address, source })?;
            Ok::<_, ControlError>((listener, config.clone()))
        };
        Ok(Self {
            metrics: metrics.as_ref().map(listen).transpose()?,
            p0f: p0f.as_ref().map(SocketFile::bind).transpose()?,
            requests: requests.as_ref().map(SocketFile::bind).transpose()?,
        })
    }

    /// Returns the metrics address, with the assigned port if port 0 was requested.
    #[cfg(test)]
    fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref()?.0.local_addr().ok()
    }

    /// Returns where metrics are, with the assigned port if port 0 was requested.
    pub(crate) fn metrics_url(&self) -> Option<String> {
        let (listener, config) = self.metrics.as_ref()?;
        Some(format!("{}://{}/metrics", config.scheme(), listener.local_addr().ok()?))
    }

    /// Serves clients in a new thread until [stopped](ControlServer::stop). Returns `None` if no socket is bound.
    pub(crate) fn serve(
        self,
        hosts: QueryHost,
        readings: Readings,
        reload: StartReload,
    ) -> io::Result<Option<ControlServer>> {
        let Self { metrics, p0f, requests } = self;
        if metrics.is_none() && p0f.is_none() && requests.is_none() {
            return Ok(None);
        }
        let readings = Arc::new(readings);
        let runtime = runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(MAX_QUERY_THREADS)
            .build()?;
        {
            let _context = runtime.enter();
            if let Some((listener, config)) = metrics {
                listener.set_nonblocking(true)?;
                let listener = tokio::net::TcpListener::from_std(listener)?;
                runtime.spawn(metrics::serve(listener, config.access, Arc::clone(&readings)));
            }
            if let Some(socket) = &p0f {
                runtime.spawn(p0f_socket::serve(socket.listener()?, hosts));
            }
            if let Some(socket) = &requests {
                runtime.spawn(requests::serve(socket.listener()?, readings, reload));
            }
        }
        let (stop, stopped) = oneshot::channel();
        let files = [p0f, requests];
        let thread = thread::Builder::new()
            .name("huginn-control".into())
            .spawn(move || run(runtime, stopped, files))?;
        Ok(Some(ControlServer { stop, thread }))
    }
}

fn run(runtime: Runtime, stopped: oneshot::Receiver<()>, files: [Option<SocketFile>; 2]) {
    // A dropped sender stops the server too.
    let _ = runtime.block_on(stopped);
    drop(files);
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
}

/// Thread that serves the control sockets.
#[derive(Debug)]
pub(crate) struct ControlServer {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl ControlServer {
    /// Closes all connections, removes the Unix sockets and waits for the thread.
    pub(crate) fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}
