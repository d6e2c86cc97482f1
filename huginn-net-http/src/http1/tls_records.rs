//! TLS records of a server that may answer in the clear after them.

/// The records of a handshake, up to the first bytes in the clear. A server or proxy that cannot complete a handshake may answer with HTTP.
#[derive(Debug)]
pub(super) struct TlsRecords {
    header: [u8; 5],
    header_len: u8,
    /// Bytes left of the current record.
    left: u16,
    /// Bytes that the client had sent before the first record.
    client_bytes: u32,
}

/// What follows the bytes of a piece.
pub(super) enum Next {
    /// More records, or the rest of one.
    Records,
    /// Bytes in the clear, after this many bytes of the piece.
    Clear(usize),
    /// Data of a connection whose handshake goes on, or another protocol.
    Other,
}

impl TlsRecords {
    /// Creates a reader if the first bytes of a server are a record of a handshake.
    pub(super) fn begin(first: &[u8], client_bytes: u32) -> Option<Self> {
        const HANDSHAKE: u8 = 22;
        const ALERT: u8 = 21;
        (client_bytes > 0 && matches!(first, [HANDSHAKE | ALERT] | [HANDSHAKE | ALERT, 3, ..]))
            .then_some(Self { header: [0; 5], header_len: 0, left: 0, client_bytes })
    }

    /// Reads the next bytes. `client_bytes`: the bytes that the client has sent.
    ///
    /// In TLS 1.3, encrypted handshake messages look like data. Data that follow an answer of the client are those of a connection.
    pub(super) fn push(&mut self, bytes: &[u8], client_bytes: u32) -> Next {
        const CHANGE_CIPHER_SPEC: u8 = 20;
        const APPLICATION_DATA: u8 = 23;
        let mut taken = 0_usize;
        while let Some([byte, ..]) = bytes.get(taken..) {
            if self.left > 0 {
                let rest = bytes.len().saturating_sub(taken);
                let step = rest.min(self.left.into());
                taken = taken.saturating_add(step);
                self.left = self.left.saturating_sub(u16::try_from(step).unwrap_or(u16::MAX));
                continue;
            }
            if self.header_len == 0 && *byte == b'H' {
                return Next::Clear(taken);
            }
            if let Some(slot) = self.header.get_mut(usize::from(self.header_len)) {
                *slot = *byte;
            }
            self.header_len = self.header_len.saturating_add(1);
            taken = taken.saturating_add(1);
            if usize::from(self.header_len) == self.header.len() {
                let [kind, major, _, high, low] = self.header;
                let is_early = client_bytes == self.client_bytes;
                match kind {
                    CHANGE_CIPHER_SPEC..APPLICATION_DATA if major == 3 => {}
                    APPLICATION_DATA if major == 3 && is_early => {}
                    _ => return Next::Other,
                }
                (self.left, self.header_len) = (u16::from_be_bytes([high, low]), 0);
            }
        }
        Next::Records
    }
}
