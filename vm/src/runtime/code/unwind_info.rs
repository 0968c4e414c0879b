//! Unwind information for machine code, for what walks native stacks: debuggers, profilers, `std::backtrace`.
//!
//! All code keeps its frame pointer, so one description fits a whole reservation: the caller's frame pointer and the
//! return address lie at the frame pointer. It is not right at the first and last instructions of a function, and does
//! not restore other registers; the runtime itself does not use it. Source: the System V ABI for x86-64, 3.7; the Linux
//! Standard Base, "Exception Frames".

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

unsafe extern "C" {
    fn __register_frame(begin: *const c_void);
    fn __deregister_frame(begin: *const c_void);
}

/// The descriptions that are registered.
#[derive(Default)]
struct Registered {
    is_wanted: bool,
    /// By the start of the reservation.
    all: BTreeMap<usize, Section>,
}

static REGISTERED: Mutex<Registered> = Mutex::new(Registered { is_wanted: false, all: BTreeMap::new() });

fn registered() -> MutexGuard<'static, Registered> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Describes these reservations, by start and size, and all later ones of the process.
pub fn want(present: impl Iterator<Item = (usize, usize)>) {
    let mut registered = registered();
    registered.is_wanted = true;
    for (base, size) in present {
        registered.all.entry(base).or_insert_with(|| Section::new(base, size));
    }
}

/// Describes a new reservation, if any engine wants that.
pub fn add(base: usize, size: usize) {
    let mut registered = registered();
    if registered.is_wanted {
        registered.all.entry(base).or_insert_with(|| Section::new(base, size));
    }
}

/// Forgets a reservation.
pub fn remove(base: usize) {
    registered().all.remove(&base);
}

/// A registered section `.eh_frame`.
struct Section(Box<[u64]>);

impl Section {
    fn new(base: usize, size: usize) -> Section {
        let section = Section(words(&section(base, size)));
        // SAFETY: the section is well-formed, ends with an entry of length zero, and stays until `drop`.
        unsafe { __register_frame(section.0.as_ptr().cast()) };
        section
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // SAFETY: `new` registered it.
        unsafe { __deregister_frame(self.0.as_ptr().cast()) };
    }
}

/// Returns the bytes, aligned.
fn words(bytes: &[u8]) -> Box<[u64]> {
    let padded = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    });
    padded.collect()
}

/// DWARF's numbers of the frame pointer and the return address.
const FRAME_POINTER: u8 = 6;
const RETURN_ADDRESS: u8 = 16;

/// Returns the section for code in this range: one entry for all, one for the range, and the end.
fn section(base: usize, size: usize) -> Vec<u8> {
    const DEF_CFA: u8 = 0x0c;
    const OFFSET: u8 = 0x80;
    const ABSOLUTE: u8 = 0;
    // Version 1; offsets are in units of -8 bytes.
    let mut common = vec![1, b'z', b'R', 0, 1, 0x78, RETURN_ADDRESS, 1, ABSOLUTE];
    common.extend([DEF_CFA, FRAME_POINTER, 16, OFFSET | FRAME_POINTER, 2, OFFSET | RETURN_ADDRESS, 1]);
    let mut all = Vec::new();
    entry(&mut all, 0, &common);
    let mut range = Vec::new();
    range.extend((base as u64).to_ne_bytes());
    range.extend((size as u64).to_ne_bytes());
    range.push(0);
    // The distance from here to the common entry, which is the first.
    let distance = all.len() as u32 + 4;
    entry(&mut all, distance, &range);
    all.extend([0; 8]);
    all
}

/// Adds an entry, padded by instructions that do nothing (zeros).
fn entry(to: &mut Vec<u8>, id: u32, content: &[u8]) {
    let len = (4 + content.len()).next_multiple_of(8) + 4;
    to.extend((len as u32).to_ne_bytes());
    to.extend(id.to_ne_bytes());
    to.extend(content);
    to.resize(to.len().next_multiple_of(8), 0);
}

#[cfg(test)]
mod tests {
    use gimli::{BaseAddresses, CfaRule, EhFrame, NativeEndian, RegisterRule, UnwindContext, UnwindSection};

    use super::*;

    #[test]
    fn an_independent_reader_finds_the_callers_frame() {
        let bytes = section(0x10_0000, 0x5000);
        let (frames, bases) = (EhFrame::new(&bytes, NativeEndian), BaseAddresses::default());
        let mut context = UnwindContext::new();
        for pc in [0x10_0000, 0x10_4fff] {
            let row = frames.unwind_info_for_address(&bases, &mut context, pc, EhFrame::cie_from_offset);
            let row = row.expect("it is in the range");
            let (frame_pointer, back) = (gimli::Register(6), gimli::Register(16));
            assert_eq!(*row.cfa(), CfaRule::RegisterAndOffset { register: frame_pointer, offset: 16 });
            assert_eq!(row.register(frame_pointer), Some(RegisterRule::Offset(-16)));
            assert_eq!(row.register(back), Some(RegisterRule::Offset(-8)));
        }
        let beyond =
            frames.unwind_info_for_address(&bases, &mut context, 0x10_5000, EhFrame::cie_from_offset);
        assert!(beyond.is_err());
    }
}
