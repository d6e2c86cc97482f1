//! Elements of DER: a tag, a length and a content (X.690, section 8.1).

use huginn_net_wire::Cursor;

/// Tags of universal types, and of the fields of a certificate (RFC 5280, section 4.1).
pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;

/// An element whose content is not read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    /// Tag, length and content.
    pub(super) whole: &'a [u8],
}

/// The elements of a content, one after the other. Each ends where its length says, whatever it contains.
#[derive(Clone, Debug)]
pub(super) struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    pub(super) fn new(content: &'a [u8]) -> Self {
        Self(content)
    }

    /// The next element; `None` at the end, or if it has a tag of several bytes or no length that fits.
    pub(super) fn next(&mut self) -> Option<Element<'a>> {
        let mut cursor = Cursor::new(self.0);
        let tag = cursor.u8().ok().filter(|tag| tag & TAG_NUMBER != TAG_NUMBER)?;
        let len = length(&mut cursor)?;
        let content = cursor.take(len).ok()?;
        let whole = self.0.get(..cursor.position())?;
        self.0 = cursor.rest();
        Some(Element { tag, content, whole })
    }

    /// The next element, if it has the tag.
    pub(super) fn next_if(&mut self, tag: u8) -> Option<Element<'a>> {
        let mut ahead = self.clone();
        let element = ahead.next().filter(|element| element.tag == tag)?;
        *self = ahead;
        Some(element)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The number of a tag in its first byte; all bits are set if the number has further bytes.
const TAG_NUMBER: u8 = 0x1f;

/// A definite length of at most four bytes.
fn length(cursor: &mut Cursor<'_>) -> Option<usize> {
    let first = cursor.u8().ok()?;
    let len = match first {
        0..=0x7f => u32::from(first),
        0x81 => u32::from(cursor.u8().ok()?),
        0x82 => u32::from(cursor.u16_be().ok()?),
        0x83 => cursor.u24_be().ok()?,
        0x84 => cursor.u32_be().ok()?,
        _ => return None,
    };
    usize::try_from(len).ok()
}
