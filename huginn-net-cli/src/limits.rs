//! Limits of the program, each with its unit and its reason.

use std::time::Duration;

// Analysis of files.

/// Shortest input, in bytes, for which `-w auto` takes several workers. For 4 MB of web traffic, two workers save about the
/// time that starting threads and sharing blocks costs.
pub(crate) const MIN_PARALLEL_LEN: u64 = 4 << 20;

/// Delay before a file shows a progress bar; shorter analyses show none.
pub(crate) const PROGRESS_DELAY: Duration = Duration::from_millis(500);

/// Maximum number of rows in a table of `--summary`: memory holds the complete table for its layout.
pub(crate) const MAX_SUMMARY_ROWS: usize = 2000;

// `explain ja4`: bounds of the search for deviations, which tries every variant of one list with every variant of the
// other. Clients send shorter lists than these.

/// Maximum number of cipher suites in a search.
pub(crate) const MAX_SEARCHED_CIPHERS: usize = 150;

/// Maximum number of extensions in a search; they have some hundred variants.
pub(crate) const MAX_SEARCHED_EXTENSIONS: usize = 50;

/// Maximum number of signature algorithms in a search; they have some hundred variants.
pub(crate) const MAX_SEARCHED_ALGORITHMS: usize = 40;

/// Maximum number of deviations that a search combines.
pub(crate) const MAX_DEVIATIONS: usize = 2;

// Live capture.

/// Minimum interval between two checks for losses.
pub(crate) const LOSS_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Minimum interval between two warnings of losses.
pub(crate) const LOSS_WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Number of hosts that one query copies. The analysis pauses while they are copied.
pub(crate) const HOSTS_PER_QUERY: usize = 1000;

/// Longest recorded latency, in microseconds: one hour. Longer latencies are recorded as this value.
pub(crate) const MAX_LATENCY_MICROS: u64 = 3_600_000_000;

/// Significant decimal digits of a recorded latency.
pub(crate) const LATENCY_DIGITS: u8 = 2;

/// Period after the first stop signal in which another one is ignored: `timeout` and terminals send it twice.
pub(crate) const REPEATED_STOP_WINDOW: Duration = Duration::from_secs(1);

// Output queues of live capture.

/// Size limit of the event queue, in bytes.
pub(crate) const OUTPUT_QUEUE_BYTES: usize = 16 << 20;

/// Size limit of the queue to standard error, in bytes.
pub(crate) const MESSAGE_QUEUE_BYTES: usize = 1 << 20;

/// Size of a chunk of a queue, in bytes. Larger chunks are not faster to write, smaller ones are slower.
pub(crate) const QUEUE_CHUNK_BYTES: usize = 1 << 16;

/// Maximum number of empty chunks kept for reuse. The queue frees the others after a backlog.
pub(crate) const MAX_SPARE_CHUNKS: usize = 4;

/// Delay after a write, in which events collect, so that producers need not wake the thread for each event.
pub(crate) const WRITE_BATCH_DELAY: Duration = Duration::from_millis(1);

/// Delay before a failed write is retried.
pub(crate) const WRITE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Delay before a failed rotation is retried.
pub(crate) const ROTATION_RETRY_DELAY: Duration = Duration::from_secs(10);

/// Minimum interval between two warnings of failed writes.
pub(crate) const WRITE_WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum time that shutdown waits for a stalled reader of events.
pub(crate) const EVENTS_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time that shutdown waits for a stalled reader of messages.
pub(crate) const MESSAGES_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

// Sockets of live capture.

/// Maximum number of connected clients of a socket.
pub(crate) const MAX_CLIENTS: usize = 64;

/// Maximum lifetime of a connection to the metrics, which serves one request.
pub(crate) const METRICS_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of the head of a request for metrics, in bytes.
pub(crate) const MAX_METRICS_HEAD_BYTES: usize = 16 << 10;

/// Delay before a socket accepts again after an error such as EMFILE.
pub(crate) const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// Maximum number of threads that query the analysis.
pub(crate) const MAX_QUERY_THREADS: usize = 8;

/// Maximum time that pending answers delay shutdown.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum number of stale directories, left by crashes, that the p0f socket skips.
pub(crate) const MAX_STALE_DIRECTORIES: u32 = 1000;
