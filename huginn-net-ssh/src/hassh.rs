//! HASSH and HASSHServer, fingerprints of SSH clients and servers.
//!
//! The definition is the `README.md` of Salesforce's `hassh`: the MD5 of a text. The text joins the lists of key exchange
//! methods, encryption, MAC and compression algorithms, in the order of the wire, with `;`.

use std::fmt;

use huginn_net_wire::{Escaped, md5_digits};
use md5::{Digest, Md5};

use crate::{KexInit, NameList};

/// A HASSH or HASSHServer: the MD5 of the [`HasshAlgorithms`]. Displays as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hassh(pub [u8; 16]);

/// The text that a [`Hassh`] is the MD5 of: `hasshAlgorithms` or `hasshServerAlgorithms`.
///
/// [`Display`](fmt::Display) writes the text, with bytes that are not UTF-8 as `\xNN`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HasshAlgorithms<'a> {
    lists: [NameList<'a>; 4],
}

impl Hassh {
    /// Computes the HASSH of a client.
    pub fn from_client(kex_init: &KexInit<'_>) -> Self {
        HasshAlgorithms::from_client(kex_init).hash()
    }

    /// Computes the HASSHServer of a server.
    pub fn from_server(kex_init: &KexInit<'_>) -> Self {
        HasshAlgorithms::from_server(kex_init).hash()
    }

    /// Hashes the text of [`HasshAlgorithms`].
    pub fn from_text(text: &str) -> Self {
        Self(Md5::digest(text).into())
    }
}

impl<'a> HasshAlgorithms<'a> {
    /// Selects the lists of a client: those for the direction from client to server.
    pub fn from_client(kex_init: &'a KexInit<'_>) -> Self {
        let lists = [
            kex_init.kex_algorithms(),
            kex_init.encryption_client_to_server(),
            kex_init.mac_client_to_server(),
            kex_init.compression_client_to_server(),
        ];
        Self { lists }
    }

    /// Selects the lists of a server: those for the direction from server to client.
    pub fn from_server(kex_init: &'a KexInit<'_>) -> Self {
        let lists = [
            kex_init.kex_algorithms(),
            kex_init.encryption_server_to_client(),
            kex_init.mac_server_to_client(),
            kex_init.compression_server_to_client(),
        ];
        Self { lists }
    }

    /// Computes the MD5 of the text.
    pub fn hash(&self) -> Hassh {
        let mut md5 = Md5::new();
        self.parts().for_each(|part| md5.update(part));
        Hassh(md5.finalize().into())
    }

    /// Returns the text.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.parts().map(<[u8]>::len).fold(0, usize::saturating_add));
        self.parts().for_each(|part| text.extend_from_slice(part));
        text
    }

    fn parts(&self) -> impl Iterator<Item = &'a [u8]> {
        let [kex, encryption, mac, compression] = self.lists.map(NameList::as_bytes);
        [kex, b";", encryption, b";", mac, b";", compression].into_iter()
    }
}

impl fmt::Display for HasshAlgorithms<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Escaped(&self.to_bytes()).fmt(f)
    }
}

impl fmt::Debug for HasshAlgorithms<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HasshAlgorithms(\"{}\")", self.to_bytes().escape_ascii())
    }
}

impl fmt::Display for Hassh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(&md5_digits(self.0)).unwrap_or_default())
    }
}

impl fmt::Debug for Hassh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hassh({self})")
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Hassh {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Serializes as the text.
#[cfg(feature = "serde")]
impl serde::Serialize for HasshAlgorithms<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kex_init::tests::kex_init_message;

    #[test]
    fn hashes_lists_of_sender() {
        let lists: Vec<_> =
            ["k", "h", "e1", "e2", "m1", "m2", "c1", "c2", "", ""].map(|list| list.into()).into();
        let message = kex_init_message(&lists, 0);
        let kex_init = KexInit::from_payload(&message).unwrap();
        assert_eq!(HasshAlgorithms::from_client(&kex_init).to_string(), "k;e1;m1;c1");
        assert_eq!(HasshAlgorithms::from_server(&kex_init).to_string(), "k;e2;m2;c2");
        // md5sum of coreutils.
        assert_eq!(Hassh::from_client(&kex_init).to_string(), "47d71892470729ad46c26350b8ac1031");
        assert_eq!(Hassh::from_server(&kex_init).to_string(), "b99172f9a0714d060be6e3522e91f3cc");
    }
}
