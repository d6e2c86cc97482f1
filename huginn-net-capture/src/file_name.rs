//! Names of capture files.

use std::ffi::OsStr;

/// Whether a name is that of a capture: `x.pcap`, `x.pcapng.gz`, and `x.pcap3` as `tcpdump -C` writes.
///
/// ```
/// use huginn_net_capture::is_capture_name;
///
/// assert!(["x.pcap", "x.PCAPNG.gz", "x.cap.zst", "x.pcap3"].iter().all(|name| is_capture_name(name.as_ref())));
/// assert!(["x.log", "pcap", "x.pcap.xz", "x.pcap.txt"].iter().all(|name| !is_capture_name(name.as_ref())));
/// ```
pub fn is_capture_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').is_some_and(|(_, extension)| {
        let extension = extension.trim_end_matches(|digit: char| digit.is_ascii_digit());
        matches!(extension, "pcap" | "pcapng" | "cap")
    })
}
