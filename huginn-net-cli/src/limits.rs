//! Limits of the program, each with its unit and its reason.

use std::num::NonZeroUsize;
use std::time::Duration;

// Analysis of files.

/// Shortest input, in bytes, for which several workers are used without `-w`. For 4 MB of web traffic, two workers save about the
/// time that starting threads and sharing blocks costs.
pub(crate) const MIN_PARALLEL_LEN: u64 = 4 << 20;

/// Maximum number of workers without `-w`: with more, finding records and merging events are the bound.
pub(crate) const MAX_AUTO_WORKERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(15);

/// Delay before a progress bar is shown: a bar that vanishes at once would only flicker.
pub(crate) const PROGRESS_DELAY: Duration = Duration::from_millis(100);

/// Maximum number of rows in a table of `hosts`: memory holds the complete table for its layout.
pub(crate) const MAX_SUMMARY_ROWS: usize = 2000;

/// Maximum number of certificates that an output with `--certificates once` remembers, with 64 bytes each; then it forgets them.
pub(crate) const MAX_WRITTEN_CERTIFICATES: usize = 1 << 16;

// Logs of other tools.

/// Size of the buffer of each of Zeek's logs, in bytes: rows have up to some kB.
pub(crate) const ZEEK_BUFFER_BYTES: usize = 64 << 10;

/// Maximum length of a line of `enrich`, in bytes: longer ones pass unread. EVE has lines of some kB.
pub(crate) const MAX_ENRICHED_LINE: usize = 1 << 20;

/// Size of the read buffer of `enrich`, in bytes: a system call costs little beside it.
pub(crate) const ENRICH_BUFFER_BYTES: usize = 256 << 10;

// Files that are read into memory.

/// Maximum size of a signature database, in bytes: the built-in one has 60 kB.
pub(crate) const MAX_DATABASE_BYTES: u64 = 16 << 20;

/// Maximum size of a table of clients, in bytes: the built-in ones have 1 MB together.
pub(crate) const MAX_CLIENTS_BYTES: u64 = 64 << 20;

/// Maximum size of a configuration file, in bytes: the example with all options has 8 kB.
#[cfg(unix)]
pub(crate) const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Maximum size of a list of captures, in bytes: hundreds of thousands of paths.
pub(crate) const MAX_CAPTURE_LIST_BYTES: u64 = 32 << 20;

/// Maximum length of a path in such a list, in bytes: `PATH_MAX` of Linux.
pub(crate) const MAX_PATH_BYTES: usize = 4096;

/// Maximum size of a file of `--fingerprints`, in bytes: several million entries. The file is read into memory.
pub(crate) const MAX_LIST_BYTES: u64 = 256 << 20;

/// Maximum size of a file of `--known`, in bytes.
pub(crate) const MAX_KNOWN_BYTES: u64 = 16 << 20;

/// Maximum size of a file of `--baseline`, in bytes. A full one, whose values are all as long as possible, has 155 MiB.
pub(crate) const MAX_BASELINE_BYTES: u64 = 192 << 20;

// `watch`.

/// Maximum number of files of a watched directory: a file each second for a day and a half. Their names take some 20 MB.
#[cfg(unix)]
pub(crate) const MAX_WATCHED_FILES: usize = 1 << 17;

/// Number of analysed files that are remembered after they left the directory, as they may come back under another name.
#[cfg(unix)]
pub(crate) const MAX_GONE_FILES: usize = 10_000;

/// Maximum size of a file of `--state`, in bytes: more than [`MAX_WATCHED_FILES`] and [`MAX_GONE_FILES`] with usual names.
#[cfg(unix)]
pub(crate) const MAX_STATE_BYTES: u64 = 256 << 20;

/// Minimum interval between two writes of that file.
#[cfg(unix)]
pub(crate) const STATE_INTERVAL: Duration = Duration::from_secs(1);

/// Interval between two looks at a watched directory in which nothing happens: network file systems report no events.
#[cfg(unix)]
pub(crate) const WATCH_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum time after which `watch` sees a signal while it waits.
#[cfg(unix)]
pub(crate) const WATCH_SIGNAL_INTERVAL: Duration = Duration::from_millis(250);

/// Time without a change after which a file counts as closed that the system said nothing of, if a newer one follows.
#[cfg(unix)]
pub(crate) const OLDER_FILE_QUIET: Duration = Duration::from_secs(2);

