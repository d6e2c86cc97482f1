//! Parses any bytes as an IP packet: the signature of a SYN or SYN+ACK parses back from its text.
#![no_main]

use huginn_net_tcp::TcpSignature;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(Some(parsed)) = TcpSignature::from_ip_packet(data) else { return };
    assert!(parsed.consumed <= data.len());
    let text = parsed.value.to_string();
    let read: TcpSignature = text.parse().expect("what was written can be read");
    assert_eq!(read.to_string(), text);
});
