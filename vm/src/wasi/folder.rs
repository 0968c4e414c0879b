//! Folders that a program may use, and the lists of what is in them.
//!
//! What keeps a program within its folders is `cap-std`: every path goes through [`Folder::dir`], and nothing here makes
//! a path of its own.

use std::mem::MaybeUninit;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, RawDir, SeekFrom, fstat, seek, statat};
use rustix::io::Errno;

use super::constants::filetype;
use super::host_file::filetype_of;

/// How much of a list is read from the system at once.
const CHUNK: usize = 32 << 10;

/// Positions in a list as programs see them, of which the system's lie this much behind: those before are for the two
/// entries that are made here.
pub const OWN_ENTRIES: u64 = 2;

/// A folder that is open for a program.
#[derive(Debug)]
pub struct Folder {
    /// Reaches what is in it, and nothing else.
    pub dir: Dir,
    /// Whether the program may change what is in it.
    pub is_writable: bool,
    /// The name under which the program finds it, if it was given it at the start.
    pub preopened_as: Option<Vec<u8>>,
    list: List,
}

/// One thing in a folder.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The position behind it.
    pub next: u64,
    /// The number of the file.
    pub inode: u64,
    /// WASI's type of the file.
    pub filetype: u8,
    /// The name.
    pub name: Vec<u8>,
}

/// What was last read of a list. Programs ask for a folder piece by piece; in between entries may come and go, and some
/// file systems number all others anew then. So what was read is kept until the program has had it.
#[derive(Debug, Default)]
struct List {
    /// The position before them.
    start: u64,
    entries: Vec<Entry>,
}

impl Folder {
    /// A folder that is open for reading.
    pub fn new(dir: Dir, is_writable: bool, preopened_as: Option<Vec<u8>>) -> Folder {
        Folder { dir, is_writable, preopened_as, list: List::default() }
    }

    /// # Errors
    /// If the program may not change what is in it.
    pub fn check_writable(&self) -> Result<(), Errno> {
        if self.is_writable { Ok(()) } else { Err(Errno::PERM) }
    }

    /// Some of the entries behind a position, none at the end. Position 0 is the start of a new list.
    ///
    /// # Errors
    /// If there is no such position, or the list cannot be read.
    pub fn entries(&mut self, position: u64) -> Result<&[Entry], Errno> {
        if position < OWN_ENTRIES {
            self.list = List { start: 0, entries: self.own_entries()?.to_vec() };
            return Ok(&self.list.entries[position as usize..]);
        }
        let List { start, entries } = &self.list;
        let index = match *start == position {
            true => Some(0),
            false => entries.iter().position(|entry| entry.next == position).map(|index| index + 1),
        };
        // The entries that are made here are before all of the system's.
        let index = index.filter(|_| *start >= OWN_ENTRIES);
        match index {
            Some(index) if index < entries.len() => return Ok(&self.list.entries[index..]),
            // Behind the last one the system is there already.
            Some(index) if index > 0 => {}
            _ => _ = seek(&self.dir, SeekFrom::Start(position - OWN_ENTRIES))?,
        }
        self.list = List { start: position, entries: self.read()? };
        Ok(&self.list.entries)
    }

    /// The folder itself and the one above it. Of that the program learns nothing: it may be beyond what it sees.
    fn own_entries(&self) -> Result<[Entry; OWN_ENTRIES as usize], Errno> {
        let inode = fstat(&self.dir)?.st_ino;
        let entry =
            |next, name: &[u8]| Entry { next, inode, filetype: filetype::DIRECTORY, name: name.to_vec() };
        Ok([entry(1, b"."), entry(2, b"..")])
    }

    /// Reads on from where the system is.
    fn read(&self) -> Result<Vec<Entry>, Errno> {
        let mut buffer = vec![MaybeUninit::uninit(); CHUNK];
        loop {
            let (mut list, mut entries, mut is_end) = (RawDir::new(&self.dir, &mut buffer), Vec::new(), true);
            while let Some(entry) = list.next() {
                is_end = false;
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if name != b"." && name != b".." {
                    entries.push(Entry {
                        next: entry.next_entry_cookie().saturating_add(OWN_ENTRIES),
                        inode: entry.ino(),
                        filetype: self.filetype(entry.file_type(), entry.file_name()),
                        name: name.to_vec(),
                    });
                }
                if list.is_buffer_empty() {
                    break;
                }
            }
            if is_end || !entries.is_empty() {
                return Ok(entries);
            }
        }
    }

    /// Some file systems do not say the type in a list.
    fn filetype(&self, listed: FileType, name: &std::ffi::CStr) -> u8 {
        let known = match listed {
            FileType::Unknown => statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        filetype_of(known)
    }
}
