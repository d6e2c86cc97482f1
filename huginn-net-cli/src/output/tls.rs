//! TLS of outputs: which servers are trusted, and how the program identifies itself.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::paths::name_of;
use crate::pem::{certificates, private_key};

/// The options of an output over TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The authorities that certify servers; `None` for those of the system.
    pub(crate) ca: Option<PathBuf>,
    /// The certificates of the program, and their key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    /// The name of the server; `None` for the host that is connected to.
    pub(crate) server_name: Option<String>,
}

impl TlsFiles {
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let identity = self.identity.iter().flat_map(|(certificate, key)| [certificate, key]);
        self.ca.iter().chain(identity)
    }

    /// Reads the files.
    pub(crate) fn read(&self) -> Result<Arc<ClientConfig>, String> {
        let mut roots = RootCertStore::empty();
        match &self.ca {
            Some(path) => {
                for certificate in certificates("--tls-ca", path)? {
                    let added = roots.add(certificate);
                    added.map_err(|error| format!("--tls-ca: {}: {error}", name_of(path)))?;
                }
            }
            None => {
                let (added, _) = roots.add_parsable_certificates(system_roots().iter().cloned());
                if added == 0 {
                    return Err(
                        "no certificate authority of the system can be read: name a file with --tls-ca"
                            .into(),
                    );
                }
            }
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
        let builder = builder.with_root_certificates(roots);
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates("--tls-cert", certificate)?;
                let private = private_key("--tls-key", key)?;
                let identity = builder.with_client_auth_cert(chain, private);
                identity.map_err(|error| format!("--tls-key: {}: {error}", name_of(key)))?
            }
        };
        Ok(Arc::new(config))
    }
}

/// The client of one server.
#[derive(Clone, Debug)]
pub(crate) struct TlsClient {
    host: String,
    files: TlsFiles,
    /// What the files had; `None` before they are read.
    config: Option<Arc<ClientConfig>>,
}

/// Two clients are one if their options are.
impl PartialEq for TlsClient {
    fn eq(&self, other: &Self) -> bool {
        self.host == other.host && self.files == other.files
    }
}

impl TlsClient {
    pub(super) fn new(host: &str) -> Self {
        Self { host: host.to_owned(), files: TlsFiles::default(), config: None }
    }

    /// Reads the files of these options.
    pub(super) fn use_files(&mut self, files: TlsFiles) -> Result<(), String> {
        self.config = Some(files.read()?);
        self.files = files;
        self.server_name().map(|_| ())
    }

    /// Reads the files again. If they are invalid, what they had before stays in use.
    pub(super) fn read_again(&mut self) {
        if let Ok(config) = self.files.read() {
            self.config = Some(config);
        }
    }

    /// What the files had; reads them if that was not done yet.
    pub(super) fn config(&mut self) -> Result<Arc<ClientConfig>, String> {
        match &self.config {
            Some(config) => Ok(Arc::clone(config)),
            None => Ok(Arc::clone(self.config.insert(self.files.read()?))),
        }
    }

    /// The name that the certificate of the server must have.
    pub(super) fn server_name(&self) -> Result<ServerName<'static>, String> {
        let name = self.files.server_name.as_ref().unwrap_or(&self.host);
        ServerName::try_from(name.clone())
            .map_err(|_| format!("--tls-server-name: '{name}' is neither a name of a host nor an address"))
    }
}

/// The authorities of the system, as they were when an output first needed them: the sandbox may hide them later.
fn system_roots() -> &'static [CertificateDer<'static>] {
    static ROOTS: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
    ROOTS.get_or_init(|| rustls_native_certs::load_native_certs().certs)
}
