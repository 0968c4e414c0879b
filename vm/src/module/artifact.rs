//! Modules compiled ahead of time: compiled from a module, kept by the embedder, loaded later.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use wprof_jit::code::stand_ins::{FIRST, SECOND, StandIns};
use wprof_jit::module::ModuleBytes;
use wprof_jit::parallel::share_out;
use wprof_jit::reoptimize::Advice;
use wprof_profiler::Profile;

use super::profiles::Owner;
use super::{Kept, ModuleInner};
use crate::artifact::{self, MadeFor};
use crate::code_cache::{CachedFunction, CachedModule, Placed};
use crate::runtime::linear_memory::mapped_file::MappedFile;
use crate::{Config, Engine, Error, ErrorKind, Module, Result};

/// What was compiled ahead of time: see [`Engine::detect_precompiled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precompiled {
    /// A module.
    Module,
}

impl Engine {
    /// Returns what these bytes were compiled to ahead of time, by how they begin; `None` if they were not.
    pub fn detect_precompiled(bytes: &[u8]) -> Option<Precompiled> {
        artifact::is_artifact(bytes).then_some(Precompiled::Module)
    }

    /// Compiles a module ahead of time, from the binary format or, with feature `wat`, the text format. All
    /// functions are compiled, optimised, twice each. [`Module::deserialize`] loads the result, in this process
    /// or in another with the same program, processor and settings.
    ///
    /// # Errors
    /// Returns an error as [`Module::new`] and [`Module::compile_all`] do, and if the engine has
    /// [`Config::weights`](crate::Config::weights) or
    /// [`Config::interesting_paths`](crate::Config::interesting_paths), because code depends on them.
    pub fn precompile_module(&self, bytes: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        compile(self, bytes.as_ref(), self.config().clone(), None)
    }

    /// Compiles a module ahead of time with an earlier profile of it: hot functions get superblocks, inlined
    /// calls and guessed callees, as by [`Config::profile_use`](crate::Config::profile_use).
    ///
    /// # Errors
    /// Returns an error as [`Engine::precompile_module`] does, and if the profile belongs to another module.
    pub fn precompile_module_with(&self, bytes: impl AsRef<[u8]>, profile: Arc<Profile>) -> Result<Vec<u8>> {
        let mut config = self.config().clone();
        config.profile_use(profile);
        compile(self, bytes.as_ref(), config, None)
    }
}

impl Module {
    /// Compiles the module ahead of time, as [`Engine::precompile_module`] does, with all that is known of it by
    /// now: from the bursts of this process, or from an earlier profile.
    ///
    /// # Errors
    /// Returns an error as [`Engine::precompile_module`] does, and if the module's file can no longer be read.
    pub fn serialize(&self) -> Result<Vec<u8>> {
        let (engine, advice) = (self.engine(), self.inner().advice());
        compile(engine, &self.bytes()?, engine.config().clone(), advice)
    }

    /// Loads a module that was compiled ahead of time. No function is compiled again: each is published at its
    /// first call.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a compiled module, are damaged, or were compiled by another build of
    /// this program, for another processor or with other settings; otherwise as [`Module::new`].
    ///
    /// # Safety
    /// The bytes contain machine code, which runs with all the rights of this process. The hashes detect
    /// accidents, not intent: the caller guarantees that the bytes are the output of
    /// [`Engine::precompile_module`] or [`Module::serialize`], kept where nobody else can write.
    #[expect(unsafe_code, reason = "the caller vouches for machine code")]
    pub unsafe fn deserialize(engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Module> {
        load(engine, Arc::new(bytes.as_ref().to_vec()), None)
    }

    /// Loads a module from a file that was compiled ahead of time. The module's bytes are not copied: the file
    /// stays mapped as long as the module is used.
    ///
    /// # Errors
    /// Returns an error as [`Module::deserialize`] does, and if the file cannot be read.
    ///
    /// # Safety
    /// As [`Module::deserialize`]. In addition, the caller guarantees that the file is neither written to nor
    /// truncated while the module, a clone or an instance of it exists. The file may be removed or replaced by
    /// another.
    #[expect(unsafe_code, reason = "the caller vouches for machine code, and for the file")]
    pub unsafe fn deserialize_file(engine: &Engine, path: impl AsRef<Path>) -> Result<Module> {
        let path = path.as_ref();
        // SAFETY: the caller guarantees that nobody writes to the file.
        let mapped = unsafe { MappedFile::open(path) };
        let mapped = mapped.map_err(|e| Error::with_source(ErrorKind::System, Box::new(e)));
        let load = |file| load(engine, Arc::new(file), Some(path));
        mapped.and_then(load).map_err(|e| e.context(path.display()))
    }

    /// Returns whether these bytes begin like a module that was compiled ahead of time.
    pub fn is_precompiled(bytes: &[u8]) -> bool {
        artifact::is_artifact(bytes)
    }
}

/// Loads an artifact; the caller vouches for its origin.
pub(super) fn load<B>(engine: &Engine, owner: Arc<B>, file: Option<&Path>) -> Result<Module>
where
    B: Deref<Target = [u8]> + Send + Sync + 'static,
{
    let (module, code) = artifact::read(&MadeFor::new(engine)?, &owner)?;
    super::check_size(engine, module.len() as u64)?;
    let bytes = ModuleBytes::kept_by(Arc::new(Part { owner, range: module }));
    Module::load_with(engine, bytes.into(), file, (Kept::Artifact(code), Owner::None))
}

/// A range of the bytes that `owner` holds.
struct Part<B> {
    owner: Arc<B>,
    range: std::ops::Range<usize>,
}

impl<B: Deref<Target = [u8]>> Deref for Part<B> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.owner[self.range.clone()]
    }
}

