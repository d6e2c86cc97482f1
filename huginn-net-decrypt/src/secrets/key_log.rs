//! The NSS key log format (draft-ietf-tls-keylogfile), which `SSLKEYLOGFILE` and Decryption Secrets Blocks have.

use zeroize::{Zeroize, Zeroizing};

use super::{SecretLabel, Secrets};
use crate::limits::{MAX_KEPT_LINES, MAX_LINE_LEN, MAX_SECRET_LEN};

/// What a key log contained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyLogSummary {
    /// Secrets that were added. Those that were there before do not count.
    pub secrets: u64,
    /// Lines of secrets without use here, such as exporter secrets.
    pub other: u64,
    /// Malformed lines: a wrong length, a wrong digit, an unknown form.
    pub malformed: u64,
    /// Numbers of the first malformed lines, from 1.
    pub malformed_lines: Vec<u64>,
    lines: u64,
}

/// What a line is.
enum Line {
    Secret(SecretLabel, [u8; 32], Zeroizing<[u8; MAX_SECRET_LEN]>, usize),
    Other,
    Empty,
}

impl Secrets {
    /// Adds the secrets of a key log.
    ///
    /// Lines end with LF or CR LF, and may have other bytes than digits after the secret. Empty lines and comments are skipped, and malformed lines are counted.
    pub fn add_key_log(&self, text: &[u8]) -> KeyLogSummary {
        let mut summary = KeyLogSummary::default();
        self.add_key_log_lines(text, &mut summary);
        summary
    }

    /// Adds the secrets of complete lines, and of the last one even if its end is missing, to a set and a summary.
    pub fn add_key_log_lines(&self, text: &[u8], summary: &mut KeyLogSummary) {
        let mut rest = text;
        let before = summary.secrets;
        let mut set = self.write();
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end.saturating_add(1));
            let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            rest = after;
            summary.lines = summary.lines.saturating_add(1);
            match parse(line.trim_ascii()) {
                Some(Line::Secret(label, id, secret, len)) => {
                    let is_new = set.insert((label, id), secret.get(..len).unwrap_or_default());
                    summary.secrets = summary.secrets.saturating_add(u64::from(is_new));
                }
                Some(Line::Other) => summary.other = summary.other.saturating_add(1),
                Some(Line::Empty) => {}
                None => {
                    summary.malformed = summary.malformed.saturating_add(1);
                    if summary.malformed_lines.len() < MAX_KEPT_LINES {
                        summary.malformed_lines.push(summary.lines);
                    }
                }
            }
        }
        self.publish(&set, summary.secrets != before);
    }
}

/// Reads a line without its end; `None` if it is malformed.
fn parse(line: &[u8]) -> Option<Line> {
    if line.is_empty() || line.starts_with(b"#") {
        return Some(Line::Empty);
    }
    if line.len() > MAX_LINE_LEN {
        return None;
    }
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let (label, id, secret) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    // Logs that were copied between programs have other bytes after the digits, such as a backslash; Wireshark ignores them, too.
    let digits = secret.iter().rposition(u8::is_ascii_hexdigit)?.saturating_add(1);
    let secret = secret.get(..digits)?;
    let (label, id, secret) = match label {
        b"CLIENT_RANDOM" => (Some(SecretLabel::MasterSecret), id, secret),
        b"CLIENT_EARLY_TRAFFIC_SECRET" => (Some(SecretLabel::ClientEarly), id, secret),
        b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" => (Some(SecretLabel::ClientHandshake), id, secret),
        b"SERVER_HANDSHAKE_TRAFFIC_SECRET" => (Some(SecretLabel::ServerHandshake), id, secret),
        b"CLIENT_TRAFFIC_SECRET_0" => (Some(SecretLabel::ClientApplication), id, secret),
        b"SERVER_TRAFFIC_SECRET_0" => (Some(SecretLabel::ServerApplication), id, secret),
        b"RSA" if id.starts_with(b"Session-ID:") => {
            let secret = secret.strip_prefix(b"Master-Key:")?;
            (Some(SecretLabel::SessionMasterSecret), id.strip_prefix(b"Session-ID:")?, secret)
        }
        // Labels of later secrets, and of other protocols.
        _ if label.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_') => {
            (None, id, secret)
        }
        _ => return None,
    };
    let Some(label) = label else { return is_hex(id, secret).then_some(Line::Other) };
    let is_session = label == SecretLabel::SessionMasterSecret;
    let mut id_bytes = [0; 32];
    let id_len = decode(id, &mut id_bytes)?;
    if id_len == 0 || id_len != 32 && !is_session {
        return None;
    }
    let mut bytes = Zeroizing::new([0; MAX_SECRET_LEN]);
    let len = decode(secret, &mut *bytes)?;
    let is_master = is_session || label == SecretLabel::MasterSecret;
    // Those of TLS 1.3 have the length of the hash.
    let fits = if is_master { len == 48 } else { matches!(len, 32 | 48 | 64) };
    fits.then_some(Line::Secret(label, id_bytes, bytes, len))
}

