//! Identifies TLS libraries by the structure of their ClientHello.

use smallvec::SmallVec;

use crate::hello::{ClientHello, extension_type, is_grease};
use crate::limits::{INLINE_CIPHER_SUITES, INLINE_EXTENSIONS};

huginn_net_wire::named! {
    /// A TLS library, or a program with its own TLS settings, identified by the structure of its ClientHello.
    ///
    /// Based on observed hellos of known programs; other hellos have no family. Any client can imitate such a hello.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum ClientFamily {
        /// Apple's Secure Transport and its successors, in macOS and iOS.
        Apple = "Apple",
        /// Microsoft's Schannel, in Windows.
        Schannel = "Schannel",
        /// Chromium and browsers based on it.
        Chromium = "Chromium",
        /// Firefox and other programs with Mozilla's network library.
        Firefox = "Firefox",
        /// Botan.
        Botan = "Botan",
        /// BoringSSL in other programs than Chromium.
        BoringSsl = "BoringSSL",
        /// Conscrypt, the TLS of Java on Android, with BoringSSL.
        Conscrypt = "Conscrypt",
        /// GnuTLS.
        GnuTls = "GnuTLS",
        /// `crypto/tls` of Go's standard library.
        Go = "Go crypto/tls",
        /// JSSE, the TLS implementation of Java.
        Jsse = "JSSE",
        /// mbed TLS.
        MbedTls = "mbed TLS",
        /// OpenSSL.
        OpenSsl = "OpenSSL",
        /// rustls.
        Rustls = "rustls",
        /// s2n-tls.
        S2n = "s2n-tls",
        /// Tongsuo, once BabaSSL: OpenSSL with the Chinese algorithms of RFC 8998.
        Tongsuo = "Tongsuo",
        /// wolfSSL.
        WolfSsl = "wolfSSL",
    }
}

impl ClientFamily {}

/// application_settings (draft-vvv-tls-alps), with its older and its newer number: only Chromium offers it.
const APPLICATION_SETTINGS: [u16; 2] = [17513, 17613];
/// channel_id, which Chromium offered until version 74.
const CHANNEL_ID: u16 = 30032;
/// delegated_credentials (RFC 9345): Firefox is the only browser that offers it.
const DELEGATED_CREDENTIALS: u16 = 34;
/// record_size_limit (RFC 8449): Firefox is the only browser that offers it.
const RECORD_SIZE_LIMIT: u16 = 28;

/// Sequences of suites that occur in no other library's list. After ECDSA with AES-CBC, Apple lists ECDSA with 3DES or
/// ChaCha20; Schannel lists RSA suites, or DSS in old versions. rustls lists AES-256 before AES-128, or ChaCha20 first.
/// Conscrypt lists ECDSA before RSA. OpenSSL until 1.0.2 lists 3DES, with DSS, between AES-256 and AES-128.
const SEQUENCES: [(ClientFamily, &[u16]); 12] = [
    (ClientFamily::Conscrypt, &[0xc02b, 0xc02c, 0xcca9, 0xc02f, 0xc030, 0xcca8]),
    (ClientFamily::Conscrypt, &[0xcca9, 0xc02b, 0xc02c, 0xcca8, 0xc02f, 0xc030]),
    (ClientFamily::Apple, &[0xc024, 0xc023, 0xc00a, 0xc009, 0xc008]),
    (ClientFamily::Apple, &[0xc024, 0xc023, 0xc00a, 0xc009, 0xcca9]),
    (ClientFamily::Schannel, &[0xc024, 0xc023, 0xc028, 0xc027, 0xc00a, 0xc009, 0xc014, 0xc013]),
    (ClientFamily::Schannel, &[0xc024, 0xc023, 0xc00a, 0xc009, 0x006a]),
    (ClientFamily::Rustls, &[0x1302, 0x1301, 0x1303, 0xc02c, 0xc02b, 0xcca9, 0xc030, 0xc02f, 0xcca8]),
    (ClientFamily::Rustls, &[0x1303, 0x1302, 0x1301, 0xcca9, 0xcca8, 0xc02c, 0xc02b, 0xc030, 0xc02f]),
    (ClientFamily::Rustls, &[0x1303, 0x1302, 0x1301, 0xcca9, 0xcca8, 0xc02c, 0xc030, 0xc02b, 0xc02f]),
    (ClientFamily::OpenSsl, &[0x0035, 0x0016, 0x0013, 0x000a, 0x0033, 0x0032]),
    (ClientFamily::OpenSsl, &[0x0084, 0x0016, 0x0013, 0x000a, 0x0033, 0x0032]),
    (ClientFamily::OpenSsl, &[0xc012, 0xc008, 0x0016, 0x0013, 0xc00d, 0xc003, 0x000a, 0xc013, 0xc009]),
];
/// The suites of Chromium since TLS 1.3, without 3DES. It is the only client that offers them with GREASE.
const CHROMIUM_SUITES: [u16; 15] = [
    0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013, 0xc014, 0x009c, 0x009d,
    0x002f, 0x0035,
];
/// All 3DES suites, which no other client with GREASE offers.
const TRIPLE_DES: [u16; 3] = [0xc008, 0xc012, 0x000a];

