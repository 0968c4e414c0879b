//! Functions about paths. All go through the folder that they are relative to, which lets none out.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, FileTypeExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::Errno;

use crate::wasi::attributes::{Attributes, NewTime};
use crate::wasi::constants::{fdflags, known, lookupflags, oflags, rights};
use crate::wasi::descriptors::{Descriptor, What};
use crate::wasi::fail::{Fail, Outcome};
use crate::wasi::folder::Folder;
use crate::wasi::guest::Guest;
use crate::wasi::host_file::HostFile;
use crate::wasi::system::System;
use crate::wasi::wait::wait;

/// How often a pipe is tried that nobody reads from yet.
const TRY_AGAIN: Duration = Duration::from_millis(10);

impl System {
    pub fn path_create_directory(&mut self, guest: &mut Guest<'_>, fd: u32, path: u32, len: u32) -> Outcome {
        let path = guest.path(path, len)?;
        Ok(self.writable_folder(fd)?.dir.create_dir(path)?)
    }

    pub fn path_remove_directory(&mut self, guest: &mut Guest<'_>, fd: u32, path: u32, len: u32) -> Outcome {
        // A slash says no more than that it is a folder, which anything else is refused for anyway.
        let path = without_slashes(guest.path(path, len)?);
        Ok(self.writable_folder(fd)?.dir.remove_dir(path)?)
    }

    pub fn path_unlink_file(&mut self, guest: &mut Guest<'_>, fd: u32, path: u32, len: u32) -> Outcome {
        let path = guest.path(path, len)?;
        Ok(self.writable_folder(fd)?.dir.remove_file(path)?)
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
        let dir = &self.descriptors.folder(fd)?.dir;
        let metadata = match follows || is_of_folder(&path) {
            true => dir.metadata(&path)?,
            false => dir.symlink_metadata(&path)?,
        };
        let attributes = Attributes::of_path(&metadata);
        if is_of_folder(&path) && !attributes.is_folder() {
            return Err(Errno::NOTDIR.into());
        }
        attributes.write(guest, at)
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
        let [accessed, modified] = NewTime::both(accessed, modified, flags)?.map(NewTime::of_path);
        let dir = &self.writable_folder(fd)?.dir;
        match follows || is_of_folder(&path) {
            true => dir.set_times(path, accessed, modified)?,
            false => dir.set_symlink_times(path, accessed, modified)?,
        }
        Ok(())
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
        // A link to what a symbolic link leads to could be to what is not in a folder of the program's.
        if follows(lookup)? {
            return Err(Errno::INVAL.into());
        }
        let (path, new_path) = (guest.path(path, len)?, guest.path(new_path, new_len)?);
        let (from, to) = (self.writable_folder(fd)?, self.writable_folder(new_fd)?);
        Ok(from.dir.hard_link(path, &to.dir, new_path)?)
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
        let (from, to) = (self.writable_folder(fd)?, self.writable_folder(new_fd)?);
        Ok(from.dir.rename(path, &to.dir, new_path)?)
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
        Ok(self.writable_folder(fd)?.dir.symlink(target, path)?)
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
        let (path, how) = (guest.path(path, len)?, How::new(lookup, oflags, base, flags)?);
        self.descriptors.check_room()?;
        let descriptor = how.open(guest, self.descriptors.folder(fd)?, &path)?;
        let opened_fd = self.descriptors.add(descriptor)?;
        guest.write_u32(opened, opened_fd)
    }

    fn writable_folder(&self, fd: u32) -> Result<&Folder, Errno> {
        let folder = self.descriptors.folder(fd)?;
        folder.check_writable()?;
        Ok(folder)
    }
}

fn follows(lookup: u32) -> Result<bool, Errno> {
    match lookup & !lookupflags::ALL {
        0 => Ok(lookup & lookupflags::SYMLINK_FOLLOW != 0),
        _ => Err(Errno::INVAL),
    }
}

/// Whether a path leads to a folder or to nothing. The sandbox does not look at a slash, or at a dot behind one.
fn is_of_folder(path: &Path) -> bool {
    let path = path.as_os_str().as_encoded_bytes();
    path.ends_with(b"/") || path.ends_with(b"/.")
}

