//! Whose a ClientHello is, by its structure.

use std::fmt;

use smallvec::SmallVec;

use crate::{ClientHello, is_grease};

/// A TLS library, or a program with settings of its own, that a hello shows by its structure.
///
/// Only what was seen of programs that are known; a hello of which nothing is known has none. Whoever wants to can send
/// such a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientFamily {
    /// Apple's own: Secure Transport and what came after it, in macOS and iOS.
    Apple,
    /// Microsoft's own, in Windows.
    Schannel,
    /// Chromium, and browsers made of it.
    Chromium,
    /// Firefox, and what else is made of Mozilla's networking.
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

/// application_settings (draft-vvv-tls-alps), in its older and its newer number: nobody but Chromium offers it.
const APPLICATION_SETTINGS: [u16; 2] = [17513, 17613];
/// delegated_credentials (RFC 9345), which of the browsers Firefox alone offers.
const DELEGATED_CREDENTIALS: u16 = 34;
/// record_size_limit (RFC 8449); of the browsers, Firefox's too.
const RECORD_SIZE_LIMIT: u16 = 28;

/// Suites that follow one another in nobody else's list. Behind ECDSA with AES and CBC Apple has ECDSA with 3DES or with
/// ChaCha20; Schannel mixes in RSA's, or, where it is older, has DSS there.
const SEQUENCES: [(ClientFamily, &[u16]); 4] = [
    (ClientFamily::Apple, &[0xc024, 0xc023, 0xc00a, 0xc009, 0xc008]),
    (ClientFamily::Apple, &[0xc024, 0xc023, 0xc00a, 0xc009, 0xcca9]),
    (ClientFamily::Schannel, &[0xc024, 0xc023, 0xc028, 0xc027, 0xc00a, 0xc009, 0xc014, 0xc013]),
    (ClientFamily::Schannel, &[0xc024, 0xc023, 0xc00a, 0xc009, 0x006a]),
];
/// 3DES, which no other client that sends GREASE offers.
const TRIPLE_DES: [u16; 3] = [0xc008, 0xc012, 0x000a];

impl ClientHello<'_> {
    /// Whose it is, if its structure tells.
    pub fn family(&self) -> Option<ClientFamily> {
        let offers = |kind| self.extensions().any(|extension| extension.kind == kind);
        if APPLICATION_SETTINGS.into_iter().any(offers) {
            return Some(ClientFamily::Chromium);
        }
        if offers(DELEGATED_CREDENTIALS) && offers(RECORD_SIZE_LIMIT) {
            return Some(ClientFamily::Firefox);
        }
        let has_grease = self.cipher_suites().any(is_grease);
        let suites: SmallVec<[u16; 128]> = self.cipher_suites().filter(|suite| !is_grease(*suite)).collect();
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

    /// A hello with these suites and no extension.
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
    fn systems_show_their_libraries_by_the_order_of_suites() {
        // nDPI: iphone.pcap, 1kxun.pcap; Suricata: a hello of macOS, shortened. All of hosts whose SYNs are Apple's.
        let ios =
            [0x1301, 0x1302, 0x1303, 0xc02c, 0xc02b, 0xc024, 0xc023, 0xc00a, 0xc009, 0xcca9, 0xc030, 0xc02f];
        let yosemite = [0x00ff, 0xc024, 0xc023, 0xc00a, 0xc009, 0xc008, 0xc028, 0xc027, 0xc014, 0xc013];
        let recent = [0x3a3a, 0x1301, 0x1302, 0x1303, 0xc02c, 0xc02b, 0xcca9, 0xc008, 0xc012, 0x000a];
        for suites in [&ios[..], &yosemite, &recent] {
            assert_eq!(family(suites), Some(ClientFamily::Apple), "{suites:04x?}");
        }
        // nDPI: emotet.pcap, of a host whose SYN is Windows'; Suricata: a hello for go.microsoft.com, shortened.
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
