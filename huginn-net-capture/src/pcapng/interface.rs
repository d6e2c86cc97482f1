//! Interface description blocks.

use crate::byte_order::ByteOrder;
use crate::error::{Defect, ReadError};
use crate::pcapng::clock::Clock;
use huginn_net_core::{Cursor, LinkType};

const END_OF_OPTIONS: u16 = 0;
const TIME_RESOLUTION: u16 = 9;
const TIME_OFFSET: u16 = 14;

/// One interface of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    pub(super) link: LinkType,
    /// 0 means none.
    pub(super) snap_len: u32,
    pub(super) clock: Clock,
}

impl Interface {
    /// Reads the body of a block.
    pub(super) fn parse(order: ByteOrder, body: &[u8]) -> Result<Self, ReadError> {
        let mut body = Cursor::new(body);
        let link = LinkType(order.u16(&mut body)?);
        let _reserved = order.u16(&mut body)?;
        let snap_len = order.u32(&mut body)?;
        let mut clock = Clock::default();
        while !body.is_empty() {
            let code = order.u16(&mut body)?;
            let len = order.u16(&mut body)?;
            let wrong_length = Defect::OptionLength { code, len, left: body.remaining() };
            let Ok(value) = body.take(usize::from(len)) else { return Err(wrong_length.into()) };
            match code {
                END_OF_OPTIONS => break,
                TIME_RESOLUTION => {
                    let [resolution] = value.try_into().map_err(|_| wrong_length)?;
                    clock.set_resolution(resolution);
                }
                TIME_OFFSET => {
                    let bytes = value.try_into().map_err(|_| wrong_length)?;
                    clock.set_offset(match order {
                        ByteOrder::Little => i64::from_le_bytes(bytes),
                        ByteOrder::Big => i64::from_be_bytes(bytes),
                    });
                }
                _ => {}
            }
            // The last option may lack its padding.
            let padding = usize::from(len.wrapping_neg() & 3).min(body.remaining());
            body.skip(padding)?;
        }
        Ok(Self { link, snap_len, clock })
    }
}
