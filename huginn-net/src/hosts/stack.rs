//! Which systems share a TCP stack, what answers in a host's place, and which libraries belong to one system.

use huginn_net_db::{Label, TcpMatch};
use huginn_net_tls::ClientFamily;

/// The groups of systems that have one TCP stack, by the names that databases give them.
const STACKS: [&[&str]; 2] = [&["Linux", "Android"], &[APPLE, "macOS", "iOS", "Mac OS X", "iPhone or iPad"]];

/// Apple's systems, as the built-in database names them.
const APPLE: &str = "macOS or iOS";

/// Whether two systems are the same to TCP.
pub(super) fn same_stack(one: &str, other: &str) -> bool {
    one == other || STACKS.iter().any(|stack| stack.contains(&one) && stack.contains(&other))
}

/// What ends connections for the hosts behind it, by the names that the built-in database gives it: NAT of virtual
/// machines, apps that catch the traffic of a phone, load balancers and front ends.
const MIDDLEBOXES: [&str; 7] = [
    "Amazon CloudFront",
    "Android VPN service",
    "Google",
    "NetScaler",
    "PCAPdroid",
    "VMware NAT",
    "libslirp",
];

/// Whether a handshake is that of something that answers in the place of a host, and tells nothing of the host.
pub(crate) fn is_middlebox(label: &Label) -> bool {
    MIDDLEBOXES.contains(&&*label.name)
}

/// Whether a match says firmly which system a host is: it is no guess, and not of what is no system.
pub(crate) fn is_firm(found: &TcpMatch) -> bool {
    let TcpMatch { label, fuzzy, .. } = found;
    !fuzzy && !label.generic && !label.is_tool() && !is_middlebox(label)
}

/// The system that a TLS library is part of.
pub(super) fn system_from_family(family: ClientFamily) -> Option<&'static str> {
    match family {
        ClientFamily::Apple => Some(APPLE),
        ClientFamily::Schannel => Some("Windows"),
        _ => None,
    }
}
