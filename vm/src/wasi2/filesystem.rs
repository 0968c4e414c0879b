//! `wasi:filesystem`.

use super::interface::{Context, Interface, drop_it};
use super::{attributes, directories, errors, files};
use crate::Result;
use crate::component::Linker;
use crate::wasi::descriptors::Descriptor;

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut preopens = Interface::new(linker, "wasi:filesystem/preopens", context)?;
    preopens.func("get-directories", directories::preopened)?;
    let mut all = Interface::new(linker, "wasi:filesystem/types", context)?;
    all.func("filesystem-error-code", errors::filesystem_error_code)?;
    all.resource::<Descriptor>("descriptor", drop_it)?;
    all.fallible("[method]descriptor.read-via-stream", files::read_via_stream)?;
    all.fallible("[method]descriptor.write-via-stream", files::write_via_stream)?;
    all.fallible("[method]descriptor.append-via-stream", files::append_via_stream)?;
    all.fallible("[method]descriptor.advise", files::advise)?;
    all.fallible("[method]descriptor.sync-data", files::sync_data)?;
    all.fallible("[method]descriptor.sync", files::sync)?;
    all.fallible("[method]descriptor.set-size", files::set_size)?;
    all.fallible("[method]descriptor.read", files::read)?;
    all.fallible("[method]descriptor.write", files::write)?;
    all.fallible("[method]descriptor.get-flags", attributes::get_flags)?;
    all.fallible("[method]descriptor.get-type", attributes::get_type)?;
    all.fallible("[method]descriptor.stat", attributes::stat)?;
    all.fallible("[method]descriptor.stat-at", attributes::stat_at)?;
    all.fallible("[method]descriptor.set-times", attributes::set_times)?;
    all.fallible("[method]descriptor.set-times-at", attributes::set_times_at)?;
    all.func("[method]descriptor.is-same-object", attributes::is_same_object)?;
    all.fallible("[method]descriptor.metadata-hash", attributes::metadata_hash)?;
    all.fallible("[method]descriptor.metadata-hash-at", attributes::metadata_hash_at)?;
    all.fallible("[method]descriptor.read-directory", directories::read_directory)?;
    all.fallible("[method]descriptor.create-directory-at", directories::create_directory_at)?;
    all.fallible("[method]descriptor.link-at", directories::link_at)?;
    all.fallible("[method]descriptor.open-at", directories::open_at)?;
    all.fallible("[method]descriptor.readlink-at", directories::readlink_at)?;
    all.fallible("[method]descriptor.remove-directory-at", directories::remove_directory_at)?;
    all.fallible("[method]descriptor.rename-at", directories::rename_at)?;
    all.fallible("[method]descriptor.symlink-at", directories::symlink_at)?;
    all.fallible("[method]descriptor.unlink-file-at", directories::unlink_file_at)?;
    all.resource::<directories::EntryStream>("directory-entry-stream", drop_it)?;
    let next = "[method]directory-entry-stream.read-directory-entry";
    all.fallible(next, directories::read_directory_entry)
}
