//! What a User-Agent or Server header says about the software of a head.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::{fmt, str};

use huginn_net_http::{HttpSignature, HttpVersion, Role};
use memchr::memmem::{self, Finder};

use crate::limits::MAX_CLAIM_LEN;
use crate::{Entry, HeaderPattern, HttpPattern};

/// What the User-Agent or Server header of a head says about the software that its other headers show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SoftwareClaim {
    /// The header names that software, or is missing, or the signature demands no text of it.
    #[default]
    Agrees,
    /// The header names a program of its own, which is made of that software or sends the same headers.
    Custom,
    /// The header names another product, and the database has signatures of that product for its version and kind of
    /// request, which the head contradicts.
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

/// The products that the headers of known software name.
#[derive(Clone, Debug, Default)]
pub(super) struct Products(Vec<Product>);

/// A text by which a header names software: what signatures expect.
#[derive(Clone, Debug)]
struct Product {
    /// The name of their label.
    name: Arc<str>,
    text: Finder<'static>,
    recorded: Vec<Recorded>,
}

/// What a signature with the text of a product is about.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Recorded {
    http: Option<HttpVersion>,
    /// The major versions of the product that the flavor names.
    versions: Option<RangeInclusive<u32>>,
    /// Whether only requests for pages have the headers.
    is_page: bool,
}

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

/// Libraries of systems, by their labels. Apps that use them set any User-Agent, often that of a browser: the User-Agent
/// is custom, never dishonest.
const SYSTEM_LIBRARIES: [&str; 3] = ["Android", "CFNetwork", "OkHttp"];

/// The first version of Safari whose pages are recorded. What they load is not, but for one version.
const MIN_SAFARI: u32 = 10;

impl Products {
    pub(super) fn new(entries: &[Entry<HttpPattern>]) -> Self {
        let mut products: Vec<Product> = Vec::new();
        for Entry { pattern, label, .. } in entries {
            let Some(text) = pattern.software.as_deref() else { continue };
            let recorded = Recorded::new(pattern, text, label.flavor.as_deref());
            let known = products
                .iter_mut()
                .find(|product| product.name == label.name && product.text.needle() == text.as_bytes());
            match known {
                Some(product) if product.recorded.contains(&recorded) => {}
                Some(product) => product.recorded.push(recorded),
                None => products.push(Product {
                    name: Arc::clone(&label.name),
                    text: Finder::new(text).into_owned(),
                    recorded: vec![recorded],
                }),
            }
        }
        Self(products)
    }

    /// Compares the header of a head that lacks the text of its signature with the products of the database. Only the
    /// first bytes of the header count.
    ///
    /// `None` if nothing can be said: the header names a browser, and the database has no signature of its version and
    /// kind of request that the head could contradict.
    pub(super) fn compare(
        &self,
        entry: &Entry<HttpPattern>,
        header: &[u8],
        signature: &HttpSignature,
    ) -> Option<SoftwareClaim> {
        let header = header.get(..MAX_CLAIM_LEN).unwrap_or(header);
        let shown = &*entry.label.name;
        let (mut has_other, mut is_recorded) = (false, false);
        for product in &self.0 {
            if product.text.find(header).is_some() {
                if share_product(&product.name, shown) {
                    return Some(SoftwareClaim::Agrees);
                }
                has_other = true;
                is_recorded = is_recorded || product.is_recorded(header, signature);
            }
        }
        let names_browser =
            products(header).any(|product| is_browser(header.get(product).unwrap_or_default()));
        let all_known = products(header).all(|product| self.is_known(header, &product));
        let is_library = SYSTEM_LIBRARIES.contains(&shown);
        if has_other && all_known && is_recorded && !is_library {
            Some(SoftwareClaim::Dishonest)
        } else if names_browser && !is_library && (all_known || entry.pattern.is_of_browser()) {
            None
        } else {
            Some(SoftwareClaim::Custom)
        }
    }

