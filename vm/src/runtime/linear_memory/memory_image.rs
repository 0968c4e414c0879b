//! The initial contents of a module's memories, as pages that its instances share until they write to them.
//!
//! Input: a parsed module. Output: an image for each memory that it defines; none if its data depends on
//! imports, does not fit, or is read late ([`Image`](super::image::Image)).
//! Invariant: the pages belong to an anonymous file that is never written to again.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use wprof_jit::module::{ConstOp, DataSegment, ModuleInfo, SegmentMode};

use super::mapping::Mapping;
use super::pages::WASM_PAGE;
use crate::runtime::code::reservation::PAGE;
use crate::runtime::interruption::rlimits;

/// The initial contents of one memory.
#[derive(Debug)]
pub struct MemoryImage {
    /// Its pages from the first byte of `bytes` on; `None` if all of it is zero.
    pages: Option<File>,
    /// The byte range, in whole pages.
    bytes: Range<usize>,
    /// The pages mapped for reading, from the first time that some are written anew on.
    mapped: OnceLock<Option<Mapping>>,
}

impl MemoryImage {
    /// Writes whole pages of a memory with this image anew, which begin `at` bytes from its start. Returns whether that
    /// was possible.
    pub fn restore(&self, at: usize, to: &mut [u8]) -> bool {
        let Some(pages) =
            self.pages.as_ref().filter(|_| at < self.bytes.end && at + to.len() > self.bytes.start)
        else {
            to.fill(0);
            return true;
        };
        let map = || Mapping::of_file(pages, self.bytes.len()).ok();
        let Some(mapped) = self.mapped.get_or_init(map) else { return false };
        // SAFETY: the mapping is that long, and nobody writes to the file.
        let image = unsafe { std::slice::from_raw_parts(mapped.base().as_ptr(), mapped.size()) };
        for (page, at) in to.chunks_mut(PAGE).zip((at..).step_by(PAGE)) {
            match at.checked_sub(self.bytes.start).filter(|_| at < self.bytes.end) {
                Some(from) => page.copy_from_slice(&image[from..from + page.len()]),
                None => page.fill(0),
            }
        }
        true
    }

    /// Returns the minimum size in bytes of a memory with this image.
    pub fn reach(&self) -> usize {
        self.bytes.end
    }

    /// Maps the pages into the start of a memory with at least [`reach`](Self::reach) accessible bytes.
    ///
    /// # Errors
    /// Fails if the system refuses.
    ///
    /// # Safety
    /// The caller owns the memory, which has at least [`reach`](Self::reach) bytes, and nothing uses it meanwhile.
    pub unsafe fn map(&self, base: NonNull<u8>) -> io::Result<()> {
        let Some(pages) = &self.pages else { return Ok(()) };
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::FIXED);
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            let place = base.as_ptr().add(self.bytes.start).cast();
            mmap(place, self.bytes.len(), protection, flags, pages, 0)?;
        }
        Ok(())
    }
}

/// Returns the images of the memories that a module defines, in order; `None` if they depend on the instance.
pub fn images_of(info: &ModuleInfo) -> Option<Vec<Arc<MemoryImage>>> {
    // If an imported table is filled before a later element segment fails, other instances would see data that is not
    // there yet.
    let fills_others = info.elements.iter().any(|elements| {
        matches!(elements.mode, SegmentMode::Active { target, .. } if target < info.imported_tables)
    });
    if fills_others {
        return None;
    }
    let placed: Vec<Option<Placed>> =
        info.data.iter().map(|data| place_of(info, data)).collect::<Option<_>>()?;
    let placed: Vec<Placed> = placed.into_iter().flatten().collect();
    let image = |memory: usize| image_of(info, memory as u32, &placed).ok().map(Arc::new);
    (info.imported_memories as usize..info.memories.len()).map(image).collect()
}

/// Bytes of the module, and their place in a memory.
struct Placed {
    memory: u32,
    at: usize,
    bytes: Range<usize>,
}

