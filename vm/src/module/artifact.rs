//! Modules compiled ahead of time: compiled from a module, kept by the embedder, loaded later.

use std::fs::File;
use std::hash::Hash;
use std::io::Read;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use wprof_jit::code::stand_ins::{FIRST, SECOND, StandIns};
use wprof_jit::module::ModuleBytes;
use wprof_jit::parallel::share_out;
use wprof_jit::reoptimize::Advice;
use wprof_profiler::Profile;

use super::profiles::Owner;
use super::{Kept, ModuleInner};
use crate::artifact::{self, Codes, MadeFor, Precompiled};
use crate::code_cache::{CachedFunction, CachedModule, Placed};
use crate::runtime::linear_memory::mapped_file::MappedFile;
use crate::{Config, Engine, Error, ErrorKind, Module, Result};

impl Engine {
    /// Returns what these bytes were compiled to ahead of time, by how they begin; `None` if they were not.
    pub fn detect_precompiled(bytes: &[u8]) -> Option<Precompiled> {
        artifact::kind(bytes)
    }

    /// Returns what the file contains that was compiled ahead of time, by how it begins; `None` if it was not.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn detect_precompiled_file(path: impl AsRef<Path>) -> Result<Option<Precompiled>> {
        let (path, mut head) = (path.as_ref(), Vec::with_capacity(artifact::HEAD));
        File::open(path)
            .and_then(|file| file.take(artifact::HEAD as u64).read_to_end(&mut head))
            .map_err(|e| Error::with_source(ErrorKind::System, Box::new(e)).context(path.display()))?;
        Ok(artifact::kind(&head))
    }

    /// Returns a value whose hash identifies what this engine compiles code for: modules that one engine has compiled ahead
    /// of time can be loaded by those that return an equal one. So it may be a part of the name under which an embedder
    /// keeps such modules. Loading them checks it again. If the program cannot be identified, nothing can be compiled ahead,
    /// and the value says only that.
    pub fn precompile_compatibility_hash(&self) -> impl Hash + use<> {
        MadeFor::new(self).ok()
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
        compile_module(self, bytes.as_ref(), self.config().clone(), None)
    }

    /// Compiles a module ahead of time with an earlier profile of it: hot functions get superblocks, inlined
    /// calls and guessed callees, as by [`Config::profile_use`](crate::Config::profile_use).
    ///
    /// # Errors
    /// Returns an error as [`Engine::precompile_module`] does, and if the profile belongs to another module.
    pub fn precompile_module_with(&self, bytes: impl AsRef<[u8]>, profile: Arc<Profile>) -> Result<Vec<u8>> {
        let mut config = self.config().clone();
        config.profile_use(profile);
        compile_module(self, bytes.as_ref(), config, None)
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
        compile_module(engine, &self.bytes()?, engine.config().clone(), advice)
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
        load(engine, bytes.as_ref().into(), None)
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
        let mapped = unsafe { mapped(path) };
        mapped.and_then(|bytes| load(engine, bytes, Some(path))).map_err(|e| e.context(path.display()))
    }

    /// Returns whether these bytes begin like a module that was compiled ahead of time.
    pub fn is_precompiled(bytes: &[u8]) -> bool {
        artifact::kind(bytes) == Some(Precompiled::Module)
    }
}

/// Maps the file of an artifact.
///
/// # Errors
/// Returns an error if the file cannot be read.
///
/// # Safety
/// The file is neither written to nor truncated as long as the bytes exist.
#[expect(unsafe_code, reason = "the caller vouches for the file")]
pub(crate) unsafe fn mapped(path: &Path) -> Result<ModuleBytes> {
    // SAFETY: the caller guarantees that nobody writes to the file.
    let mapped = unsafe { MappedFile::open(path) };
    let mapped = mapped.map_err(|e| Error::with_source(ErrorKind::System, Box::new(e)))?;
    Ok(ModuleBytes::kept_by(Arc::new(mapped)))
}

/// Returns the program in an artifact, and its code; the caller vouches for its origin.
///
/// # Errors
/// Returns an error as [`artifact::read`] does, and if the program is larger than the configuration allows.
pub(crate) fn contents(
    engine: &Engine,
    kind: Precompiled,
    artifact: &ModuleBytes,
) -> Result<(ModuleBytes, Codes)> {
    let (program, codes) = artifact::read(&MadeFor::new(engine)?, kind, artifact)?;
    super::check_size(engine, program.len() as u64)?;
    Ok((part(artifact, program), codes))
}

/// Loads the artifact of a module; the caller vouches for its origin.
pub(super) fn load(engine: &Engine, artifact: ModuleBytes, file: Option<&Path>) -> Result<Module> {
    let (bytes, codes) = contents(engine, Precompiled::Module, &artifact)?;
    Module::load_with(engine, bytes.into(), file, (Kept::Artifact(codes.only()?), Owner::None))
}

/// Returns a range of bytes, which keeps all of them; nothing if they end before it does.
pub(crate) fn part(of: &ModuleBytes, range: Range<usize>) -> ModuleBytes {
    ModuleBytes::kept_by(Arc::new(Part { of: of.clone(), range }))
}

struct Part {
    of: ModuleBytes,
    range: Range<usize>,
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.of.get(self.range.clone()).unwrap_or_default()
    }
}

fn compile_module(
    engine: &Engine,
    bytes: &[u8],
    config: Config,
    advice: Option<Arc<Advice>>,
) -> Result<Vec<u8>> {
    super::check_size(engine, bytes.len() as u64)?;
    compile(engine, config, Precompiled::Module, |own, stand_ins| {
        let kept = (Kept::StandIns(stand_ins), Owner::None);
        let module = Module::load_with(own, ModuleBytes::from(bytes).into(), None, kept)?;
        let bytes = module.info().bytes.clone();
        Ok(Loaded { bytes, modules: vec![(module, advice.clone())] })
    })
}

/// A program that was loaded to be compiled.
pub(crate) struct Loaded {
    /// The program in the binary format.
    pub bytes: ModuleBytes,
    /// Its modules, with what is known of them besides the configuration's profile.
    pub modules: Vec<(Module, Option<Arc<Advice>>)>,
}

/// Compiles a program twice, once with each set of stand-ins, in an engine of its own, so that the background
/// compilation of the given engine does not interfere.
///
/// # Errors
/// Returns an error if code cannot be compiled ahead with this configuration, and as `load` and
/// [`Module::compile_all`] do.
pub(crate) fn compile(
    engine: &Engine,
    mut config: Config,
    kind: Precompiled,
    load: impl Fn(&Engine, StandIns) -> Result<Loaded> + Sync,
) -> Result<Vec<u8>> {
    if config.weights.is_some() || config.paths.interesting.is_some() {
        let message = "code depends on weights and interesting paths: compile ahead without them";
        return Err(Error::new(ErrorKind::Artifact, message));
    }
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
        let loaded = load(&own, stand_ins)?;
        for (module, advice) in &loaded.modules {
            module.inner().code.set_advice(advice.clone());
            module.compile_all()?;
            module.inner().prepare_trampolines()?;
        }
        Ok(loaded)
    });
    let compiled = compiled.into_iter().collect::<Result<Vec<Loaded>>>()?;
    let [first, second] = &compiled[..] else { unreachable!("one for each") };
    let code = |((first, _), (second, _)): (&(Module, _), &(Module, _))| {
        (first.hash(), compared(first.inner().snapshot(), second.inner().snapshot()))
    };
    let codes = first.modules.iter().zip(&second.modules).map(code).collect();
    artifact::write(&made_for, kind, &first.bytes, &Codes::new(codes))
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
