//! Control messages beside a frame: no bytes make them panic, and no tag comes without the length that stands before it.
#![no_main]

use huginn_net_live::ControlMessages;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let messages = ControlMessages::parse(data);
    assert!(messages.timestamp.is_none_or(|timestamp| timestamp.digits() == 9));
    assert!(messages.vlan.is_none() || messages.wire_len.is_some());
});