    /// Whether a product of a header is one that browsers have, or part of the text of known software.
    fn is_known(&self, header: &[u8], product: &Range<usize>) -> bool {
        let name = header.get(product.clone()).unwrap_or_default();
        BROWSER_PRODUCTS.contains(&name)
            || self.0.iter().any(|Product { text, .. }| {
                let overlaps = |start: usize| {
                    start < product.end && product.start < start.saturating_add(text.needle().len())
                };
                text.find_iter(header).any(overlaps)
            })
    }
}

impl Recorded {
    fn new(pattern: &HttpPattern, text: &str, flavor: Option<&str>) -> Self {
        let is_page = |header: &HeaderPattern| !header.optional && &*header.name == PAGE_HEADER;
        let recorded = Self {
            http: pattern.version,
            versions: flavor.and_then(versions),
            is_page: pattern.headers.iter().any(is_page),
        };
        match recorded.versions {
            None if text == "Safari/" => {
                Self { versions: Some(MIN_SAFARI..=u32::MAX), is_page: true, ..recorded }
            }
            _ => recorded,
        }
    }
}

impl Product {
    /// Whether a signature covers the version that a header names and the kind of the head. Servers have no such
    /// versions: the text of their header may be that of a module.
    fn is_recorded(&self, header: &[u8], signature: &HttpSignature) -> bool {
        if signature.role() == Role::Response {
            return true;
        }
        if SYSTEM_LIBRARIES.contains(&&*self.name) {
            return false;
        }
        let has_versions = self.recorded.iter().any(|recorded| recorded.versions.is_some());
        let version = self.version(header);
        self.recorded.iter().any(|recorded| {
            let covers_version = match &recorded.versions {
                Some(versions) => version.is_some_and(|version| versions.contains(&version)),
                None => !has_versions,
            };
            covers_version
                && recorded.http.is_none_or(|http| http == signature.version())
                && (!recorded.is_page || is_page(signature))
        })
    }

    /// The major version that a header has after the text of the product. Safari and Gecko name it elsewhere.
    fn version(&self, header: &[u8]) -> Option<u32> {
        let after = |text: &[u8]| {
            let start = memmem::find(header, text)?.saturating_add(text.len());
            let rest = header.get(start..)?;
            let rest = rest.strip_prefix(b" ").unwrap_or(rest);
            let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
            str::from_utf8(rest.get(..end)?).ok()?.parse().ok()
        };
        match self.text.needle() {
            b"Safari/" => after(b"Version/"),
            b"Gecko/" => after(b"Firefox/").or_else(|| after(b"rv:")),
            text => after(text),
        }
    }
}

/// The header by which a signature is one of requests for pages alone.
const PAGE_HEADER: &str = "Upgrade-Insecure-Requests";

/// Whether a head asks for a page.
fn is_page(signature: &HttpSignature) -> bool {
    signature.headers().iter().any(|header| {
        header.is(PAGE_HEADER)
            || (header.is("Accept") && memmem::find(header.value(), b"text/html").is_some())
    })
}

/// Whether a product is that of a browser.
fn is_browser(product: &[u8]) -> bool {
    product != b"Mozilla" && BROWSER_PRODUCTS.contains(&product)
}

/// The major versions that a flavor names: `26-58`, `7.43 or newer`, `4 or older`, `5`. `None` if it names none.
fn versions(flavor: &str) -> Option<RangeInclusive<u32>> {
    let start = flavor.split_whitespace().position(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut words = flavor.split_whitespace().skip(start);
    let major = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok();
    let word = words.next()?;
    let first = major(word)?;
    if let Some((_, last)) = word.split_once('-') {
        return Some(first..=major(last)?);
    }
    match words.nth(1).map(|word| word.trim_end_matches(',')) {
        Some("newer") => Some(first..=u32::MAX),
        Some("older") => Some(0..=first),
        _ => Some(first..=first),
    }
}

impl HttpPattern {
    /// Whether the expected text names a browser.
    fn is_of_browser(&self) -> bool {
        self.software.as_deref().is_some_and(|text| is_browser(text.trim_end_matches('/').as_bytes()))
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