/// Time without a change after which the newest file counts as closed for `watch --once`.
#[cfg(unix)]
pub(crate) const NEWEST_FILE_QUIET: Duration = Duration::from_secs(60);

// `explain`: bounds of the search for deviations, which tries every variant of one list with every variant of the
// other. Clients send shorter lists than these.

// Live capture.

/// Interval between two checks for losses. A warning follows a loss within about a second.
pub(crate) const LOSS_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Time without progress after which a capture counts as stalled. The source of packets returns at least once a second,
/// even on a quiet link.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Minimum interval between two warnings of losses, so that lasting losses do not fill the log.
pub(crate) const LOSS_WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Minimum interval between two lines about the same alert, so that one client does not fill the log. Events and metrics have all.
pub(crate) const ALARM_INTERVAL: Duration = Duration::from_secs(60);

/// Time that the kernel buffers frames with watch lists, so that a hit has its line sooner. A quiet interface then fills a buffer of 32 MiB
/// in 2 s, not in 4.6 s.
pub(crate) const ALERT_BUFFER_TIMEOUT: Duration = Duration::from_millis(4);

/// Maximum number of fingerprints of hosts that `--once` remembers, in some 40 megabytes. Beyond it, the oldest half is forgotten.
pub(crate) const MAX_REMEMBERED_EVENTS: usize = 1 << 20;

/// Interval at which what was replaced on SIGHUP is freed, once no worker uses it.
pub(crate) const FREE_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of alerts without proof whose last line is remembered, and of proven ones, in a megabyte each. Beyond it, alerts are
/// counted in one line for each interval.
pub(crate) const MAX_ALARMS: usize = 1 << 14;

/// Maximum length of a name of a server in a line about an alert, in bytes.
pub(crate) const MAX_ALARM_NAME_BYTES: usize = 255;

/// Capture loss in per cent beyond which there is a warning: less is usual on mirror ports, and changes few events.
pub(crate) const MAX_CAPTURE_LOSS: f64 = 1.0;

/// Number of expected bytes from which on a capture loss is judged: fewer are of some connections only.
pub(crate) const MIN_CAPTURE_LOSS_BYTES: u64 = 1_000_000;

/// Interval at which `live --state` is written: a crash loses what hosts did in this time.
pub(crate) const HOST_STATE_INTERVAL: Duration = Duration::from_secs(300);

/// Maximum length of a line of `live --state`, in bytes: that of a host with eight tools, each with 32,768 ranges of ports and 1,024 targets,
/// has 4 MiB.
pub(crate) const MAX_STATE_LINE_BYTES: u64 = 16 << 20;

/// Maximum size of a file of `live --state`, in bytes: several times that of a full table.
pub(crate) const MAX_HOST_STATE_BYTES: u64 = 1 << 30;

/// Maximum size of the hosts of such a file, in bytes: the rest is for the baseline, the header and the end.
pub(crate) const MAX_SAVED_HOSTS_BYTES: u64 = MAX_HOST_STATE_BYTES - 2 * MAX_BASELINE_BYTES;

/// Number of hosts that one query copies. The analysis pauses during a query, so a long list takes several.
pub(crate) const HOSTS_PER_QUERY: usize = 1000;

/// Longest recorded latency, in microseconds: one hour. Longer latencies are recorded as this value.
pub(crate) const MAX_LATENCY_MICROS: u64 = 3_600_000_000;

/// Significant decimal digits of a recorded latency: an error of at most 1 %, with a small histogram.
pub(crate) const LATENCY_DIGITS: u8 = 2;

/// Period after the first stop signal in which another one is ignored: `timeout` and terminals send it twice.
pub(crate) const REPEATED_STOP_WINDOW: Duration = Duration::from_secs(1);

// Output queues of live capture.

/// Maximum number of outputs. Each has a thread and a queue.
pub(crate) const MAX_OUTPUTS: usize = 16;

/// Time that a connection to a collector has to be accepted: shorter than shutdown waits for the writer.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Size limit of the event queue of an output, in bytes: tens of thousands of events of a few hundred bytes each. They bridge a
/// stalled reader.
pub(crate) const OUTPUT_QUEUE_BYTES: usize = 16 << 20;

/// Size limit of the queue to standard error, in bytes. Messages are rare, and a dump of all hosts bypasses the queue.
pub(crate) const MESSAGE_QUEUE_BYTES: usize = 1 << 20;

