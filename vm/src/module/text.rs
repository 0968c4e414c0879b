//! The text format of modules.

use wprof_jit::module::ModuleBytes;

use crate::Result;
#[cfg(feature = "wat")]
use crate::{Error, ErrorKind};

/// Reports whether bytes are a binary module: it starts with a zero byte, which no text does.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0")
}

/// Converts text to binary.
#[cfg(feature = "wat")]
pub fn binary(bytes: ModuleBytes) -> Result<ModuleBytes> {
    if is_binary(&bytes) {
        return Ok(bytes);
    }
    // Of other files, such as scripts, the parser would show the first line, which may be very long.
    let is_text = |text: &str| text.trim_start().starts_with(['(', ';']);
    if !std::str::from_utf8(&bytes).is_ok_and(is_text) {
        let message = "neither a binary module, which begins with the bytes 00 61 73 6d, nor the text of one";
        return Err(Error::new(ErrorKind::Module, message));
    }
    let bytes = wat::parse_bytes(&bytes).map_err(|mut error| {
        // Whoever read the file says which one it is.
        error.set_path("text");
        Error::with_source(ErrorKind::Module, Box::new(error))
    })?;
    Ok(bytes.into_owned().into())
}

#[cfg(not(feature = "wat"))]
pub fn binary(bytes: ModuleBytes) -> Result<ModuleBytes> {
    Ok(bytes)
}
