//! Modules: validated at load, compiled function by function on first call.

mod affordable;
mod allocators;
mod artifact;
mod burst_code;
mod cached;
mod calls;
mod code;
mod compile_wait;
mod counters;
mod file;
mod first_compilation;
mod hash;
mod interface;
mod machine_code;
mod names;
mod osr_versions;
mod own_artifacts;
mod parts;
mod phases;
mod plans;
mod prefetching;
mod profiles;
mod reoptimized;
mod runtime_view;
mod siblings;
mod speculation;
mod symbols;
mod text;
mod trials;
mod versions;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use wasmparser::{CompositeInnerType, SubType};
use wprof_jit::abi::VmLayout;
use wprof_jit::code::stand_ins::StandIns;
use wprof_jit::compile::Tier;
use wprof_jit::module::{Entity, ModuleBytes, ModuleInfo};

pub(crate) use artifact::{Loaded, compile as compile_ahead, contents as artifact_contents, mapped, part};
pub use interface::{ExportType, ImportType, ResourcesRequired};
pub use names::demangle;
pub use own_artifacts::OwnArtifacts;
use profiles::Owner;
pub(crate) use profiles::of_another_module;
pub use reoptimized::{Reoptimization, VectorizedLoop};
pub(crate) use siblings::Siblings;
pub use symbols::{FrameSymbol, SourceRow};
pub(crate) use text::binary;
use text::is_binary;
pub(crate) use versions::CompiledVersion;

use crate::artifact::{CodeSource, Numbers};
use crate::background::{Job, Task};
use crate::code_cache::{CachedConstants, CachedModule};
use crate::runtime::code::{CodeSlots, no_code_memory};
use crate::runtime::interruption::fork;
use crate::runtime::linear_memory::image::Image;
use crate::runtime::linear_memory::memory_image::MemoryImage;
use crate::runtime::values::type_ids::TypeEntry;
use crate::types::defined::DefinedType;
use crate::{Engine, Error, ErrorKind, ExternType, GlobalType, MemoryType, Result, TableType, TagType};
use cached::{Kept, Stored};
use calls::Calls;
use code::ModuleCode;
use file::Contents;
pub(crate) use file::check_size;
use hash::ModuleHash;
use names::Names;
use parts::PartRows;
use symbols::{Beside, DebugFile, Symbols};

/// A module, ready to be instantiated. Cheap to clone; all clones and all instances, in any
/// store and thread, share its code.
#[derive(Clone, Debug)]
pub struct Module(Arc<ModuleInner>);

/// The state that the clones of a module share.
#[derive(Debug)]
pub struct ModuleInner {
    engine: Engine,
    info: ModuleInfo,
    layout: VmLayout,
    /// The function types, which keep their type ids alive.
    types: Vec<Arc<TypeEntry>>,
    type_ids: Vec<u32>,
    slots: CodeSlots,
    /// The constants of its code, if the code is compiled to be stored and not to run.
    stand_ins: Option<StandInConstants>,
    part_rows: PartRows,
    code: ModuleCode,
    hash: ModuleHash,
    /// How many modules of its component with the same hash came before it.
    number: u32,
    /// The core modules of its component, if there are several.
    siblings: OnceLock<Arc<Siblings>>,
    names: OnceLock<Names>,
    symbols: OnceLock<Symbols>,
    /// The file that it was read from; companion files may lie beside it.
    file: Option<PathBuf>,
    /// The image of its file, which provides the late bytes, if it was read from a large file.
    image: Option<Arc<Image>>,
    memory_images: OnceLock<Option<Vec<Arc<MemoryImage>>>>,
    debug_file: OnceLock<Option<DebugFile>>,
    calls: Calls,
}

