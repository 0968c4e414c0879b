//! Functions for files that have positions.

use std::num::NonZeroU64;

use rustix::fs::{Advice, FallocateFlags, SeekFrom, fadvise, fallocate, ftruncate, seek};
use rustix::io::Errno;

use crate::wasi::descriptors::What;
use crate::wasi::fail::Outcome;
use crate::wasi::guest::{Guest, Preview};
use crate::wasi::host_file::Shape;
use crate::wasi::system::System;

/// The origin of an offset.
enum Whence {
    Start,
    Current,
    End,
}

impl Whence {
    fn numbered(number: u32, preview: Preview) -> Result<Whence, Errno> {
        match (preview, number) {
            (Preview::One, 0) | (Preview::Zero, 2) => Ok(Whence::Start),
            (Preview::One, 1) | (Preview::Zero, 0) => Ok(Whence::Current),
            (Preview::One, 2) | (Preview::Zero, 1) => Ok(Whence::End),
            _ => Err(Errno::INVAL),
        }
    }
}

impl System {
    pub fn fd_advise(&mut self, _: &mut Guest<'_>, fd: u32, offset: u64, len: u64, advice: u32) -> Outcome {
        let all = [
            Advice::Normal,
            Advice::Sequential,
            Advice::Random,
            Advice::WillNeed,
            Advice::DontNeed,
            Advice::NoReuse,
        ];
        let advice = *all.get(advice as usize).ok_or(Errno::INVAL)?;
        let (_, file) = self.descriptors.file(fd)?;
        Ok(fadvise(file, offset, NonZeroU64::new(len), advice)?)
    }

    pub fn fd_allocate(&mut self, _: &mut Guest<'_>, fd: u32, offset: u64, len: u64) -> Outcome {
        Ok(fallocate(self.descriptors.get(fd)?.writable_file()?, FallocateFlags::empty(), offset, len)?)
    }

    pub fn fd_filestat_set_size(&mut self, _: &mut Guest<'_>, fd: u32, size: u64) -> Outcome {
        Ok(ftruncate(self.descriptors.get(fd)?.writable_file()?, size)?)
    }

    pub fn fd_sync(&mut self, _: &mut Guest<'_>, fd: u32) -> Outcome {
        self.descriptors.get(fd)?.sync(true)
    }

    pub fn fd_datasync(&mut self, _: &mut Guest<'_>, fd: u32) -> Outcome {
        self.descriptors.get(fd)?.sync(false)
    }

    /// Positions are kept in the descriptor, so a program can seek to every position that WASI can express, as in
    /// Wasmtime. File systems limit where data can be.
    pub fn fd_seek(
        &mut self,
        guest: &mut Guest<'_>,
        fd: u32,
        offset: u64,
        whence: u32,
        position: u32,
    ) -> Outcome {
        let whence = Whence::numbered(whence, guest.preview())?;
        let current = self.position(fd)?;
        let from = match whence {
            Whence::Start => 0,
            Whence::Current => current,
            // The position of the system's file does not matter, because each call passes the position to read or
            // write.
            Whence::End => seek(self.descriptors.file(fd)?.1, SeekFrom::End(0))?,
        };
        let new = from.checked_add_signed(offset as i64).filter(|&new| new <= i64::MAX as u64);
        let new = new.ok_or(Errno::INVAL)?;
        self.descriptors.get_mut(fd)?.position = new;
        guest.write_u64(position, new)
    }

    pub fn fd_tell(&mut self, guest: &mut Guest<'_>, fd: u32, position: u32) -> Outcome {
        let current = self.position(fd)?;
        guest.write_u64(position, current)
    }

    fn position(&self, fd: u32) -> Result<u64, Errno> {
        let descriptor = self.descriptors.get(fd)?;
        match &descriptor.what {
            What::File(file) if file.shape == Shape::Positioned => Ok(descriptor.position),
            What::Folder(_) => Err(Errno::BADF),
            _ => Err(Errno::SPIPE),
        }
    }
}
