//! Names of ALPN protocols.

/// Registered protocols: IANA, "TLS Application-Layer Protocol Negotiation (ALPN) Protocol IDs".
const PROTOCOLS: [&str; 37] = [
    "http/1.1",
    "http/1.0",
    "http/0.9",
    "h2",
    "h2c",
    "h3",
    "spdy/1",
    "spdy/2",
    "spdy/3",
    "dot",
    "doq",
    "acme-tls/1",
    "c-webrtc",
    "co",
    "coap",
    "dicom",
    "ftp",
    "imap",
    "irc",
    "managesieve",
    "mqtt",
    "nnsp",
    "nntp",
    "ntske/1",
    "pop3",
    "postgresql",
    "radius/1.0",
    "radius/1.1",
    "sip/2",
    "smb",
    "stun.nat-discovery",
    "stun.turn",
    "sunrpc",
    "tds/8.0",
    "webrtc",
    "xmpp-client",
    "xmpp-server",
];

/// Returns the protocols that JA4 abbreviates to these two characters.
pub(super) fn protocols_of(characters: &str) -> impl Iterator<Item = &'static str> {
    PROTOCOLS.into_iter().filter(move |name| first_and_last(name) == characters)
}

/// Returns the protocol that starts with these two characters, and the two characters that JA4 uses for it.
pub(super) fn cut_short(first_two: &str, definition: &str) -> Option<&'static str> {
    protocols_of(definition).find(|name| first_two != definition && name.starts_with(first_two))
}

fn first_and_last(name: &str) -> String {
    name.chars().next().into_iter().chain(name.chars().next_back()).collect()
}
