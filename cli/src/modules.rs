//! Modules from files, binary or text.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueHint};
use wprof::component::{Component, is_component};
use wprof::{Engine, Module, OwnArtifacts, Precompiled};
use wprof_profiler::{Callee, Profile};
use wprof_report::names;
// The code of a program, beside the contents of a file.
use wprof_report::Program as Code;

use crate::help;
use crate::{output, progress};

/// The stack size of a thread that compiles, in bytes, as that of the main thread.
const COMPILER_STACK: usize = 8 << 20;

/// The contents of a file.
pub enum Program {
    /// A module.
    Module(Module),
    /// A component, with core modules.
    Component(Component),
}

/// Loads and validates a module or component; a spinner on the terminal shows if that takes long.
///
/// # Errors
/// Returns an error if the file cannot be read or is invalid.
pub fn open(engine: &Engine, path: &Path) -> Result<Program> {
    let loading = format!("loading {}", short(path));
    let head = head_of(path);
    let load = || match &head {
        head if is_component(head) => Component::from_file(engine, path).map(Program::Component),
        head => match Engine::detect_precompiled(head) {
            Some(kind) => compiled_ahead(engine, path, kind),
            None => Module::from_file(engine, path).map(Program::Module),
        },
    };
    progress::during(&loading, load).map_err(failure)
}

/// Loads and validates a module; a spinner on the terminal shows if that takes long.
///
/// # Errors
/// Returns an error if the file cannot be read, is invalid, or is a component.
pub fn load(engine: &Engine, path: &Path) -> Result<Module> {
    match open(engine, path)? {
        Program::Module(module) => Ok(module),
        Program::Component(_) => {
            bail!("{} is a component: this command takes modules only", path.display())
        }
    }
}

/// Returns the core module of a component that the component's profile covers: the one with the most code, since the
/// others mostly adapt calls or hold data.
///
/// # Errors
/// Returns an error if the component has no core module.
pub fn main_module(component: &Component, path: &Path) -> Result<Module> {
    let size = |module: &&Module| {
        let info = module.info();
        let bodies = info.imported_funcs..info.imported_funcs + info.defined_funcs();
        bodies.map(|func| info.body(func).len()).sum::<usize>()
    };
    // `max_by_key` returns the last maximum, so this yields the first module of maximum size.
    let largest = component.modules().iter().rev().max_by_key(size);
    largest
        .cloned()
        .with_context(|| format!("{} has no core module, so it has nothing to run", path.display()))
}

/// Returns all core modules of a component in the order of their numbers: behind its own are those of adapters.
pub fn of_component(component: &Component) -> Vec<Module> {
    component.modules().iter().chain(component.adapters()).cloned().collect()
}

/// Reports whether two core modules have the same code, and the same names for their functions. What they differ in may be
/// their data.
pub fn are_alike(one: &Module, other: &Module) -> bool {
    let is_same = std::ptr::eq(one.info(), other.info());
    is_same || one.hash() == other.hash() && func_names(one).eq(func_names(other))
}

fn func_names(module: &Module) -> impl Iterator<Item = Option<&str>> {
    let info = module.info();
    (0..info.imported_funcs + info.defined_funcs()).map(|func| module.func_name(func))
}

/// Loads what `wprof compile` made for this user. Its code may do all that the user may, so files of other users are
/// rejected.
fn compiled_ahead(engine: &Engine, path: &Path, kind: Precompiled) -> wprof::Result<Program> {
    let own = OwnArtifacts::of_user()?;
    match kind {
        Precompiled::Component => own.load_component(engine, path).map(Program::Component),
        _ => own.load(engine, path).map(Program::Module),
    }
}

/// Returns the first bytes of a file; nothing for a file that can be read only once.
fn head_of(path: &Path) -> Vec<u8> {
    const HEAD: u64 = 1 << 12;
    let mut head = Vec::new();
    let read = |head: &mut Vec<u8>| -> io::Result<()> {
        // Opening a pipe would wait for a writer, and lose what it writes.
        if fs::metadata(path)?.is_file() {
            File::open(path)?.take(HEAD).read_to_end(head)?;
        }
        Ok(())
    };
    // The loader reports read errors.
    let _ = read(&mut head);
    head
}

/// Compiles all functions of a module that was at `path`, unless the deadline comes first; a bar on the terminal shows if
/// that takes long.
///
/// # Errors
/// Returns an error if a function is too large for the code generator.
pub fn compile(module: &Module, path: &Path, deadline: Option<Instant>) -> Result<()> {
    let compiling = format!("compiling {}", short(path));
    let functions = module.info().funcs.len() as u64 - u64::from(module.info().imported_funcs);
    let compiled = || module.compiled().0 as u64;
    let work = || match deadline {
        Some(deadline) => compile_until(module, deadline),
        None => module.compile_all(),
    };
    progress::during_counting(&compiling, functions, compiled, work).map_err(failure)
}