/// Size of a chunk of a queue, in bytes. Larger chunks are not faster to write, smaller ones are slower.
pub(crate) const QUEUE_CHUNK_BYTES: usize = 1 << 16;

/// Maximum number of empty chunks kept for reuse. The queue frees the others after a backlog.
pub(crate) const MAX_SPARE_CHUNKS: usize = 4;

/// Delay after a write, in which events collect, so that producers need not wake the thread for each event.
pub(crate) const WRITE_BATCH_DELAY: Duration = Duration::from_millis(1);

/// Delay before a failed write is retried: a full disk does not cost processor time, and output resumes soon after
/// the cause ends.
pub(crate) const WRITE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Interval between two checks whether the output file still has its name: two system calls, and at most the events of a
/// second to write again.
pub(crate) const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Delay before a write to a full pipe is retried.
pub(crate) const PIPE_FULL_DELAY: Duration = Duration::from_millis(10);

/// Delay before a failed rotation is retried. Events still go to the current file, so a retry is less urgent than that
/// of a write.
pub(crate) const ROTATION_RETRY_DELAY: Duration = Duration::from_secs(10);

/// Text that is compressed at once: frames of this size are nearly as small as longer ones.
pub(crate) const COMPRESSED_BATCH_BYTES: usize = 1 << 18;

/// Maximum time that events wait to be compressed: a crash loses these.
pub(crate) const COMPRESSED_BATCH_DELAY: Duration = Duration::from_secs(2);

/// Minimum interval between two warnings of failed writes, so that a lasting failure does not fill the log.
pub(crate) const WRITE_WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum time that shutdown waits for a stalled reader of events: well below the 30 seconds after which systemd kills
/// the program, by its unit.
pub(crate) const EVENTS_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time that shutdown waits for a stalled reader of messages. Messages matter less than events, and this wait
/// comes after that for events.
pub(crate) const MESSAGES_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

// Sockets of live capture.

/// Maximum number of connected clients of a socket: far more than monitoring needs, and few enough for the default limit
/// of 1024 open files. At the limit a new client replaces the one that was idle for longest.
pub(crate) const MAX_CLIENTS: usize = 64;

/// Maximum lifetime of a connection to the metrics, which serves one request: the default `scrape_timeout` of
/// Prometheus.
pub(crate) const METRICS_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of the head of a request for metrics, in bytes. A request of Prometheus has a few hundred bytes; the
/// minimum that hyper accepts is 8 KiB.
pub(crate) const MAX_METRICS_HEAD_BYTES: usize = 16 << 10;

/// Delay before a socket accepts again after an error such as EMFILE. The connection stays pending, so that a retry
/// without delay would spin.
pub(crate) const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// Maximum number of threads that query the analysis. Each of them waits until the analysis answers, so that more
/// threads would not answer faster.
pub(crate) const MAX_QUERY_THREADS: usize = 8;

/// Maximum time that pending answers delay shutdown; short, because the program has nothing else left to do.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum number of stale directories, left by crashes, that the p0f socket skips. It bounds the time of the start.
pub(crate) const MAX_STALE_DIRECTORIES: u32 = 1000;

// `db learn`: bounds of its memory, about 150 MiB together, and far more than a person can review.

/// Maximum number of groups of each kind, so that a flood of SYNs leaves room for the others. At the limit, fingerprints of
/// no group are left out.
pub(crate) const MAX_LEARNED_GROUPS: usize = 1024;

/// Maximum length of the text that identifies a group, and of a field of its row, in bytes. Longer fingerprints are left
/// out, longer fields are empty.
pub(crate) const MAX_GROUP_TEXT_BYTES: usize = 4096;

/// Maximum number of hosts whose other layers are remembered.
pub(crate) const MAX_LEARNED_HOSTS: usize = 1 << 16;

/// Maximum number of hosts of all groups together.
pub(crate) const MAX_GROUP_HOSTS: usize = 1 << 18;

/// Maximum number of distinct texts: User-Agents, server names and so on.
pub(crate) const MAX_LEARNED_TEXTS: usize = 1 << 16;

/// Maximum length of such a text, in bytes; longer ones are cut.
pub(crate) const MAX_LEARNED_TEXT_BYTES: usize = 200;

