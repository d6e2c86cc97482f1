//! The differences between a hello and the recorded hello of the same client.

use std::fmt;

use huginn_net_wire::Joined;

use crate::clients::software::MatchKind;

/// What a hello has other than the recorded hellos of the same client: no difference, or several.
///
/// [`Display`](fmt::Display) writes them in words, such as `resumed, to an address`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HelloVariant(u16);

/// One difference: a bit of [`HelloVariant`], and its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change(u16);

macro_rules! changes {
    ($($(#[$doc:meta])* $name:ident $bit:literal $words:literal,)*) => {
        impl Change {
            $($(#[$doc])* pub(super) const $name: Self = Self(1 << $bit);)*
        }

        /// Each change with its words, in the order in which they are written.
        const WORDS: &[(Change, &str)] = &[$((Change::$name, $words),)*];
    };
}

changes! {
    /// With pre_shared_key.
    RESUMED 0 "resumed",
    /// Without pre_shared_key, which all recorded hellos have.
    NEW_SESSION 1 "new session",
    EARLY_DATA 2 "with early data",
    WITHOUT_EARLY_DATA 3 "without early data",
    TICKET 4 "with session_ticket",
    WITHOUT_TICKET 5 "without session_ticket",
    PADDING 6 "with padding",
    WITHOUT_PADDING 7 "without padding",
    /// Without server_name.
    TO_ADDRESS 8 "to an address",
    /// With server_name.
    TO_NAME 9 "to a name",
    /// With or without an extension of a field trial.
    TRIAL 10 "other field trial",
    OTHER_ALPN 11 "other ALPN",
    OTHER_SETTINGS 12 "other cipher suites or settings",
    /// Other extensions or signature algorithms.
    OTHER_EXTENSIONS 15 "other extensions",
    /// A value that huginn-net 2.2 calls `ja4_s1`.
    HUGINN_NET_S1 13 "as ja4_s1 of huginn-net 2.2",
    /// The value of a tool that hashes an underscore after the extensions, although no signature algorithms follow.
    UNDERSCORE 14 "as Suricata hashes it",
}

impl HelloVariant {
    /// Adds a change if the condition holds.
    pub(super) const fn with(self, change: Change, applies: bool) -> Self {
        if applies { Self(self.0 | change.0) } else { self }
    }

    /// The changes of both.
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, change: Change) -> bool {
        self.0 & change.0 != 0
    }

    /// How a computed fingerprint matches. Changes of the session alone leave the stable JA4 as it was.
    pub(super) const fn kind(self) -> MatchKind {
        if self.0 < Change::TO_ADDRESS.0 { MatchKind::Stable } else { MatchKind::Variant }
    }

    /// Sort key: common changes before rare ones, few before many.
    pub(super) const fn rank(self) -> (u16, u32) {
        const RARE: u16 = !(Change::TO_ADDRESS.0 - 1);
        (self.0 & RARE, self.0.count_ones())
    }
}

impl fmt::Display for HelloVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = WORDS.iter().filter(|(change, _)| self.has(*change)).map(|(_, words)| words);
        write!(f, "{}", Joined(words, ", "))
    }
}
