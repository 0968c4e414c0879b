//! Strings in the three encodings of the canonical ABI.
//!
//! Source: *CanonicalABI.md*, "Loading", `load_string_from_range`.

use std::borrow::Cow;

use super::faults::Fault;
use super::plan::Encoding;
use super::trap;
use crate::Result;

/// The tag bit of a length that marks a UTF-16 string.
const IS_UTF16: u32 = 1 << 31;
/// Maximum number of bytes of a string.
const MAX_BYTES: u64 = (1 << 31) - 1;

/// The layout of a string: its alignment, its size in bytes, and whether it is UTF-8, UTF-16 or Latin-1.
pub struct Shape {
    pub align: u32,
    pub bytes: u32,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Utf8,
    Utf16,
    Latin1,
}

impl Shape {
    /// Decodes the length of a string in memory.
    ///
    /// # Errors
    /// Returns an error if the length exceeds the limit of strings.
    pub fn new(encoding: Encoding, length: u32) -> Result<Shape> {
        let (align, units, form) = match encoding {
            Encoding::Utf8 => (1, length, Form::Utf8),
            Encoding::Utf16 => (2, length, Form::Utf16),
            Encoding::Latin1OrUtf16 if length & IS_UTF16 == 0 => (2, length, Form::Latin1),
            Encoding::Latin1OrUtf16 => (2, length ^ IS_UTF16, Form::Utf16),
        };
        let bytes = u64::from(units) * if let Form::Utf16 = form { 2 } else { 1 };
        if bytes > MAX_BYTES {
            return Err(trap(format_args!("string of {bytes} bytes is too long")));
        }
        Ok(Shape { align, bytes: bytes as u32, form })
    }

    /// Decodes a string from these bytes.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid string.
    pub fn read(&self, bytes: &[u8]) -> Result<String> {
        match self.form {
            Form::Utf8 => utf8(bytes).map(str::to_owned),
            Form::Utf16 => {
                let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
                let text = char::decode_utf16(units).collect::<Result<String, _>>();
                text.map_err(|error| trap(format_args!("string is not UTF-16: {error}")))
            }
            Form::Latin1 => Ok(bytes.iter().map(|&byte| char::from(byte)).collect()),
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| trap(format_args!("string is not UTF-8: {error}")))
}

/// Fails unless there is a string in a memory, as a caller of [`Shape::read`] does.
///
/// # Errors
/// Returns an error if it is too long, out of bounds, or not UTF-8.
pub fn check_utf8(memory: &[u8], at: u32, length: u32) -> Result<()> {
    let bytes = Shape::new(Encoding::Utf8, length)?.bytes;
    let text = memory.get(at as usize..).and_then(|rest| rest.get(..bytes as usize));
    utf8(text.ok_or_else(|| Fault::OutOfBounds { at, bytes: bytes.into() }.error())?).map(|_| ())
}

/// Encodes a string: returns its bytes, their alignment, and the length to pass.
///
/// # Errors
/// Returns an error if the string is too long.
pub fn write(encoding: Encoding, text: &str) -> Result<(Cow<'_, [u8]>, u32, u32)> {
    let utf16 = || text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let (bytes, align, flag) = match encoding {
        Encoding::Utf8 => (Cow::Borrowed(text.as_bytes()), 1, 0),
        Encoding::Utf16 => (Cow::Owned(utf16()), 2, 0),
        Encoding::Latin1OrUtf16 => {
            match text.chars().map(|c| u8::try_from(u32::from(c))).collect::<Result<Vec<u8>, _>>() {
                Ok(latin1) => (Cow::Owned(latin1), 2, 0),
                Err(_) => (Cow::Owned(utf16()), 2, IS_UTF16),
            }
        }
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(trap(format_args!("string of {} bytes is too long", bytes.len())));
    }
    let is_utf16 = flag != 0 || encoding == Encoding::Utf16;
    let length = bytes.len() as u32 / if is_utf16 { 2 } else { 1 };
    Ok((bytes, align, length | flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Latin1OrUtf16] {
            for text in ["", "ascii", "Grüße", "日本 \u{1f600}"] {
                let (bytes, align, length) = write(encoding, text).unwrap();
                let shape = Shape::new(encoding, length).unwrap();
                assert_eq!((shape.bytes as usize, shape.align), (bytes.len(), align));
                assert_eq!(shape.read(&bytes).unwrap(), text);
            }
        }
        assert_eq!(write(Encoding::Latin1OrUtf16, "Grüße").unwrap().0.len(), 5);
    }

    #[test]
    fn what_is_no_string_is_refused() {
        assert!(Shape::new(Encoding::Utf8, 1).unwrap().read(b"\xff").is_err());
        assert!(Shape::new(Encoding::Utf16, 1).unwrap().read(b"\x00\xd8").is_err(), "half a surrogate pair");
        assert!(Shape::new(Encoding::Utf16, u32::MAX).is_err());
        assert!(Shape::new(Encoding::Utf8, u32::MAX).is_err());
    }
}