/// Maximum number of texts of one kind for each host. At the limit the rarest one is replaced.
pub(crate) const MAX_TEXTS_PER_HOST: usize = 4;

/// Maximum number of texts of one kind for each group: more than are shown, so that rare ones do not replace frequent ones.
pub(crate) const MAX_TEXTS_PER_GROUP: usize = 32;

/// Number of texts of one kind that the report shows.
pub(crate) const SHOWN_TEXTS: usize = 4;

/// Maximum number of headers in a signature, as in the syntax of p0f.
pub(crate) const MAX_SHAPE_HEADERS: usize = 32;

/// Maximum length of a header value in a signature, in bytes. p0f prints as many.
pub(crate) const MAX_SHAPE_VALUE_BYTES: usize = 200;

/// Maximum number of packets of a sample. A longer flow gives no sample.
pub(crate) const MAX_SAMPLE_PACKETS: usize = 1000;

/// Maximum number of samples of one flow: a hostile connection may have a request for each group.
pub(crate) const MAX_SAMPLES_PER_FLOW: usize = 16;

/// Maximum memory of the packets of all samples of one file, in bytes.
pub(crate) const MAX_SAMPLE_BYTES: usize = 64 << 20;

/// Maximum number of values in a line about key shares or trust anchors. Browsers send two or three key shares.
pub(crate) const MAX_LISTED: usize = 16;

// `extract`: bounds of the memory for one capture, about 270 MiB together.

/// Maximum number of flows with selected events: more than a person looks through.
pub(crate) const MAX_EXTRACTED_FLOWS: usize = 1 << 19;

/// Maximum number of selected events.
pub(crate) const MAX_EXTRACTED_EVENTS: usize = 1 << 21;

/// Maximum length of all comments together, in bytes. The packets of events beyond it are written without.
pub(crate) const MAX_EXTRACTED_COMMENT_BYTES: usize = 64 << 20;

/// Maximum number of findings whose evidence is written: a few hundred bytes each, and few captures have a hundred.
pub(crate) const MAX_EXTRACTED_FINDINGS: usize = 1 << 15;

/// Maximum number of IP fragments of the flows.
pub(crate) const MAX_EXTRACTED_FRAGMENTS: usize = 1 << 20;

/// Maximum number of fragments of incomplete datagrams; beyond it, those of the oldest datagrams are left out. The decoder keeps 4,096
/// datagrams of up to 8,192 fragments, but usually a few.
pub(crate) const MAX_PENDING_FRAGMENTS: usize = 1 << 20;

/// Maximum number of such datagrams: twice as many as the decoder keeps, which forgets some without notice.
pub(crate) const MAX_PENDING_DATAGRAMS: usize = 1 << 13;

/// Maximum length of a comment, in bytes: a few lines on the screen.
pub(crate) const MAX_COMMENT_BYTES: usize = 1000;

/// Maximum number of comments on a packet; the last one counts the others.
pub(crate) const MAX_PACKET_COMMENTS: usize = 16;

// `live --extract`.

/// Memory of a packet that is kept, beside its bytes, and what it needs in a file.
pub(crate) const KEPT_PACKET_BYTES: usize = 160;

/// Memory of a connection whose packets are kept.
pub(crate) const KEPT_FLOW_BYTES: usize = 320;

/// Time between the first event of a connection and the writing of its packets: later packets and comments of a handshake are written with
/// it.
pub(crate) const EXTRACT_DELAY: Duration = Duration::from_secs(1);

/// Maximum memory of packets that wait to be written, in bytes.
pub(crate) const MAX_EXTRACT_QUEUE_BYTES: usize = 16 << 20;

/// Maximum number of incomplete datagrams of one source whose fragments are kept, and of these fragments.
pub(crate) const MAX_KEPT_DATAGRAMS: usize = 256;
pub(crate) const MAX_KEPT_FRAGMENTS: usize = 4096;

/// Maximum length of a captured text in a line of the human format, in bytes.
pub(crate) const MAX_LINE_TEXT: usize = 80;

/// Maximum number of hosts in an overview, and of pairs of a value and a host of each kind.
pub(crate) const MAX_OVERVIEW_PAIRS: usize = 1 << 17;

/// Maximum number of different values of each kind in an overview.
pub(crate) const MAX_OVERVIEW_VALUES: usize = 1 << 15;

/// Maximum number of hosts with alerts or tools before all others in a list of hosts: forged addresses can be any number.
pub(crate) const MAX_HOSTS_WITH_TOOLS_FIRST: usize = 100;

