//! Kinds of values.

huginn_net::core::table_enum! {
    /// A kind of value that events show: names first, then fingerprints and other values of packets.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum ValueKind {
        System: "system", "systems", "tcp_syn";
        Software: "software", "software", "http_request";
        TlsClient: "tls_client", "TLS clients", "tls_client";
        SshClient: "ssh_client", "SSH clients", "ssh_client";
        Mismatch: "mismatch", "mismatches", "mismatch";
        Syn: "tcp_syn", "TCP SYN", "tcp_syn";
        SynAck: "tcp_syn_ack", "TCP SYN+ACK", "tcp_syn_ack";
        HttpRequest: "http_request", "HTTP request", "http_request";
        HttpResponse: "http_response", "HTTP response", "http_response";
        Akamai: "akamai", "HTTP/2 settings", "http_request";
        UserAgent: "user_agent", "User-Agent", "http_request";
        ServerHeader: "server_header", "Server", "http_response";
        Ja4: "ja4", "JA4", "tls_client";
        Ja3: "ja3", "JA3", "tls_client";
        Sni: "sni", "TLS server name", "tls_client";
        TlsVersion: "tls_version", "TLS version", "tls_server";
        TlsCipher: "tls_cipher", "TLS cipher suite", "tls_server";
        Ja3s: "ja3s", "JA3S", "tls_server";
        Hassh: "hassh", "HASSH", "ssh_client";
        HasshServer: "hassh_server", "HASSH of servers", "ssh_server";
    }
    /// The name in JSON.
    pub(crate) fn name -> &'static str = 0;
    /// The title of a table.
    pub(crate) fn title -> &'static str = 1;
    /// The name of the event that shows it.
    pub(crate) fn event -> &'static str = 2;
}

impl ValueKind {
    /// The kinds of fingerprints and other values of packets.
    pub(crate) fn fingerprints() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().skip_while(|kind| *kind != Self::Syn)
    }
}
