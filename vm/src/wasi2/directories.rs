//! Functions of `descriptor` for the contents of folders, and the folders that a program is given.

use std::path::Path;
use std::vec::IntoIter;

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::files::File;
use super::host::{Host, table};
use crate::component::{Resource, Val};
use crate::wasi::budget::Charge;
use crate::wasi::constants::{fdflags, filetype};
use crate::wasi::descriptors::{Descriptor, What};
use crate::wasi::fail::Outcome;
use crate::wasi::folder::{Entry, Folder};
use crate::wasi::guest::MAX_PATH;
use crate::wasi::opening::How;

/// Returns the `descriptor-type` of a preview 1 file type.
pub fn type_of(number: u8) -> Val {
    let name = match number {
        filetype::BLOCK_DEVICE => "block-device",
        filetype::CHARACTER_DEVICE => "character-device",
        filetype::DIRECTORY => "directory",
        filetype::REGULAR_FILE => "regular-file",
        filetype::SOCKET_STREAM => "socket",
        filetype::SYMBOLIC_LINK => "symbolic-link",
        _ => "unknown",
    };
    Val::Enum(name.to_owned())
}

/// `directory-entry-stream`: the rest of a folder's listing.
pub struct EntryStream {
    folder: Folder,
    read: IntoIter<Entry>,
    _open: Charge,
}

/// Returns an open folder.
pub fn folder<'h>(host: &'h mut Host<'_>, of: &File) -> Outcome<&'h Folder> {
    match &host.table().get(of)?.what {
        What::Folder(folder) => Ok(folder),
        _ => Err(Errno::NOTDIR.into()),
    }
}

/// Returns a path, for the work on a path grows with its length, though the system accepts no longer one.
///
/// # Errors
/// Returns an error if it is longer than any path.
pub fn path(text: &str) -> Result<&Path, Errno> {
    if text.len() <= MAX_PATH as usize { Ok(Path::new(text)) } else { Err(Errno::NAMETOOLONG) }
}

/// Returns whether a flag is set.
pub fn has(flags: &Val, name: &str) -> bool {
    matches!(flags, Val::Flags(names) if names.iter().any(|set| set == name))
}

/// Returns the folders that a program was given, each with its name. Each call opens them anew.
pub fn preopened(host: &mut Host<'_>, (): ()) -> Outcome<Vec<(File, String)>> {
    let mut given: Vec<(Dir, bool, String)> = Vec::new();
    for descriptor in host.system.descriptors.all() {
        if let What::Folder(folder) = &descriptor.what
            && let Some(name) = &folder.preopened_as
        {
            given.push((
                folder.dir.try_clone()?,
                folder.is_writable,
                String::from_utf8_lossy(name).into_owned(),
            ));
        }
    }
    let add = |(dir, is_writable, name): (Dir, bool, String)| {
        let folder = Folder::new(dir, is_writable, None);
        let opened = |open| Ok(Descriptor { _open: Some(open), ..Descriptor::new(What::Folder(folder)) });
        Ok((host.push_open(opened)?, name))
    };
    given.into_iter().map(add).collect()
}

/// Opens the listing of a folder by a handle of its own, because other listings of the same folder have their own
/// positions.
pub fn read_directory(host: &mut Host<'_>, (of,): (File,)) -> Outcome<Resource<EntryStream>> {
    // `Dir::open_dir` would return a handle that cannot be read from.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = openat(&folder(host, &of)?.dir, ".", flags, Mode::empty())?;
    let folder = Folder::new(Dir::from_std_file(dir.into()), false, None);
    host.push_open(|open| Ok(EntryStream { folder, read: Vec::new().into_iter(), _open: open }))
}

pub fn read_directory_entry(
    host: &mut Host<'_>,
    (stream,): (Resource<EntryStream>,),
) -> Outcome<Option<Val>> {
    let stream = host.table().get_mut(&stream)?;
    if stream.read.as_slice().is_empty() {
        // At the end nothing is kept.
        stream.read = stream.folder.read()?.into_iter();
    }
    let Some(entry) = stream.read.next() else { return Ok(None) };
    let name = String::from_utf8(entry.name).map_err(|_| Errno::ILSEQ)?;
    let fields = [("type", type_of(entry.filetype)), ("name", Val::String(name))];
    Ok(Some(Val::Record(fields.map(|(name, value)| (name.to_owned(), value)).into())))
}