/// TLS_SM4_GCM_SM3 and TLS_SM4_CCM_SM3 (RFC 8998).
const TONGSUO_SUITES: [u16; 2] = [0x00c6, 0x00c7];

/// The order in which a library writes extensions.
struct ExtensionOrder {
    family: ClientFamily,
    /// Extension types that the library can write, in its order.
    order: &'static [u16],
    /// Extension types without which other libraries have the same order.
    required: &'static [u16],
}

/// Extensions that a library inserts for the length of the hello, for a resumed session or a retry.
const INSERTED: [u16; 4] = [
    extension_type::PADDING,
    extension_type::PRE_SHARED_KEY,
    extension_type::EARLY_DATA,
    extension_type::COOKIE,
];

/// Extension orders, in decimal as in the IANA registry. The first match counts.
#[rustfmt::skip]
const ORDERS: [ExtensionOrder; 15] = [
    // TLS 1.1 and older, without signature_algorithms.
    ExtensionOrder { family: ClientFamily::OpenSsl, order: &[65281, 0, 1, 12, 11, 10, 35, 5, 13172, 16, 14, 22, 18, 23], required: &[11, 10, 35, 22, 23] },
    ExtensionOrder {
        family: ClientFamily::OpenSsl,
        order: &[65281, 0, 1, 12, 11, 10, 35, 5, 13172, 16, 14, 22, 18, 23, 50, 49, 19, 20, 13, 43, 45, 51, 27, 47],
        required: &[11, 10, 22, 13],
    },
    ExtensionOrder {
        family: ClientFamily::OpenSsl,
        order: &[65281, 0, 1, 12, 11, 10, 35, 5, 13172, 16, 14, 22, 18, 23, 50, 49, 19, 20, 13, 43, 45, 51, 27, 47],
        required: &[11, 10, 13, 43, 45, 51],
    },
    // Until 1.0.2.
    ExtensionOrder { family: ClientFamily::OpenSsl, order: &[0, 65281, 12, 11, 10, 35, 13, 5, 15, 13172, 16, 14], required: &[11, 10, 35, 13] },
    ExtensionOrder { family: ClientFamily::GnuTls, order: &[1, 5, 10, 11, 13, 14, 16, 22, 23, 35, 51, 43, 49, 65281, 0, 45, 27, 28], required: &[10, 13, 65281, 43] },
    ExtensionOrder { family: ClientFamily::GnuTls, order: &[1, 5, 10, 11, 13, 14, 16, 22, 23, 35, 51, 43, 49, 65281, 0, 45, 27, 28], required: &[10, 13, 22, 23, 65281, 28] },
    // Until 1.22, and since.
    ExtensionOrder { family: ClientFamily::Go, order: &[13172, 0, 5, 10, 11, 35, 13, 65281, 23, 16, 18, 43, 51, 45, 57], required: &[5, 13, 65281, 18] },
    ExtensionOrder { family: ClientFamily::Go, order: &[0, 11, 35, 65281, 23, 18, 65037, 57, 5, 10, 13, 50, 16, 43, 51, 45], required: &[65281, 18, 5, 13] },
    // JSSE with TLS 1.3 before and since Java 13.
    ExtensionOrder { family: ClientFamily::Jsse, order: &[0, 1, 5, 10, 11, 13, 50, 16, 17, 23, 43, 45, 51, 65281], required: &[5, 50, 17] },
    ExtensionOrder { family: ClientFamily::Jsse, order: &[0, 1, 5, 10, 11, 16, 17, 23, 35, 13, 43, 45, 50, 51, 65281], required: &[5, 17, 13] },
    ExtensionOrder { family: ClientFamily::WolfSsl, order: &[45, 51, 43, 13, 11, 10, 22, 16, 0, 23], required: &[13, 11, 10, 22] },
    ExtensionOrder { family: ClientFamily::MbedTls, order: &[0, 65281, 13, 10, 11, 256, 54, 1, 4, 22, 23, 16, 14, 35], required: &[13, 22, 23] },
    ExtensionOrder { family: ClientFamily::Botan, order: &[0, 5, 10, 11, 13, 16, 22, 23, 35, 43, 45, 51, 65281], required: &[13, 22, 65281] },
    ExtensionOrder { family: ClientFamily::S2n, order: &[43, 10, 51, 13, 0, 16, 5, 18, 11, 35, 23, 65281], required: &[43, 51, 13, 5] },
    ExtensionOrder { family: ClientFamily::BoringSsl, order: &[0, 65037, 23, 65281, 10, 11, 35, 16, 5, 13, 18, 51, 45, 43, 27], required: &[23, 65281, 10, 13, 51, 43] },
];