/// A path without slashes at its end.
fn without_slashes(path: PathBuf) -> PathBuf {
    let mut bytes = path.into_os_string().into_vec();
    while bytes.len() > 1 && bytes.ends_with(b"/") {
        bytes.pop();
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// How a file is to be opened.
struct How {
    follows: bool,
    /// Of `oflags`.
    creates: bool,
    is_exclusive: bool,
    truncates: bool,
    is_folder: bool,
    /// Whether the program may read and write.
    reads: bool,
    writes: bool,
    /// The descriptor's `fdflags`.
    flags: u16,
}

impl How {
    fn new(lookup: u32, oflags: u32, base: u64, flags: u32) -> Result<How, Errno> {
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

    /// Whether it may change something.
    fn changes(&self) -> bool {
        self.writes || self.creates || self.truncates
    }

    fn open(&self, guest: &Guest<'_>, folder: &Folder, path: &Path) -> Outcome<Descriptor> {
        if self.changes() {
            folder.check_writable()?;
        }
        let fd = self.open_file(guest, &folder.dir, path)?;
        let file_type = FileType::from_raw_mode(fstat(&fd)?.st_mode);
        if file_type == FileType::Directory {
            let dir = Dir::from_std_file(fd.into());
            return Ok(Descriptor::new(What::Folder(Folder::new(dir, folder.is_writable, None))));
        }
        if self.is_folder {
            return Err(Errno::NOTDIR.into());
        }
        Ok(Descriptor {
            flags: self.flags,
            is_readable: self.reads,
            is_writable: self.writes,
            is_changeable: folder.is_writable,
            ..Descriptor::new(What::File(HostFile::opened(fd, file_type)))
        })
    }

    /// Opens without waiting in the system: what is no regular file never blocks.
    fn open_file(&self, guest: &Guest<'_>, dir: &Dir, path: &Path) -> Outcome<OwnedFd> {
        loop {
            let error = match self.try_open(dir, path) {
                Ok(fd) => return Ok(fd),
                Err(error) => error,
            };
            match Errno::from_io_error(&error) {
                Some(Errno::INTR) => guest.check()?,
                // Nobody reads from the pipe yet.
                Some(Errno::NXIO) if self.flags & fdflags::NONBLOCK == 0 && is_pipe(dir, path) => {
                    wait(guest, &mut [], Some(TRY_AGAIN))?;
                }
                _ => return Err(Fail::from(error)),
            }
        }
    }

    fn try_open(&self, dir: &Dir, path: &Path) -> io::Result<OwnedFd> {
        let opened = dir.open_with(path, &self.options(self.changes()));
        // Creating takes the right to write; what is there already may be a file that the process may only read.
        let is_refused = |error: &io::Error| {
            matches!(Errno::from_io_error(error), Some(Errno::ACCESS | Errno::ROFS | Errno::TXTBSY))
        };
        let opened = match opened {
            Err(error)
                if is_refused(&error)
                    && self.creates
                    && !(self.writes || self.truncates || self.is_exclusive) =>
            {
                dir.open_with(path, &self.options(false)).map_err(|_| error)
            }
            opened => opened,
        };
        Ok(opened?.into_std().into())
    }

    fn options(&self, is_changed: bool) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(self.reads).write(is_changed);
        if is_changed {
            options
                .create(self.creates)
                .create_new(self.creates && self.is_exclusive)
                .truncate(self.truncates);
        }
        let flags = [
            (fdflags::APPEND, OFlags::APPEND),
            (fdflags::DSYNC, OFlags::DSYNC),
            (fdflags::RSYNC, OFlags::RSYNC),
            (fdflags::SYNC, OFlags::SYNC),
        ];
        let flags = flags.into_iter().filter(|(flag, _)| self.flags & flag != 0).map(|(_, flag)| flag);
        let flags = flags.fold(OFlags::NONBLOCK | OFlags::NOCTTY, |all, flag| all | flag);
        options.custom_flags(flags.bits() as i32);
        options.follow(FollowSymlinks::follow(self.follows));
        options
    }
}

fn is_pipe(dir: &Dir, path: &Path) -> bool {
    dir.metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}
