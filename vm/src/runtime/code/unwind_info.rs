//! What the system's unwinder needs to know of machine code, so that backtraces lead through it.
//!
//! All frames of machine code, those of leaves too, are linked by the frame pointer. So one entry of the unwinder's
//! table, which says that the caller's frame is where the frame pointer leads, describes all code of a reservation,
//! wherever it is placed and whatever passes do to it: tables by function would have to be rewritten by each pass.
//! In the first and last instructions of a function, where its frame is not linked, the caller is left out.
//! Source: *DWARF debugging information format* 4, section 6.4; *System V ABI, AMD64 supplement*, section 3.6.2 and figure
//! 3.36; *DWARF for the Arm 64-bit architecture*, section 4.1.

/// The table of one range of code. It is known to the unwinder as long as it exists.
#[derive(Debug)]
pub struct UnwindInfo {
    table: Box<[u8]>,
}

/// The numbers of the frame pointer and of the return address.
#[cfg(target_arch = "x86_64")]
const REGISTERS: [u8; 2] = [6, 16];
#[cfg(target_arch = "aarch64")]
const REGISTERS: [u8; 2] = [29, 30];

/// Operations of a table: the frame ends so many bytes above a register; a register's value was saved.
const DEFINE_FRAME: u8 = 0x0c;
const SAVED: u8 = 0x80;

unsafe extern "C" {
    fn __register_frame(table: *const u8);
    fn __deregister_frame(table: *const u8);
}

impl UnwindInfo {
    /// Makes the `size` bytes of code at `base` known to the unwinder.
    ///
    /// # Safety
    /// The caller guarantees that this range has no other code while the table exists.
    pub unsafe fn new(base: usize, size: usize) -> UnwindInfo {
        let table = table(base as u64, size as u64).into_boxed_slice();
        // SAFETY: the table is complete, ends with an empty entry, and does not move until it is taken back in `drop`.
        unsafe { __register_frame(table.as_ptr()) };
        UnwindInfo { table }
    }
}

impl Drop for UnwindInfo {
    fn drop(&mut self) {
        // SAFETY: `new` has made it known.
        unsafe { __deregister_frame(self.table.as_ptr()) };
    }
}

/// Returns a table in the format of `.eh_frame` with one common entry, one entry for a range, and the end.
fn table(base: u64, size: u64) -> Vec<u8> {
    let [frame_pointer, return_address] = REGISTERS;
    // Version 1, no augmentation, code in units of 1, data in units of -8; then where the two registers are.
    let mut common = vec![1, 0, 1, 0x78, return_address];
    common.extend([DEFINE_FRAME, frame_pointer, 16, SAVED | return_address, 1, SAVED | frame_pointer, 2]);
    let mut table = Vec::new();
    entry(&mut table, 0, &common);
    let range: Vec<u8> = base.to_le_bytes().into_iter().chain(size.to_le_bytes()).collect();
    // The distance from this entry's second word to the common entry.
    let distance = table.len() as u32 + 4;
    entry(&mut table, distance, &range);
    table.extend([0; 4]);
    table
}

/// Adds an entry: its length, the word that tells what it is, its contents, and no operations up to a multiple of 8.
fn entry(table: &mut Vec<u8>, what: u32, contents: &[u8]) {
    let length = (4 + 4 + contents.len()).next_multiple_of(8) - 4;
    table.extend((length as u32).to_le_bytes());
    table.extend(what.to_le_bytes());
    table.extend(contents);
    table.resize(table.len() + length - 4 - contents.len(), 0);
}
