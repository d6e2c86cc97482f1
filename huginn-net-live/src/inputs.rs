//! What names of inputs stand for.

/// What the name of a UDP socket begins with.
pub(crate) const UDP_PREFIX: &str = "udp:";

/// What the name of a server of captures begins with.
pub(crate) const TCP_PREFIX: &str = "tcp:";

/// What the name of a directory of captures begins with.
pub(crate) const FILE_PREFIX: &str = "file:";

/// Whether a name is that of an interface, not of a socket or stream.
pub(crate) fn is_interface(name: &str) -> bool {
    ![UDP_PREFIX, TCP_PREFIX, FILE_PREFIX].iter().any(|prefix| name.starts_with(prefix))
}
