//! Process names in headers and trailers of frames.

use huginn_net_core::{Frame, FrameProcess, LinkType, ProcessEnd, ProcessOrigin, Timestamp};

fn process(link: u16, data: &[u8]) -> Option<(String, ProcessEnd, ProcessOrigin)> {
    let wire_len = u32::try_from(data.len()).unwrap();
    let frame = Frame { ts: Timestamp::new(0, 0, 6), link: LinkType(link), data, wire_len };
    let FrameProcess { name, end, origin, .. } = FrameProcess::from_frame(&frame)?;
    Some((String::from_utf8(name.to_vec()).unwrap(), end, origin))
}

/// A text in a field of this length.
fn field(text: &str, len: usize) -> Vec<u8> {
    let mut field = text.as_bytes().to_vec();
    field.resize(len, 0);
    field
}

/// `struct pktap_header` of macOS before a raw IP packet of one byte.
fn pktap(flags: u32, own: &str, effective: &str) -> Vec<u8> {
    let mut header = Vec::new();
    for word in [108_u32, 1, 12] {
        header.extend(word.to_le_bytes());
    }
    header.extend(field("en0", 24));
    for word in [flags, 2, 14, 0, 4711] {
        header.extend(word.to_le_bytes());
    }
    header.extend(field(own, 20));
    header.extend([0; 8]);
    header.extend(4712_u32.to_le_bytes());
    header.extend(field(effective, 20));
    assert_eq!(header.len(), 108);
    header.push(0x45);
    header
}

/// An IPv4 packet of 21 bytes in Ethernet, padding, and PCAPdroid's trailer.
fn pcapdroid(total_len: u16, name: &str) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(total_len.to_be_bytes());
    frame.extend([0; 17 + 3]);
    frame.extend([0x01, 0x07, 0x20, 0x21, 0, 0, 0x27, 0x10]);
    frame.extend(field(name, 20));
    frame.extend([0; 4]);
    frame
}

#[test]
fn pktap_names_process_and_direction() {
    let named = |name: &str, end| Some((name.to_owned(), end, ProcessOrigin::Pktap));
    for link in [258, 149] {
        assert_eq!(process(link, &pktap(2, "curl", "")), named("curl", ProcessEnd::Sender));
    }
    assert_eq!(process(258, &pktap(1, "sshd", "")), named("sshd", ProcessEnd::Receiver));
    assert_eq!(process(258, &pktap(0, "curl", "")), named("curl", ProcessEnd::Unknown));
    assert_eq!(process(258, &pktap(3, "curl", "")), named("curl", ProcessEnd::Unknown));
    let delegated = pktap(6, "com.apple.WebKit", "Safari");
    assert_eq!(process(258, &delegated), named("Safari", ProcessEnd::Sender));
    assert_eq!(process(258, &pktap(2, "", "")), None);
    // The padding after a name is not part of it.
    let long = pktap(2, "com.apple.WebKit\0xyz", "");
    assert_eq!(process(258, &long), named("com.apple.WebKit", ProcessEnd::Sender));
}

#[test]
fn pktap_of_any_length_is_read_without_panic() {
    let whole = pktap(2, "curl", "");
    for len in 0..108 {
        assert_eq!(process(258, &whole[..len]), None, "{len}");
    }
    // A header that states fewer bytes has no process.
    for len in [0, 40, 107, u32::MAX] {
        let mut header = whole.clone();
        header[..4].copy_from_slice(&len.to_le_bytes());
        assert_eq!(process(258, &header), None, "{len}");
    }
    assert_eq!(process(1, &whole), None, "another link type");
}

#[test]
fn pcapdroid_names_app_after_packet() {
    let frame = pcapdroid(21, "org.mozilla.firefox");
    let named = Some(("org.mozilla.firefox".to_owned(), ProcessEnd::Client, ProcessOrigin::Pcapdroid));
    assert_eq!(process(1, &frame), named);
    // The name may fill its field.
    let full = "a".repeat(20);
    assert_eq!(process(1, &pcapdroid(21, &full)).unwrap().0, full);
    assert_eq!(process(1, &pcapdroid(21, "")), None);
    assert_eq!(process(101, &frame[14..]), None, "raw IP has no trailer");
}

#[test]
fn payload_that_looks_like_trailer_names_no_app() {
    let frame = pcapdroid(21 + 3 + 32, "forged");
    assert_eq!(process(1, &frame), None, "the trailer is in the packet");
    assert_eq!(process(1, &pcapdroid(0, "forged")), None, "length unknown");
    let whole = pcapdroid(21, "app");
    for len in 0..whole.len() {
        assert_eq!(process(1, &whole[..len]), None, "{len}");
    }
}
