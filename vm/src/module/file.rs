//! Reading files of modules.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use wprof_jit::module::ModuleBytes;

use crate::runtime::code::reservation::PAGE;
use crate::runtime::image::Image;
use crate::{Engine, Error, ErrorKind, Result};

/// Bytes of a file from which on it becomes an image.
const LARGE: u64 = 1 << 20;
/// Data segments that are looked at for a large one.
const SEGMENTS: u32 = 64;

/// A file's contents.
pub struct Contents {
    /// All of them.
    pub bytes: ModuleBytes,
    /// The same, if they can become pages of memories.
    pub image: Option<Arc<Image>>,
}

impl From<ModuleBytes> for Contents {
    fn from(bytes: ModuleBytes) -> Contents {
        Contents { bytes, image: None }
    }
}

/// Reads a file of at most as many bytes as the engine allows.
///
/// # Errors
/// If there are more, or it cannot be read.
pub fn read(engine: &Engine, path: &Path) -> Result<Contents> {
    let failed = |e: io::Error| Error::with_source(ErrorKind::System, Box::new(e));
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    // Of a pipe the size is not known before.
    let size = if about.is_file() { about.len() } else { 0 };
    check_size(engine, size)?;
    let contents = if size < LARGE {
        let most = (engine.config().max_module_size as u64).saturating_add(1);
        let mut bytes = Vec::with_capacity(size as usize);
        file.take(most).read_to_end(&mut bytes).map_err(failed)?;
        ModuleBytes::from(bytes).into()
    } else {
        let image = Arc::new(Image::read(&file, start_in_page(&file), size as usize).map_err(failed)?);
        Contents { bytes: ModuleBytes::kept_by(image.clone()), image: Some(image) }
    };
    check_size(engine, contents.bytes.len() as u64)?;
    Ok(contents)
}

/// A module must not have more bytes than the configuration allows.
pub fn check_size(engine: &Engine, size: u64) -> Result<()> {
    let limit = engine.config().max_module_size;
    if size > limit as u64 {
        let message =
            format!("module has at least {size} bytes, {limit} are allowed: raise Config::max_module_size");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(())
}

/// Where in a page the first byte of a module has to be for its largest data segment to be in its pages as it is in
/// those of the memory: at the start if there is none, or what the file holds is no module, which others will say.
fn start_in_page(file: &File) -> usize {
    let mut scan = Scan { file: BufReader::new(file), offset: 8 };
    let segments = scan.file.seek(SeekFrom::Start(8)).and_then(|_| scan.segments()).unwrap_or_default();
    let largest = segments.iter().max_by_key(|segment| segment.len);
    largest.map_or(0, |segment| (segment.address.wrapping_sub(segment.offset) % PAGE as u64) as usize)
}

/// An active data segment with a constant address.
struct Segment {
    address: u64,
    /// Of its bytes in the file.
    offset: u64,
    len: u64,
}

/// A walk over a file's sections, of which nothing is believed.
struct Scan<F> {
    file: BufReader<F>,
    offset: u64,
}

impl<F: Read + Seek> Scan<F> {
    /// The first data segments.
    fn segments(&mut self) -> io::Result<Vec<Segment>> {
        const DATA: u8 = 11;
        loop {
            let (id, size) = (self.byte()?, self.number()?);
            if id == DATA {
                break;
            }
            self.skip(size)?;
        }
        let mut segments = Vec::new();
        for _ in 0..self.number()?.min(SEGMENTS.into()) {
            let Ok(segment) = self.segment() else { break };
            segments.extend(segment);
        }
        Ok(segments)
    }

    fn segment(&mut self) -> io::Result<Option<Segment>> {
        const I32_CONST: u8 = 0x41;
        const END: u8 = 0x0b;
        let is_active = match self.number()? {
            0 => true,
            1 => false,
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        let mut address = 0;
        if is_active {
            let is_constant = self.byte()? == I32_CONST;
            address = self.number()?;
            if !is_constant || self.byte()? != END {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        let len = self.number()?;
        let segment = Segment { address, offset: self.offset, len };
        self.skip(len)?;
        Ok(is_active.then_some(segment))
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.file.seek_relative(i64::try_from(bytes).map_err(io::Error::other)?)?;
        self.offset = self.offset.saturating_add(bytes);
        Ok(())
    }

    fn byte(&mut self) -> io::Result<u8> {
        let byte = *self.file.fill_buf()?.first().ok_or(io::ErrorKind::UnexpectedEof)?;
        self.file.consume(1);
        self.offset += 1;
        Ok(byte)
    }

    /// A number in LEB128. The sign of one that has one is not looked at: it makes no difference within a page if the
    /// number takes two bytes, and with one there is no room for a large segment behind.
    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// `start_in_page` for a module of these bytes behind its head.
    fn start(contents: &[u8]) -> usize {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"\0asm\x01\0\0\0").and_then(|()| file.write_all(contents)).expect("written");
        start_in_page(&file)
    }

    #[test]
    fn the_largest_segment_is_where_the_memory_wants_it() {
        // A section to skip; then segments at 5 and (with a sign) 0xfffff123, and a passive one.
        let small = [0, 0x41, 5, 0x0b, 1, 7];
        let large = [0, 0x41, 0xa3, 0xe2, 0x7f, 0x0b, 3, 7, 7, 7];
        let passive = [1, 4, 7, 7, 7, 7];
        let contents = [&[0, 3, 2, b'x', b'y', 11, 23, 3][..], &small, &large, &passive].concat();
        let offset = 8 + 8 + small.len() + 7;
        assert_eq!((start(&contents) + offset) % PAGE, 0x123);
    }

    #[test]
    fn what_is_no_module_starts_with_a_page() {
        let sizes = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        let huge = [&[0][..], &sizes, &[0], &sizes].concat();
        let global = [11, 8, 1, 0, 0x23, 0, 0x0b, 2, 7, 7];
        for contents in [&[][..], &[11], &[0xff; 100], &huge, &global] {
            assert_eq!(start(contents), 0, "{contents:x?}");
        }
    }
}
