//! Kinds of values.

/// A kind of value that events show: names first, then fingerprints and other values of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    System,
    Software,
    TlsClient,
    SshClient,
    Mismatch,
    Syn,
    SynAck,
    HttpRequest,
    HttpResponse,
    Akamai,
    UserAgent,
    ServerHeader,
    Ja4,
    Ja3,
    Sni,
    TlsVersion,
    TlsCipher,
    Ja3s,
    Hassh,
    HasshServer,
}

impl ValueKind {
    /// All kinds, in the order of their declaration.
    pub(crate) const ALL: [Self; 20] = [
        Self::System,
        Self::Software,
        Self::TlsClient,
        Self::SshClient,
        Self::Mismatch,
        Self::Syn,
        Self::SynAck,
        Self::HttpRequest,
        Self::HttpResponse,
        Self::Akamai,
        Self::UserAgent,
        Self::ServerHeader,
        Self::Ja4,
        Self::Ja3,
        Self::Sni,
        Self::TlsVersion,
        Self::TlsCipher,
        Self::Ja3s,
        Self::Hassh,
        Self::HasshServer,
    ];

    /// The kinds of fingerprints and other values of packets.
    pub(crate) fn fingerprints() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().skip_while(|kind| *kind != Self::Syn)
    }

    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Software => "software",
            Self::TlsClient => "tls_client",
            Self::SshClient => "ssh_client",
            Self::Mismatch => "mismatch",
            Self::Syn => "tcp_syn",
            Self::SynAck => "tcp_syn_ack",
            Self::HttpRequest => "http_request",
            Self::HttpResponse => "http_response",
            Self::Akamai => "akamai",
            Self::UserAgent => "user_agent",
            Self::ServerHeader => "server_header",
            Self::Ja4 => "ja4",
            Self::Ja3 => "ja3",
            Self::Sni => "sni",
            Self::TlsVersion => "tls_version",
            Self::TlsCipher => "tls_cipher",
            Self::Ja3s => "ja3s",
            Self::Hassh => "hassh",
            Self::HasshServer => "hassh_server",
        }
    }

    /// The title of a table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::System => "systems",
            Self::Software => "software",
            Self::TlsClient => "TLS clients",
            Self::SshClient => "SSH clients",
            Self::Mismatch => "mismatches",
            Self::Syn => "TCP SYN",
            Self::SynAck => "TCP SYN+ACK",
            Self::HttpRequest => "HTTP request",
            Self::HttpResponse => "HTTP response",
            Self::Akamai => "HTTP/2 settings",
            Self::UserAgent => "User-Agent",
            Self::ServerHeader => "Server",
            Self::Ja4 => "JA4",
            Self::Ja3 => "JA3",
            Self::Sni => "TLS server name",
            Self::TlsVersion => "TLS version",
            Self::TlsCipher => "TLS cipher suite",
            Self::Ja3s => "JA3S",
            Self::Hassh => "HASSH",
            Self::HasshServer => "HASSH of servers",
        }
    }

    /// The name of the event that shows it.
    pub(crate) fn event(self) -> &'static str {
        match self {
            Self::System | Self::Syn => "tcp_syn",
            Self::SynAck => "tcp_syn_ack",
            Self::Software | Self::HttpRequest | Self::Akamai | Self::UserAgent => "http_request",
            Self::HttpResponse | Self::ServerHeader => "http_response",
            Self::TlsClient | Self::Ja4 | Self::Ja3 | Self::Sni => "tls_client",
            Self::TlsVersion | Self::TlsCipher | Self::Ja3s => "tls_server",
            Self::SshClient | Self::Hassh => "ssh_client",
            Self::HasshServer => "ssh_server",
            Self::Mismatch => "mismatch",
        }
    }
}
