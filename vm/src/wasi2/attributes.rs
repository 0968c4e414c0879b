//! Functions of `descriptor` for attributes of files and folders.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use rustix::io::Errno;

use super::clocks::datetime;
use super::directories::{folder, has, path as checked, type_of};
use super::files::File;
use super::host::Host;
use crate::component::Val;
use crate::wasi::attributes::{Attributes, NewTime};
use crate::wasi::constants::fdflags;
use crate::wasi::descriptors::What;
use crate::wasi::fail::Outcome;

pub fn get_flags(host: &mut Host<'_>, (of,): (File,)) -> Outcome<Val> {
    let descriptor = host.table().get(&of)?;
    let (reads, changes) = match &descriptor.what {
        What::Folder(folder) => (true, folder.is_writable),
        _ => (descriptor.is_readable, false),
    };
    let flags = [
        (reads, "read"),
        (descriptor.is_writable, "write"),
        (descriptor.flags & fdflags::SYNC != 0, "file-integrity-sync"),
        (descriptor.flags & fdflags::DSYNC != 0, "data-integrity-sync"),
        (descriptor.flags & fdflags::RSYNC != 0, "requested-write-sync"),
        (changes, "mutate-directory"),
    ];
    Ok(Val::Flags(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| (*name).to_owned()).collect()))
}

pub fn get_type(host: &mut Host<'_>, (of,): (File,)) -> Outcome<Val> {
    Ok(type_of(host.table().get(&of)?.attributes()?.filetype))
}

pub fn stat(host: &mut Host<'_>, (of,): (File,)) -> Outcome<Val> {
    Ok(record(&host.table().get(&of)?.attributes()?))
}

pub fn stat_at(host: &mut Host<'_>, (of, flags, path): (File, Val, String)) -> Outcome<Val> {
    Ok(record(&at(host, &of, &flags, &path)?))
}

fn at(host: &mut Host<'_>, of: &File, flags: &Val, path: &str) -> Outcome<Attributes> {
    folder(host, of)?.attributes(checked(path)?, has(flags, "symlink-follow"))
}

/// Returns the `descriptor-stat` of attributes.
fn record(attributes: &Attributes) -> Val {
    let time = |index: usize| {
        let time = datetime(Duration::from_nanos(attributes.times[index]));
        Val::Option(Some(Box::new(time)))
    };
    let fields = [
        ("type", type_of(attributes.filetype)),
        ("link-count", Val::U64(attributes.links)),
        ("size", Val::U64(attributes.size)),
        ("data-access-timestamp", time(0)),
        ("data-modification-timestamp", time(1)),
        ("status-change-timestamp", time(2)),
    ];
    Val::Record(fields.map(|(name, value)| (name.to_owned(), value)).into())
}

pub fn set_times(host: &mut Host<'_>, (of, accessed, modified): (File, Val, Val)) -> Outcome<()> {
    let times = [new_time(&accessed)?, new_time(&modified)?];
    host.table().get(&of)?.set_times(times)
}

pub fn set_times_at(
    host: &mut Host<'_>,
    (of, flags, path, accessed, modified): (File, Val, String, Val, Val),
) -> Outcome<()> {
    let times = [new_time(&accessed)?, new_time(&modified)?];
    folder(host, &of)?.set_times(checked(&path)?, has(&flags, "symlink-follow"), times)
}

/// Converts a `new-timestamp`.
fn new_time(value: &Val) -> Result<NewTime, Errno> {
    let Val::Variant(name, held) = value else { return Err(Errno::INVAL) };
    match (&**name, held.as_deref()) {
        ("no-change", _) => Ok(NewTime::Kept),
        ("now", _) => Ok(NewTime::Now),
        (_, Some(Val::Record(fields))) => match &fields[..] {
            [(_, Val::U64(seconds)), (_, Val::U32(rest))] if *rest < 1_000_000_000 => {
                let time =
                    seconds.checked_mul(1_000_000_000).and_then(|time| time.checked_add((*rest).into()));
                time.map(NewTime::At).ok_or(Errno::OVERFLOW)
            }
            _ => Err(Errno::INVAL),
        },
        _ => Err(Errno::INVAL),
    }
}

pub fn is_same_object(host: &mut Host<'_>, (of, other): (File, File)) -> Outcome<bool> {
    let of = host.table().get(&of)?.attributes()?;
    let other = host.table().get(&other)?.attributes()?;
    Ok((of.device, of.inode) == (other.device, other.inode))
}

pub fn metadata_hash(host: &mut Host<'_>, (of,): (File,)) -> Outcome<Val> {
    Ok(hash(&host.table().get(&of)?.attributes()?))
}

pub fn metadata_hash_at(host: &mut Host<'_>, (of, flags, path): (File, Val, String)) -> Outcome<Val> {
    Ok(hash(&at(host, &of, &flags, &path)?))
}

/// Returns a hash that distinguishes a file from others and stays the same while the file is written; adapters of
/// preview 1 use it as the inode.
fn hash(attributes: &Attributes) -> Val {
    let part = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, attributes.device, attributes.inode).hash(&mut hasher);
        Val::U64(hasher.finish())
    };
    Val::Record(vec![("lower".to_owned(), part(0)), ("upper".to_owned(), part(1))])
}