pub fn create_directory_at(host: &mut Host<'_>, (of, name): (File, String)) -> Outcome<()> {
    folder(host, &of)?.create_dir(path(&name)?)
}

pub fn remove_directory_at(host: &mut Host<'_>, (of, name): (File, String)) -> Outcome<()> {
    folder(host, &of)?.remove_dir(path(&name)?.to_owned())
}

pub fn unlink_file_at(host: &mut Host<'_>, (of, name): (File, String)) -> Outcome<()> {
    folder(host, &of)?.remove_file(path(&name)?)
}

pub fn symlink_at(host: &mut Host<'_>, (of, target, name): (File, String, String)) -> Outcome<()> {
    folder(host, &of)?.symlink(path(&target)?, path(&name)?)
}

pub fn readlink_at(host: &mut Host<'_>, (of, name): (File, String)) -> Outcome<String> {
    let target = folder(host, &of)?.dir.read_link(path(&name)?)?;
    target.into_os_string().into_string().map_err(|_| Errno::ILSEQ.into())
}

/// Returns two folders.
fn folders<'h>(host: &'h mut Host<'_>, from: &File, to: &File) -> Outcome<(&'h Folder, &'h Folder)> {
    let table = &*host.table();
    match (&table.get(from)?.what, &table.get(to)?.what) {
        (What::Folder(from), What::Folder(to)) => Ok((from, to)),
        _ => Err(Errno::NOTDIR.into()),
    }
}

pub fn link_at(
    host: &mut Host<'_>,
    (of, flags, name, to, new_name): (File, Val, String, File, String),
) -> Outcome<()> {
    let (from, to) = folders(host, &of, &to)?;
    from.hard_link(path(&name)?, has(&flags, "symlink-follow"), (to, path(&new_name)?))
}

pub fn rename_at(host: &mut Host<'_>, (of, name, to, new_name): (File, String, File, String)) -> Outcome<()> {
    let (from, to) = folders(host, &of, &to)?;
    from.rename(path(&name)?, (to, path(&new_name)?))
}

pub fn open_at(
    host: &mut Host<'_>,
    (of, path_flags, name, open_flags, flags): (File, Val, String, Val, Val),
) -> Outcome<File> {
    let (how, path) = (how(&path_flags, &open_flags, &flags)?, path(&name)?);
    let Host { guest, system } = host;
    let open = system.descriptors.charge()?;
    let opened = match &table(system).get(&of)?.what {
        What::Folder(folder) => how.open(guest, folder, path)?,
        _ => return Err(Errno::NOTDIR.into()),
    };
    Ok(table(system).push(Descriptor { _open: Some(open), ..opened })?)
}

/// Decodes how a file is to be opened from the flags of WASI 0.2.
fn how(path_flags: &Val, open_flags: &Val, flags: &Val) -> Result<How, Errno> {
    let opens = |name| has(open_flags, name);
    let is_folder = opens("directory");
    if is_folder && (opens("create") || opens("exclusive") || opens("truncate")) {
        return Err(Errno::INVAL);
    }
    let sync = [
        ("file-integrity-sync", fdflags::SYNC),
        ("data-integrity-sync", fdflags::DSYNC),
        ("requested-write-sync", fdflags::RSYNC),
    ];
    let sync = sync.into_iter().filter(|(name, _)| has(flags, name)).fold(0, |all, (_, flag)| all | flag);
    let writes = has(flags, "write");
    Ok(How {
        follows: has(path_flags, "symlink-follow"),
        creates: opens("create"),
        is_exclusive: opens("exclusive"),
        truncates: opens("truncate"),
        is_folder,
        reads: has(flags, "read") || !writes,
        writes,
        flags: sync,
    })
}