/// Compiles all functions of a module on another thread, and waits until the deadline: the code generator cannot be
/// interrupted. A thread that is late ends with the process.
fn compile_until(module: &Module, deadline: Instant) -> wprof::Result<()> {
    let (sender, receiver) = mpsc::channel();
    let all = module.clone();
    // The waiting thread may be gone.
    let compile = move || drop(sender.send(all.compile_all()));
    let thread = thread::Builder::new().name("compile".to_owned()).stack_size(COMPILER_STACK);
    if thread.spawn(compile).is_err() {
        return module.compile_all();
    }
    match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(done) => done,
        Err(RecvTimeoutError::Timeout) => Ok(()),
        // The thread panicked, as this one will.
        Err(RecvTimeoutError::Disconnected) => module.compile_all(),
    }
}

/// Returns a file name without its folders, which would leave no room for a bar.
pub fn short(path: &Path) -> String {
    names::harmless(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

/// The option of subcommands that look for the module themselves: only errors of these may advise it.
#[derive(Debug, Args)]
pub struct ModuleOption {
    /// The module that ran, for names and source lines [default: where it ran, or beside the file]
    #[arg(short, long, value_name = "MODULE", value_hint = ValueHint::FilePath, help_heading = help::INPUT)]
    module: Option<PathBuf>,
}

impl ModuleOption {
    /// Returns the path of a profile's module: as given, or where it was when it ran, or else beside the profile.
    pub fn path(&self, profile: &Profile, profile_path: &Path) -> PathBuf {
        self.module.clone().unwrap_or_else(|| locate(&profile.program, profile_path))
    }

    /// Loads the program of a profile, for commands that require it. The profile gets its names, which what ran may have
    /// lacked.
    ///
    /// # Errors
    /// Returns an error if the module is missing or invalid, or another one.
    pub fn needed(&self, profile: &mut Profile, profile_path: &Path) -> Result<Code> {
        let found = match &self.module {
            Some(path) => within(profile, path),
            None => {
                let found = locate(&profile.program, profile_path);
                checked(
                    RecordedModule::from_profile(profile),
                    &found,
                    "say with --module where the module that ran is",
                )
            }
        }?;
        let code = found.code();
        code.name_functions(profile);
        Ok(code)
    }

    /// Loads the program of a profile, if it was given or can be found without asking. The profile gets its names.
    ///
    /// # Errors
    /// Returns an error if the given module is not the profile's.
    pub fn at_hand(&self, profile: &mut Profile, profile_path: &Path) -> Result<Option<Code>> {
        let found = self.resolve(RecordedModule::from_profile(profile), &profile.program, profile_path)?;
        let code = found.map(|found| found.code());
        if let Some(code) = &code {
            code.name_functions(profile);
        }
        Ok(code)
    }

    /// Loads the module of any record of a run, which holds the module's hash and path.
    ///
    /// # Errors
    /// Returns an error under the conditions of [`ModuleOption::at_hand`].
    pub fn of_record(&self, (hash, program): ([u8; 32], &str), record: &Path) -> Result<Option<Module>> {
        Ok(self.resolve(RecordedModule { hash, profile: None }, program, record)?.map(|found| found.module))
    }

    fn resolve(&self, ran: RecordedModule<'_>, program: &str, record: &Path) -> Result<Option<Found>> {
        match &self.module {
            Some(path) => checked(ran, path, MISSING).map(Some),
            None => Ok(load_if_found(ran, program, record)),
        }
    }
}

/// Loads the program of a profile if it can be found without asking.
pub fn find_next_to(profile: &Profile, profile_path: &Path) -> Option<Code> {
    let found = load_if_found(RecordedModule::from_profile(profile), &profile.program, profile_path);
    found.map(|found| found.code())
}

fn load_if_found(ran: RecordedModule<'_>, program: &str, record: &Path) -> Option<Found> {
    checked(ran, &locate(program, record), MISSING).ok()
}

/// Returns the path of a record's module: where it was when it ran, or else beside the record.
fn locate(program: &str, record: &Path) -> PathBuf {
    let ran = PathBuf::from(program);
    let beside = ran.file_name().map(|name| record.with_file_name(name));
    beside.filter(|beside| !ran.exists() && beside.exists()).unwrap_or(ran)
}

/// The advice about debug information that a rewriting tool has left behind.
const DETACHED: &str = "its debug information has no addresses of its code: clang leaves zeros if it finds wasm-opt on its path \
     as it links; compile with -c and link apart, or use `clang --no-wasm-opt`";

/// Returns advice about debug information that a module refers to but that is missing, or that is of no use; `None` if
/// there is nothing to say.
pub fn missing_debug_info(module: &Module) -> Option<String> {
    if module.has_detached_debug_info() {
        return Some(DETACHED.to_owned());
    }
    let name = names::harmless(module.missing_debug_info()?);
    let file = name.rsplit('/').next().unwrap_or(&name);
    Some(match name.contains("://") {
        true => format!(
            "its debug information is at {name}, which wprof does not download: put {file} beside the module"
        ),
        false => {
            format!(
                "its debug information is in {name}, which does not exist or is too large: put it beside the module"
            )
        }
    })
}

/// Prints that advice on standard error, if there is any.
pub fn tell_missing_debug_info(code: Option<&Code>) {
    if let Some(advice) = code.and_then(|code| code.modules().find_map(missing_debug_info)) {
        output::tell_line(format_args!("wprof: no source lines: {advice}"));
    }
}

/// The advice of errors if a module is missing or is another one.
const MISSING: &str = "give the module that ran";

/// The known properties of the module that ran.
#[derive(Clone, Copy)]
struct RecordedModule<'a> {
    hash: [u8; 32],
    /// Its profile, if that is what is read. Its names tell modules apart that have the same code.
    profile: Option<&'a Profile>,
}

impl<'a> RecordedModule<'a> {
    fn from_profile(profile: &'a Profile) -> RecordedModule<'a> {
        RecordedModule { hash: profile.module_hash, profile: Some(profile) }
    }

    fn is(&self, module: &Module) -> bool {
        module.has_hash(&self.hash)
    }

    /// Returns the module that ran: of several with its code the first in which functions have its names.
    fn find(&self, all: Vec<Module>) -> Option<Module> {
        let mut same: Vec<Module> = all.into_iter().filter(|module| self.is(module)).collect();
        let has_names = |module: &Module| self.profile.is_none_or(|profile| has_names_of(module, profile));
        let found = same.iter().position(has_names).unwrap_or(0);
        (found < same.len()).then(|| same.swap_remove(found))
    }
}

/// Reports whether functions have the names in a module that they have in a profile.
fn has_names_of(module: &Module, profile: &Profile) -> bool {
    let functions = profile.functions.iter().map(|function| (function.index, &function.name));
    let routines = profile.contexts.iter().flat_map(|tree| &tree.routines);
    let own = routines.filter_map(|routine| match &routine.callee {
        Callee::Function { index, name } => Some((*index, name)),
        _ => None,
    });
    functions.chain(own).all(|(index, name)| name.as_deref() == module.func_name(index))
}

/// What a record of a run is of.
pub struct Found {
    /// The module that ran; of a component of which several did, the one with the most code.
    pub module: Module,
    /// The component that the module is in, if it is in one.
    pub component: Option<Component>,
    /// Whether the record is of all core modules of the component.
    pub is_of_all: bool,
}

impl Found {
    /// Returns the code that the record is of.
    pub fn code(&self) -> Code {
        let component = self.component.as_ref().filter(|_| self.is_of_all);
        component.map_or_else(|| Code::from(&self.module), Code::from)
    }

    /// Returns the modules that a profile of it covers and the component's file contains, each with its own profile, that
    /// with most instructions first.
    pub fn profiled(&self, profile: &Profile) -> Vec<(Module, Profile)> {
        let Some(component) = self.component.as_ref().filter(|_| self.is_of_all) else {
            return vec![(self.module.clone(), profile.clone())];
        };
        let of = |module: &Module| profile.of_module(|hash| module.has_hash(hash));
        let mut all: Vec<(Module, Profile)> = Vec::new();
        for module in component.modules() {
            if !all.iter().any(|(known, _)| known.hash() == module.hash()) {
                let Some(mut own) = of(module).filter(|own| own.code.compiled > 0) else { continue };
                // Tools want the names of symbols, and the profile has display names.
                own.rename(|index, _| module.func_name(index).map(str::to_owned));
                all.push((module.clone(), own));
            }
        }
        all.sort_by_key(|(_, own)| std::cmp::Reverse(own.ops()));
        all
    }
}

/// Loads what a profile is of, which is expected at `path`.
///
/// # Errors
/// Returns an error if it is missing or invalid, or another program.
pub fn within(profile: &Profile, path: &Path) -> Result<Found> {
    checked(RecordedModule::from_profile(profile), path, MISSING)
}

/// Loads what ran; errors give `advice` if it is missing or another program.
fn checked(ran: RecordedModule<'_>, path: &Path, advice: &str) -> Result<Found> {
    ensure!(path.exists(), "the module {} does not exist: {advice}", path.display());
    let (module, component) = match open(&plain_engine()?, path)? {
        Program::Component(component) => {
            let module = ran.find(of_component(&component));
            (module.map_or_else(|| main_module(&component, path), Ok)?, Some(component))
        }
        Program::Module(module) => (module, None),
    };
    let is_whole = |component: &Component| component.core_modules().len() > 1 && component.hash() == ran.hash;
    let is_of_all = component.as_ref().is_some_and(is_whole);
    ensure!(
        is_of_all || ran.is(&module),
        "{} is not the module that ran, or has changed since then: {advice}",
        path.display()
    );
    Ok(Found { module, component, is_of_all })
}

/// Creates an engine for modules that are not run.
///
/// # Errors
/// Returns an error if this machine is not supported.
pub fn plain_engine() -> Result<Engine> {
    Engine::new(&wprof::Config::new()).map_err(failure)
}

/// Converts an error of the engine.
pub fn failure(error: wprof::Error) -> anyhow::Error {
    anyhow!("{error}")
}
