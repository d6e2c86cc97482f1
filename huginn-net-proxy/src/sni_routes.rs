//! Chooses a target by the server name of a ClientHello.

use std::collections::HashMap;

use huginn_net_tls::ClientHello;

/// Targets by server name (RFC 6066, section 3), for a program that passes TLS through without ending it.
///
/// A name is complete, as `www.example.org`, or a suffix with a wildcard, as `*.example.org`, which stands for one label or
/// more. A complete name comes before a suffix, and a longer suffix before a shorter one. Case is ignored, and a dot at the
/// end.
///
/// With Encrypted ClientHello (RFC 9849), the name is the public one of the outer hello.
///
/// ```
/// use huginn_net_tls::ClientHello;
/// use huginn_net_proxy::SniRoutes;
///
/// let routes = SniRoutes::new().with("www.example.test", 1).with("*.example.test", 2).with_default(3);
/// // Sent by curl to www.example.test.
/// let bytes = include_bytes!("../../huginn-net-tls/hellos/curl-openssl.bin");
/// let hello = ClientHello::from_records(bytes)?.expect("a complete hello").value;
/// assert_eq!(routes.find(&hello), Some(&1));
/// assert_eq!(routes.find_name(b"a.b.Example.test."), Some(&2));
/// assert_eq!(routes.find_name(b"example.test"), Some(&3));
/// # Ok::<(), huginn_net_tls::TlsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SniRoutes<T> {
    names: HashMap<Box<[u8]>, T>,
    /// Suffixes with their dot.
    suffixes: HashMap<Box<[u8]>, T>,
    default: Option<T>,
}

impl<T> Default for SniRoutes<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> SniRoutes<T> {
    /// Creates routes without any name.
    pub fn new() -> Self {
        Self { names: HashMap::new(), suffixes: HashMap::new(), default: None }
    }

    /// Adds a name, or replaces its target.
    #[must_use]
    pub fn with(mut self, name: &str, target: T) -> Self {
        let name = normalized(name.as_bytes());
        match name.strip_prefix(b"*") {
            Some(suffix) if suffix.starts_with(b".") => self.suffixes.insert(suffix.into(), target),
            _ => self.names.insert(name.into(), target),
        };
        self
    }

    /// Sets the target of all other names, and of hellos without a name.
    #[must_use]
    pub fn with_default(mut self, target: T) -> Self {
        self.default = Some(target);
        self
    }

    /// The target of a hello.
    pub fn find(&self, hello: &ClientHello<'_>) -> Option<&T> {
        match hello.server_name() {
            Some(name) => self.find_name(name),
            None => self.default.as_ref(),
        }
    }

    /// The target of a server name.
    pub fn find_name(&self, name: &[u8]) -> Option<&T> {
        // A longer name is none of the DNS (RFC 1035, section 2.3.4).
        if name.len() > MAX_NAME_LEN {
            return self.default.as_ref();
        }
        let name = normalized(name);
        let dots = name.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'.');
        let mut suffixes = dots.filter_map(|(dot, _)| self.suffixes.get(name.get(dot..)?));
        self.names.get(name.as_slice()).or_else(|| suffixes.next()).or(self.default.as_ref())
    }
}

/// Maximum length of a domain name, in bytes with a dot at its end.
const MAX_NAME_LEN: usize = 254;

fn normalized(name: &[u8]) -> Vec<u8> {
    name.strip_suffix(b".").unwrap_or(name).to_ascii_lowercase()
}
