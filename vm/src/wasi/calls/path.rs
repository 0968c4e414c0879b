//! Functions for paths. All of them go through the folder that the path is relative to, which confines them.

use std::path::PathBuf;

use rustix::io::Errno;

use crate::wasi::attributes::NewTime;
use crate::wasi::constants::{fdflags, known, lookupflags, oflags, rights};
use crate::wasi::fail::Outcome;
use crate::wasi::guest::Guest;
use crate::wasi::opening::How;
use crate::wasi::system::System;

impl System {
    pub fn path_create_directory(&mut self, guest: &mut Guest<'_>, fd: u32, path: u32, len: u32) -> Outcome {
        let path = guest.path(path, len)?;
        self.descriptors.folder(fd)?.create_dir(&path)
    }

    pub fn path_remove_directory(&mut self, guest: &mut Guest<'_>, fd: u32, path: u32, len: u32) -> Outcome {
        let path = guest.path(path, len)?;
        self.descriptors.folder(fd)?.remove_dir(path)
    }

    pub fn path_unlink_file(&mut self, guest: &mut Guest<'_>, fd: u32, path: u32, len: u32) -> Outcome {
        let path = guest.path(path, len)?;
        self.descriptors.folder(fd)?.remove_file(&path)
    }

    pub fn path_filestat_get(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        lookup: u32,
        path: u32,
        len: u32,
        at: u32,
    ) -> Outcome {
        let (path, follows) = (guest.path(path, len)?, follows(lookup)?);
        self.descriptors.folder(fd)?.attributes(&path, follows)?.write(guest, at)
    }

    pub fn path_filestat_set_times(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        lookup: u32,
        path: u32,
        len: u32,
        accessed: u64,
        modified: u64,
        flags: u32,
    ) -> Outcome {
        let (path, follows) = (guest.path(path, len)?, follows(lookup)?);
        let times = NewTime::both(accessed, modified, flags)?;
        self.descriptors.folder(fd)?.set_times(&path, follows, times)
    }

    pub fn path_link(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        lookup: u32,
        path: u32,
        len: u32,
        new_fd: u32,
        new_path: u32,
        new_len: u32,
    ) -> Outcome {
        let follows = follows(lookup)?;
        let (path, new_path) = (guest.path(path, len)?, guest.path(new_path, new_len)?);
        let (from, to) = (self.descriptors.folder(fd)?, self.descriptors.folder(new_fd)?);
        from.hard_link(&path, follows, (to, &new_path))
    }

    pub fn path_rename(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        path: u32,
        len: u32,
        new_fd: u32,
        new_path: u32,
        new_len: u32,
    ) -> Outcome {
        let (path, new_path) = (guest.path(path, len)?, guest.path(new_path, new_len)?);
        let (from, to) = (self.descriptors.folder(fd)?, self.descriptors.folder(new_fd)?);
        from.rename(&path, (to, &new_path))
    }

    pub fn path_symlink(
        &mut self,
        guest: &mut Guest<'_>,
        target: u32,
        target_len: u32,
        fd: u32,
        path: u32,
        len: u32,
    ) -> Outcome {
        let (target, path) = (guest.path(target, target_len)?, guest.path(path, len)?);
        self.descriptors.folder(fd)?.symlink(&target, &path)
    }

    pub fn path_readlink(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        path: u32,
        len: u32,
        at: u32,
        room: u32,
        used: u32,
    ) -> Outcome {
        let path = guest.path(path, len)?;
        let target: PathBuf = self.descriptors.folder(fd)?.dir.read_link(path)?;
        let target = target.into_os_string().into_encoded_bytes();
        let part = &target[..target.len().min(room as usize)];
        guest.put(at, part)?;
        guest.write_u32(used, part.len() as u32)
    }

    pub fn path_open(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        lookup: u32,
        path: u32,
        len: u32,
        oflags: u32,
        base: u64,
        _inheriting: u64,
        flags: u32,
        opened: u32,
    ) -> Outcome {
        guest.array(opened, 1, 4, 4)?;
        let (path, how) = (guest.path(path, len)?, how(lookup, oflags, base, flags)?);
        self.descriptors.check_room()?;
        let descriptor = how.open(guest, self.descriptors.folder(fd)?, &path)?;
        let opened_fd = self.descriptors.add(descriptor)?;
        guest.write_u32(opened, opened_fd)
    }
}

fn follows(lookup: u32) -> Result<bool, Errno> {
    match lookup & !lookupflags::ALL {
        0 => Ok(lookup & lookupflags::SYMLINK_FOLLOW != 0),
        _ => Err(Errno::INVAL),
    }
}

/// Decodes how a file is to be opened from the flags of preview 1.
fn how(lookup: u32, oflags: u32, base: u64, flags: u32) -> Result<How, Errno> {
    let (oflags, flags) = (known(oflags, oflags::ALL)?, known(flags, fdflags::ALL)?);
    let has = |flag| oflags & flag != 0;
    let is_folder = has(oflags::DIRECTORY);
    if is_folder && oflags != oflags::DIRECTORY {
        return Err(Errno::INVAL);
    }
    let writes = base & rights::FD_WRITE != 0;
    Ok(How {
        follows: follows(lookup)?,
        creates: has(oflags::CREAT),
        is_exclusive: has(oflags::EXCL),
        truncates: has(oflags::TRUNC),
        is_folder,
        reads: base & rights::FD_READ != 0 || !writes,
        writes,
        flags,
    })
}
