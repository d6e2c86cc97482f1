//! Sizes of what the TLS parser has per connection and direction.

use super::*;
use crate::TlsUdpFlow;
use crate::sizes::check_size;

#[test]
fn sizes_have_reasons() {
    check_size::<TlsParser>(
        200,
        "per connection with payload: a search for each side, because TLS may follow any protocol",
    );
    check_size::<Reader>(88, "per side: the search for hellos is the largest protocol");
    check_size::<Undecided>(32, "per side before its first bytes: a vector of them");
    check_size::<HelloSearch>(88, "per side: a record header, a message that spans records, three limits");
    check_size::<Follower>(
        160,
        "per connection whose handshake is followed, boxed: what the handshake event reports",
    );
    check_size::<TlsUdpFlow>(64, "per UDP flow: vectors of QUIC connections; what few have is boxed");
    check_size::<TlsEvent>(184, "per event, moved once: a hello with the offsets of its parts");
}
