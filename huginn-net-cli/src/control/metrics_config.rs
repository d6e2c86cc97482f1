//! Where metrics are served, and who may read them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::paths::name_of;

/// Maximum length of a file with a token, in bytes.
const MAX_TOKEN_BYTES: u64 = 4096;

/// How metrics are served.
#[derive(Clone, Debug)]
pub(crate) struct MetricsConfig {
    pub(crate) address: SocketAddr,
    /// What a request must have; `None` if everyone may read metrics.
    pub(crate) token: Option<MetricsToken>,
    /// How the server identifies itself; `None` without TLS.
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<std::sync::Arc<rustls::ServerConfig>>,
}

impl MetricsConfig {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            token: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// The scheme of the address.
    pub(super) fn scheme(&self) -> &'static str {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return "https";
        }
        "http"
    }
}

/// A bearer token (RFC 6750), as its hash.
#[derive(Clone, Copy)]
pub(crate) struct MetricsToken([u8; 32]);

impl fmt::Debug for MetricsToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsToken")
    }
}

impl MetricsToken {
    /// Reads the token of a file, without white space around it.
    pub(crate) fn read(option: &str, path: &Path) -> Result<Self, String> {
        let mut text = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_TOKEN_BYTES).read_to_end(&mut text));
        let failed = |error: &dyn fmt::Display| format!("{option}: {}: {error}", name_of(path));
        read.map_err(|error: io::Error| failed(&error))?;
        let token = text.trim_ascii();
        if token.is_empty() || !token.iter().all(u8::is_ascii_graphic) {
            return Err(failed(
                &"a token is one word of ASCII characters, such as `openssl rand -hex 32` prints",
            ));
        }
        Ok(Self::of(token))
    }

    fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Whether the value of the header `Authorization` has the token. Hashes are compared, so that the time says nothing of the token.
    pub(super) fn admits(&self, authorization: &[u8]) -> bool {
        let Some((scheme, token)) = authorization.split_at_checked(b"Bearer ".len()) else { return false };
        let pairs = self.0.iter().zip(Self::of(token.trim_ascii()).0);
        let difference = pairs.fold(0, |difference, (wanted, found)| difference | (wanted ^ found));
        scheme.eq_ignore_ascii_case(b"Bearer ") && difference == 0
    }
}

/// Reads the certificate and the key of the server.
#[cfg(feature = "tls")]
pub(crate) fn metrics_tls(
    certificate: &Path,
    key: &Path,
) -> Result<std::sync::Arc<rustls::ServerConfig>, String> {
    let chain = crate::pem::certificates("--metrics-tls-cert", certificate)?;
    let private = crate::pem::private_key("--metrics-tls-key", key)?;
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?.with_no_client_auth();
    let config = builder.with_single_cert(chain, private);
    Ok(std::sync::Arc::new(config.map_err(|error| format!("--metrics-tls-key: {}: {error}", name_of(key)))?))
}
