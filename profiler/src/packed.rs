//! Compression, with bounded memory for unpacking.
//!
//! Invariant: nothing is unpacked beyond the length that the caller allows, and no more history is kept than the
//! limit, whatever the compressed bytes ask for.

use std::io::{self, Read};

use crate::limits::{COMPRESSION_LEVEL, MAX_WINDOW_LOG};

/// Compresses bytes.
pub(crate) fn pack(raw: &[u8]) -> io::Result<Vec<u8>> {
    zstd::encode_all(raw, COMPRESSION_LEVEL)
}

/// Unpacks compressed bytes; returns `None` if they are damaged or do not unpack to `length` bytes.
pub(crate) fn unpack(stored: &[u8], length: u64) -> Option<Vec<u8>> {
    let mut decoder = zstd::Decoder::with_buffer(stored).ok()?;
    decoder.window_log_max(MAX_WINDOW_LOG).ok()?;
    let mut raw = Vec::new();
    decoder.take(length.saturating_add(1)).read_to_end(&mut raw).ok()?;
    (raw.len() as u64 == length).then_some(raw)
}
