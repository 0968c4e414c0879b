//! The build id of this program: of the executable or shared library that contains this code.
//!
//! It identifies the build by contents: it stays the same when a file is copied or touched, and differs when any
//! part was built differently. Linkers write it as a note; without a note, the hash of the segments that cannot
//! be written, code and constants, takes its place. Source: System V ABI, "Note Section"; `ld --build-id`.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

/// The type of the note, whose name is [`GNU`].
const NT_GNU_BUILD_ID: u32 = 3;
const GNU: &[u8] = b"GNU\0";

/// Returns the build id of the program that contains this code; `None` if it cannot be found, and then nothing
/// can be recognised as belonging to the same program.
pub fn of_program() -> Option<&'static [u8]> {
    static ID: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    ID.get_or_init(|| own_segments().id()).as_deref()
}

/// The parts of a loaded object that are unchanged from its file.
#[derive(Debug, Default)]
struct Segments {
    notes: Vec<&'static [u8]>,
    /// The loaded segments that cannot be written.
    constant: Vec<&'static [u8]>,
}

impl Segments {
    fn id(&self) -> Option<Vec<u8>> {
        let noted = self.notes.iter().find_map(|notes| build_id(notes)).map(<[u8]>::to_vec);
        noted.or_else(|| (!self.constant.is_empty()).then(|| self.hash()))
    }

    fn hash(&self) -> Vec<u8> {
        let hasher = self.constant.iter().fold(Sha256::new(), |hasher, bytes| hasher.chain_update(bytes));
        hasher.finalize().to_vec()
    }
}

/// Returns the build id among notes.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    loop {
        let (header, rest) = notes.split_first_chunk::<12>()?;
        let word =
            |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (name_len, len, kind) = (word(0) as usize, word(4) as usize, word(8));
        let (name, rest) = rest.split_at_checked(name_len.next_multiple_of(4))?;
        let id = rest.get(..len)?;
        if kind == NT_GNU_BUILD_ID && name == GNU && !id.is_empty() {
            return Some(id);
        }
        notes = rest.get(len.next_multiple_of(4)..)?;
    }
}

/// Returns the segments of the object that contains this function.
fn own_segments() -> Segments {
    let mut found = Segments::default();
    // SAFETY: `look` has the required signature, and `found` outlives the call, which is its only user.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

/// Called for each object; returns 1, which ends the iteration, for the object that contains this code.
///
/// # Safety
/// For `dl_iterate_phdr` only, with a [`Segments`] as data.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader passes a description that is valid during the call, with `dlpi_phnum` headers; the data
    // belongs to `own_segments`, which waits.
    let (info, headers, found) = unsafe {
        let info = &*info;
        let count = usize::from(info.dlpi_phnum);
        let headers = if count == 0 { &[] } else { std::slice::from_raw_parts(info.dlpi_phdr, count) };
        (info, headers, &mut *data.cast::<Segments>())
    };
    let place = |header: &libc::Elf64_Phdr| -> Range<usize> {
        let start = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    };
    let is_loaded = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD;
    let is_constant = |header: &&libc::Elf64_Phdr| {
        is_loaded(header) && header.p_flags & libc::PF_W == 0 && header.p_flags & libc::PF_R != 0
    };
    let here = own_segments as *const () as usize;
    if !headers.iter().filter(is_loaded).any(|header| place(header).contains(&here)) {
        return 0;
    }
    // SAFETY: the segment is loaded, readable and never written; it stays as long as the code in it, which is
    // this code.
    let bytes = |range: &Range<usize>| unsafe {
        std::slice::from_raw_parts(std::ptr::with_exposed_provenance(range.start), range.len())
    };
    let constant: Vec<Range<usize>> = headers.iter().filter(is_constant).map(place).collect();
    let notes = headers.iter().filter(|header| header.p_type == libc::PT_NOTE).map(place);
    let is_within = |notes: &Range<usize>| {
        constant.iter().any(|segment| segment.start <= notes.start && notes.end <= segment.end)
    };
    found.notes = notes.filter(is_within).map(|range| bytes(&range)).collect();
    found.constant = constant.iter().map(bytes).collect();
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(name: &[u8], kind: u32, contents: &[u8]) -> Vec<u8> {
        let mut note: Vec<u8> =
            [name.len() as u32, contents.len() as u32, kind].into_iter().flat_map(u32::to_ne_bytes).collect();
        for part in [name, contents] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    #[test]
    fn the_build_id_is_found_among_other_notes() {
        let (other, ours) = (note(b"Go\0", 3, &[1; 7]), note(GNU, NT_GNU_BUILD_ID, &[2; 20]));
        let property = note(GNU, 5, &[3; 16]);
        let all = [&*other, &*property, &*ours].concat();
        assert_eq!(build_id(&all), Some(&[2; 20][..]));
        assert_eq!(build_id(&[other, property].concat()), None);
        for end in 0..ours.len() {
            assert_eq!(build_id(&ours[..end]), None);
        }
    }

    #[test]
    fn without_a_note_the_id_is_the_hash_of_code_and_constants() {
        let own = own_segments();
        let here = own_segments as *const () as usize;
        let has_code = |bytes: &&[u8]| bytes.as_ptr_range().contains(&std::ptr::without_provenance(here));
        assert!(own.constant.iter().any(has_code));
        let id =
            |constant: &[&'static [u8]]| Segments { notes: Vec::new(), constant: constant.to_vec() }.id();
        let of_other_code = id(&[b"code", b"other constants"]);
        assert!(of_other_code.is_some() && of_other_code != id(&[b"code", b"constants"]));
        assert_eq!(id(&[]), None);
    }

    #[test]
    fn the_id_is_the_one_in_the_file() {
        let id = of_program().expect("this program has code");
        let file = std::fs::read("/proc/self/exe").expect("the file of this program");
        let noted = own_segments().notes.iter().any(|notes| build_id(notes).is_some());
        assert!(!noted || file.windows(id.len()).any(|bytes| bytes == id));
        assert!(noted || id.len() == 32);
    }
}
