//! Functions of `descriptor` for the contents of files.

use std::io::{IoSlice, IoSliceMut};
use std::num::NonZeroU64;
use std::sync::Arc;

use rustix::fs::{Advice, fadvise, ftruncate};
use rustix::io::Errno;

use super::host::Host;
use super::input::{InputStream, MOST};
use super::output::{OutputStream, Place};
use crate::component::{Resource, Val};
use crate::wasi::descriptors::{Descriptor, What};
use crate::wasi::fail::Outcome;
use crate::wasi::host_file::{HostFile, Shape};

/// `descriptor`: an open file or folder.
pub type File = Resource<Descriptor>;

fn file(host: &mut Host<'_>, file: &File) -> Outcome<(Arc<HostFile>, bool, bool)> {
    let descriptor = host.table().get(file)?;
    match &descriptor.what {
        What::File(file) => Ok((file.clone(), descriptor.is_readable, descriptor.is_writable)),
        What::Folder(_) => Err(Errno::ISDIR.into()),
        _ => Err(Errno::BADF.into()),
    }
}

fn readable(host: &mut Host<'_>, of: &File) -> Outcome<Arc<HostFile>> {
    match file(host, of)? {
        (file, true, _) => Ok(file),
        _ => Err(Errno::BADF.into()),
    }
}

fn writable(host: &mut Host<'_>, of: &File) -> Outcome<Arc<HostFile>> {
    match file(host, of)? {
        (file, _, true) => Ok(file),
        _ => Err(Errno::BADF.into()),
    }
}

/// Opens a stream. It stays open when its file is closed, so it counts as an open file of its own.
pub fn read_via_stream(host: &mut Host<'_>, (of, from): (File, u64)) -> Outcome<Resource<InputStream>> {
    let file = readable(host, &of)?;
    host.push_open(|open| Ok(InputStream::of_file(file, from, open)))
}

pub fn write_via_stream(host: &mut Host<'_>, (of, to): (File, u64)) -> Outcome<Resource<OutputStream>> {
    let file = writable(host, &of)?;
    host.push_open(|open| Ok(OutputStream::of_file(file, Place::At(to), open)))
}

pub fn append_via_stream(host: &mut Host<'_>, (of,): (File,)) -> Outcome<Resource<OutputStream>> {
    let file = writable(host, &of)?;
    host.push_open(|open| Ok(OutputStream::of_file(file, Place::End, open)))
}

pub fn advise(host: &mut Host<'_>, (of, from, len, advice): (File, u64, u64, Val)) -> Outcome<()> {
    let advice = match advice {
        Val::Enum(name) => match &*name {
            "normal" => Advice::Normal,
            "sequential" => Advice::Sequential,
            "random" => Advice::Random,
            "will-need" => Advice::WillNeed,
            "dont-need" => Advice::DontNeed,
            "no-reuse" => Advice::NoReuse,
            _ => return Err(Errno::INVAL.into()),
        },
        _ => return Err(Errno::INVAL.into()),
    };
    let (file, ..) = file(host, &of)?;
    Ok(fadvise(&*file, from, NonZeroU64::new(len), advice)?)
}

pub fn sync_data(host: &mut Host<'_>, (of,): (File,)) -> Outcome<()> {
    host.table().get(&of)?.sync(false)
}

pub fn sync(host: &mut Host<'_>, (of,): (File,)) -> Outcome<()> {
    host.table().get(&of)?.sync(true)
}

pub fn set_size(host: &mut Host<'_>, (of, size): (File, u64)) -> Outcome<()> {
    Ok(ftruncate(host.table().get(&of)?.writable_file()?, size)?)
}

/// Returns bytes, and whether the end of the file is reached.
pub fn read(host: &mut Host<'_>, (of, len, from): (File, u64, u64)) -> Outcome<(Vec<u8>, bool)> {
    let file = positioned(readable(host, &of)?, from)?;
    let mut bytes = vec![0; len.min(MOST) as usize];
    let read = file.read(&mut [IoSliceMut::new(&mut bytes)], from)?;
    let is_end = read == 0 && !bytes.is_empty();
    bytes.truncate(read);
    Ok((bytes, is_end))
}

pub fn write(host: &mut Host<'_>, (of, bytes, to): (File, Vec<u8>, u64)) -> Outcome<u64> {
    let file = positioned(writable(host, &of)?, to)?;
    Ok(file.write(&[IoSlice::new(&bytes)], to)? as u64)
}

/// Checks that a file has positions, and that `at` is a valid one.
fn positioned(file: Arc<HostFile>, at: u64) -> Result<Arc<HostFile>, Errno> {
    match file.shape {
        Shape::Positioned if at <= i64::MAX as u64 => Ok(file),
        Shape::Positioned => Err(Errno::INVAL),
        _ => Err(Errno::SPIPE),
    }
}
