//! Certificates and keys in PEM files.

use std::path::Path;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::paths::name_of;

/// Reads the certificates of a file that an option names: at least one.
pub(crate) fn certificates(option: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found =
        found.and_then(|found| if found.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(found) });
    found.map_err(|error| unreadable(option, path, &error, "certificate"))
}

/// Reads the private key of a file that an option names.
pub(crate) fn private_key(option: &str, path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| unreadable(option, path, &error, "private key"))
}

fn unreadable(option: &str, path: &Path, error: &pem::Error, wanted: &str) -> String {
    let path = name_of(path);
    match error {
        pem::Error::Io(error) => format!("{option}: {path}: {error}"),
        pem::Error::NoItemsFound => format!("{option}: {path}: no {wanted} in PEM (-----BEGIN …-----)"),
        error => format!("{option}: {path}: {error}"),
    }
}