/// Whether both words are hexadecimal digits.
fn is_hex(id: &[u8], secret: &[u8]) -> bool {
    [id, secret]
        .into_iter()
        .all(|word| word.iter().all(u8::is_ascii_hexdigit) && word.len().is_multiple_of(2))
}

/// Decodes hexadecimal digits. Returns the number of bytes; `None` if they are malformed or too many.
fn decode(digits: &[u8], bytes: &mut [u8]) -> Option<usize> {
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() || pairs.len() > bytes.len() {
        return None;
    }
    // The digits of all bytes, so that wrong ones need no branch.
    let mut seen = 0;
    for ([high, low], byte) in pairs.iter().zip(&mut *bytes) {
        let (high, low) = (digit(*high), digit(*low));
        seen |= high | low;
        *byte = high << 4 | low & 0x0f;
    }
    if seen & NOT_A_DIGIT != 0 {
        bytes.zeroize();
        return None;
    }
    Some(pairs.len())
}

/// The value of a byte that is not a hexadecimal digit.
const NOT_A_DIGIT: u8 = 0x80;

/// The value of each hexadecimal digit.
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "evaluated at compile time")]
static DIGITS: [u8; 256] = {
    let mut digits = [NOT_A_DIGIT; 256];
    let (mut bytes, mut value): (&[u8], _) = (b"0123456789abcdef", 0);
    while let [byte, rest @ ..] = bytes {
        digits[*byte as usize] = value;
        digits[byte.to_ascii_uppercase() as usize] = value;
        (bytes, value) = (rest, value + 1);
    }
    digits
};

fn digit(byte: u8) -> u8 {
    DIGITS.get(usize::from(byte)).copied().unwrap_or(NOT_A_DIGIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_kinds() {
        let (random, secret) = ("aB".repeat(32), "01".repeat(32));
        let text = [
            format!("CLIENT_RANDOM {random} {}\r\n", "02".repeat(48)),
            format!("CLIENT_RANDOM {random} {secret}\n"),
            format!("CLIENT_TRAFFIC_SECRET_0 {random} {secret}\n"),
            format!("SERVER_HANDSHAKE_TRAFFIC_SECRET {random} {secret}\\\n"),
            format!("EXPORTER_SECRET {random} {secret}\n\n# text\n"),
            format!("SERVER_TRAFFIC_SECRET_0 {random} {secret} 3\n"),
            format!("SERVER_TRAFFIC_SECRET_0 {random}\n"),
            format!("SERVER_TRAFFIC_SECRET_0 {random} {}\n", "0g".repeat(32)),
            format!("SERVER_TRAFFIC_SECRET_0 {} {secret}\n", "01".repeat(31)),
            format!("RSA Session-ID:0102 Master-Key:{}\n", "03".repeat(48)),
            "\0".repeat(3000),
        ]
        .concat();
        let secrets = Secrets::new();
        let summary = secrets.add_key_log(text.as_bytes());
        assert_eq!((summary.secrets, summary.other, summary.malformed), (4, 1, 6));
        assert_eq!(summary.malformed_lines, [2, 8, 9, 10, 11, 13]);
        assert_eq!(secrets.add_key_log(text.as_bytes()).secrets, 0, "nothing is new");
        let master = secrets.get(SecretLabel::MasterSecret, &[0xab; 32]).unwrap();
        assert_eq!(**master, [2; 48]);
        let mut session = [0; 32];
        session[..2].copy_from_slice(&[1, 2]);
        assert!(secrets.get(SecretLabel::SessionMasterSecret, &session).is_some());
    }
}