impl Module {
    /// Loads a binary module or, with feature `wat`, one in the text format.
    ///
    /// This validates all of it, which takes time in proportion to its size, and compiles nothing: functions are compiled when they are first called. A module is a reference that is cheap to clone; all
    /// threads may use it at the same time, and instances share its code.
    ///
    /// # Errors
    /// Fails if the module is malformed, invalid, larger than the configuration allows, or not the one that
    /// [`Config::weights`](crate::Config::weights) or [`Config::interesting_paths`](crate::Config::interesting_paths)
    /// describe.
    pub fn new(engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Module> {
        let bytes = bytes.as_ref();
        check_size(engine, bytes.len() as u64)?;
        Module::load(engine, ModuleBytes::from(bytes).into(), None)
    }

    /// Loads a binary module, as [`Module::new`] does; text is refused, whatever the features of this crate.
    ///
    /// # Errors
    /// Fails if the bytes are no binary module, and as [`Module::new`] does.
    pub fn from_binary(engine: &Engine, binary: &[u8]) -> Result<Module> {
        if !is_binary(binary) {
            let message = "not a binary module, which begins with the bytes 00 61 73 6d";
            return Err(Error::new(ErrorKind::Module, message));
        }
        Module::new(engine, binary)
    }

    fn load(engine: &Engine, contents: Contents, file: Option<&Path>) -> Result<Module> {
        Module::load_with(engine, contents, file, (Kept::InCache(&mut Numbers::default()), Owner::None))
    }

    /// Loads a core module of a component. The engine's advice may be for some of these modules; the others do without.
    pub(crate) fn of_component(
        engine: &Engine,
        bytes: ModuleBytes,
        source: &mut CodeSource,
    ) -> Result<Module> {
        check_size(engine, bytes.len() as u64)?;
        let kept = match source {
            CodeSource::Cache(numbers) => Kept::InCache(numbers),
            CodeSource::Artifact(codes) => Kept::Among(codes),
            CodeSource::StandIns(stand_ins) => Kept::StandIns(*stand_ins),
        };
        Module::load_with(engine, bytes.into(), None, (kept, Owner::Component))
    }

    /// Reports whether there is advice on the module's functions.
    pub(crate) fn is_advised(&self) -> bool {
        self.0.advice().is_some()
    }

    fn load_with(
        engine: &Engine,
        contents: Contents,
        file: Option<&Path>,
        (kept, owner): (Kept<'_>, Owner),
    ) -> Result<Module> {
        let _quiet = fork::quiet();
        let Contents { bytes, image } = contents;
        let info = parse(engine, bytes)?;
        let image = image.filter(|image| image.late().next().is_some());
        if let Some(image) = &image {
            check_late(image, &info)?;
        }
        let layout = VmLayout::new(&info);
        let types: Vec<Arc<TypeEntry>> =
            DefinedType::all_of(&info.types).iter().map(|ty| engine.core().types().entry(ty)).collect();
        let type_ids: Vec<u32> = types.iter().map(|entry| entry.id).collect();
        let hash = ModuleHash::new(&info);
        let advice = profiles::advice(engine, owner, |of| profiles::is_of(of, &info, &hash))?;
        let Stored { cached, number, stand_ins } = kept.load(engine, || hash.get(&info.bytes));
        let is_for_other_types = |of: &CachedConstants| of.type_ids != type_ids;
        let cached = cached.filter(|cached| !cached.constants.as_ref().is_some_and(is_for_other_types));
        let part_rows = PartRows::new(engine, &info);
        let (slots, cached) = slots(engine, &info, &part_rows, cached).map_err(no_code_memory)?;
        let stand_ins = stand_ins.map(|of| StandInConstants::new(of, &slots, type_ids.len()));
        let code = ModuleCode::new(engine);
        let code = code.advised(advice.as_deref());
        let (engine, names, symbols) = (engine.clone(), OnceLock::new(), OnceLock::new());
        let (file, debug_file) = (file.map(Path::to_owned), OnceLock::new());
        let inner = Arc::new(ModuleInner {
            engine,
            info,
            layout,
            types,
            type_ids,
            slots,
            stand_ins,
            part_rows,
            code,
            hash,
            number,
            siblings: OnceLock::new(),
            names,
            symbols,
            file,
            image,
            memory_images: OnceLock::new(),
            debug_file,
            calls: Calls::default(),
        });
        if let Some(cached) = cached {
            inner.restore(cached)?;
        }
        inner.order_hash();
        Ok(Module(inner))
    }

    /// Loads a module from a file. If the module names files with its debug information (`external_debug_info`,
    /// `sourceMappingURL`), they are searched beside it on the first request for names or lines.
    ///
    /// From a file of at least 1 MiB, data segments of that size are read only as instances access them, and debug
    /// information on request: the file may be removed or replaced by another, but must not be written to as long as
    /// there are instances. If it is, code that needs more of it ends with an error, and there are no lines.
    ///
    /// # Errors
    /// Fails if the file cannot be read, and as [`Module::new`] does.
    pub fn from_file(engine: &Engine, path: impl AsRef<Path>) -> Result<Module> {
        let path = path.as_ref();
        let load = || Module::load(engine, file::read(engine, path)?, Some(path));
        load().map_err(|e| e.context(path.display()))
    }

    /// Checks a binary module without keeping it.
    ///
    /// # Errors
    /// Fails as [`Module::new`] does.
    pub fn validate(engine: &Engine, bytes: &[u8]) -> Result<()> {
        check_size(engine, bytes.len() as u64)?;
        parse(engine, bytes.into()).map(drop)
    }

    /// Returns the engine that loaded the module.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Returns the module's name from the name section.
    pub fn name(&self) -> Option<&str> {
        self.0.names().module()
    }

    /// Returns the name of a function: from the name section, or if that names no functions from DWARF, or else its
    /// export or import name. The name is mangled as in the module: see [`demangle`].
    pub fn func_name(&self, func: u32) -> Option<&str> {
        self.0.names().func(func)
    }

    /// Returns the name of a type, by its index, from the name section.
    pub fn type_name(&self, ty: u32) -> Option<&str> {
        self.0.names().ty(ty)
    }

    /// Returns the functions and source lines of the code at byte `offset` of the module, innermost inlined
    /// function first; empty without debug information.
    pub fn symbols_at(&self, offset: u32) -> Vec<FrameSymbol> {
        self.0.symbols().at(&self.0.info, offset)
    }

    /// Returns the source lines of all code, ascending by offset; a row extends to the next. Empty without debug
    /// information.
    pub fn source_rows(&self) -> Vec<SourceRow> {
        self.0.symbols().rows(&self.0.info)
    }

    /// Returns the file with debug information, or its address, that the module names and that was not found beside it;
    /// `None` if there is debug information. Nothing is fetched from the network.
    pub fn missing_debug_info(&self) -> Option<&str> {
        self.0.symbols().missing(&self.0.info)
    }

    /// Reports whether there is debug information that describes functions, none of which lies where the module has code:
    /// a tool that rewrote the code left it behind.
    pub fn has_detached_debug_info(&self) -> bool {
        self.0.symbols().are_detached(&self.0.info)
    }

    /// Returns the DWARF discriminators and the byte offsets at which they begin, ascending. A discriminator
    /// distinguishes several paths through one source line, 0 for the only one. Of several rows at one offset the last
    /// is valid.
    pub fn discriminators(&self) -> Vec<(u32, u32)> {
        self.0.symbols().discriminators(&self.0.info)
    }

    /// Returns the source line of each function's definition, by its name in [`symbols_at`](Self::symbols_at); empty
    /// without DWARF.
    pub fn definition_lines(&self) -> std::collections::HashMap<String, u32> {
        self.0.symbols().definitions().into_iter().collect()
    }

    /// Returns the imports, in order.
    pub fn imports(&self) -> impl ExactSizeIterator<Item = ImportType<'_>> {
        self.info().imports.iter().map(|i| ImportType {
            module: &i.module,
            name: &i.name,
            source: self,
            entity: i.entity,
        })
    }

    /// Returns the exports, in order.
    pub fn exports(&self) -> impl ExactSizeIterator<Item = ExportType<'_>> {
        self.info().exports.iter().map(|(name, entity)| ExportType { name, source: self, entity: *entity })
    }