impl ExtensionOrder {
    /// Whether a library with this order can have written these extensions.
    fn allows(&self, kinds: &[u16]) -> bool {
        let mut order = self.order.iter();
        kinds.iter().all(|kind| order.any(|next| next == kind))
            && self.required.iter().all(|kind| kinds.contains(kind))
    }
}

impl ClientHello<'_> {
    /// Identifies the library; `None` if no known library has this structure.
    pub fn family(&self) -> Option<ClientFamily> {
        self.cached().family(self)
    }
}

impl ClientFamily {
    pub(crate) fn from_hello(hello: &ClientHello<'_>) -> Option<Self> {
        let offers = |kind| hello.extensions().any(|extension| extension.kind == kind);
        let has_grease = hello.cipher_suites().any(is_grease);
        // Conscrypt of Android offers channel_id, too, and sends no GREASE.
        if APPLICATION_SETTINGS.into_iter().any(offers) || has_grease && offers(CHANNEL_ID) {
            return Some(Self::Chromium);
        }
        if offers(DELEGATED_CREDENTIALS) && offers(RECORD_SIZE_LIMIT) {
            return Some(Self::Firefox);
        }
        let suites: SmallVec<[u16; INLINE_CIPHER_SUITES]> =
            hello.cipher_suites().filter(|suite| !is_grease(*suite)).collect();
        if has_grease {
            if suites.starts_with(&CHROMIUM_SUITES) {
                return Some(Self::Chromium);
            }
            let all = TRIPLE_DES.iter().all(|suite| suites.contains(suite));
            return all.then_some(Self::Apple);
        }
        let follows = |sequence: &[u16]| suites.windows(sequence.len()).any(|window| window == sequence);
        if let Some((family, _)) = SEQUENCES.iter().find(|(_, sequence)| follows(sequence)) {
            return Some(*family);
        }
        if TONGSUO_SUITES.iter().all(|suite| suites.contains(suite)) {
            return Some(Self::Tongsuo);
        }
        let kinds: SmallVec<[u16; INLINE_EXTENSIONS]> = hello
            .extensions()
            .map(|extension| extension.kind)
            .filter(|kind| !INSERTED.contains(kind))
            .collect();
        ORDERS.iter().find(|order| order.allows(&kinds)).map(|order| order.family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transport;

    /// A hello with these suites and without extensions.
    fn family(suites: &[u16]) -> Option<ClientFamily> {
        family_with(suites, &[])
    }

    /// A hello with these suites, and empty extensions of these types.
    fn family_with(suites: &[u16], extensions: &[u16]) -> Option<ClientFamily> {
        let mut body = vec![3, 3];
        body.extend([0; 33]);
        let suites: Vec<u8> = suites.iter().flat_map(|suite| suite.to_be_bytes()).collect();
        body.extend(u16::try_from(suites.len()).unwrap().to_be_bytes());
        body.extend(suites);
        body.extend([1, 0]);
        let extensions: Vec<u8> =
            extensions.iter().flat_map(|kind| [kind.to_be_bytes(), [0; 2]]).flatten().collect();
        if !extensions.is_empty() {
            body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
            body.extend(extensions);
        }
        let mut message = vec![1, 0];
        message.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        message.extend(body);
        ClientHello::parse_message(&message, Transport::Tls).unwrap().family()
    }

    #[test]
    fn channel_id_is_of_chromium_with_grease_only() {
        let suites = [0x3a3a, 0xc02b, 0xc02f];
        assert_eq!(family_with(&suites, &[CHANNEL_ID]), Some(ClientFamily::Chromium));
        // nDPI: 015e8fbd-android.pcap, the services of Android 9.
        assert_eq!(family_with(&suites[1..], &[CHANNEL_ID]), None);
        assert_eq!(family_with(&suites[1..], &APPLICATION_SETTINGS[..1]), Some(ClientFamily::Chromium));
    }

    /// Android's list is sorted by certificate, BoringSSL's own by cipher: with the same suites, JA4 is the same.
    #[test]
    fn order_of_equal_suites_tells_conscrypt_from_boringssl() {
        let conscrypt =
            [0x1301, 0xc02b, 0xc02c, 0xcca9, 0xc02f, 0xc030, 0xcca8, 0xc009, 0xc00a, 0xc013, 0xc014];
        let boringssl =
            [0x1301, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc009, 0xc013, 0xc00a, 0xc014];
        let kinds = [0, 23, 65281, 10, 11, 35, 16, 5, 13, 51, 45, 43];
        assert_eq!(family_with(&conscrypt, &kinds), Some(ClientFamily::Conscrypt));
        assert_eq!(family_with(&boringssl, &kinds), Some(ClientFamily::BoringSsl));
        // OpenSSL 1.1.1 writes these extensions.
        let kinds = [11, 10, 35, 22, 23, 13, 43, 45, 51];
        assert_eq!(family_with(&[0x1302, 0xc02c], &kinds), Some(ClientFamily::OpenSsl));
        assert_eq!(family_with(&[0x1302, 0x00c7, 0x00c6, 0xc02c], &kinds), Some(ClientFamily::Tongsuo));
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
        // OpenSSL 0.9.8, 1.0.0 without elliptic curves, and 1.0.1 with TLS 1.0.
        let aes = [0x0039, 0x0038, 0x0035, 0x0016, 0x0013, 0x000a, 0x0033, 0x0032, 0x002f];
        let camellia = [0x0088, 0x0087, 0x0035, 0x0084, 0x0016, 0x0013, 0x000a, 0x0033, 0x0032];
        let curves = [0xc012, 0xc008, 0x0016, 0x0013, 0xc00d, 0xc003, 0x000a, 0xc013, 0xc009];
        for suites in [&aes[..], &camellia, &curves] {
            assert_eq!(family(suites), Some(ClientFamily::OpenSsl), "{suites:04x?}");
        }
        for suites in [&[][..], &[0x1301], &[0xc024, 0xc023, 0xc00a, 0xc009], &recent[1..], &recent[..8]] {
            assert_eq!(family(suites), None, "{suites:04x?}");
        }
    }
}