/// Maximum number of hosts whose tools totals, reports and the terminal view show: each takes up to 25 KiB for each of its
/// eight tools, and usually has one.
pub(crate) const MAX_OVERVIEW_TOOL_HOSTS: usize = 128;

/// Maximum length of a value in an overview, in bytes; longer ones are cut.
pub(crate) const MAX_OVERVIEW_TEXT: usize = 512;

/// Number of names that the totals show of each kind.
pub(crate) const SHOWN_TOTALS: usize = 8;

/// Number of mismatches that the totals show.
pub(crate) const SHOWN_MISMATCHES: usize = 8;

/// Rows of a record batch.
#[cfg(feature = "parquet")]
pub(crate) const BATCH_ROWS: usize = 8192;

/// Bytes of texts from which on a record batch is complete: packets choose how long their texts are.
#[cfg(feature = "parquet")]
pub(crate) const BATCH_TEXT_BYTES: usize = 16 << 20;

/// Maximum number of rows of a row group of a Parquet file.
#[cfg(feature = "parquet")]
pub(crate) const ROW_GROUP_ROWS: usize = 1 << 18;

/// Maximum length of a row group of a Parquet file, in encoded bytes. It is kept in memory until it is complete.
#[cfg(feature = "parquet")]
pub(crate) const ROW_GROUP_BYTES: usize = 64 << 20;

/// Maximum number of intervals in the chart of a timeline.
pub(crate) const MAX_TIMELINE_INTERVALS: u64 = 120;

/// Maximum number of intervals with events that a timeline keeps: 64 bytes each.
pub(crate) const MAX_TIMELINE_BINS: usize = 4096;

/// Maximum length of the hosts of a report as JSON, in bytes. A page of 2 MB loads at once, and the rest of it has less
/// than 500 kB.
pub(crate) const MAX_REPORT_HOST_BYTES: usize = 1_400_000;

/// Maximum length of the rows of hosts as JSON, in bytes: the rest of [`MAX_REPORT_HOST_BYTES`] has room for the names,
/// timelines and activity of the first hosts.
pub(crate) const MAX_REPORT_ROW_BYTES: usize = 900_000;

/// Maximum number of hosts whose activity a report keeps; the page has no room for more rows.
pub(crate) const MAX_REPORT_TRACKED_HOSTS: usize = 1 << 15;

/// Maximum number of events in the timelines of all hosts of a report: about 200 bytes each.
pub(crate) const MAX_REPORT_STEPS: usize = 1 << 17;

/// Maximum number of events of each kind in the timeline of a host, so that no kind hides another one.
pub(crate) const MAX_REPORT_STEPS_OF_KIND: usize = 16;

/// Maximum length of a text in the timeline of a host, in bytes; longer ones are cut.
pub(crate) const MAX_REPORT_STEP_TEXT: usize = 160;

/// Maximum number of names that a report keeps of a host. Each event is compared with all of them.
pub(crate) const MAX_REPORT_HOST_NAMES: usize = 48;

/// Maximum number of names of all hosts of a report: about 60 bytes each.
pub(crate) const MAX_REPORT_TRACKED_NAMES: usize = 1 << 18;

/// Maximum number of intervals with events that a report keeps of a host.
pub(crate) const MAX_REPORT_HOST_SECONDS: usize = 64;

/// Number of names of a host that a report shows: the most used ones, and the rarest ones.
pub(crate) const MAX_REPORT_SHOWN_NAMES: (usize, usize) = (6, 4);

/// Maximum number of hosts of a kind that a report lists under what stands out.
pub(crate) const MAX_REPORT_ITEMS: usize = 20;

/// Maximum number of alerts of a kind that are proven, and of those that are not; others are counted.
pub(crate) const MAX_ALERTS_OF_KIND: usize = 1000;

/// Maximum number of packets of an alert.
pub(crate) const MAX_ALERT_PACKETS: usize = 8;

/// Maximum length of the reason of an alert, in bytes; longer ones are cut.
pub(crate) const MAX_ALERT_TEXT: usize = 512;

/// Number of packets at the start of a capture that tell its network.
pub(crate) const MAX_NETWORK_FRAMES: usize = 2000;

/// Maximum number of servers of a capture that are compared: their pairs are kept.
pub(crate) const MAX_NETWORK_SERVERS: usize = 32;