    /// Returns the type of an export.
    pub fn get_export(&self, name: &str) -> Option<ExternType> {
        self.info().export_index.get(name).map(|&entity| self.entity_type(entity))
    }

    /// Returns the SHA-256 hash of the binary module without the contents of its data segments and without its custom
    /// sections except branch hints: of everything that its code depends on. Profiles identify their module by it. A
    /// module stripped of names and debug information has the same hash, if its code lies at the same offsets.
    pub fn hash(&self) -> [u8; 32] {
        self.0.hash()
    }

    /// Reports whether a profile with this [`hash`](Self::hash) is of the module. Older profiles have another hash of
    /// it, which stripping changes.
    pub fn has_hash(&self, hash: &[u8; 32]) -> bool {
        self.hash() == *hash || hash::of_older_profiles(self.info()) == *hash
    }

    /// Returns the binary module. For a large file, large data segments and debug information are read only here or on
    /// demand, and [`info`](Self::info) has zeros in their place.
    ///
    /// # Errors
    /// Fails if they cannot be read, or if the file has changed since the module was loaded.
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>> {
        match self.0.image() {
            Some(image) => {
                image.whole().map(Cow::Owned).map_err(|e| Error::system("cannot read the module", e))
            }
            None => Ok(Cow::Borrowed(&self.info().bytes)),
        }
    }

    /// Returns the parsed module, for crates of the engine: its types are internal.
    #[doc(hidden)]
    pub fn info(&self) -> &ModuleInfo {
        &self.0.info
    }

