//! The keys of a connection, from its hellos and secrets.

use huginn_net_wire::Side;
use zeroize::Zeroizing;

use super::cipher::RecordCipher;
use super::hello::{ClientHello, ServerHello};
use super::suite::Suite;
use super::{Stop, TlsDecryptor, derive};
use crate::secrets::Secret;
use crate::{SecretLabel, Secrets};

impl TlsDecryptor {
    /// The cipher of a side in TLS 1.3.
    pub(super) fn tls13_cipher(
        &self,
        side: Side,
        is_handshake: bool,
        secrets: &Secrets,
    ) -> Option<RecordCipher> {
        let (_, suite) = self.server_hello?;
        let label = match (side, is_handshake) {
            (Side::Client, true) => SecretLabel::ClientHandshake,
            (Side::Server, true) => SecretLabel::ServerHandshake,
            (Side::Client, false) => SecretLabel::ClientApplication,
            (Side::Server, false) => SecretLabel::ServerApplication,
        };
        RecordCipher::tls13(suite, &secrets.get(label, &self.client_hello?.random)?)
    }

    /// The cipher of a side in TLS 1.2 (RFC 5246, section 6.3).
    pub(super) fn tls12_cipher(&self, side: Side, secrets: &Secrets) -> Result<RecordCipher, Stop> {
        let (Some(client), Some((server, Suite { cipher, hash }))) = (self.client_hello, self.server_hello)
        else {
            return Err(Stop::NoHello);
        };
        let master = self.master_secret(&client, &server, secrets).ok_or(Stop::NoSecret)?;
        let lens = [cipher.mac_len(), cipher.key_len(), cipher.implicit_len()];
        let mut block = Zeroizing::new([0; 2 * (48 + 32 + 12)]);
        let len = lens.iter().sum::<usize>().saturating_mul(2);
        let seed = [&server.random[..], &client.random];
        let cipher = block.get_mut(..len).and_then(|block| {
            derive::prf(hash, &master, b"key expansion", seed, block)?;
            // Each kind of keys has that of the client first.
            let mut rest = &*block;
            let mut keys = [&[][..]; 3];
            for (key, len) in keys.iter_mut().zip(lens) {
                let (client, after) = rest.split_at_checked(len)?;
                let (server, after) = after.split_at_checked(len)?;
                (*key, rest) = (side.choose(client, server), after);
            }
            RecordCipher::tls12(cipher, keys, server.encrypts_first)
        });
        cipher.ok_or(Stop::NoSecret)
    }

    /// The master secret of TLS 1.2: under the random of the client, or under the identifier of the session.
    fn master_secret(&self, client: &ClientHello, server: &ServerHello, secrets: &Secrets) -> Option<Secret> {
        secrets.get(SecretLabel::MasterSecret, &client.random).or_else(|| {
            let has_session = server.session != [0; 32];
            has_session.then(|| secrets.get(SecretLabel::SessionMasterSecret, &server.session)).flatten()
        })
    }
}
