//! The binary format `.wslog`: blocks of a header and a payload, both under a checksum. A file is
//! written by adding blocks and never by changing any, so whatever a crash leaves behind is good
//! up to the last block. `docs/reference/wslog.md` describes every byte.

mod read;
mod write;

pub(crate) use read::Blocks;
pub(crate) use write::Writer;

/// How every block begins. The first byte is no text, so that no text is taken for a log.
pub(crate) const MAGIC: [u8; 4] = [0x89, b'W', b'S', b'L'];

const VERSION: u8 = 1;
const HEADER: usize = 32;
/// An event without a value, and one with room for values.
const NARROW: usize = 16;
const WIDE: usize = 32;

/// What is in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum BlockKind {
    Trace = 1,
    Threads = 2,
    Locs = 3,
    Sites = 4,
    Events = 5,
    ValuedEvents = 6,
}

impl BlockKind {
    const ALL: [BlockKind; 6] = [
        BlockKind::Trace,
        BlockKind::Threads,
        BlockKind::Locs,
        BlockKind::Sites,
        BlockKind::Events,
        BlockKind::ValuedEvents,
    ];

    fn from_byte(byte: u8) -> Option<BlockKind> {
        BlockKind::ALL.into_iter().find(|&k| k as u8 == byte)
    }
}

/// The header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    version: u8,
    kind: u8,
    reserved: u16,
    /// How many bytes the payload has.
    length: u32,
    /// How many things are in it.
    count: u32,
    /// Which block of the file it is, from 0.
    number: u64,
    /// The checksum of the payload.
    payload_crc: u32,
}

impl Header {
    fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4] = self.version;
        bytes[5] = self.kind;
        bytes[6..8].copy_from_slice(&self.reserved.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.length.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..32].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The header at the start of `bytes`, if there is one and its checksum is right.
    fn decode(bytes: &[u8]) -> Option<Header> {
        let bytes: &[u8; HEADER] = bytes.first_chunk()?;
        if bytes[..4] != MAGIC || crc32fast::hash(&bytes[..28]) != u32_at(bytes, 28) {
            return None;
        }
        Some(Header {
            version: bytes[4],
            kind: bytes[5],
            reserved: u16::from_le_bytes([bytes[6], bytes[7]]),
            length: u32_at(bytes, 8),
            count: u32_at(bytes, 12),
            number: u64_at(bytes, 16),
            payload_crc: u32_at(bytes, 24),
        })
    }
}

/// The number in these four bytes, which are there.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// The number in these eight bytes, which are there.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}