    /// Compiles and optimises all functions now rather than when they are called and hot. Each is published at its
    /// first call.
    ///
    /// # Errors
    /// Fails if a function is too large for the code generator.
    pub fn compile_all(&self) -> Result<()> {
        let info = self.info();
        (info.imported_funcs..info.funcs.len() as u32)
            .try_for_each(|func| self.0.prepare(func, Tier::Optimized))
    }

    /// Returns the number of functions compiled so far, by a call, by [`compile_all`](Self::compile_all) or in
    /// an earlier run, and the bytes of address space that their code takes.
    pub fn compiled(&self) -> (usize, usize) {
        self.0.code.size()
    }

    /// Returns how many functions have run so far, in any instance: those that were called, and those inlined into
    /// them.
    pub fn ran(&self) -> usize {
        self.0.code.ran()
    }

    /// Returns the bytes of the code that callers of the compiled functions run, including all compiled parts;
    /// other versions are not included.
    pub fn code_bytes(&self) -> usize {
        self.0.code.bytes()
    }

    pub(crate) fn entity_type(&self, entity: Entity) -> ExternType {
        let (info, types) = (self.info(), &self.0.types[..]);
        let func = |index: u32| types[index as usize].func_type();
        match entity {
            Entity::Func(f) => ExternType::Func(func(info.funcs[f as usize])),
            Entity::Table(t) => ExternType::Table(TableType::from_parser(&info.tables[t as usize], types)),
            Entity::Memory(m) => ExternType::Memory(MemoryType::from_parser(&info.memories[m as usize])),
            Entity::Global(g) => {
                ExternType::Global(GlobalType::from_parser(&info.globals[g as usize].ty, types))
            }
            Entity::Tag(t) => ExternType::Tag(TagType::new(func(info.tags[t as usize]))),
        }
    }

    /// Returns the types by type index.
    pub(crate) fn types(&self) -> &[Arc<TypeEntry>] {
        &self.0.types
    }

    /// Reports whether both are clones of one module.
    pub(crate) fn is(&self, other: &Module) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn inner(&self) -> &Arc<ModuleInner> {
        &self.0
    }
}

impl ModuleInner {
    pub(crate) fn hash(&self) -> [u8; 32] {
        self.hash.get(&self.info.bytes)
    }

    /// Orders the computation of the hash ahead of the first profile, if it takes long.
    fn order_hash(self: &Arc<Self>) {
        let is_asked_for = self.engine.has_bursts() && self.engine.config().files.hash_ahead;
        let is_wanted = is_asked_for && !self.hash.is_quick();
        if let Some(background) = self.engine.background().filter(|_| is_wanted) {
            background.order([Job::new(self, 0, Task::Hash)]);
        }
    }

    /// Computes a piece of the hash, and orders the next if there is one.
    pub(crate) fn advance_hash(self: &Arc<Self>) {
        self.hash.advance(&self.info.bytes);
        self.order_hash();
    }

    pub(crate) fn info(&self) -> &ModuleInfo {
        &self.info
    }

    /// Returns the image of its file, which provides the late bytes; `None` if none are late.
    pub(crate) fn image(&self) -> Option<&Arc<Image>> {
        self.image.as_ref()
    }

    /// Returns the contents of the first custom section called `name`; `None` if it is missing or no longer readable.
    fn custom_section(&self, name: &str) -> Option<Arc<[u8]>> {
        let bytes = self.info.custom_section_range(name)?;
        match self.image().filter(|image| image.is_late(&bytes)) {
            Some(image) => {
                let mut contents: Arc<[u8]> = std::iter::repeat_n(0, bytes.len()).collect();
                let new = Arc::get_mut(&mut contents).expect("nobody else has it yet");
                image.read_late(bytes, new).ok().map(|()| contents)
            }
            None => Some(self.info.bytes[bytes].into()),
        }
    }

    pub(crate) fn names(&self) -> &Names {
        let of_debug_file = || self.debug_file()?.section("name");
        let of_dwarf = || self.symbols().names(&self.info);
        self.names.get_or_init(|| Names::read(&self.info, of_debug_file, of_dwarf))
    }

    pub(crate) fn symbols(&self) -> &Symbols {
        let section = |name: &str| self.custom_section(name);
        self.symbols.get_or_init(|| Symbols::read(&self.info, section, self.beside(), self.debug_file()))
    }

    fn debug_file(&self) -> Option<&DebugFile> {
        let find = || DebugFile::find(&self.info, self.beside()?);
        self.debug_file.get_or_init(find).as_ref()
    }

