//! gzip without compression: blocks that are stored as they are.
//!
//! Source: RFC 1952, and RFC 1951, section 3.2.4. pprof's readers expect gzip; what they read is small.

/// Largest length of a stored block.
const LONGEST: usize = 0xffff;

/// The bytes of a gzip file that holds `content`.
pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    // Magic, deflate, no flags, no time, no level, unknown system.
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut rest = content;
    loop {
        let (block, behind) = rest.split_at(rest.len().min(LONGEST));
        let length = block.len() as u16;
        file.push(u8::from(behind.is_empty()));
        file.extend(length.to_le_bytes());
        file.extend((!length).to_le_bytes());
        file.extend(block);
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    file.extend(crc32(content).to_le_bytes());
    file.extend((content.len() as u32).to_le_bytes());
    file
}

/// The checksum of IEEE 802.3, with a table of the remainders of all bytes.
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
    fn long_content_has_several_blocks() {
        let content = vec![7; LONGEST + 1];
        let file = gzip(&content);
        assert_eq!(file[10..15], [0, 0xff, 0xff, 0, 0]);
        assert_eq!(file[15 + LONGEST..][..6], [1, 1, 0, 0xfe, 0xff, 7]);
        assert_eq!(file.len(), 10 + 5 + LONGEST + 5 + 1 + 8);
    }

    #[test]
    fn no_content_is_one_block() {
        assert_eq!(gzip(&[])[10..], [1, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
