//! The pages of a private mapping that were written to, as the system tells them.
//!
//! Discarding all pages of a memory makes the next instance fault at each one that it touches; a fault takes longer than
//! writing the few pages anew that an instance has changed. Source: `PAGEMAP_SCAN`, Linux 6.7 and newer,
//! Documentation/admin-guide/mm/pagemap.rst.

use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::runtime::code::reservation::PAGE;
use crate::runtime::interruption::generation::Generation;

/// Number of ranges that one scan reports.
const MOST_RANGES: usize = 16;

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    ranges: u64,
    range_count: u64,
    most_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    reported: u64,
}

/// `struct page_region`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: libc::c_ulong = 3 << 30 | (size_of::<Scan>() as libc::c_ulong) << 16 | 0x66 << 8 | 16;
const IS_FILE: u64 = 1 << 2;
const IS_PRESENT: u64 = 1 << 3;
const IS_SWAPPED: u64 = 1 << 4;
const IS_ZERO_PAGE: u64 = 1 << 5;

/// The descriptor of this process's page map, which is never closed, as the lower half, or -1 if the system has none;
/// one more than the number of the process's generation as the upper half. A child created by `fork` must not use its
/// parent's, and there must be no lock that another thread may hold at a `fork`.
static PAGE_MAP: AtomicU64 = AtomicU64::new(0);

fn page_map() -> Option<RawFd> {
    let process = u64::from(Generation::current().number()) + 1;
    let mut kept = PAGE_MAP.load(Ordering::Acquire);
    if kept >> 32 != process {
        let file = File::open("/proc/self/pagemap").ok();
        let descriptor = file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let own = process << 32 | u64::from(descriptor.cast_unsigned());
        kept = match PAGE_MAP.compare_exchange(kept, own, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                // From here on it belongs to the process.
                file.map(IntoRawFd::into_raw_fd);
                own
            }
            Err(of_other_thread) => of_other_thread,
        };
    }
    Some((kept as u32).cast_signed()).filter(|&descriptor| descriptor >= 0)
}

/// Returns the address ranges of pages that were written to, among these whole pages of private mappings; `None` if the
/// system does not tell, or there are more than `most` pages or too many ranges.
pub fn written_pages(pages: Range<usize>, most: usize) -> Option<impl Iterator<Item = Range<usize>>> {
    let page_map = page_map().filter(|_| most > 0)?;
    let mut found = [Region::default(); MOST_RANGES];
    // Written pages have memory of their own: they are neither the file's nor the page of zeros.
    let own = IS_FILE | IS_ZERO_PAGE;
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start: pages.start as u64,
        end: pages.end as u64,
        ranges: found.as_mut_ptr().expose_provenance() as u64,
        range_count: MOST_RANGES as u64,
        most_pages: most as u64 + 1,
        inverted: own,
        all_of: own,
        any_of: IS_PRESENT | IS_SWAPPED,
        reported: IS_PRESENT,
        ..Scan::default()
    };
    // SAFETY: the structure has the layout that the request expects, and the array has room for so many ranges. The
    // request only reads the page table.
    let count = unsafe { libc::ioctl(page_map, PAGEMAP_SCAN, &raw mut scan) };
    let count = usize::try_from(count).ok()?;
    let ranges = found.into_iter().take(count).map(|found| found.start as usize..found.end as usize);
    let total: usize = ranges.clone().map(|range| range.len() / PAGE).sum();
    (scan.walk_end == pages.end as u64 && total <= most).then_some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::linear_memory::mapping::Mapping;

    #[test]
    fn pages_that_were_only_read_are_not_among_them() -> std::io::Result<()> {
        let mapping = Mapping::zeroed(64 * PAGE)?;
        let base = mapping.base();
        let write = |page: usize| {
            // SAFETY: the page lies in the mapping, which this test has alone.
            unsafe { base.as_ptr().add(page * PAGE).write_volatile(1) };
        };
        let start = base.addr().get();
        let pages = start..start + 64 * PAGE;
        let Some(none) = written_pages(pages.clone(), 4) else {
            return Ok(()); // An older system, where pools discard all pages.
        };
        assert_eq!(none.count(), 0);
        [3, 4, 60].into_iter().for_each(write);
        // SAFETY: as above.
        unsafe { base.as_ptr().add(7 * PAGE).read_volatile() };
        let found: Vec<_> = written_pages(pages.clone(), 4).expect("few").collect();
        let at = |pages: Range<usize>| start + pages.start * PAGE..start + pages.end * PAGE;
        assert_eq!(found, [at(3..5), at(60..61)]);
        assert!(written_pages(pages.clone(), 3).is_some());
        assert!(written_pages(pages.clone(), 2).is_none(), "there are three");
        (0..40).step_by(2).for_each(write);
        assert!(written_pages(pages, 64).is_none(), "too many ranges");
        Ok(())
    }
}
