//! Sizes of what the HTTP parser has per connection.

use super::*;
use crate::sizes::check_size;

#[test]
fn sizes_have_reasons() {
    check_size::<HttpParser>(
        16,
        "per connection with payload: most do not use HTTP, so its readers are boxed",
    );
    check_size::<Http1>(224, "per HTTP/1 connection: a reader for each side, pending requests");
    check_size::<Http2>(680, "per HTTP/2 connection: a frame and the HPACK table of each side");
    check_size::<HttpEvent>(112, "per event, moved once: a head, and two shared fingerprints");
}
