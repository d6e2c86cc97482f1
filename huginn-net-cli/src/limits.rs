//! Limits of the program, each with its unit and its reason.

use std::time::Duration;

// Analysis of files.

/// Shortest input, in bytes, for which several workers are used without `-w`. For 4 MB of web traffic, two workers save about the
/// time that starting threads and sharing blocks costs.
pub(crate) const MIN_PARALLEL_LEN: u64 = 4 << 20;

// Files that are read into memory.

/// Maximum size of a signature database, in bytes: the built-in one has 60 kB.
pub(crate) const MAX_DATABASE_BYTES: u64 = 16 << 20;

/// Maximum length of a path in a list of captures, in bytes: `PATH_MAX` of Linux.
pub(crate) const MAX_PATH_BYTES: usize = 4096;

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

/// Delay before a failed write is retried: a full disk does not cost processor time, and output resumes soon after
/// the cause ends.
pub(crate) const WRITE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Interval between two checks whether the output file still has its name: two system calls, and at most the events of a
/// second to write again.
pub(crate) const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Minimum interval between two warnings of failed writes, so that a lasting failure does not fill the log.
pub(crate) const WRITE_WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum time that shutdown waits for a stalled reader of events: well below the 30 seconds after which systemd kills
/// the program, by its unit.
pub(crate) const EVENTS_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

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

/// Maximum number of comments on a packet; the last one counts the others.
pub(crate) const MAX_PACKET_COMMENTS: usize = 16;

/// Maximum length of a captured text in a line of the human format, in bytes.
pub(crate) const MAX_LINE_TEXT: usize = 80;

/// Maximum number of hosts in an overview, and of pairs of a value and a host of each kind.
pub(crate) const MAX_OVERVIEW_PAIRS: usize = 1 << 17;

/// Maximum number of hosts with alerts or tools before all others in a list of hosts: forged addresses can be any number.
pub(crate) const MAX_HOSTS_WITH_TOOLS_FIRST: usize = 100;

/// Maximum length of a value in an overview, in bytes; longer ones are cut.
pub(crate) const MAX_OVERVIEW_TEXT: usize = 512;

/// Maximum number of hosts of a kind that a report lists under what stands out.
pub(crate) const MAX_REPORT_ITEMS: usize = 20;

/// Maximum length of the reason of an alert, in bytes; longer ones are cut.
pub(crate) const MAX_ALERT_TEXT: usize = 512;

/// Maximum number of rows of a table in a report, other than that of hosts.
pub(crate) const MAX_REPORT_ROWS: usize = 100;

// Inventory of cryptography: what does not fit is counted.

/// Maximum memory of an inventory, in bytes: that of the values that clients and servers sent, without spare room of its tables. The
/// hellos of 100,000 hosts need a tenth.
pub(crate) const MAX_INVENTORY_BYTES: usize = 256 << 20;

/// Days before the end of its validity in which a certificate needs attention: those in which Let's Encrypt's clients renew theirs of 90 days.
pub(crate) const CERTIFICATE_WARNING_DAYS: i64 = 30;

/// Maximum number of servers of a name, and of names of a server in a comparison: content delivery networks have any number.
pub(crate) const MAX_FOLLOWED_SERVERS: usize = 32;

/// Number of rows of other tables of `follow` and `diff`.
pub(crate) const SHOWN_ROWS: usize = 100;

/// Number of fingerprints of each kind, of peers and of names that `follow` lists of a host.
pub(crate) const SHOWN_OF_HOST: usize = 8;

/// Number of lines that the terminal view keeps of a host: half of them the first ones, and half the last ones.
pub(crate) const MAX_VIEW_HOST_LINES: usize = 128;

/// Maximum number of ends of flows whose programs are remembered, for each capture.
pub(crate) const MAX_LABELLED_ENDS: usize = 1 << 18;
