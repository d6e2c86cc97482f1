//! Programs that take events from sockets.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

#[cfg(feature = "tls")]
use super::tls::{TlsClient, TlsFiles};
use super::{SyslogForm, Target};

/// Where the events of an output go.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LiveTarget {
    Stdout,
    File(PathBuf),
    Socket(Collector),
}

/// A socket of another program.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    /// As the user named it.
    name: String,
    pub(crate) socket: CollectorSocket,
    /// Whether events are messages of syslog.
    is_syslog: bool,
}

/// Kinds of sockets.
#[derive(Clone, Debug)]
pub(crate) enum CollectorSocket {
    Tcp(Server),
    #[cfg(feature = "tls")]
    Tls(Server, TlsClient),
    /// Each line is a datagram.
    Udp(Server),
    UnixStream(PathBuf),
    /// Each line is a datagram.
    UnixDatagram(PathBuf),
}

/// A host and a port.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// A name or an address.
    host: String,
    port: u16,
    /// The last addresses that were found; none if the name is unknown.
    pub(crate) addresses: Vec<SocketAddr>,
}

/// The prefixes of names of sockets.
const PREFIXES: [&str; 4] = ["tcp:", "tls:", "unix:", "syslog:"];

/// Whether a path is the name of a socket with TLS.
pub(crate) fn names_tls(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.strip_prefix("syslog:").unwrap_or(name).starts_with("tls:"))
}

/// Whether a path is the name of a socket.
pub(crate) fn names_socket(path: &Path) -> bool {
    path.to_str().is_some_and(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

impl LiveTarget {
    /// Finds out what the user named. Looks names of hosts up.
    pub(crate) fn new(target: Target) -> Result<Self, String> {
        match target {
            Target::Stdout => Ok(Self::Stdout),
            Target::File(path) if names_socket(&path) => Collector::parse(&path).map(Self::Socket),
            Target::File(path) => Ok(Self::File(path)),
        }
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }

    pub(crate) fn is_socket(&self) -> bool {
        matches!(self, Self::Socket(_))
    }

    /// The port of TCP.
    pub(crate) fn tcp_port(&self) -> Option<u16> {
        let Self::Socket(Collector { socket, .. }) = self else { return None };
        match socket {
            CollectorSocket::Tcp(server) => Some(server.port),
            #[cfg(feature = "tls")]
            CollectorSocket::Tls(server, _) => Some(server.port),
            _ => None,
        }
    }

    /// Reads the files of an output over TLS.
    #[cfg(feature = "tls")]
    pub(crate) fn use_tls(&mut self, files: TlsFiles) -> Result<(), String> {
        match self {
            Self::Socket(Collector { socket: CollectorSocket::Tls(_, client), .. }) => {
                client.use_files(files)
            }
            _ => Ok(()),
        }
    }

    /// Whether the name of a host is looked up again when the connection ends.
    pub(crate) fn has_host_name(&self) -> bool {
        let Self::Socket(Collector { socket, .. }) = self else { return false };
        socket.server().is_some_and(|server| server.host.parse::<IpAddr>().is_err())
    }
}

/// Two sockets are one if they have one name, and the same options of TLS.
impl PartialEq for Collector {
    fn eq(&self, other: &Self) -> bool {
        #[cfg(feature = "tls")]
        if let (CollectorSocket::Tls(_, client), CollectorSocket::Tls(_, of_other)) =
            (&self.socket, &other.socket)
            && client != of_other
        {
            return false;
        }
        self.name == other.name
    }
}

impl CollectorSocket {
    /// The host; `None` on this machine.
    fn server(&self) -> Option<&Server> {
        match self {
            Self::Tcp(server) | Self::Udp(server) => Some(server),
            #[cfg(feature = "tls")]
            Self::Tls(server, _) => Some(server),
            Self::UnixStream(_) | Self::UnixDatagram(_) => None,
        }
    }
}

impl fmt::Display for LiveTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::File(path) => f.write_str(&crate::paths::name_of(path)),
            Self::Socket(collector) => collector.fmt(f),
        }
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::paths::name_of(Path::new(&self.name)))
    }
}

