//! Artifacts that need nobody to vouch for them, because this user compiled them on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use wprof_jit::module::ModuleBytes;

use super::artifact;
use crate::artifact::refused;
use crate::code_cache::{hash_name, private_folder};
use crate::{Config, Engine, Error, ErrorKind, Module, Result};

/// Modules and components that this user has compiled ahead of time on this machine. A folder that only the user can write to
/// records the hash of each, so that they can be loaded without `unsafe`, wherever the files have been in the
/// meantime.
///
/// ```
/// # fn main() -> wprof::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let (folder, file) = (folder.path().join("own"), folder.path().join("m.cwasm"));
/// use wprof::{Engine, OwnArtifacts};
///
/// let engine = Engine::default();
/// let own = OwnArtifacts::open(&folder)?;
/// std::fs::write(&file, own.precompile_module(&engine, "(module (func (export \"f\")))")?)?;
/// assert!(own.load(&engine, &file)?.get_export("f").is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OwnArtifacts {
    folder: PathBuf,
}

impl OwnArtifacts {
    /// Opens the artifacts recorded in `folder`, which is created if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created, or others may write to it.
    pub fn open(folder: impl AsRef<Path>) -> Result<OwnArtifacts> {
        let folder = folder.as_ref();
        let found = private_folder(folder).map(|folder| OwnArtifacts { folder });
        let name = folder.display();
        found.ok_or_else(|| refused(format_args!("{name} must be a folder that only the user can write to")))
    }

    /// Opens the artifacts of the user, recorded beside [`Config::default_code_cache`].
    ///
    /// # Errors
    /// Returns an error as [`OwnArtifacts::open`] does, and if the environment names no cache folder.
    pub fn of_user() -> Result<OwnArtifacts> {
        let caches = Config::user_caches().ok_or_else(|| refused("HOME is not set"))?;
        OwnArtifacts::open(caches.join("compiled"))
    }

    /// Compiles a module ahead of time, as [`Engine::precompile_module`] does, and records its hash.
    ///
    /// # Errors
    /// Returns an error as [`Engine::precompile_module`] does, and if the folder cannot be written to.
    pub fn precompile_module(&self, engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        self.record(engine.precompile_module(bytes)?)
    }

    /// Loads a compiled module from a file.
    ///
    /// # Errors
    /// Returns an error if the hash of the file is not recorded or the file cannot be read; and as
    /// [`Module::deserialize`].
    pub fn load(&self, engine: &Engine, path: impl AsRef<Path>) -> Result<Module> {
        let path = path.as_ref();
        let loaded = self.recorded(path).and_then(|bytes| artifact::load(engine, bytes, Some(path)));
        loaded.map_err(|e| e.context(path.display()))
    }

    /// Records the hash of an artifact.
    pub(crate) fn record(&self, artifact: Vec<u8>) -> Result<Vec<u8>> {
        fs::write(self.folder.join(hash_name(&artifact)), [])
            .map_err(|e| Error::system("cannot remember compiled code", e))?;
        Ok(artifact)
    }

    /// Reads an artifact whose hash is recorded.
    pub(crate) fn recorded(&self, path: &Path) -> Result<ModuleBytes> {
        let bytes = fs::read(path).map_err(|e| Error::with_source(ErrorKind::System, Box::new(e)))?;
        match self.folder.join(hash_name(&bytes)).exists() {
            true => Ok(bytes.into()),
            false => Err(refused("it was not made by this user on this machine: compile it here")),
        }
    }
}
