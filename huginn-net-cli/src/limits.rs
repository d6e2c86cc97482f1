//! Limits of the program, each with its unit and its reason.

use std::time::Duration;

// Analysis of files.

/// Shortest input, in bytes, for which several workers are used without `-w`. For 4 MB of web traffic, two workers save about the
/// time that starting threads and sharing blocks costs.
pub(crate) const MIN_PARALLEL_LEN: u64 = 4 << 20;

/// Delay before a progress bar is shown: a bar that vanishes at once would only flicker.
pub(crate) const PROGRESS_DELAY: Duration = Duration::from_millis(100);

/// Maximum number of rows in a table of `hosts`: memory holds the complete table for its layout.
pub(crate) const MAX_SUMMARY_ROWS: usize = 2000;

/// Maximum number of certificates that an output with `--certificates once` remembers, with 64 bytes each; then it forgets them.
pub(crate) const MAX_WRITTEN_CERTIFICATES: usize = 1 << 16;

// Logs of other tools.

/// Size of the buffer of each of Zeek's logs, in bytes: rows have up to some kB.
pub(crate) const ZEEK_BUFFER_BYTES: usize = 64 << 10;

// Files that are read into memory.

/// Maximum size of a signature database, in bytes: the built-in one has 60 kB.
pub(crate) const MAX_DATABASE_BYTES: u64 = 16 << 20;

/// Maximum length of a path in a list of captures, in bytes: `PATH_MAX` of Linux.
pub(crate) const MAX_PATH_BYTES: usize = 4096;

/// Maximum size of a file of `--baseline`, in bytes. A full one, whose values are all as long as possible, has 155 MiB.
pub(crate) const MAX_BASELINE_BYTES: u64 = 192 << 20;

// `watch`.

/// Maximum number of files of a watched directory: a file each second for a day and a half. Their names take some 20 MB.
#[cfg(unix)]
pub(crate) const MAX_WATCHED_FILES: usize = 1 << 17;

/// Time without a change after which a file counts as closed that the system said nothing of, if a newer one follows.
#[cfg(unix)]
pub(crate) const OLDER_FILE_QUIET: Duration = Duration::from_secs(2);

// Live capture.

/// Number of hosts that one query copies. The analysis pauses during a query, so a long list takes several.
pub(crate) const HOSTS_PER_QUERY: usize = 1000;

// Output queues of live capture.

/// Time that a connection to a collector has to be accepted: shorter than shutdown waits for the writer.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

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

/// Delay before a socket accepts again after an error such as EMFILE. The connection stays pending, so that a retry
/// without delay would spin.
pub(crate) const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(200);

// `db learn`: bounds of its memory, about 150 MiB together, and far more than a person can review.

/// Maximum number of groups of each kind, so that a flood of SYNs leaves room for the others. At the limit, fingerprints of
/// no group are left out.
pub(crate) const MAX_LEARNED_GROUPS: usize = 1024;

/// Maximum number of hosts whose other layers are remembered.
pub(crate) const MAX_LEARNED_HOSTS: usize = 1 << 16;

/// Maximum number of hosts of all groups together.
pub(crate) const MAX_GROUP_HOSTS: usize = 1 << 18;

/// Maximum number of distinct texts: User-Agents, server names and so on.
pub(crate) const MAX_LEARNED_TEXTS: usize = 1 << 16;

/// Maximum number of texts of one kind for each group: more than are shown, so that rare ones do not replace frequent ones.
pub(crate) const MAX_TEXTS_PER_GROUP: usize = 32;

/// Maximum number of values in a line about key shares or trust anchors. Browsers send two or three key shares.
pub(crate) const MAX_LISTED: usize = 16;

// `extract`: bounds of the memory for one capture, about 270 MiB together.

/// Maximum number of flows with selected events: more than a person looks through.
pub(crate) const MAX_EXTRACTED_FLOWS: usize = 1 << 19;

/// Maximum number of selected events.
pub(crate) const MAX_EXTRACTED_EVENTS: usize = 1 << 21;

/// Maximum number of findings whose evidence is written: a few hundred bytes each, and few captures have a hundred.
pub(crate) const MAX_EXTRACTED_FINDINGS: usize = 1 << 15;

/// Maximum length of a comment, in bytes: a few lines on the screen.
pub(crate) const MAX_COMMENT_BYTES: usize = 1000;

/// Maximum number of comments on a packet; the last one counts the others.
pub(crate) const MAX_PACKET_COMMENTS: usize = 16;

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

/// Interval over which the terminal view computes rates.
pub(crate) const RATE_INTERVAL: Duration = Duration::from_secs(1);

/// Interval at which that thread looks whether a file is due, without events.
#[cfg(all(unix, feature = "parquet"))]
pub(crate) const TABLE_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum number of ends of flows whose programs are remembered, for each capture.
pub(crate) const MAX_LABELLED_ENDS: usize = 1 << 18;
