//! Interface description blocks.

use crate::byte_order::ByteOrder;
use crate::error::ReadError;
use crate::interface::CaptureInterface;
use crate::pcapng::clock::Clock;
use crate::pcapng::options::Options;
use huginn_net_core::{Cursor, LinkType};

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
        let mut options = Options::new(order, body);
        while let Some(option) = options.next()? {
            match option.code {
                TIME_RESOLUTION => {
                    let [resolution] = option.array()?;
                    clock.set_resolution(resolution);
                }
                TIME_OFFSET => {
                    let bytes = option.array()?;
                    clock.set_offset(match order {
                        ByteOrder::Little => i64::from_le_bytes(bytes),
                        ByteOrder::Big => i64::from_be_bytes(bytes),
                    });
                }
                _ => {}
            }
        }
        Ok(Self { link, snap_len, clock })
    }

    /// What the block says of the interface.
    pub(super) fn described(&self) -> CaptureInterface {
        let Self { link, snap_len, clock } = *self;
        CaptureInterface { link, snap_len, resolution: clock.resolution }
    }
}