/// Time between the first packets of two captures of a series, in seconds, from which on they may be of two networks.
pub(crate) const MAX_NETWORK_GAP_SECS: u64 = 86_400;

/// Maximum number of alerts in a report.
pub(crate) const MAX_REPORT_ALERTS: usize = 50;

/// Maximum number of certificates or failed handshakes that a report keeps; others are counted.
pub(crate) const MAX_REPORT_REMARKS: usize = 1000;

/// Maximum number of clients that a report names with the certificate of a server.
pub(crate) const MAX_REPORT_ALERT_CLIENTS: usize = 4;

/// Maximum number of pairs of a client and a server whose TLS handshakes a report counts: about 100 bytes each.
pub(crate) const MAX_REPORT_HANDSHAKE_PAIRS: usize = 1 << 15;

/// Maximum length of the names of captures in the commands of a report, in bytes: a command fits a screen.
pub(crate) const MAX_REPORT_COMMAND_BYTES: usize = 1000;

/// Maximum number of rare values of a kind that a report lists under what stands out: there are many in most networks.
pub(crate) const MAX_REPORT_RARE_ITEMS: usize = 5;

/// Maximum length of a value in a link that filters hosts, in bytes: the hosts have longer texts cut.
pub(crate) const MAX_REPORT_LINK_BYTES: usize = 64;

/// Maximum number of rows of a table in a report, other than that of hosts.
pub(crate) const MAX_REPORT_ROWS: usize = 100;

/// Number of bars in a chart of a report.
pub(crate) const MAX_REPORT_BARS: usize = 12;

// Inventory of cryptography: what does not fit is counted.

/// Maximum memory of an inventory, in bytes: that of the values that clients and servers sent, without spare room of its tables. The
/// hellos of 100,000 hosts need a tenth.
pub(crate) const MAX_INVENTORY_BYTES: usize = 256 << 20;

/// Maximum number of servers, and of clients: forged addresses can be any number.
pub(crate) const MAX_INVENTORY_HOSTS: usize = 1 << 18;

/// Maximum number of different values of one kind of a host, such as hellos: each event looks through them.
pub(crate) const MAX_INVENTORY_VALUES: usize = 256;

/// Maximum number of names of a server address: content delivery networks have any number.
pub(crate) const MAX_INVENTORY_NAMES: usize = 8;

/// Maximum length of a name of a server, in bytes: that of a DNS name.
pub(crate) const MAX_INVENTORY_NAME_BYTES: usize = 255;

/// Maximum number of handshakes of TLS 1.2 and older whose group may still come. At the limit all of them count without.
pub(crate) const MAX_PENDING_CHOICES: usize = 1 << 16;

/// Days before the end of its validity in which a certificate needs attention: those in which Let's Encrypt's clients renew theirs of 90 days.
pub(crate) const CERTIFICATE_WARNING_DAYS: i64 = 30;

/// Number of servers and of clients that the human format lists without `--top`: a screen and a half with the sentences.
pub(crate) const SHOWN_INVENTORY_HOSTS: usize = 8;

/// Number of certificates that the human format of an inventory lists.
pub(crate) const SHOWN_CERTIFICATES: usize = 5;

/// Number of weak SSH methods of a host that the human format and the report list, the worst ones.
pub(crate) const SHOWN_WEAK_METHODS: usize = 3;

/// Number of key exchanges that the human format lists.
pub(crate) const SHOWN_KEY_EXCHANGES: usize = 6;

/// Maximum number of connections, and of other events, that `follow` keeps of a host: some 50 MB.
pub(crate) const MAX_FOLLOWED_EVENTS: usize = 1 << 16;

/// Maximum number of open connections of a host whose first packet and User-Agent `follow` remembers.
pub(crate) const MAX_FOLLOWED_FLOWS: usize = 1 << 16;

/// Maximum number of different offers of a followed host's ClientHellos.
pub(crate) const MAX_FOLLOWED_OFFERS: usize = 256;

/// Maximum number of hosts that `follow --server` and `--fingerprint` list: forged addresses can be any number.
pub(crate) const MAX_FOLLOWED_SENDERS: usize = 1 << 16;

/// Maximum number of servers of a name, and of names of a server in a comparison: content delivery networks have any number.
pub(crate) const MAX_FOLLOWED_SERVERS: usize = 32;

