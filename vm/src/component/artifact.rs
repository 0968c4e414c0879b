//! Components compiled ahead of time.
//!
//! An artifact holds the component and the code of its core modules and adapters; the plan that links them is made anew at
//! load, and each module of it takes the code of its hash. So adapters that another configuration does without are left
//! out, and what the artifact lacks is compiled when it is called.

use std::path::Path;
use std::sync::Arc;

use wprof_jit::code::stand_ins::StandIns;
use wprof_jit::module::ModuleBytes;
use wprof_profiler::Profile;

use super::Component;
use crate::artifact::CodeSource;
use crate::module::{Loaded, artifact_contents, check_size, compile_ahead, mapped};
use crate::{Config, Engine, Module, OwnArtifacts, Precompiled, Result};

impl Engine {
    /// Compiles a component ahead of time, from the binary format or, with feature `wat`, the text format, as
    /// [`precompile_module`](Engine::precompile_module) does modules: all functions of its core modules, and of the
    /// adapters between them. [`Component::deserialize`] loads the result, in this process or in another with the same
    /// program, processor and settings.
    ///
    /// # Errors
    /// Returns an error as [`Component::new`] and [`Engine::precompile_module`] do.
    pub fn precompile_component(&self, bytes: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        precompile(self, bytes.as_ref(), self.config().clone())
    }

    /// Compiles a component ahead of time with an earlier profile of it, or of one of its core modules, as
    /// [`precompile_module_with`](Engine::precompile_module_with) does modules.
    ///
    /// # Errors
    /// Returns an error as [`Engine::precompile_component`] does, and if the profile belongs to none of its modules.
    pub fn precompile_component_with(
        &self,
        bytes: impl AsRef<[u8]>,
        profile: Arc<Profile>,
    ) -> Result<Vec<u8>> {
        let mut config = self.config().clone();
        config.profile_use(profile);
        precompile(self, bytes.as_ref(), config)
    }
}

fn precompile(engine: &Engine, bytes: &[u8], config: Config) -> Result<Vec<u8>> {
    check_size(engine, bytes.len() as u64)?;
    compile_ahead(engine, config, Precompiled::Component, |own, stand_ins| {
        let component = with_stand_ins(own, bytes.into(), stand_ins)?;
        let modules = component.all_modules().map(|module| (module.clone(), None));
        Ok(Loaded { bytes: component.shared_bytes().clone(), modules: modules.collect() })
    })
}

fn with_stand_ins(own: &Engine, bytes: ModuleBytes, stand_ins: StandIns) -> Result<Component> {
    Component::load(own, bytes, &mut CodeSource::StandIns(stand_ins))
}

impl Component {
    /// Compiles the component ahead of time, as [`Engine::precompile_component`] does, with all that is known of its
    /// core modules by now: from the bursts of this process, or from an earlier profile.
    ///
    /// # Errors
    /// Returns an error as [`Engine::precompile_component`] does.
    pub fn serialize(&self) -> Result<Vec<u8>> {
        let engine = self.engine();
        compile_ahead(engine, engine.config().clone(), Precompiled::Component, |own, stand_ins| {
            let component = with_stand_ins(own, self.shared_bytes().clone(), stand_ins)?;
            let known = self.all_modules().map(|module| module.inner().advice());
            let modules = component.all_modules().cloned().zip(known).collect();
            Ok(Loaded { bytes: self.shared_bytes().clone(), modules })
        })
    }

    /// Loads a component that was compiled ahead of time. No function is compiled again: each is published at its
    /// first call.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a compiled component, are damaged, or were compiled by another build of
    /// this program, for another processor or with other settings; otherwise as [`Component::new`].
    ///
    /// # Safety
    /// As [`Module::deserialize`]: the bytes contain machine code, which runs with all the rights of this process. The
    /// caller guarantees that they are the output of [`Engine::precompile_component`] or [`Component::serialize`], kept
    /// where nobody else can write.
    #[expect(unsafe_code, reason = "the caller vouches for machine code")]
    pub unsafe fn deserialize(engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Component> {
        load(engine, &bytes.as_ref().into())
    }

    /// Loads a component from a file that was compiled ahead of time. The component's bytes are not copied: the file
    /// stays mapped as long as the component is used.
    ///
    /// # Errors
    /// Returns an error as [`Component::deserialize`] does, and if the file cannot be read.
    ///
    /// # Safety
    /// As [`Component::deserialize`]. In addition, the caller guarantees that the file is neither written to nor
    /// truncated while the component, a clone, a module or an instance of it exists. The file may be removed or
    /// replaced by another.
    #[expect(unsafe_code, reason = "the caller vouches for machine code, and for the file")]
    pub unsafe fn deserialize_file(engine: &Engine, path: impl AsRef<Path>) -> Result<Component> {
        let path = path.as_ref();
        // SAFETY: the caller guarantees that nobody writes to the file.
        let mapped = unsafe { mapped(path) };
        mapped.and_then(|bytes| load(engine, &bytes)).map_err(|e| e.context(path.display()))
    }

    /// Returns the core modules, each only once, and behind them those of adapters.
    fn all_modules(&self) -> impl Iterator<Item = &Module> {
        let modules = self.modules();
        let is_first = |(index, module): &(usize, &Module)| !modules[..*index].iter().any(|m| m.is(module));
        modules.iter().enumerate().filter(is_first).map(|(_, module)| module).chain(self.adapters())
    }
}

/// Loads the artifact of a component; the caller vouches for its origin.
fn load(engine: &Engine, artifact: &ModuleBytes) -> Result<Component> {
    let (bytes, codes) = artifact_contents(engine, Precompiled::Component, artifact)?;
    Component::load(engine, bytes, &mut CodeSource::Artifact(codes))
}

impl OwnArtifacts {
    /// Compiles a component ahead of time, as [`Engine::precompile_component`] does, and records its hash.
    ///
    /// # Errors
    /// Returns an error as [`Engine::precompile_component`] does, and if the folder cannot be written to.
    pub fn precompile_component(&self, engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        self.record(engine.precompile_component(bytes)?)
    }

    /// Loads a compiled component from a file.
    ///
    /// # Errors
    /// Returns an error if the hash of the file is not recorded or the file cannot be read; and as
    /// [`Component::deserialize`].
    pub fn load_component(&self, engine: &Engine, path: impl AsRef<Path>) -> Result<Component> {
        let path = path.as_ref();
        let loaded = self.recorded(path).and_then(|bytes| load(engine, &bytes));
        loaded.map_err(|e| e.context(path.display()))
    }
}
