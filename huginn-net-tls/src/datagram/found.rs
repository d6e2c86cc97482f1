//! What the protocols of UDP flows find.

use crate::event::TlsEvent;
use crate::hello::Hello;

/// A part of a handshake.
pub(crate) enum Found<'a> {
    /// A complete hello, and whether it is a client's second one.
    Hello { hello: Hello<'a>, retry: bool },
    /// What follows the hellos.
    Followed(TlsEvent),
}
