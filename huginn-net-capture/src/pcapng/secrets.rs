//! Decryption Secrets Blocks (draft-ietf-opsawg-pcapng, section 4.7).

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use huginn_net_core::Cursor;

use super::{
    BYTE_ORDER_MAGIC, Block, ENHANCED_PACKET, MIN_BLOCK_LEN, OBSOLETE_PACKET, Pcapng, SECTION_HEADER,
    SIMPLE_PACKET, byte_order, complete_block, min_len, stored_len,
};
use crate::byte_order::ByteOrder;
use crate::error::ReadError;
use crate::limits::{MAX_SEARCHED_LEN, MAX_SECRETS_BLOCK_LEN, MAX_TRAILING_BLOCKS};
use crate::stream::Stream;

/// The type of the block.
pub(super) const DECRYPTION_SECRETS: u32 = 10;

/// The type of secrets in the NSS key log format.
const TLS_KEY_LOG: u32 = 0x544c_534b;

/// Takes the text of a key log, and the number of packets before it.
pub(super) type OnKeyLog = Box<dyn FnMut(&[u8], u64) + Send>;

impl Pcapng {
    /// Reads to the end of the capture, and passes the text of each TLS key log to `each`.
    pub(crate) fn read_key_logs(
        &mut self,
        stream: &mut Stream,
        each: &mut impl FnMut(&[u8]),
    ) -> Result<(), ReadError> {
        while let Some(block) = self.begin_block(stream)? {
            if block.kind == DECRYPTION_SECRETS && block.len <= MAX_SECRETS_BLOCK_LEN {
                if let Some(text) = key_log(self.order, self.whole_block(&block, stream)?) {
                    each(text);
                }
                stream.take(block.len);
            } else {
                self.skip(&block, stream)?;
            }
        }
        Ok(())
    }

    /// Whether a block of secrets lies before the first packet, in the bytes that are buffered.
    pub(crate) fn begins_with_secrets(&self, mut unread: &[u8]) -> bool {
        let mut order = self.order;
        while let Some((kind, rest)) = complete_block(&mut order, unread) {
            match kind {
                DECRYPTION_SECRETS => return true,
                ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => return false,
                _ => unread = rest,
            }
        }
        // One that is longer than the buffer.
        order.u32(&mut Cursor::new(unread)) == Ok(DECRYPTION_SECRETS)
    }

    /// Returns the number of blocks of secrets that were passed.
    pub(crate) fn secrets_blocks(&self) -> u64 {
        self.secrets_blocks
    }

    /// Passes a block of secrets to the [callback](Self::set_on_key_log), and skips it.
    pub(super) fn pass_secrets(
        &mut self,
        block: &Block,
        stream: &mut Stream,
        packets: u64,
    ) -> Result<(), ReadError> {
        self.secrets_blocks = self.secrets_blocks.saturating_add(1);
        if self.on_key_log.is_none() || block.len > MAX_SECRETS_BLOCK_LEN {
            return self.skip(block, stream);
        }
        let text = key_log(self.order, self.whole_block(block, stream)?);
        if let (Some(text), Some(each)) = (text, &mut self.on_key_log) {
            each(text, packets);
        }
        stream.take(block.len);
        Ok(())
    }

    /// Sets what takes the text of each key log, and the number of packets before it.
    pub(crate) fn set_on_key_log(&mut self, each: OnKeyLog) {
        self.on_key_log = Some(each);
    }

    /// Buffers a block of secrets and returns its body.
    fn whole_block<'s>(&self, block: &Block, stream: &'s mut Stream) -> Result<&'s [u8], ReadError> {
        self.buffer_block_up_to(block, stream, MAX_SECRETS_BLOCK_LEN)
    }
}

/// The text in the body of a block of secrets, if it is a TLS key log.
fn key_log(order: ByteOrder, body: &[u8]) -> Option<&[u8]> {
    let mut body = Cursor::new(body);
    let kind = order.u32(&mut body).ok()?;
    let len = order.u32(&mut body).ok()?;
    let text = body.take(body.remaining().min(len as usize)).ok()?;
    (kind == TLS_KEY_LOG).then_some(text)
}

/// Whether a block of secrets lies after the last packet of an uncompressed pcapng file. Reads only its start, and the ends of blocks.
///
/// # Errors
/// If the file cannot be read, or is shorter than the start of a block.
pub(crate) fn ends_with_secrets(mut file: impl Read + Seek) -> io::Result<bool> {
    let mut head = [0; 12];
    file.rewind()?;
    file.read_exact(&mut head)?;
    let [.., a, b, c, d] = head;
    let is_little = u32::from_le_bytes([a, b, c, d]) == BYTE_ORDER_MAGIC;
    let number =
        |bytes: [u8; 4]| if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) };
    let mut end = file.seek(SeekFrom::End(0))?;
    for _ in 0..MAX_TRAILING_BLOCKS {
        let mut word = [0; 4];
        let Some(at) = end.checked_sub(4) else { break };
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut word)?;
        let len = u64::from(number(word)).next_multiple_of(4);
        let Some(start) = end.checked_sub(len).filter(|_| len >= MIN_BLOCK_LEN as u64) else { break };
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut word)?;
        match number(word) {
            DECRYPTION_SECRETS => return Ok(true),
            ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => break,
            _ => end = start,
        }
    }
    Ok(false)
}

/// Whether a block of secrets lies anywhere in a short, uncompressed pcapng file. Reads blocks up to the first one, and skips long ones.
///
/// # Errors
/// If the file cannot be read, or ends without such a block.
pub(crate) fn contains_secrets(file: File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > MAX_SEARCHED_LEN {
        return Ok(false);
    }
    // Short blocks lie in its buffer: they need no call of the system each.
    let mut file = BufReader::new(file);
    let mut order = ByteOrder::Little;
    loop {
        let mut head = [0; MIN_BLOCK_LEN];
        file.read_exact(&mut head)?;
        let [a, b, c, d, e, f, g, h, magic @ ..] = head;
        let kind = order.number([a, b, c, d]);
        if kind == SECTION_HEADER {
            let Some(found) = byte_order(u32::from_be_bytes(magic)) else { return Ok(false) };
            order = found;
        }
        let stated_len = order.number([e, f, g, h]);
        if kind == DECRYPTION_SECRETS || (stated_len as usize) < min_len(kind) {
            return Ok(kind == DECRYPTION_SECRETS);
        }
        let rest = stored_len(stated_len).saturating_sub(head.len());
        file.seek_relative(i64::try_from(rest).unwrap_or(i64::MAX))?;
    }
}
