//! Reading module files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use wprof_jit::module::{ModuleBytes, ModuleInfo, SegmentMode};

use crate::runtime::linear_memory::image::Image;
use crate::{Engine, Error, ErrorKind, Result};

/// Size in bytes from which a file is read as an image, and from which a data segment is read late.
const LARGE: u64 = 1 << 20;
/// Number of data segments that are searched for large ones.
const SEGMENTS: u64 = 64;
/// Prefix of the names of sections with debug information.
const DEBUG: &str = ".debug_";
/// Size in bytes from which a debug section is read late; a file has few of these sections.
const LATE_FROM: u64 = 1 << 12;

/// The contents of a file.
pub struct Contents {
    /// All bytes; late parts of the image are read on demand.
    pub bytes: ModuleBytes,
    /// The image that holds the bytes, if the file is large.
    pub image: Option<Arc<Image>>,
}

impl From<ModuleBytes> for Contents {
    fn from(bytes: ModuleBytes) -> Contents {
        Contents { bytes, image: None }
    }
}

/// Reads a file of at most as many bytes as the engine's configuration allows.
///
/// # Errors
/// Returns an error if the file is larger, or cannot be read.
pub fn read(engine: &Engine, path: &Path) -> Result<Contents> {
    let failed = |e: io::Error| Error::with_source(ErrorKind::System, Box::new(e));
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    // The size of a pipe is not known in advance.
    let size = if about.is_file() { about.len() } else { 0 };
    check_size(engine, size)?;
    let contents = if size < LARGE || !engine.config().files.demand_paging {
        let most = (engine.config().modules.max_size as u64).saturating_add(1);
        let mut bytes = Vec::with_capacity(size as usize);
        file.take(most).read_to_end(&mut bytes).map_err(failed)?;
        ModuleBytes::from(bytes).into()
    } else {
        let late = late_parts(&file).into_iter().filter(|late| late.end as u64 <= size).collect();
        let image = Arc::new(Image::read(file, size as usize, late).map_err(failed)?);
        Contents { bytes: ModuleBytes::kept_by(image.clone()), image: Some(image) }
    };
    check_size(engine, contents.bytes.len() as u64)?;
    Ok(contents)
}

