//! Which systems share a TCP stack, and which libraries belong to one system.

use huginn_net_tls::ClientFamily;

/// The groups of systems that have one TCP stack, by the names that databases give them.
const STACKS: [&[&str]; 2] = [&["Linux", "Android"], &[APPLE, "macOS", "iOS", "Mac OS X", "iPhone or iPad"]];

/// Apple's systems, as the built-in database names them.
const APPLE: &str = "macOS or iOS";

/// Whether two systems are the same to TCP.
pub(super) fn same_stack(one: &str, other: &str) -> bool {
    one == other || STACKS.iter().any(|stack| stack.contains(&one) && stack.contains(&other))
}

/// The system that a TLS library is part of.
pub(super) fn system_of(family: ClientFamily) -> Option<&'static str> {
    match family {
        ClientFamily::Apple => Some(APPLE),
        ClientFamily::Schannel => Some("Windows"),
        _ => None,
    }
}
