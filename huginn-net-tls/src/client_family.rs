//! Identifies TLS libraries by the structure of their ClientHello.

use std::fmt;

use smallvec::SmallVec;

use crate::limits::INLINE_CIPHER_SUITES;
use crate::{ClientHello, is_grease};

/// A TLS library, or a program with its own TLS settings, identified by the structure of its ClientHello.
///
/// Based on observed hellos of known programs; other hellos have no family. Any client can imitate such a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientFamily {
    /// Apple's Secure Transport and its successors, in macOS and iOS.
    Apple,
    /// Microsoft's Schannel, in Windows.
    Schannel,
    /// Chromium and browsers based on it.
    Chromium,
    /// Firefox and other programs with Mozilla's network library.
    Firefox,
}

impl fmt::Display for ClientFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Apple => "Apple",
            Self::Schannel => "Schannel",
            Self::Chromium => "Chromium",
            Self::Firefox => "Firefox",
        })
    }
}

/// application_settings (draft-vvv-tls-alps), with its older and its newer number: only Chromium offers it.
const APPLICATION_SETTINGS: [u16; 2] = [17513, 17613];
/// delegated_credentials (RFC 9345): Firefox is the only browser that offers it.
const DELEGATED_CREDENTIALS: u16 = 34;
/// record_size_limit (RFC 8449): Firefox is the only browser that offers it.
const RECORD_SIZE_LIMIT: u16 = 28;

/// Sequences of suites that occur in no other library's list. After ECDSA with AES-CBC, Apple lists ECDSA with 3DES or
/// ChaCha20; Schannel lists RSA suites, or DSS in old versions.
const SEQUENCES: [(ClientFamily, &[u16]); 4] = [
    (ClientFamily::Apple, &[0xc024, 0xc023, 0xc00a, 0xc009, 0xc008]),
    (ClientFamily::Apple, &[0xc024, 0xc023, 0xc00a, 0xc009, 0xcca9]),
    (ClientFamily::Schannel, &[0xc024, 0xc023, 0xc028, 0xc027, 0xc00a, 0xc009, 0xc014, 0xc013]),
    (ClientFamily::Schannel, &[0xc024, 0xc023, 0xc00a, 0xc009, 0x006a]),
];
/// 3DES suites, which no other client with GREASE offers.
const TRIPLE_DES: [u16; 3] = [0xc008, 0xc012, 0x000a];

impl ClientHello<'_> {
    /// Identifies the library; `None` if no library has this structure.
    pub fn family(&self) -> Option<ClientFamily> {
        let offers = |kind| self.extensions().any(|extension| extension.kind == kind);
        if APPLICATION_SETTINGS.into_iter().any(offers) {
            return Some(ClientFamily::Chromium);
        }
        if offers(DELEGATED_CREDENTIALS) && offers(RECORD_SIZE_LIMIT) {
            return Some(ClientFamily::Firefox);
        }
        let has_grease = self.cipher_suites().any(is_grease);
        let suites: SmallVec<[u16; INLINE_CIPHER_SUITES]> =
            self.cipher_suites().filter(|suite| !is_grease(*suite)).collect();
        if has_grease {
            let all = TRIPLE_DES.iter().all(|suite| suites.contains(suite));
            return all.then_some(ClientFamily::Apple);
        }
        let follows = |sequence: &[u16]| suites.windows(sequence.len()).any(|window| window == sequence);
        SEQUENCES.iter().find(|(_, sequence)| follows(sequence)).map(|(family, _)| *family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transport;

    /// A hello with these suites and without extensions.
    fn family(suites: &[u16]) -> Option<ClientFamily> {
        let mut body = vec![3, 3];
        body.extend([0; 33]);
        let suites: Vec<u8> = suites.iter().flat_map(|suite| suite.to_be_bytes()).collect();
        body.extend(u16::try_from(suites.len()).unwrap().to_be_bytes());
        body.extend(suites);
        body.extend([1, 0]);
        let mut message = vec![1, 0];
        message.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        message.extend(body);
        ClientHello::parse_message(&message, Transport::Tcp).unwrap().family()
    }

    #[test]
    fn suite_order_identifies_library() {
        // nDPI: iphone.pcap, 1kxun.pcap; Suricata: a shortened hello of macOS. All hosts send SYNs of Apple systems.
        let ios =
            [0x1301, 0x1302, 0x1303, 0xc02c, 0xc02b, 0xc024, 0xc023, 0xc00a, 0xc009, 0xcca9, 0xc030, 0xc02f];
        let yosemite = [0x00ff, 0xc024, 0xc023, 0xc00a, 0xc009, 0xc008, 0xc028, 0xc027, 0xc014, 0xc013];
        let recent = [0x3a3a, 0x1301, 0x1302, 0x1303, 0xc02c, 0xc02b, 0xcca9, 0xc008, 0xc012, 0x000a];
        for suites in [&ios[..], &yosemite, &recent] {
            assert_eq!(family(suites), Some(ClientFamily::Apple), "{suites:04x?}");
        }
        // nDPI: emotet.pcap, from a host with a Windows SYN; Suricata: a shortened hello for go.microsoft.com.
        let ten =
            [0xc02c, 0xc02b, 0xc030, 0xc02f, 0xc024, 0xc023, 0xc028, 0xc027, 0xc00a, 0xc009, 0xc014, 0xc013];
        let seven = [0xc028, 0xc027, 0xc014, 0xc013, 0xc02c, 0xc02b, 0xc024, 0xc023, 0xc00a, 0xc009, 0x006a];
        for suites in [&ten[..], &seven] {
            assert_eq!(family(suites), Some(ClientFamily::Schannel), "{suites:04x?}");
        }
        for suites in [&[][..], &[0x1301], &[0xc024, 0xc023, 0xc00a, 0xc009], &recent[1..], &recent[..8]] {
            assert_eq!(family(suites), None, "{suites:04x?}");
        }
    }
}
