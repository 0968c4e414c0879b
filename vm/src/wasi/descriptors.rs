//! The table of a program's open descriptors.

use std::io::Cursor;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::{fdatasync, fstat, fsync, futimens};
use rustix::io::Errno;

use super::attributes::{Attributes, NewTime, timestamps};
use super::budget::{Budget, Charge};
use super::constants::{fdflags, filetype};
use super::fail::Outcome;
use super::folder::Folder;
use super::host_file::{HostFile, Shape};
use super::pipe::OutputPipe;

/// An open descriptor.
#[derive(Debug)]
pub struct Descriptor {
    /// The object that it refers to.
    pub what: What,
    /// Its `fdflags`.
    pub flags: u16,
    /// Whether the program may read from it.
    pub is_readable: bool,
    /// Whether the program may write to it.
    pub is_writable: bool,
    /// Whether the program may change the file's attributes.
    pub is_changeable: bool,
    /// The position at which reading and writing continue, if the file has positions.
    pub position: u64,
    /// Its part of the budget of open files.
    pub _open: Option<Charge>,
}

/// The object that a descriptor refers to.
#[derive(Debug)]
pub enum What {
    /// A host file.
    File(Arc<HostFile>),
    /// A folder.
    Folder(Folder),
    /// Input from memory.
    Input(Cursor<Vec<u8>>),
    /// Output to memory.
    Output(OutputPipe),
    /// Output that is discarded.
    Nothing,
}

impl Descriptor {
    /// Creates a descriptor that exists from the start, for reading only or for writing only.
    pub fn stream(what: What, is_writable: bool) -> Descriptor {
        Descriptor { is_readable: !is_writable, is_writable, ..Descriptor::new(what) }
    }

    /// Creates a descriptor that may be neither read nor written.
    pub fn new(what: What) -> Descriptor {
        Descriptor {
            what,
            flags: 0,
            is_readable: false,
            is_writable: false,
            is_changeable: false,
            position: 0,
            _open: None,
        }
    }

    /// Creates the descriptor of a socket.
    pub fn socket(file: HostFile, flags: u16) -> Descriptor {
        let is_connection = file.shape == Shape::Connection;
        Descriptor {
            flags,
            is_readable: is_connection,
            is_writable: is_connection,
            ..Descriptor::new(What::File(Arc::new(file)))
        }
    }

    /// Returns the attributes.
    ///
    /// # Errors
    /// Returns the errors of the system.
    pub fn attributes(&self) -> Result<Attributes, Errno> {
        Ok(match &self.what {
            What::File(file) => {
                let stat = fstat(file)?;
                let filetype = file.filetype(&stat);
                match file.is_standard() {
                    true => Attributes::of_stream(&stat, filetype),
                    false => Attributes::of_file(&stat, filetype),
                }
            }
            What::Folder(folder) => Attributes::of_file(&fstat(&folder.dir)?, filetype::DIRECTORY),
            What::Input(_) | What::Output(_) | What::Nothing => Attributes::of_memory(filetype::UNKNOWN),
        })
    }

    /// Sets the times of access and modification.
    ///
    /// # Errors
    /// Returns the errors of the system, and an error if the program may not change the times.
    pub fn set_times(&self, times: [NewTime; 2]) -> Outcome {
        let times = timestamps(times);
        match &self.what {
            What::Folder(folder) => {
                folder.check_writable()?;
                Ok(futimens(&folder.dir, &times)?)
            }
            What::File(file) if !file.is_standard() && self.is_changeable => Ok(futimens(file, &times)?),
            What::File(file) if !file.is_standard() => Err(Errno::PERM.into()),
            _ => Err(Errno::BADF.into()),
        }
    }

    /// Makes the system write out its buffers; without the attributes if only data matter.
    ///
    /// # Errors
    /// Returns the errors of the system.
    pub fn sync(&self, with_attributes: bool) -> Outcome {
        let sync = |fd: BorrowedFd<'_>| if with_attributes { fsync(fd) } else { fdatasync(fd) };
        match &self.what {
            What::File(file) => Ok(sync(file.as_fd())?),
            What::Folder(folder) => Ok(sync(folder.dir.as_fd())?),
            What::Input(_) | What::Output(_) | What::Nothing => Ok(()),
        }
    }

    /// Returns the file, if it has positions and may be changed.
    ///
    /// # Errors
    /// Returns an error if the file has no positions, or may not be changed.
    pub fn writable_file(&self) -> Result<&HostFile, Errno> {
        match &self.what {
            What::File(file) if file.shape == Shape::Positioned && self.is_writable => Ok(file),
            What::File(file) if file.shape != Shape::Positioned && !file.is_standard() => Err(Errno::INVAL),
            _ => Err(Errno::BADF),
        }
    }

    /// Returns whether operations must not wait.
    pub fn is_nonblocking(&self) -> bool {
        self.flags & fdflags::NONBLOCK != 0
    }
}

/// The descriptors, by number.
#[derive(Debug)]
pub struct Descriptors {
    slots: Vec<Option<Descriptor>>,
    /// All lower numbers are taken.
    lowest: usize,
    /// The open files: descriptors, and what is open and has no number.
    open: Budget,
}

impl Descriptors {
    /// Creates a table of `initial` descriptors, to which more can be added up to `limit`.
    pub fn new(initial: Vec<Descriptor>, limit: usize) -> Descriptors {
        let (lowest, open) = (initial.len(), Budget::with_used(initial.len(), limit));
        let counted = initial.into_iter().map(|what| Some(Descriptor { _open: Some(open.adopt(1)), ..what }));
        Descriptors { slots: counted.collect(), lowest, open }
    }

