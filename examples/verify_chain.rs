//! Verifies the certificates of the servers in a capture: the chain that each sent, up to a root, and its name.
//!
//! `cargo run --manifest-path examples/Cargo.toml --features webpki --bin verify_chain CAPTURE ROOT.pem`

use std::error::Error;
use std::time::Duration;

use huginn_net_capture::CaptureReader;
use huginn_net_core::{Analyzer, Side};
use huginn_net_tls::{TlsCertificates, TlsEvent, TlsObserver};
use rustls_pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime, pem::PemObject};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [capture, root] = &*arguments else { return Err("usage: verify_chain CAPTURE ROOT.pem".into()) };
    let root = CertificateDer::from_pem_file(root)?;
    let roots = [anchor_from_trusted_cert(&root)?];
    let observer = TlsObserver::default().handshakes(true).certificate_bytes(true);
    Analyzer::builder_with(observer).build().analyze(CaptureReader::open(capture)?, |event| {
        if let (TlsEvent::Certificates(sent), Side::Server) = (&event.kind, event.subject) {
            let outcome = verify(sent, &roots, Duration::from_secs(event.ts.as_secs()));
            let outcome = outcome.map_or_else(|error| error.to_string(), |()| "verified".to_owned());
            println!("{} {outcome}", event.packet_number);
        }
    })?;
    Ok(())
}

/// Verifies a chain at the time of its packet.
fn verify(
    sent: &TlsCertificates,
    roots: &[TrustAnchor<'_>],
    since_1970: Duration,
) -> Result<(), Box<dyn Error>> {
    let chain: Option<Vec<CertificateDer<'_>>> = sent.chain().map(|one| one.der().map(Into::into)).collect();
    let [leaf, intermediates @ ..] = &*chain.ok_or("not captured whole")? else {
        return Err("no certificate".into());
    };
    let leaf = EndEntityCert::try_from(leaf)?;
    let (time, usage) = (UnixTime::since_unix_epoch(since_1970), KeyUsage::server_auth());
    leaf.verify_for_usage(ALL_VERIFICATION_ALGS, roots, intermediates, time, usage, None, None)?;
    if let Some(name) = &sent.server_name {
        leaf.verify_is_valid_for_subject_name(&ServerName::try_from(&**name)?)?;
    }
    Ok(())
}
