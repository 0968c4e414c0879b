//! What is done to what paths lead to. All go through the folder that they are relative to, which lets none out.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt;
use rustix::io::Errno;

use super::attributes::{Attributes, NewTime};
use super::fail::Outcome;
use super::folder::Folder;

impl Folder {
    /// Makes a folder.
    ///
    /// # Errors
    /// The system's; if nothing may be changed in here. So it is with all that change something.
    pub fn create_dir(&self, path: &Path) -> Outcome {
        self.check_writable()?;
        Ok(self.dir.create_dir(path)?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// As [`Folder::create_dir`].
    pub fn remove_dir(&self, path: PathBuf) -> Outcome {
        self.check_writable()?;
        // A slash says no more than that it is a folder, which anything else is refused for anyway.
        Ok(self.dir.remove_dir(without_slashes(path))?)
    }

    /// Removes what is no folder.
    ///
    /// # Errors
    /// As [`Folder::create_dir`].
    pub fn remove_file(&self, path: &Path) -> Outcome {
        self.check_writable()?;
        Ok(self.dir.remove_file(path)?)
    }

    /// The attributes of what a path leads to; a symbolic link at its end is followed or not.
    ///
    /// # Errors
    /// The system's.
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
    /// As [`Folder::create_dir`].
    pub fn set_times(&self, path: &Path, follows: bool, times: [NewTime; 2]) -> Outcome {
        self.check_writable()?;
        let [accessed, modified] = times.map(NewTime::of_path);
        match follows || is_of_folder(path) {
            true => self.dir.set_times(path, accessed, modified)?,
            false => self.dir.set_symlink_times(path, accessed, modified)?,
        }
        Ok(())
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    /// As [`Folder::create_dir`]; if a symbolic link is to be followed: that could lead to what is not in a folder of the
    /// program's.
    pub fn hard_link(&self, path: &Path, follows: bool, (to, new_path): (&Folder, &Path)) -> Outcome {
        if follows {
            return Err(Errno::INVAL.into());
        }
        self.check_writable()?;
        to.check_writable()?;
        Ok(self.dir.hard_link(path, &to.dir, new_path)?)
    }

    /// Gives a file another name.
    ///
    /// # Errors
    /// As [`Folder::create_dir`].
    pub fn rename(&self, path: &Path, (to, new_path): (&Folder, &Path)) -> Outcome {
        self.check_writable()?;
        to.check_writable()?;
        Ok(self.dir.rename(path, &to.dir, new_path)?)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// As [`Folder::create_dir`].
    pub fn symlink(&self, target: &Path, path: &Path) -> Outcome {
        self.check_writable()?;
        Ok(self.dir.symlink(target, path)?)
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