impl Collector {
    fn parse(path: &Path) -> Result<Self, String> {
        let name = path.to_str().unwrap_or_default().to_owned();
        let (is_syslog, rest) = match name.strip_prefix("syslog:") {
            Some(rest) => (true, rest),
            None => (false, name.as_str()),
        };
        let socket = match rest.split_once(':') {
            Some(("tcp", server)) => Server::parse(server).map(CollectorSocket::Tcp),
            #[cfg(feature = "tls")]
            Some(("tls", server)) => Server::parse(server).map(|server| {
                let client = TlsClient::new(&server.host);
                CollectorSocket::Tls(server, client)
            }),
            #[cfg(not(feature = "tls"))]
            Some(("tls", _)) => {
                let name = crate::paths::name_of(path);
                return Err(format!("{name}: this build has no TLS: build it with `--features tls`"));
            }
            Some(("udp", server)) if is_syslog => Server::parse(server).map(CollectorSocket::Udp),
            Some(("unix", path)) if !path.is_empty() => Some(match is_syslog {
                true => CollectorSocket::UnixDatagram(path.into()),
                false => CollectorSocket::UnixStream(path.into()),
            }),
            _ => None,
        };
        match socket {
            Some(socket) => Ok(Self { name, socket, is_syslog }),
            None => Err(format!(
                "{}: expected tcp:HOST:PORT, tls:HOST:PORT, unix:PATH, or syslog: and tcp:HOST:PORT, tls:HOST:PORT, udp:HOST:PORT or unix:PATH",
                crate::paths::name_of(path)
            )),
        }
    }

    /// The form of messages of syslog, if events are such.
    pub(crate) fn syslog_form(&self) -> Option<SyslogForm> {
        let form = match self.socket {
            CollectorSocket::Tcp(_) | CollectorSocket::UnixStream(_) => SyslogForm::Counted,
            #[cfg(feature = "tls")]
            CollectorSocket::Tls(..) => SyslogForm::Counted,
            CollectorSocket::Udp(_) => SyslogForm::Datagram,
            CollectorSocket::UnixDatagram(_) => SyslogForm::Local,
        };
        self.is_syslog.then_some(form)
    }

    /// Whether the address is known.
    pub(crate) fn is_resolved(&self) -> bool {
        self.socket.server().is_none_or(|server| !server.addresses.is_empty())
    }
}

impl Server {
    /// Parses `HOST:PORT`, and looks the host up.
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok()?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return None;
        }
        let mut server = Self { host: host.to_owned(), port, addresses: Vec::new() };
        server.look_up();
        Some(server)
    }

    /// Looks the host up. If it is not found, the last addresses stay.
    pub(crate) fn look_up(&mut self) {
        if let Ok(found) = (self.host.as_str(), self.port).to_socket_addrs() {
            self.addresses = found.collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<LiveTarget, String> {
        LiveTarget::new(Target::File(name.into()))
    }

    #[test]
    fn names_of_sockets_are_parsed() {
        for (name, port, form) in [
            ("tcp:127.0.0.1:9000", Some(9000), None),
            ("tcp:[::1]:9000", Some(9000), None),
            ("unix:/run/x", None, None),
            ("syslog:tcp:127.0.0.1:601", Some(601), Some(SyslogForm::Counted)),
            ("syslog:udp:127.0.0.1:514", None, Some(SyslogForm::Datagram)),
            ("syslog:unix:/dev/log", None, Some(SyslogForm::Local)),
        ] {
            let target = parse(name).unwrap();
            assert_eq!((target.to_string(), target.tcp_port()), (name.to_owned(), port));
            let LiveTarget::Socket(collector) = target else { panic!("{name}") };
            assert!(collector.is_resolved() && collector.syslog_form() == form, "{name}");
        }
        for (name, has_host_name) in
            [("tcp:localhost:1", true), ("syslog:udp:[::1]:1", false), ("unix:/run/x", false), ("x", false)]
        {
            assert_eq!(parse(name).unwrap().has_host_name(), has_host_name, "{name}");
        }
        for name in
            ["tcp:9000", "tcp::9000", "tcp:h:x", "tcp:h:70000", "unix:", "syslog:9000", "syslog:/dev/log"]
        {
            assert!(parse(name).unwrap_err().starts_with(name), "{name}");
        }
        for name in ["tls:[::1]:6514", "syslog:tls:127.0.0.1:6514"] {
            match parse(name) {
                Ok(target) => assert!(cfg!(feature = "tls") && target.tcp_port() == Some(6514), "{name}"),
                Err(error) => {
                    assert!(cfg!(not(feature = "tls")) && error.contains("this build has no TLS"), "{error}")
                }
            }
        }
        for name in ["events.json", "./tcp:127.0.0.1:9000", "udp:127.0.0.1:9"] {
            assert!(matches!(parse(name), Ok(LiveTarget::File(_))), "{name}");
        }
        assert!(parse("tcp:127.0.0.1:1").unwrap() != parse("syslog:tcp:127.0.0.1:1").unwrap());
    }
}
