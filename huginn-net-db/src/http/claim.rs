//! What a User-Agent or Server header says about the software of a head.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use huginn_net_http::Role;
use memchr::memmem::Finder;

use crate::limits::MAX_CLAIM_LEN;
use crate::{Entry, HttpPattern};

/// What the User-Agent or Server header of a head says about the software that its other headers show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SoftwareClaim {
    /// The header names that software, or is missing, or the signature demands no text of it.
    #[default]
    Agrees,
    /// The header names a program of its own, which is made of that software or sends the same headers.
    Custom,
    /// The header names another product of the database: the head is dishonest.
    Dishonest,
}

impl SoftwareClaim {
    /// The remark of every view: `dishonest`, `custom User-Agent` or `custom Server`. `None` if the header agrees.
    pub const fn remark(self, role: Role) -> Option<&'static str> {
        match (self, role) {
            (Self::Agrees, _) => None,
            (Self::Custom, Role::Request) => Some("custom User-Agent"),
            (Self::Custom, Role::Response) => Some("custom Server"),
            (Self::Dishonest, _) => Some("dishonest"),
        }
    }
}

/// The name of software, how it was found, and what the header of a head says about it.
///
/// [`Display`](fmt::Display) writes the name as every view shows it: `curl 7.43 or newer`, `curl 7.43 or newer (dishonest)`,
/// `Node http (generic)`, or `Node http (generic, custom User-Agent)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftwareName<T> {
    /// The name.
    pub name: T,
    /// What the header says about the software.
    pub claim: SoftwareClaim,
    /// The kind of head.
    pub role: Role,
    /// Whether it comes from a signature of last resort.
    pub generic: bool,
}

impl<T: fmt::Display> fmt::Display for SoftwareName<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        match (self.generic, self.claim.remark(self.role)) {
            (false, None) => Ok(()),
            (false, Some(remark)) => write!(f, " ({remark})"),
            (true, None) => f.write_str(" (generic)"),
            (true, Some(remark)) => write!(f, " (generic, {remark})"),
        }
    }
}

/// The texts by which the headers of known software name it: what signatures expect, with the name of their label.
#[derive(Clone, Debug, Default)]
pub(super) struct Products(Vec<(Arc<str>, Finder<'static>)>);

/// Products in the User-Agent of every browser, and of the browsers that are made of another one.
const BROWSER_PRODUCTS: [&[u8]; 17] = [
    b"AppleWebKit",
    b"Chrome",
    b"Chromium",
    b"CriOS",
    b"Edg",
    b"EdgA",
    b"EdgiOS",
    b"Firefox",
    b"FxiOS",
    b"Gecko",
    b"HeadlessChrome",
    b"Mobile",
    b"Mozilla",
    b"OPR",
    b"QtWebEngine",
    b"Safari",
    b"Version",
];

impl Products {
    pub(super) fn new(entries: &[Entry<HttpPattern>]) -> Self {
        let mut products = Self::default();
        for Entry { pattern, label, .. } in entries {
            if let Some(text) = pattern.software.as_deref() {
                let is_known = |(name, known): &(Arc<str>, Finder<'_>)| {
                    *name == label.name && known.needle() == text.as_bytes()
                };
                if !products.0.iter().any(is_known) {
                    products.0.push((Arc::clone(&label.name), Finder::new(text).into_owned()));
                }
            }
        }
        products
    }

    /// Compares a header that lacks the text of the signature with the products of the database. Only the first bytes of
    /// the header count.
    pub(super) fn compare(&self, shown: &str, header: &[u8]) -> SoftwareClaim {
        let header = header.get(..MAX_CLAIM_LEN).unwrap_or(header);
        let mut others = false;
        for (name, text) in &self.0 {
            if text.find(header).is_some() {
                if share_product(name, shown) {
                    return SoftwareClaim::Agrees;
                }
                others = true;
            }
        }
        if others && products(header).all(|product| self.is_known(header, &product)) {
            SoftwareClaim::Dishonest
        } else {
            SoftwareClaim::Custom
        }
    }

    /// Whether a product of a header is one that browsers have, or part of the text of known software.
    fn is_known(&self, header: &[u8], product: &Range<usize>) -> bool {
        let name = header.get(product.clone()).unwrap_or_default();
        BROWSER_PRODUCTS.contains(&name)
            || self.0.iter().any(|(_, text)| {
                let overlaps = |start: usize| {
                    start < product.end && product.start < start.saturating_add(text.needle().len())
                };
                text.find_iter(header).any(overlaps)
            })
    }
}

/// Whether two names are equal or have an alternative in common, as `Firefox` and `Mozilla or Firefox` have.
fn share_product(one: &str, other: &str) -> bool {
    one.split(" or ").any(|part| other.split(" or ").any(|other| part == other))
}

/// The names of the products of a header (RFC 9110, section 10.1.5): what precedes a slash, outside of comments.
fn products(header: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let (mut depth, mut start) = (0_usize, 0);
    let mut is_name = true;
    header.iter().enumerate().filter_map(move |(index, byte)| {
        let name = start..index;
        match byte {
            b'(' => depth = depth.saturating_add(1),
            b')' => depth = depth.saturating_sub(1),
            b' ' => {}
            b'/' if is_name && depth == 0 && !name.is_empty() => {
                is_name = false;
                return Some(name);
            }
            _ => return None,
        }
        (start, is_name) = (index.saturating_add(1), true);
        None
    })
}
