//! Attributes of files, and times to be set.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::{Metadata, MetadataExt};
use rustix::fs::{FileType, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::io::Errno;

use super::constants::{filetype, fstflags, known};
use super::fail::Outcome;
use super::guest::{Guest, Preview, Record};
use super::host_file::filetype_of;

/// The attributes of a file in WASI.
#[derive(Debug, Default)]
pub struct Attributes {
    pub device: u64,
    pub inode: u64,
    pub filetype: u8,
    pub links: u64,
    pub size: u64,
    /// Times of access, modification and status change, in nanoseconds since 1970.
    pub times: [u64; 3],
}

impl Attributes {
    /// Returns the attributes of an open file.
    pub fn of_file(stat: &Stat, filetype: u8) -> Attributes {
        Attributes {
            device: stat.st_dev,
            inode: stat.st_ino,
            links: widened(stat.st_nlink),
            ..Attributes::of_stream(stat, filetype)
        }
    }

    /// Returns the attributes of a standard stream; the device and inode of the host's file are hidden from the
    /// program.
    pub fn of_stream(stat: &Stat, filetype: u8) -> Attributes {
        let times = [
            (stat.st_atime, stat.st_atime_nsec),
            (stat.st_mtime, stat.st_mtime_nsec),
            (stat.st_ctime, stat.st_ctime_nsec),
        ];
        let times = times.map(|(seconds, rest)| since_1970(seconds, rest as u32));
        Attributes {
            filetype,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            times,
            ..Attributes::of_memory(filetype)
        }
    }

    /// Returns the attributes of a stream in memory.
    pub fn of_memory(filetype: u8) -> Attributes {
        Attributes { filetype, ..Attributes::default() }
    }

    /// Returns the attributes of the file at a path.
    pub fn of_path(metadata: &Metadata) -> Attributes {
        let times = [
            (metadata.atime(), metadata.atime_nsec()),
            (metadata.mtime(), metadata.mtime_nsec()),
            (metadata.ctime(), metadata.ctime_nsec()),
        ];
        Attributes {
            device: metadata.dev(),
            inode: metadata.ino(),
            filetype: filetype_of(FileType::from_raw_mode(metadata.mode())),
            links: metadata.nlink(),
            size: metadata.size(),
            times: times.map(|(seconds, rest)| since_1970(seconds, rest as u32)),
        }
    }

    /// Returns whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.filetype == filetype::DIRECTORY
    }

    /// Writes the attributes to the program's memory.
    ///
    /// # Errors
    /// Returns an error if the program's pointer is invalid.
    pub fn write(&self, guest: &mut Guest<'_>, at: u32) -> Outcome {
        match guest.preview() {
            Preview::One => {
                let record = self.begin::<64>().u64(24, self.links).u64(32, self.size);
                guest.write(at, 8, &self.with_times(record, 40))
            }
            Preview::Zero => {
                let links = u32::try_from(self.links).unwrap_or(u32::MAX);
                let record = self.begin::<56>().u32(20, links).u64(24, self.size);
                guest.write(at, 8, &self.with_times(record, 32))
            }
        }
    }

    fn begin<const N: usize>(&self) -> Record<N> {
        Record::new().u64(0, self.device).u64(8, self.inode).u8(16, self.filetype)
    }

    fn with_times<const N: usize>(&self, record: Record<N>, at: usize) -> Record<N> {
        self.times.iter().enumerate().fold(record, |record, (index, &time)| record.u64(at + 8 * index, time))
    }
}

/// Returns nanoseconds since 1970; earlier times become 1970, later ones the maximum that WASI can express.
fn since_1970(seconds: i64, rest: u32) -> u64 {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest.into())
}

/// A time to be set.
#[derive(Clone, Copy, Debug)]
pub enum NewTime {
    /// The time stays unchanged.
    Kept,
    /// The time at which it is set.
    Now,
    /// Nanoseconds since 1970.
    At(u64),
}

impl NewTime {
    /// Decodes the times of access and modification to be set.
    ///
    /// # Errors
    /// Returns an error if the flags request two different values for one time.
    pub fn both(accessed: u64, modified: u64, flags: u32) -> Result<[NewTime; 2], Errno> {
        let flags = known(flags, fstflags::ALL)?;
        let time = |at, is_set, is_now| match (flags & is_set != 0, flags & is_now != 0) {
            (false, false) => Ok(NewTime::Kept),
            (false, true) => Ok(NewTime::Now),
            (true, false) => Ok(NewTime::At(at)),
            (true, true) => Err(Errno::INVAL),
        };
        Ok([
            time(accessed, fstflags::ATIM, fstflags::ATIM_NOW)?,
            time(modified, fstflags::MTIM, fstflags::MTIM_NOW)?,
        ])
    }

    /// Converts the time for a file at a path.
    pub fn of_path(self) -> Option<cap_fs_ext::SystemTimeSpec> {
        match self {
            NewTime::Kept => None,
            NewTime::Now => Some(cap_fs_ext::SystemTimeSpec::SymbolicNow),
            NewTime::At(time) => {
                let time: SystemTime = UNIX_EPOCH + Duration::from_nanos(time);
                Some(cap_fs_ext::SystemTimeSpec::Absolute(cap_std::time::SystemTime::from_std(time)))
            }
        }
    }

    fn of_file(self) -> Timespec {
        match self {
            NewTime::Kept => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            NewTime::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
            NewTime::At(time) => {
                Timespec { tv_sec: (time / 1_000_000_000) as i64, tv_nsec: (time % 1_000_000_000) as i64 }
            }
        }
    }
}

/// Converts both times for an open file.
pub fn timestamps([accessed, modified]: [NewTime; 2]) -> Timestamps {
    Timestamps { last_access: accessed.of_file(), last_modification: modified.of_file() }
}

/// Widens a number whose width depends on the processor.
fn widened(number: impl Into<u64>) -> u64 {
    number.into()
}
