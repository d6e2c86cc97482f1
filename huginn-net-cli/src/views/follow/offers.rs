//! The key exchange that a host's ClientHellos offer, and their encrypted hellos.

use std::cmp::Reverse;
use std::io::{self, Write};

use huginn_net::Timestamp;
use huginn_net::tls::strength::{KeyExchangeKind, group_kind};
use huginn_net::tls::{ClientHello, Ech, is_grease, names};
use serde::Serialize;

use super::context::Context;
use crate::limits::{MAX_LISTED, SHOWN_OF_HOST};
use crate::views::columns::{Layout, Table, write_more};
use crate::views::encoding::{object, write_json_line};
use crate::views::store::bounded::{Bounded, Seen};

/// Maximum number of different offers of a followed host's ClientHellos.
const MAX_FOLLOWED_OFFERS: usize = 256;

const HEADINGS: [&str; 6] = ["key shares", "post-quantum", "ECH", "hellos", "first seen", "last seen"];
const LAYOUT: Layout<'static> = Layout { whole: &[1, 2, 4, 5], numbers: &[3] };

/// The offers of a host's ClientHellos.
#[derive(Debug, Default)]
pub(super) struct Offers(Bounded<Offer, Seen, MAX_FOLLOWED_OFFERS>);

/// What a ClientHello offers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
struct Offer {
    /// The groups of the key shares with the lengths of their keys.
    key_shares: String,
    post_quantum: PostQuantum,
    ech: EchForm,
}

/// Whether a ClientHello offers post-quantum key exchange, alone or in a hybrid group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum PostQuantum {
    KeyShare,
    Group,
    No,
}

/// The extension encrypted_client_hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum EchForm {
    /// A hello that is encrypted, or bytes that only look like it.
    OuterOrGrease,
    Inner,
    Draft,
    No,
}

impl Offer {
    fn of(hello: &ClientHello<'_>) -> Self {
        let is_post_quantum = |group: u16| group_kind(group).is_some_and(KeyExchangeKind::is_post_quantum);
        let shares = hello.key_shares().filter(|share| !is_grease(share.group));
        let post_quantum = if shares.clone().any(|share| is_post_quantum(share.group)) {
            PostQuantum::KeyShare
        } else if hello.supported_groups().any(is_post_quantum) {
            PostQuantum::Group
        } else {
            PostQuantum::No
        };
        let texts = shares
            .clone()
            .take(MAX_LISTED)
            .map(|share| format!("{} ({})", names::or_digits(share.group, names::group), share.key.len()));
        let mut key_shares = texts.collect::<Vec<_>>().join(", ");
        let more = shares.count().saturating_sub(MAX_LISTED);
        if more > 0 {
            key_shares.push_str(&format!(", and {more} more"));
        }
        let ech = match hello.ech() {
            Some(Ech::Outer(_)) => EchForm::OuterOrGrease,
            Some(Ech::Inner) => EchForm::Inner,
            Some(_) => EchForm::Draft,
            None => EchForm::No,
        };
        Self { key_shares, post_quantum, ech }
    }
}

impl PostQuantum {
    const fn in_words(self) -> &'static str {
        match self {
            Self::KeyShare => "yes",
            Self::Group => "without key share",
            Self::No => "no",
        }
    }
}

impl EchForm {
    const fn in_words(self) -> &'static str {
        match self {
            Self::OuterOrGrease => "outer or GREASE",
            Self::Inner => "inner",
            Self::Draft => "draft",
            Self::No => "no",
        }
    }
}

impl Offers {
    pub(super) fn add(&mut self, hello: &ClientHello<'_>, ts: Timestamp) {
        if let Some(seen) = self.0.entry(Offer::of(hello)) {
            seen.add(&Seen::once(ts));
        }
    }

    /// The offers by descending number of hellos.
    fn sorted(&self) -> Vec<(&Offer, &Seen)> {
        let mut offers: Vec<_> = self.0.iter().collect();
        offers.sort_unstable_by_key(|(offer, seen)| (Reverse(seen.count), *offer));
        offers
    }

    pub(super) fn write_text(&self, out: &mut impl Write, context: &Context<'_>) -> io::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let offers = self.sorted();
        let mut table = Table::new(&HEADINGS);
        for (offer, seen) in offers.iter().take(SHOWN_OF_HOST) {
            let key_shares = if offer.key_shares.is_empty() { "none" } else { &offer.key_shares };
            table.add_row(vec![
                key_shares.to_owned(),
                offer.post_quantum.in_words().to_owned(),
                offer.ech.in_words().to_owned(),
                seen.count.to_string(),
                context.zone.seconds(seen.first).to_string(),
                context.zone.seconds(seen.last).to_string(),
            ]);
        }
        writeln!(out)?;
        table.write(out, LAYOUT, context.width)?;
        write_more(
            out,
            offers.len().saturating_sub(SHOWN_OF_HOST) as u64,
            " offers; --format json has them",
        )?;
        write_more(out, self.0.left_out(), " ClientHellos with further offers: the limit was reached")
    }

    pub(super) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        for (offer, seen) in self.sorted() {
            let line = object! { #[serde(flatten)] offer: offer, #[serde(flatten)] seen: seen };
            write_json_line(out, "tls_offer", line)?;
        }
        Ok(())
    }
}
