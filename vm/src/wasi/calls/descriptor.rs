//! Functions for descriptors of any kind.

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;

use crate::wasi::attributes::NewTime;
use crate::wasi::constants::{fdflags, filetype, known, rights};
use crate::wasi::descriptors::{Descriptor, What};
use crate::wasi::fail::Outcome;
use crate::wasi::folder::Folder;
use crate::wasi::guest::{Guest, Record};
use crate::wasi::host_file::{HostFile, Shape};
use crate::wasi::system::System;

/// Flags that are set when a file is opened and cannot be changed later.
const FIXED: u16 = fdflags::DSYNC | fdflags::RSYNC | fdflags::SYNC;

impl System {
    pub fn fd_close(&mut self, _: &mut Guest<'_>, fd: u32) -> Outcome {
        self.descriptors.remove(fd)?;
        Ok(())
    }

    pub fn fd_renumber(&mut self, _: &mut Guest<'_>, fd: u32, to: u32) -> Outcome {
        Ok(self.descriptors.renumber(fd, to)?)
    }

    pub fn fd_fdstat_get(&mut self, guest: &mut Guest<'_>, fd: u32, stat: u32) -> Outcome {
        let descriptor = self.descriptors.get(fd)?;
        let (filetype, base, inheriting) = match &descriptor.what {
            What::File(file) => {
                let base = rights_of(descriptor, file);
                (file.filetype(&fstat(&**file)?), base, base)
            }
            What::Folder(folder) => rights_in(folder),
            What::Input(_) => (filetype::UNKNOWN, rights::OF_READING, rights::OF_READING),
            What::Output(_) | What::Nothing => (filetype::UNKNOWN, rights::OF_WRITING, rights::OF_WRITING),
        };
        let record = Record::<24>::new().u8(0, filetype).u16(2, descriptor.flags);
        guest.write(stat, 8, &record.u64(8, base).u64(16, inheriting))
    }

    pub fn fd_fdstat_set_flags(&mut self, _: &mut Guest<'_>, fd: u32, flags: u32) -> Outcome {
        let flags = known(flags, fdflags::ALL)?;
        let descriptor = self.descriptors.get_mut(fd)?;
        if matches!(descriptor.what, What::Folder(_)) {
            return Err(Errno::BADF.into());
        }
        if (flags ^ descriptor.flags) & FIXED != 0 {
            return Err(Errno::INVAL.into());
        }
        if let What::File(file) = &descriptor.what
            && file.shape == Shape::Positioned
        {
            let append = if flags & fdflags::APPEND != 0 { OFlags::APPEND } else { OFlags::empty() };
            fcntl_setfl(&**file, fcntl_getfl(&**file)?.difference(OFlags::APPEND) | append)?;
        }
        descriptor.flags = flags;
        Ok(())
    }

    /// Rights describe what makes sense for a descriptor. They cannot be dropped, so that no program relies on
    /// dropped rights.
    pub fn fd_fdstat_set_rights(
        &mut self,
        _: &mut Guest<'_>,
        fd: u32,
        _base: u64,
        _inheriting: u64,
    ) -> Outcome {
        self.descriptors.get(fd)?;
        Err(Errno::NOTSUP.into())
    }

    pub fn fd_filestat_get(&mut self, guest: &mut Guest<'_>, fd: u32, at: u32) -> Outcome {
        self.descriptors.get(fd)?.attributes()?.write(guest, at)
    }

    pub fn fd_filestat_set_times(
        &mut self,
        _: &mut Guest<'_>,
        fd: u32,
        accessed: u64,
        modified: u64,
        flags: u32,
    ) -> Outcome {
        self.descriptors.get(fd)?.set_times(NewTime::both(accessed, modified, flags)?)
    }

    pub fn fd_prestat_get(&mut self, guest: &mut Guest<'_>, fd: u32, stat: u32) -> Outcome {
        let folder = self.descriptors.folder(fd).map_err(|_| Errno::BADF)?;
        let name = folder.preopened_as.as_ref().ok_or(Errno::BADF)?;
        guest.write(stat, 4, &Record::<8>::new().u32(4, name.len() as u32))
    }

    pub fn fd_prestat_dir_name(&mut self, guest: &mut Guest<'_>, fd: u32, at: u32, len: u32) -> Outcome {
        let name = self.descriptors.folder(fd)?.preopened_as.as_ref().ok_or(Errno::NOTDIR)?;
        if name.len() > len as usize {
            return Err(Errno::NAMETOOLONG.into());
        }
        guest.put(at, name)?;
        Ok(())
    }

    pub fn fd_readdir(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        at: u32,
        len: u32,
        position: u64,
        used: u32,
    ) -> Outcome {
        guest.check_bytes(at, len)?;
        let (folder, mut filled, mut position) = (self.descriptors.folder_mut(fd)?, 0, position);
        while filled < len {
            guest.check()?;
            let entries = folder.entries(position)?;
            let Some(last) = entries.last() else { break };
            position = last.next;
            for entry in entries {
                let head = Record::<24>::new().u64(0, entry.next).u64(8, entry.inode);
                let head = head.u32(16, entry.name.len() as u32).u8(20, entry.filetype);
                filled += put(guest, at, filled, len, &head.0)?;
                filled += put(guest, at, filled, len, &entry.name)?;
            }
        }
        guest.write_u32(used, filled)
    }
}

/// Copies as much of `bytes` as fits behind the first `filled` bytes of a buffer. Returns the number of copied
/// bytes.
fn put(guest: &mut Guest<'_>, at: u32, filled: u32, len: u32, bytes: &[u8]) -> Outcome<u32> {
    let part = bytes.len().min((len - filled) as usize);
    if part != 0 {
        guest.put(at + filled, &bytes[..part])?;
    }
    Ok(part as u32)
}

/// Returns the rights of a file.
fn rights_of(descriptor: &Descriptor, file: &HostFile) -> u64 {
    let mut all = 0;
    if descriptor.is_readable {
        all |= rights::OF_READING;
    }
    if descriptor.is_writable {
        all |= rights::OF_WRITING;
    }
    match file.shape {
        Shape::Positioned if descriptor.is_writable => all |= rights::OF_POSITIONS | rights::OF_CHANGES,
        Shape::Positioned => all |= rights::OF_POSITIONS,
        Shape::Connection => all |= rights::SOCK_SHUTDOWN,
        Shape::Listener => {
            all = rights::SOCK_ACCEPT | rights::FD_FDSTAT_SET_FLAGS | rights::POLL_FD_READWRITE
        }
        Shape::Sequential | Shape::Stream => {}
    }
    all
}

/// Returns the type of a folder, its rights, and the rights of its files.
fn rights_in(folder: &Folder) -> (u8, u64, u64) {
    let (base, of_files) = match folder.is_writable {
        true => (rights::OF_FOLDERS, rights::OF_FILES),
        false => (rights::OF_READ_ONLY_FOLDERS, rights::OF_READING | rights::OF_POSITIONS),
    };
    (filetype::DIRECTORY, base, base | of_files)
}
