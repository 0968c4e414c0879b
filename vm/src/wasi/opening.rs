//! Opening files and folders.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, FileTypeExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::Errno;

use super::constants::fdflags;
use super::descriptors::{Descriptor, What};
use super::fail::{Fail, Outcome};
use super::folder::Folder;
use super::guest::Guest;
use super::host_file::HostFile;
use super::wait::wait;

/// How often opening a pipe that nobody reads from yet is retried.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// The options for opening a file.
pub struct How {
    pub follows: bool,
    /// The flags of `oflags`.
    pub creates: bool,
    pub is_exclusive: bool,
    pub truncates: bool,
    pub is_folder: bool,
    /// Whether the program may read and write.
    pub reads: bool,
    pub writes: bool,
    /// The descriptor's `fdflags`.
    pub flags: u16,
}

impl How {
    /// Returns whether opening may change something.
    fn changes(&self) -> bool {
        self.writes || self.creates || self.truncates
    }

    /// Opens the file or folder at a path.
    ///
    /// # Errors
    /// Returns the errors of the system, and an error if opening would change a folder that may not be changed,
    /// or if the program is to stop meanwhile.
    pub fn open(&self, guest: &Guest<'_>, folder: &Folder, path: &Path) -> Outcome<Descriptor> {
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
            ..Descriptor::new(What::File(Arc::new(HostFile::opened(fd, file_type))))
        })
    }

    /// Opens without waiting in the system; opening anything but a regular file never blocks.
    fn open_file(&self, guest: &Guest<'_>, dir: &Dir, path: &Path) -> Outcome<OwnedFd> {
        loop {
            let error = match self.try_open(dir, path) {
                Ok(fd) => return Ok(fd),
                Err(error) => error,
            };
            match Errno::from_io_error(&error) {
                Some(Errno::INTR) => guest.check()?,
                // The pipe has no reader yet.
                Some(Errno::NXIO) if self.flags & fdflags::NONBLOCK == 0 && is_pipe(dir, path) => {
                    wait(guest, &mut [], Some(TRY_AGAIN))?;
                }
                _ => return Err(Fail::from(error)),
            }
        }
    }

    fn try_open(&self, dir: &Dir, path: &Path) -> io::Result<OwnedFd> {
        let opened = dir.open_with(path, &self.options(self.changes()));
        // Creating requires the right to write, but an existing file may be one that the process may only read.
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
