//! Sizes of what the stream layer has per connection and per direction.

use super::first_segment::FirstSegment;
use super::{Open, StreamFlow};
use crate::sizes::check_size;
use crate::stream::TcpConnection;
use crate::stream::segment_traits::SegmentTraits;
use crate::stream::tcp_direction::{Exceptions, TcpDirection};
use crate::stream::unsettled::Unsettled;

#[test]
fn sizes_have_reasons() {
    check_size::<StreamFlow<()>>(
        80,
        "per flow: two sequence numbers, and a first segment in place of an allocation",
    );
    check_size::<FirstSegment>(
        56,
        "per flow with one segment of payload: its numbers, and a byte for each parser",
    );
    check_size::<Open<()>>(248, "per connection with more payload, beside its parsers: both directions");
    check_size::<TcpConnection>(
        232,
        "per connection with more payload: both directions, and what is counted of dropped ones",
    );
    check_size::<TcpDirection>(
        104,
        "per direction: 40 for the out-of-order buffer, 24 for three offsets, 16 for two boxes that most lack",
    );
    check_size::<SegmentTraits>(12, "per direction, and per first segment: a timestamp, a TTL, five flags");
    check_size::<Unsettled>(96, "per direction with unacknowledged bytes: offsets, and two vectors");
    check_size::<Exceptions>(40, "per direction with urgent data or a gap: three offsets and a count");
}
