//! Folders that a program may use, and their listings.
//!
//! `cap-std` confines a program to its folders: every path goes through [`Folder::dir`], and nothing here builds
//! paths of its own.

use std::mem::MaybeUninit;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, RawDir, SeekFrom, fstat, seek, statat};
use rustix::io::Errno;

use super::constants::filetype;
use super::host_file::filetype_of;

/// Bytes of a listing that are read from the system at once: a program may have many listings under way, each of which
/// keeps some times as many bytes.
const CHUNK: usize = 8 << 10;

/// The offset of the system's positions in a listing as programs see them: the positions before are those of the
/// two entries that are made here.
pub const OWN_ENTRIES: u64 = 2;

/// A folder that a program has open.
#[derive(Debug)]
pub struct Folder {
    /// The handle, which reaches only what is in the folder.
    pub dir: Dir,
    /// Whether the program may change the contents of the folder.
    pub is_writable: bool,
    /// The name under which the program finds the folder, if it was preopened.
    pub preopened_as: Option<Vec<u8>>,
    list: List,
}

/// An entry of a folder.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The position behind the entry.
    pub next: u64,
    /// The inode of the file.
    pub inode: u64,
    /// WASI's type of the file.
    pub filetype: u8,
    /// The name.
    pub name: Vec<u8>,
}

/// The part of a listing that was read last. Programs read a folder piece by piece; in between entries may appear
/// and disappear, and some file systems then renumber all others. So the entries are kept until the program has
/// read them.
#[derive(Debug, Default)]
struct List {
    /// The position before the entries.
    start: u64,
    entries: Vec<Entry>,
}

impl Folder {
    /// Creates a folder that is open for reading.
    pub fn new(dir: Dir, is_writable: bool, preopened_as: Option<Vec<u8>>) -> Folder {
        Folder { dir, is_writable, preopened_as, list: List::default() }
    }

    /// # Errors
    /// Returns an error if the program may not change the contents of the folder.
    pub fn check_writable(&self) -> Result<(), Errno> {
        if self.is_writable { Ok(()) } else { Err(Errno::PERM) }
    }

    /// Returns some of the entries behind a position; none at the end. Position 0 starts a new listing.
    ///
    /// # Errors
    /// Returns an error if there is no such position, or the listing cannot be read.
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
        // The entries made here precede all of the system's.
        let index = index.filter(|_| *start >= OWN_ENTRIES);
        match index {
            Some(index) if index < entries.len() => return Ok(&self.list.entries[index..]),
            // Behind the last entry the system's position is right already.
            Some(index) if index > 0 => {}
            _ => _ = seek(&self.dir, SeekFrom::Start(position - OWN_ENTRIES))?,
        }
        self.list = List { start: position, entries: self.read()? };
        Ok(&self.list.entries)
    }

    /// Returns the entries of the folder itself and its parent. The program learns nothing of the parent, which
    /// may be outside of what it can see.
    fn own_entries(&self) -> Result<[Entry; OWN_ENTRIES as usize], Errno> {
        let inode = fstat(&self.dir)?.st_ino;
        let entry =
            |next, name: &[u8]| Entry { next, inode, filetype: filetype::DIRECTORY, name: name.to_vec() };
        Ok([entry(1, b"."), entry(2, b"..")])
    }

    /// Continues reading at the system's position; returns no entries at the end.
    ///
    /// # Errors
    /// Returns an error if the listing cannot be read.
    pub fn read(&self) -> Result<Vec<Entry>, Errno> {
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

    /// Returns the type of an entry. Some file systems do not give the type in a listing.
    fn filetype(&self, listed: FileType, name: &std::ffi::CStr) -> u8 {
        let known = match listed {
            FileType::Unknown => statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        filetype_of(known)
    }
}