    fn beside(&self) -> Option<Beside<'_>> {
        let max_size = self.engine.config().modules.max_debug_file;
        self.file.as_deref().map(|module| Beside { module, max_size })
    }
}

/// Creates the slots of a module, and returns the cached code if its slots have the same address as before.
fn slots(
    engine: &Engine,
    info: &ModuleInfo,
    rows: &PartRows,
    cached: Option<CachedModule>,
) -> std::io::Result<(CodeSlots, Option<CachedModule>)> {
    let at = cached.as_ref().and_then(|cached| Some(cached.constants.as_ref()?.slots as usize));
    if at.is_some()
        && let Ok(slots) = lazy_slots(engine, info, rows, at)
    {
        return Ok((slots, cached));
    }
    let slots = lazy_slots(engine, info, rows, None)?;
    let is_usable = at.is_none() && slots.is_low();
    Ok((slots, cached.filter(|_| is_usable)))
}

/// Stand-ins for all constants of a module's code.
#[derive(Debug)]
struct StandInConstants {
    slots: u64,
    dispatch_cells: Option<u64>,
    type_ids: Vec<u32>,
}

impl StandInConstants {
    fn new(of: StandIns, slots: &CodeSlots, types: usize) -> StandInConstants {
        let cells = slots.dispatch_cells().map(|cells| (cells - slots.address()) as u64);
        let type_ids = (of.types..).take(types).collect();
        let slots = u64::from(of.slots);
        StandInConstants { slots, dispatch_cells: cells.map(|cells| slots + cells), type_ids }
    }
}

/// Creates the slots of a module without compiled code, at the given address if it matters.
fn lazy_slots(
    engine: &Engine,
    info: &ModuleInfo,
    rows: &PartRows,
    at: Option<usize>,
) -> std::io::Result<CodeSlots> {
    let count = rows.count();
    let in_memory: Vec<bool> = {
        let in_memory = |ty: &SubType| match &ty.composite_type.inner {
            CompositeInnerType::Func(ty) => engine.compiler().returns_in_memory(ty),
            _ => false,
        };
        info.types.iter().map(in_memory).collect()
    };
    let usual = engine.core().stubs().up_to(count, false)?;
    let special = engine.core().stubs().up_to(if in_memory.contains(&true) { count } else { 0 }, true)?;
    let is_special = |row: u32| in_memory[info.funcs[rows.func(row) as usize] as usize];
    let is_special: Vec<bool> = (0..count).map(is_special).collect();
    let stub = move |row: u32| if is_special[row as usize] { special(row) } else { usual(row) };
    CodeSlots::new(count as usize, stub, (&info.constant_tables, engine.core().trap_stubs()), at)
}

fn parse(engine: &Engine, bytes: ModuleBytes) -> Result<ModuleInfo> {
    let mut info = wprof_jit::module::parse(binary(bytes)?)?;
    wprof_jit::module::check_allowed(&info.bytes, engine.config().switched_off())?;
    check_limits(engine, &info)?;
    if let Some(also) = &engine.config().observed.allocators {
        info.allocators = allocators::find(&info, also);
    }
    Ok(info)
}

fn check_limits(engine: &Engine, info: &ModuleInfo) -> Result<()> {
    let config = engine.config();
    let beyond = |what: String, limit: u32, setting: &str| {
        let message = format!("{what}, {limit} are allowed: raise Config::{setting}");
        Err(Error::new(ErrorKind::Limit, message))
    };
    if info.funcs.len() > config.modules.max_functions as usize {
        return beyond(
            format!("module has {} functions", info.funcs.len()),
            config.modules.max_functions,
            "max_functions",
        );
    }
    for func in info.imported_funcs..info.funcs.len() as u32 {
        let size = info.body(func).len();
        if size > config.modules.max_function_size as usize {
            let what = format!("function {func} has {size} bytes");
            return beyond(what, config.modules.max_function_size, "max_function_size");
        }
        let locals = info.count_locals(func).map_err(wprof_jit::module::ModuleError::from)?;
        if locals > u64::from(config.modules.max_locals) {
            return beyond(
                format!("function {func} has {locals} locals"),
                config.modules.max_locals,
                "max_locals",
            );
        }
    }
    Ok(())
}

/// Checks that the bytes left to be read later are not needed for compilation.
fn check_late(image: &Image, info: &ModuleInfo) -> Result<()> {
    match image.late().all(|late| file::are_late(late, info)) {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::System, "the file has changed while it was read: load it again")),
    }
}