/// Compiles a module twice, once with each set of stand-ins, in an engine of its own, so that the background
/// compilation of the given engine does not interfere.
fn compile(
    engine: &Engine,
    bytes: &[u8],
    mut config: Config,
    advice: Option<Arc<Advice>>,
) -> Result<Vec<u8>> {
    if config.weights.is_some() || config.paths.interesting.is_some() {
        let message = "code depends on weights and interesting paths: compile ahead without them";
        return Err(Error::new(ErrorKind::Artifact, message));
    }
    super::check_size(engine, bytes.len() as u64)?;
    config.background_compilation(false);
    (config.files.code_cache, config.perf) = (None, None);
    let own = Engine::new(&config)?;
    let made_for = MadeFor::new(engine)?;
    if made_for != MadeFor::new(&own)? {
        return Err(Error::new(
            ErrorKind::Artifact,
            "these settings of the engine do not allow to compile ahead",
        ));
    }
    let compiled = share_out(vec![FIRST, SECOND], |stand_ins: StandIns| {
        let module = Module::load_with(
            &own,
            ModuleBytes::from(bytes).into(),
            None,
            (Kept::StandIns(stand_ins), Owner::None),
        )?;
        module.inner().code.set_advice(advice.clone());
        module.compile_all()?;
        module.inner().prepare_trampolines()?;
        Ok(module)
    });
    let compiled = compiled.into_iter().collect::<Result<Vec<Module>>>()?;
    let [first, second] = &compiled[..] else { unreachable!("one for each") };
    let code = compared(first.inner().snapshot(), second.inner().snapshot());
    artifact::write(&made_for, &first.info().bytes, &code)
}

/// Returns the code of a module with the places of its stand-ins. Functions whose stand-ins cannot be located are
/// left out and compiled when they are called.
fn compared(first: CachedModule<Placed>, second: CachedModule<Placed>) -> CachedModule<Placed> {
    let is_planned_alike =
        first.counters == second.counters && first.functions.len() == second.functions.len();
    let functions = first.functions.into_iter().zip(second.functions).filter(|_| is_planned_alike);
    let function = |(first, second): (CachedFunction<Placed>, CachedFunction<Placed>)| {
        let is_same =
            (first.row, first.known, first.is_left_soon) == (second.row, second.known, second.is_left_soon);
        let code = first.code.compared(&second.code).filter(|_| is_same)?;
        Some(CachedFunction { code, ..first })
    };
    CachedModule { functions: functions.filter_map(function).collect(), ..first }
}

impl ModuleInner {
    /// Compiles the trampolines that hosts are likely to need: those of the types of escaping and of imported
    /// functions.
    fn prepare_trampolines(&self) -> Result<()> {
        let core = self.engine.core();
        let entry = |func: u32| &self.types[self.info.funcs[func as usize] as usize];
        for &func in &self.info.escaped_funcs {
            core.host_to_wasm(entry(func))?;
        }
        (0..self.info.imported_funcs).try_for_each(|func| core.wasm_to_host(entry(func)).map(drop))
    }
}
