//! Where metrics are served, and who may read them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use huginn_net::core::Replaceable;
use sha2::{Digest, Sha256};

use crate::paths::name_of;

/// Maximum length of a file with a token, in bytes.
const MAX_TOKEN_BYTES: u64 = 4096;

/// How metrics are served. Clones share who may read them.
#[derive(Clone, Debug)]
pub(crate) struct MetricsConfig {
    pub(crate) address: SocketAddr,
    pub(crate) files: MetricsFiles,
    pub(crate) access: Replaceable<MetricsAccess>,
}

impl MetricsConfig {
    /// Reads the files.
    pub(crate) fn new(address: SocketAddr, files: MetricsFiles) -> Result<Self, String> {
        let access = Replaceable::new(files.read()?);
        Ok(Self { address, files, access })
    }

    /// The scheme of the address.
    pub(super) fn scheme(&self) -> &'static str {
        if self.files.tls.is_some() { "https" } else { "http" }
    }
}

/// The files that say who may read metrics.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetricsFiles {
    pub(crate) token: Option<PathBuf>,
    /// The certificate of the server, and its key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
}

impl MetricsFiles {
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.token.iter().chain(self.tls.iter().flat_map(|(certificate, key)| [certificate, key]))
    }

    pub(crate) fn read(&self) -> Result<MetricsAccess, String> {
        let token = self.token.as_deref().map(|path| MetricsToken::read("--metrics-token-file", path));
        #[cfg(not(feature = "tls"))]
        if self.tls.is_some() {
            return Err(
                "--metrics-tls-cert: this build has no TLS: build it with `--features tls`".to_owned()
            );
        }
        Ok(MetricsAccess {
            token: token.transpose()?,
            #[cfg(feature = "tls")]
            tls: self.tls.as_ref().map(|(certificate, key)| server_config(certificate, key)).transpose()?,
        })
    }
}

/// Who may read metrics.
#[derive(Debug)]
pub(crate) struct MetricsAccess {
    /// What a request must have; `None` if everyone may read metrics.
    pub(super) token: Option<MetricsToken>,
    /// How the server identifies itself; `None` without TLS.
    #[cfg(feature = "tls")]
    pub(super) tls: Option<std::sync::Arc<rustls::ServerConfig>>,
}

/// A bearer token (RFC 6750), as its hash.
#[derive(Clone, Copy)]
pub(super) struct MetricsToken([u8; 32]);

impl fmt::Debug for MetricsToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsToken")
    }
}

impl MetricsToken {
    /// Reads the token of a file, without white space around it.
    pub(super) fn read(option: &str, path: &Path) -> Result<Self, String> {
        let mut text = Vec::new();
        let read = File::open(path)
            .and_then(|file| file.take(MAX_TOKEN_BYTES.saturating_add(1)).read_to_end(&mut text));
        let failed = |error: &dyn fmt::Display| format!("{option}: {}: {error}", name_of(path));
        read.map_err(|error: io::Error| failed(&error))?;
        let token = text.trim_ascii();
        if token.is_empty() || text.len() as u64 > MAX_TOKEN_BYTES || !token.iter().all(u8::is_ascii_graphic)
        {
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
fn server_config(certificate: &Path, key: &Path) -> Result<std::sync::Arc<rustls::ServerConfig>, String> {
    let chain = crate::pem::certificates("--metrics-tls-cert", certificate)?;
    let private = crate::pem::private_key("--metrics-tls-key", key)?;
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?.with_no_client_auth();
    let config = builder.with_single_cert(chain, private);
    config.map(std::sync::Arc::new).map_err(|error| format!("--metrics-tls-key: {}: {error}", name_of(key)))
}
