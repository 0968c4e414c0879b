//! The gzip format: a deflate stream between a header and a checksum.
//!
//! Source: RFC 1952.

use miniz_oxide::deflate::compress_to_vec;

/// The compression level, which is the usual default.
const LEVEL: u8 = 6;

/// Compresses `content` into the bytes of a gzip file.
pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    // Magic, deflate, no flags, no time, no level, unknown system.
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    file.extend(compress_to_vec(content, LEVEL));
    file.extend(crc32(content).to_le_bytes());
    file.extend((content.len() as u32).to_le_bytes());
    file
}

/// Computes the CRC-32 of IEEE 802.3, with a table of the remainders of all bytes.
fn crc32(bytes: &[u8]) -> u32 {
    let remainder =
        |byte: u32| (0..8).fold(byte, |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()));
    let table: Vec<u32> = (0..256).map(remainder).collect();
    !bytes.iter().fold(!0, |crc, &byte| (crc >> 8) ^ table[((crc ^ u32::from(byte)) & 0xff) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn what_repeats_itself_is_short() {
        let content = vec![7; 100_000];
        let file = gzip(&content);
        assert!(file.len() < 1000, "{} bytes", file.len());
        assert_eq!(file[file.len() - 4..], 100_000_u32.to_le_bytes());
        assert!(gzip(&[]).len() <= 10 + 2 + 8);
    }
}
