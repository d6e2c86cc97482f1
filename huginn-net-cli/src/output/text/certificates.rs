//! Certificates that a file has already.

use std::borrow::Cow;
use std::collections::HashSet;

use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::Deserializer;
use serde_json::value::RawValue;

/// Maximum number of certificates that an output with `--certificates once` remembers, with 64 bytes each; then it forgets them.
const MAX_WRITTEN_CERTIFICATES: usize = 1 << 16;

/// The list of certificates of an event, after the name of the field. No text has an unescaped quotation mark.
const LIST: &[u8] = br#""certificates":["#;

/// Shortens certificates that a file has already.
#[derive(Debug, Default)]
pub(crate) struct RepeatedCertificates {
    /// SHA-256 of the certificates that are complete in the file, in hexadecimal.
    written: HashSet<[u8; 64]>,
}

/// What remains of a certificate.
#[derive(Deserialize, Serialize)]
struct Shortened<'a> {
    sha256: &'a str,
    bytes: u64,
}

impl RepeatedCertificates {
    /// Begins another file.
    #[cfg(unix)]
    pub(crate) fn begin_file(&mut self) {
        self.written.clear();
    }

    /// Returns an event of JSON as it is written next. Certificates that the file has already keep their SHA-256 and length.
    pub(crate) fn shorten<'a>(&mut self, event: &'a [u8]) -> Cow<'a, [u8]> {
        self.shortened(event).map_or(Cow::Borrowed(event), Cow::Owned)
    }

    /// The event, if it has certificates.
    fn shortened(&mut self, event: &[u8]) -> Option<Vec<u8>> {
        let place = memmem::find(event, LIST)?.checked_add(LIST.len())?.checked_sub(1)?;
        let (before, rest) = event.split_at_checked(place)?;
        let mut lists = Deserializer::from_slice(rest).into_iter::<Vec<&RawValue>>();
        let certificates = lists.next()?.ok()?;
        let mut text = Vec::with_capacity(event.len());
        text.extend_from_slice(before);
        text.push(b'[');
        for (index, certificate) in certificates.into_iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            match serde_json::from_str::<Shortened<'_>>(certificate.get()) {
                Ok(shortened) if !self.is_new(shortened.sha256) => {
                    serde_json::to_writer(&mut text, &shortened).ok()?;
                }
                _ => text.extend_from_slice(certificate.get().as_bytes()),
            }
        }
        text.push(b']');
        text.extend_from_slice(rest.get(lists.byte_offset()..)?);
        Some(text)
    }

    /// Whether the file does not have a certificate yet. It has it then.
    fn is_new(&mut self, sha256: &str) -> bool {
        let Ok(sha256) = sha256.as_bytes().try_into() else { return true };
        if self.written.len() >= MAX_WRITTEN_CERTIFICATES && !self.written.contains(&sha256) {
            self.written.clear();
        }
        self.written.insert(sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(number: usize) -> (String, String) {
        let start = format!(r#"{{"sha256":"{number:064x}","#);
        (
            format!(r#"{start}"sha1":"a","bytes":7,"names":["]","\"bytes\":1"]}}"#),
            format!(r#"{start}"bytes":7}}"#),
        )
    }

    fn event(certificates: &[&str]) -> String {
        let certificates = certificates.join(",");
        format!("{{\"event\":\"tls_certificates\",\"certificates\":[{certificates}],\"valid\":true}}\n")
    }

    #[test]
    fn certificate_is_complete_once() {
        let mut output = RepeatedCertificates::default();
        let mut shorten =
            |event: &str| String::from_utf8(output.shorten(event.as_bytes()).into_owned()).unwrap();
        let [(one, short_one), (two, short_two)] = [1, 2].map(certificate);
        assert_eq!(shorten(&event(&[&one])), event(&[&one]));
        assert_eq!(shorten(&event(&[&two, &one, &two])), event(&[&two, &short_one, &short_two]));
        assert_eq!(shorten(&event(&[])), event(&[]));
    }

    #[test]
    fn certificates_of_another_file_are_complete() {
        let mut output = RepeatedCertificates::default();
        let line = event(&[&certificate(1).0]);
        assert_eq!(*output.shorten(line.as_bytes()), *line.as_bytes());
        assert_ne!(*output.shorten(line.as_bytes()), *line.as_bytes());
        #[cfg(unix)]
        {
            output.begin_file();
            assert_eq!(*output.shorten(line.as_bytes()), *line.as_bytes());
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let mut output = RepeatedCertificates::default();
        let texts = [
            "",
            "{\"sni\":\"\\\"certificates\\\":[{\"}\n",
            "{\"certificates\":[{\"sha256\":\"short\",\"bytes\":1}]}\n",
            "{\"certificates\":[1,\n",
            "{\"certificates\":[1,{\"sha256\":null}]}\n",
        ];
        for text in texts.into_iter().chain(texts) {
            assert_eq!(*output.shorten(text.as_bytes()), *text.as_bytes());
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut output = RepeatedCertificates::default();
        for number in 0..MAX_WRITTEN_CERTIFICATES + 1 {
            assert!(output.is_new(&format!("{number:064x}")));
        }
        assert_eq!(output.written.len(), 1);
    }
}
