//! Operations on files at paths. All of them go through the folder that the path is relative to, which confines
//! them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt;
use rustix::io::Errno;

use super::attributes::{Attributes, NewTime};
use super::fail::Outcome;
use super::folder::Folder;

impl Folder {
    /// Creates a folder.
    ///
    /// # Errors
    /// Returns the errors of the system, and an error if nothing in this folder may be changed. The same holds
    /// for all functions that change something.
    pub fn create_dir(&self, path: &Path) -> Outcome {
        self.check_writable()?;
        Ok(self.dir.create_dir(path)?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// Returns an error as [`Folder::create_dir`] does.
    pub fn remove_dir(&self, path: PathBuf) -> Outcome {
        self.check_writable()?;
        // A trailing slash only requires a folder, and this call refuses everything else anyway.
        Ok(self.dir.remove_dir(without_slashes(path))?)
    }

    /// Removes a file that is not a folder.
    ///
    /// # Errors
    /// Returns an error as [`Folder::create_dir`] does.
    pub fn remove_file(&self, path: &Path) -> Outcome {
        self.check_writable()?;
        Ok(self.dir.remove_file(path)?)
    }

    /// Returns the attributes of the file at a path; `follows` tells whether a symbolic link at its end is
    /// followed.
    ///
    /// # Errors
    /// Returns the errors of the system.
    pub fn attributes(&self, path: &Path, follows: bool) -> Outcome<Attributes> {
        let metadata = match follows || is_of_folder(path) {
            true => self.dir.metadata(path)?,
            false => self.dir.symlink_metadata(path)?,
        };
        let attributes = Attributes::of_path(&metadata);
        if is_of_folder(path) && !attributes.is_folder() {
            return Err(Errno::NOTDIR.into());
        }
        Ok(attributes)
    }

    /// Sets the times of access and modification.
    ///
    /// # Errors
    /// Returns an error as [`Folder::create_dir`] does.
    pub fn set_times(&self, path: &Path, follows: bool, times: [NewTime; 2]) -> Outcome {
        self.check_writable()?;
        let [accessed, modified] = times.map(NewTime::of_path);
        match follows || is_of_folder(path) {
            true => self.dir.set_times(path, accessed, modified)?,
            false => self.dir.set_symlink_times(path, accessed, modified)?,
        }
        Ok(())
    }

    /// Adds a name to a file.
    ///
    /// # Errors
    /// Returns an error as [`Folder::create_dir`] does, and if a symbolic link is to be followed, because that
    /// could lead out of the program's folders.
    pub fn hard_link(&self, path: &Path, follows: bool, (to, new_path): (&Folder, &Path)) -> Outcome {
        if follows {
            return Err(Errno::INVAL.into());
        }
        self.check_writable()?;
        to.check_writable()?;
        Ok(self.dir.hard_link(path, &to.dir, new_path)?)
    }

    /// Renames a file.
    ///
    /// # Errors
    /// Returns an error as [`Folder::create_dir`] does.
    pub fn rename(&self, path: &Path, (to, new_path): (&Folder, &Path)) -> Outcome {
        self.check_writable()?;
        to.check_writable()?;
        Ok(self.dir.rename(path, &to.dir, new_path)?)
    }

    /// Creates a symbolic link.
    ///
    /// # Errors
    /// Returns an error as [`Folder::create_dir`] does.
    pub fn symlink(&self, target: &Path, path: &Path) -> Outcome {
        self.check_writable()?;
        Ok(self.dir.symlink(target, path)?)
    }
}

/// Returns whether a path can only lead to a folder. The sandbox ignores a trailing slash, or a dot behind one.
fn is_of_folder(path: &Path) -> bool {
    let path = path.as_os_str().as_encoded_bytes();
    path.ends_with(b"/") || path.ends_with(b"/.")
}

/// Removes the slashes at the end of a path.
fn without_slashes(path: PathBuf) -> PathBuf {
    let mut bytes = path.into_os_string().into_vec();
    while bytes.len() > 1 && bytes.ends_with(b"/") {
        bytes.pop();
    }
    PathBuf::from(OsString::from_vec(bytes))
}
