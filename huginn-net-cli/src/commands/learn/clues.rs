//! What is known about the sender of a fingerprint beside the fingerprint: bounded lists of texts.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use huginn_net::core::Escaped;

use crate::limits::{MAX_LEARNED_TEXTS, MAX_TEXTS_PER_GROUP};

/// Maximum length of a text, in bytes; longer ones are cut.
const MAX_LEARNED_TEXT_BYTES: usize = 200;

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Clue {
    Program,
    UserAgent,
    Server,
    ServerName,
    TlsSoftware,
    TcpLabel,
    HttpLabel,
    SshSoftware,
    SshBanner,
    Mss,
    Ttl,
}

impl fmt::Display for Clue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program => "Program",
            Self::UserAgent => "User-Agent",
            Self::Server => "Server",
            Self::ServerName => "SNI",
            Self::TlsSoftware => "TLS software",
            Self::TcpLabel => "TCP label",
            Self::HttpLabel => "HTTP label",
            Self::SshSoftware => "SSH software",
            Self::SshBanner => "SSH banner",
            Self::Mss => "MSS",
            Self::Ttl => "TTL as received",
        })
    }
}

/// The number of a text in [`Texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TextId(u32);

/// All texts, each once, cut to a length and safe on a terminal.
#[derive(Default)]
pub(super) struct Texts {
    ids: HashMap<Arc<str>, TextId>,
    texts: Vec<Arc<str>>,
    /// Number of texts that the limit left out.
    pub(super) left_out: u64,
}

impl Texts {
    /// The number of a text; `None` for an empty one, or at the limit.
    pub(super) fn intern(&mut self, bytes: &[u8]) -> Option<TextId> {
        if bytes.is_empty() {
            return None;
        }
        let text = shorten(bytes);
        if let Some(id) = self.ids.get(text.as_str()) {
            return Some(*id);
        }
        if self.texts.len() >= MAX_LEARNED_TEXTS {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        let id = TextId(u32::try_from(self.texts.len()).ok()?);
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.ids.insert(text, id);
        Some(id)
    }

    pub(super) fn get(&self, id: TextId) -> &str {
        usize::try_from(id.0).ok().and_then(|index| self.texts.get(index)).map_or("", |text| text)
    }
}

/// Escapes control characters and cuts long texts.
fn shorten(bytes: &[u8]) -> String {
    let start = bytes.get(..MAX_LEARNED_TEXT_BYTES).unwrap_or(bytes);
    let mut text = format!("{:#}", Escaped(start));
    if text.len() > MAX_LEARNED_TEXT_BYTES || start.len() < bytes.len() {
        let fits = |(at, _): &(usize, char)| *at <= MAX_LEARNED_TEXT_BYTES;
        let end = text.char_indices().take_while(fits).last().map_or(0, |(at, _)| at);
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// The most frequent texts of each kind, with their counts. At the limit the rarest text of the kind is replaced.
#[derive(Clone, Debug, Default)]
pub(super) struct Clues(Vec<Counted>);

#[derive(Clone, Copy, Debug)]
struct Counted {
    clue: Clue,
    text: TextId,
    count: u32,
}

impl Clues {
    /// Counts a text. There are at most `limit` texts of each kind.
    pub(super) fn add(&mut self, clue: Clue, text: TextId, limit: usize) {
        if let Some(found) = self.0.iter_mut().find(|found| found.clue == clue && found.text == text) {
            found.count = found.count.saturating_add(1);
            return;
        }
        let new = Counted { clue, text, count: 1 };
        let same = self.0.iter_mut().filter(|found| found.clue == clue);
        let (len, rarest) =
            same.fold((0_usize, None), |(len, rarest): (usize, Option<&mut Counted>), one| {
                let rarest = match rarest {
                    Some(rarest) if rarest.count <= one.count => rarest,
                    _ => one,
                };
                (len.saturating_add(1), Some(rarest))
            });
        match rarest {
            Some(rarest) if len >= limit => *rarest = new,
            _ => self.0.push(new),
        }
    }

    /// Adds each text of a host once: the sum counts hosts.
    pub(super) fn add_host(&mut self, host: &Self) {
        for found in &host.0 {
            self.add(found.clue, found.text, MAX_TEXTS_PER_GROUP);
        }
    }

    /// Whether there is a text of this kind.
    pub(super) fn has(&self, clue: Clue) -> bool {
        self.0.iter().any(|found| found.clue == clue)
    }

    /// The kinds that occur, each with its texts by descending count.
    pub(super) fn by_clue(&self) -> Vec<(Clue, Vec<(TextId, u32)>)> {
        let mut sorted = self.0.clone();
        sorted.sort_by_key(|found| (found.clue, std::cmp::Reverse(found.count), found.text));
        let mut all: Vec<(Clue, Vec<(TextId, u32)>)> = Vec::new();
        for found in sorted {
            match all.last_mut() {
                Some((clue, texts)) if *clue == found.clue => texts.push((found.text, found.count)),
                _ => all.push((found.clue, vec![(found.text, found.count)])),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = shorten("é".repeat(4000).as_bytes());
        assert!(text.len() <= MAX_LEARNED_TEXT_BYTES + 3 && text.ends_with("..."), "{text}");
        assert_eq!(shorten(b"a\nb"), r"a\x0ab");
        let escaped = shorten(&[0; 4000]);
        assert!(escaped.len() <= MAX_LEARNED_TEXT_BYTES + 3, "{}", escaped.len());
    }

    #[test]
    fn texts_stop_at_limit() {
        let mut texts = Texts::default();
        for number in 0..=MAX_LEARNED_TEXTS {
            let id = texts.intern(number.to_string().as_bytes());
            assert_eq!(id.is_some(), number < MAX_LEARNED_TEXTS);
        }
        assert_eq!(texts.left_out, 1);
        assert!(texts.intern(b"0").is_some(), "a known text");
    }

    #[test]
    fn frequent_texts_survive_rare_ones() {
        let mut clues = Clues::default();
        for _ in 0..3 {
            clues.add(Clue::UserAgent, TextId(0), 4);
        }
        (1..1000).for_each(|number| clues.add(Clue::UserAgent, TextId(number), 4));
        clues.add(Clue::ServerName, TextId(7), 4);
        let all = clues.by_clue();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].1.len(), 4);
        assert_eq!(all[0].1[0], (TextId(0), 3));
    }
}