/// Checks that a module has no more bytes than the configuration allows.
pub fn check_size(engine: &Engine, size: u64) -> Result<()> {
    let limit = engine.config().modules.max_size;
    if size > limit as u64 {
        let message =
            format!("module has at least {size} bytes, {limit} are allowed: raise Config::max_module_size");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(())
}

/// Returns the parts of a binary module's file that compilation does not need, ascending: large active data
/// segments, and debug information. The file may hold no module at all; the parser reports that.
fn late_parts(file: &File) -> Vec<Range<usize>> {
    let mut scan = Scan { file: BufReader::new(file), offset: 0, late: Vec::new() };
    // The parts found before an error remain valid.
    let _ = scan.file.rewind().and_then(|()| scan.module());
    scan.late
}

/// Returns whether `late`, found when the file was read, is a late part according to `info`.
pub fn are_late(late: &Range<usize>, info: &ModuleInfo) -> bool {
    // Both lists are in file order.
    let data = info.data.binary_search_by_key(&late.start, |data| data.bytes.start).ok();
    let section = info.custom_sections.binary_search_by_key(&late.start, |(_, bytes)| bytes.start).ok();
    let data = data.map(|at| &info.data[at]).filter(|data| matches!(data.mode, SegmentMode::Active { .. }));
    let section = section.map(|at| &info.custom_sections[at]).filter(|(name, _)| name.starts_with(DEBUG));
    data.is_some_and(|data| data.bytes == *late) || section.is_some_and(|(_, bytes)| bytes == late)
}

/// A scan of a file's sections, which trusts nothing in the file.
struct Scan<F> {
    file: BufReader<F>,
    offset: u64,
    late: Vec<Range<usize>>,
}

impl<F: Read + Seek> Scan<F> {
    fn module(&mut self) -> io::Result<()> {
        const HEAD: [u8; 8] = *b"\0asm\x01\0\0\0";
        const CUSTOM: u8 = 0;
        const DATA: u8 = 11;
        for byte in HEAD {
            if self.byte()? != byte {
                return Ok(());
            }
        }
        loop {
            let (id, size) = (self.byte()?, self.number()?);
            let end = self.offset.saturating_add(size);
            match id {
                CUSTOM => self.custom_section(end)?,
                DATA => self.data()?,
                _ => {}
            }
            self.skip(end.checked_sub(self.offset).ok_or(io::ErrorKind::InvalidData)?)?;
        }
    }

    fn custom_section(&mut self, end: u64) -> io::Result<()> {
        let length = self.number()?;
        let begin = self.offset.saturating_add(length);
        for byte in DEBUG.bytes().take(length.try_into().unwrap_or(usize::MAX)) {
            if self.byte()? != byte {
                return Ok(());
            }
        }
        if length > DEBUG.len() as u64 && end.saturating_sub(begin) >= LATE_FROM {
            self.late.push(begin as usize..end as usize);
        }
        Ok(())
    }

    fn data(&mut self) -> io::Result<()> {
        (0..self.number()?.min(SEGMENTS)).try_for_each(|_| self.segment())
    }

    fn segment(&mut self) -> io::Result<()> {
        const I32_CONST: u8 = 0x41;
        const END: u8 = 0x0b;
        let is_active = match self.number()? {
            0 => true,
            1 => false,
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        if is_active {
            let is_constant = self.byte()? == I32_CONST;
            self.number()?;
            if !is_constant || self.byte()? != END {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        let len = self.number()?;
        let begin = self.offset;
        self.skip(len)?;
        if is_active && len >= LARGE {
            self.late.push(begin as usize..self.offset as usize);
        }
        Ok(())
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

    /// Reads a number in LEB128; the sign of a signed one is ignored.
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

    /// Returns the late parts of a module with `contents` behind its header; offsets do not include the header.
    fn late(contents: &[u8]) -> Vec<Range<usize>> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"\0asm\x01\0\0\0").and_then(|()| file.write_all(contents)).expect("written");
        late_parts(&file).into_iter().map(|late| late.start - 8..late.end - 8).collect()
    }

    #[test]
    fn large_segments_and_debug_information_are_late() {
        let active = [0, 0x41, 0xa3, 0xe2, 0x7f, 0x0b];
        let length = [0x80, 0x80, 0x40];
        let large = vec![7; LARGE as usize];
        let small = [0, 0x41, 5, 0x0b, 1, 7];
        let passive = [&[1][..], &length, &large].concat();
        let segments = [&[4][..], &small, &active, &length, &large, &passive, &active, &[1, 7]].concat();
        let size = (0..4).map(|i| (segments.len() >> (7 * i)) as u8 & 0x7f | if i < 3 { 0x80 } else { 0 });
        let data = [&[11][..], &size.collect::<Vec<_>>(), &segments].concat();
        let before = [0, 3, 2, b'x', b'y'];
        let content = [1; LATE_FROM as usize];
        let debug = |name: &[u8]| {
            let size = name.len() + 1 + content.len();
            let size = [size as u8 | 0x80, (size >> 7) as u8];
            [&[0], &size[..], &[name.len() as u8], name, &content].concat()
        };
        let behind = [
            debug(b".debug_info"),
            debug(b".debug"),
            debug(b".debug_"),
            debug(b"name"),
            debug(b".debug_str"),
        ];
        let contents = [&before[..], &data, &behind.concat()].concat();
        let start = before.len() + 5 + 1 + small.len() + active.len() + length.len();
        let end = before.len() + data.len();
        let last = contents.len();
        let debug = end + 4 + ".debug_info".len();
        let size = content.len();
        let expected = [start..start + large.len(), debug..debug + size, last - size..last];
        assert_eq!(late(&contents), expected);
        assert!(contents[expected[0].clone()] == large && contents[expected[1].clone()] == content);
        let smaller = [&[0, 0x8b, 0x20, 11], &b".debug_info"[..], &content[1..]].concat();
        assert_eq!(late(&smaller), []);
    }

    #[test]
    fn in_what_is_no_module_nothing_is_late() {
        let sizes = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        let huge = [&[0][..], &sizes, &[0], &sizes].concat();
        let global = [11, 8, 1, 0, 0x23, 0, 0x0b, 2, 7, 7];
        let named = [&[0, 4, 100][..], b".debug_x", &[1; 100]].concat();
        for contents in [&[][..], &[11], &[0xff; 100], &huge, &global, &named] {
            assert_eq!(late(contents), [], "{contents:x?}");
        }
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"(module \0\x09\x08.debug_x1").expect("written");
        assert_eq!(late_parts(&file), []);
    }
}