/// Number of connections of a host that the human format of `follow` lists, the first ones.
pub(crate) const SHOWN_CONNECTIONS: usize = 500;

/// Number of rows of other tables of `follow` and `diff`.
pub(crate) const SHOWN_ROWS: usize = 100;

/// Number of fingerprints of each kind, of peers and of names that `follow` lists of a host.
pub(crate) const SHOWN_OF_HOST: usize = 8;

/// Maximum number of servers of a side in a comparison.
pub(crate) const MAX_COMPARED_SERVERS: usize = 1 << 16;

/// Maximum number of hosts in the terminal view.
pub(crate) const MAX_VIEW_HOSTS: usize = 1 << 16;

/// Number of events that the terminal view keeps.
pub(crate) const MAX_VIEW_LINES: usize = 1000;

/// Number of lines that the terminal view keeps of a host: half of them the first ones, and half the last ones.
pub(crate) const MAX_VIEW_HOST_LINES: usize = 128;

/// Maximum number of lines of all hosts in the terminal view, about 200 bytes each: each host keeps fewer where there are
/// more, at least its first and its last one.
pub(crate) const MAX_VIEW_KEPT_LINES: usize = 2 * MAX_VIEW_HOSTS;

/// Number of alerts in the terminal view.
pub(crate) const MAX_VIEW_ALERTS: usize = 200;

/// Maximum length of a filter in the terminal view, in bytes: more than a line of a terminal shows.
pub(crate) const MAX_VIEW_FILTER: usize = 200;

/// Number of messages in the terminal view; older ones are only written.
pub(crate) const MAX_VIEW_MESSAGES: usize = 3;

/// Number of rare fingerprints of each kind in the terminal view.
pub(crate) const MAX_VIEW_RARE: usize = 25;

/// Interval between two screens of the terminal view.
pub(crate) const SCREEN_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum time that the terminal view delays the end of the program.
#[cfg(unix)]
pub(crate) const VIEW_END_TIME: Duration = Duration::from_secs(1);

/// Interval over which the terminal view computes rates.
pub(crate) const RATE_INTERVAL: Duration = Duration::from_secs(1);

/// Time that a program in the background has to report that it cannot start.
#[cfg(unix)]
pub(crate) const DAEMON_START_TIME: Duration = Duration::from_secs(1);

/// Events that wait for the thread that writes Parquet files: a few seconds of a busy network.
#[cfg(all(unix, feature = "parquet"))]
pub(crate) const QUEUED_EVENTS: usize = 1 << 16;

/// Interval at which that thread looks whether a file is due, without events.
#[cfg(all(unix, feature = "parquet"))]
pub(crate) const TABLE_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum size of a list of programs, in bytes: some hundred thousand connections.
pub(crate) const MAX_PROGRAM_LIST_BYTES: u64 = 64 << 20;

/// Maximum number of ends of flows whose programs are remembered, for each capture.
pub(crate) const MAX_LABELLED_ENDS: usize = 1 << 18;

/// Difference of the clocks of a capture and of a list of programs that is accepted: the list comes from the same machine.
pub(crate) const PROGRAM_TIME_SLACK: Duration = Duration::from_secs(2);

/// Number of lines of one pair of addresses and ports from which on a list of programs says nothing of them: each event looks
/// through them.
pub(crate) const MAX_LISTED_PROGRAMS: usize = 64;

/// Interval at which key logs of live traffic are looked at: shorter than most round trips, so that few packets wait for their secret.
#[cfg(unix)]
pub(crate) const KEY_LOG_INTERVAL: Duration = Duration::from_millis(20);

/// Error of the clock from which on times of events cannot be compared with those of other machines.
#[cfg(target_os = "linux")]
pub(crate) const MAX_CLOCK_ERROR: Duration = Duration::from_secs(1);

/// Free bytes of a disk that hold about a day of events of a small network.
#[cfg(target_os = "linux")]
pub(crate) const MIN_FREE_BYTES: u64 = 1 << 30;

/// Number of open files that suffices for any number of workers and interfaces.
#[cfg(target_os = "linux")]
pub(crate) const MIN_OPEN_FILES: u64 = 1024;

/// Size of the buffer of a UDP socket that takes bursts, in bytes.
#[cfg(target_os = "linux")]
pub(crate) const MIN_SOCKET_BUFFER: u64 = 8 << 20;
