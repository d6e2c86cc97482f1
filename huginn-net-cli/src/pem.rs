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
        // Their texts have lines of the file: a key must not reach a log.
        _ => format!(
            "{option}: {path}: no valid PEM around the {wanted}: each mark and 64 characters have a line of their own"
        ),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::fs;

    use super::*;

    #[test]
    fn a_key_whose_lines_were_joined_is_not_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        fs::write(&path, "-----BEGIN PRIVATE KEY----- MC4CAQAw -----END PRIVATE KEY-----\n").unwrap();
        let error = private_key("--tls-key", &path).unwrap_err();
        // Neither as letters nor as numbers of bytes.
        assert!(!error.contains("MC4C") && !error.contains("77, 67, 52"), "{error}");
        assert!(error.starts_with("--tls-key: ") && error.contains("PEM"), "{error}");
    }
}