/// Returns the place of a segment: none if it is passive; `None` if it is unknown before instantiation.
fn place_of(info: &ModuleInfo, data: &DataSegment) -> Option<Option<Placed>> {
    let SegmentMode::Active { target, offset } = &data.mode else { return Some(None) };
    let [ConstOp::I32(offset)] = offset.0[..] else { return None };
    let ty = &info.memories[*target as usize];
    let at = offset as u32 as usize;
    let fits = (at + data.bytes.len()) as u64 <= ty.initial.checked_mul(WASM_PAGE)?;
    let is_own = *target >= info.imported_memories && !ty.shared && !ty.memory64;
    (fits && is_own).then(|| Some(Placed { memory: *target, at, bytes: data.bytes.clone() }))
}

fn image_of(info: &ModuleInfo, memory: u32, placed: &[Placed]) -> io::Result<MemoryImage> {
    let of_memory = || placed.iter().filter(|placed| placed.memory == memory && !placed.bytes.is_empty());
    let start = of_memory().map(|placed| placed.at).min().unwrap_or(0) / PAGE * PAGE;
    let end = of_memory().map(|placed| placed.at + placed.bytes.len()).max().unwrap_or(0);
    let bytes = start..end.next_multiple_of(PAGE).max(start);
    if bytes.is_empty() {
        return Ok(MemoryImage { pages: None, bytes, mapped: OnceLock::new() });
    }
    rlimits::check_file_size(bytes.len() as u64)?;
    let pages = File::from(memfd_create("wprof-memory", MemfdFlags::CLOEXEC)?);
    pages.set_len(bytes.len() as u64)?;
    for Placed { at, bytes: of_module, .. } in of_memory() {
        let content = info.bytes.get(of_module.clone()).ok_or(ErrorKind::UnexpectedEof)?;
        pages.write_all_at(content, (at - start) as u64)?;
    }
    Ok(MemoryImage { pages: Some(pages), bytes, mapped: OnceLock::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(text: &str) -> Option<Vec<Arc<MemoryImage>>> {
        images_of(&wprof_jit::module::parse(wat::parse_str(text).expect("text")).expect("a module"))
    }

    #[test]
    fn an_image_has_the_segments_in_order_and_zeros_between() {
        let all = images(
            r#"(module (memory 3) (memory 1) (data (i32.const 4090) "abcdefghij") (data (i32.const 4092) "XY")
                (data (memory 0) (i32.const 70000) "z") (data "passive"))"#,
        );
        let all = all.expect("nothing is imported");
        assert_eq!(all.len(), 2);
        assert!(all[1].pages.is_none() && all[1].bytes.is_empty());
        assert_eq!(all[0].bytes, 0..73728);
        let mut content = vec![1; 73728];
        all[0].pages.as_ref().expect("data").read_exact_at(&mut content, 0).expect("read");
        assert_eq!(&content[4089..4101], b"\0abXYefghij\0");
        assert_eq!((content[69999], content[70000], content[70001]), (0, b'z', 0));
    }

    #[test]
    fn pages_are_written_anew_as_the_image_has_them() {
        let all =
            images(r#"(module (memory 3) (data (i32.const 4100) "first") (data (i32.const 12000) "last"))"#);
        let image = &all.expect("nothing is imported")[0];
        let mut pages = vec![7; 4 * PAGE];
        assert!(image.restore(0, &mut pages));
        let mut expected = vec![0; 4 * PAGE];
        expected[4100..4105].copy_from_slice(b"first");
        expected[12000..12004].copy_from_slice(b"last");
        assert!(pages == expected);
        let mut page = vec![7; PAGE];
        assert!(image.restore(9 * PAGE, &mut page) && page.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn data_that_is_known_too_late_has_no_image() {
        for text in [
            r#"(module (global $g (import "a" "b") i32) (memory 1) (data (global.get $g) "x"))"#,
            r#"(module (import "a" "b" (memory 1)) (data (i32.const 0) "x"))"#,
            r#"(module (memory 1) (data (i32.const 65530) "too long"))"#,
            r#"(module (memory 1 2 shared) (data (i32.const 0) "x"))"#,
            r#"(module (memory i64 1) (data (i64.const 0) "x"))"#,
            r#"(module (import "a" "b" (table 1 funcref)) (memory 1) (func $f) (elem (i32.const 0) $f) (data (i32.const 0) "x"))"#,
        ] {
            assert!(images(text).is_none(), "{text}");
        }
    }
}
