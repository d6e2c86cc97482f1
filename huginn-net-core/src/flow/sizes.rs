//! Sizes of what the flow table has per flow.

use super::entry::FlowEntry;
use super::{Entry, FlowKey};
use crate::sizes::check_size;

#[test]
fn sizes_have_reasons() {
    check_size::<FlowKey>(48, "per flow: two IPv6 addresses, ports, tunnel");
    check_size::<FlowEntry<()>>(
        48,
        "per flow, beside the protocol's state: first packet, last SYN, how far it has ended",
    );
    check_size::<Entry<FlowKey, FlowEntry<()>>>(
        128,
        "per flow, beside the protocol's state: key, entry, two times, LRU links",
    );
}