    /// # Errors
    /// Returns an error if the limit of open descriptors is reached.
    pub fn check_room(&self) -> Result<(), Errno> {
        if self.open.has_room() { Ok(()) } else { Err(Errno::MFILE) }
    }

    /// Adds a descriptor under the lowest free number.
    ///
    /// # Errors
    /// Returns an error if the limit of open descriptors is reached.
    pub fn add(&mut self, descriptor: Descriptor) -> Result<u32, Errno> {
        let open = self.charge()?;
        let taken = self.slots[self.lowest..].iter().take_while(|slot| slot.is_some()).count();
        let index = self.lowest + taken;
        if index == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[index] = Some(Descriptor { _open: Some(open), ..descriptor });
        self.lowest = index + 1;
        Ok(index as u32)
    }

    /// Counts one more open file, as long as the charge exists.
    ///
    /// # Errors
    /// Returns an error if the limit of open files is reached.
    pub fn charge(&self) -> Result<Charge, Errno> {
        self.open.take(1).ok_or(Errno::MFILE)
    }

    /// Returns the budget of open files, by which other threads count theirs.
    pub fn open_files(&self) -> &Budget {
        &self.open
    }

    /// Returns the open descriptors, in the order of their numbers.
    pub fn all(&self) -> impl Iterator<Item = &Descriptor> {
        self.slots.iter().flatten()
    }

    /// # Errors
    /// Returns an error if the descriptor is not open.
    pub fn get(&self, fd: u32) -> Result<&Descriptor, Errno> {
        self.slots.get(fd as usize).and_then(Option::as_ref).ok_or(Errno::BADF)
    }

    /// # Errors
    /// Returns an error if the descriptor is not open.
    pub fn get_mut(&mut self, fd: u32) -> Result<&mut Descriptor, Errno> {
        self.slots.get_mut(fd as usize).and_then(Option::as_mut).ok_or(Errno::BADF)
    }

    /// Removes a descriptor; dropping the result closes it.
    ///
    /// # Errors
    /// Returns an error if the descriptor is not open.
    pub fn remove(&mut self, fd: u32) -> Result<Descriptor, Errno> {
        let removed = self.slots.get_mut(fd as usize).and_then(Option::take).ok_or(Errno::BADF)?;
        self.lowest = self.lowest.min(fd as usize);
        Ok(removed)
    }

    /// Moves a descriptor to the number of another, which is closed.
    ///
    /// # Errors
    /// Returns an error if one of them is not open.
    pub fn renumber(&mut self, from: u32, to: u32) -> Result<(), Errno> {
        self.get(to)?;
        if from == to {
            return Ok(());
        }
        let moved = self.remove(from)?;
        self.slots[to as usize] = Some(moved);
        Ok(())
    }

    /// Returns the host file of a descriptor.
    ///
    /// # Errors
    /// Returns an error if it is not a host file.
    pub fn file(&self, fd: u32) -> Result<(&Descriptor, &Arc<HostFile>), Errno> {
        let descriptor = self.get(fd)?;
        match &descriptor.what {
            What::File(file) => Ok((descriptor, file)),
            _ => Err(Errno::BADF),
        }
    }

    /// Returns a folder.
    ///
    /// # Errors
    /// Returns an error if it is not a folder.
    pub fn folder(&self, fd: u32) -> Result<&Folder, Errno> {
        match &self.get(fd)?.what {
            What::Folder(folder) => Ok(folder),
            What::File(file) if !file.is_standard() => Err(Errno::NOTDIR),
            _ => Err(Errno::BADF),
        }
    }

    /// Returns a folder, mutably, to read its list.
    ///
    /// # Errors
    /// Returns an error if it is not a folder.
    pub fn folder_mut(&mut self, fd: u32) -> Result<&mut Folder, Errno> {
        self.folder(fd)?;
        match &mut self.get_mut(fd)?.what {
            What::Folder(folder) => Ok(folder),
            _ => Err(Errno::BADF),
        }
    }

    /// Returns a socket.
    ///
    /// # Errors
    /// Returns an error if it is not a socket.
    pub fn socket(&self, fd: u32) -> Result<(&Descriptor, &HostFile), Errno> {
        let descriptor = self.get(fd)?;
        match &descriptor.what {
            What::File(file) if file.is_socket() => Ok((descriptor, file)),
            _ => Err(Errno::NOTSOCK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_lowest_that_are_free_and_at_most_the_limit() {
        let mut table = Descriptors::new(Vec::new(), 4);
        let add = |table: &mut Descriptors| table.add(Descriptor::new(What::Nothing));
        assert_eq!([0, 1, 2, 3].map(|_| add(&mut table)), [Ok(0), Ok(1), Ok(2), Ok(3)]);
        assert_eq!(add(&mut table), Err(Errno::MFILE));
        assert!(table.remove(1).is_ok() && table.remove(0).is_ok() && table.remove(1).is_err());
        assert_eq!((add(&mut table), add(&mut table)), (Ok(0), Ok(1)));
        assert_eq!(table.renumber(3, 1), Ok(()));
        assert_eq!((table.renumber(3, 1), table.renumber(1, 3)), (Err(Errno::BADF), Err(Errno::BADF)));
        assert_eq!((add(&mut table), add(&mut table)), (Ok(3), Err(Errno::MFILE)));
    }
}
