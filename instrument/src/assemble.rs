//! Assembly of the rewritten module: the original sections with the additions to each.
//!
//! Invariant: every addition follows the original items of its section, so no original index changes.

use wasm_encoder::{
    ConstExpr, CustomSection, Encode, ExportKind, GlobalType, MemoryType, Section as _, ValType,
};
use wasmparser::BinaryReader;
use wprof_profiler::Profile;

use crate::Error;
use crate::calls::Calls;
use crate::cfg::{self, Cfg};
use crate::descriptor::{self, Descriptor};
use crate::hot::Hot;
use crate::layout::{
    COUNTERS, FINGERPRINT, FLUSH, Global, Layout, MOST_COUNTERS, REGION_VERSION, RESERVED, Support, VERSION,
};
use crate::module::{BRANCH_HINTS, CODE, EXPORT, FUNCTION, GLOBAL, MEMORY, START, Source, TYPE};
use crate::offsets::{self, Insertions, leb};
use crate::plan::{Collected, FunctionPlan};
use crate::rewrite::{Input, Rewritten, Types, rewrite};
use crate::sites::{self, Site};
use crate::support::{self, Program};

/// The options of the instrumentation: what is counted, and how.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// What is counted.
    pub collected: Collected,
    /// A profile of the module, by whose counts counters are placed.
    pub weights: Option<&'a Profile>,
    /// Whether counts stay exact if a load, a store, a division or a similar instruction traps.
    pub exact_traps: bool,
    /// Whether the program's memory also holds the counters, for hosts that support one memory per module.
    pub single_memory: bool,
}

/// Facts about all functions that are needed before one of them is rewritten.
pub(crate) struct Plans {
    /// The graph and plan of each function with a body.
    pub functions: Vec<(Cfg, FunctionPlan)>,
    /// All sites, in order; the first has number 1.
    pub sites: Vec<Site>,
}

impl Plans {
    /// Plans all functions with `plan`, which gets the index of each function with a body, and its graph.
    pub fn new(
        source: &Source<'_>,
        all_traps: bool,
        plan: impl Fn(usize, &Cfg) -> Result<FunctionPlan, Error>,
    ) -> Result<Plans, Error> {
        let (mut functions, mut all) = (Vec::new(), Vec::new());
        for (index, func) in (source.first_defined()..source.funcs.len() as u32).enumerate() {
            let body = source.body(func);
            let cfg = cfg::build(func, &body)?;
            sites::add(&cfg, &body, all_traps, &mut all)?;
            let plan = plan(index, &cfg)?;
            functions.push((cfg, plan));
        }
        Ok(Plans { functions, sites: all })
    }

    /// Returns the number of counters.
    pub fn counters(&self) -> u64 {
        self.functions.iter().map(|(_, plan)| plan.counters()).sum()
    }
}

/// Rewrites a module so that it counts.
///
/// # Errors
/// Returns an error if the bytes are not a module, or the module cannot be instrumented.
pub(crate) fn module(bytes: &[u8], options: Options<'_>) -> Result<Vec<u8>, Error> {
    let source = Source::new(bytes)?;
    check(&source)?;
    let shares = options.single_memory && !source.memories.is_empty();
    if shares {
        check_memory(&source)?;
    }
    let plan = |_, cfg: &Cfg| Ok(FunctionPlan::new(cfg, options.collected, options.weights));
    let plans = Plans::new(&source, options.exact_traps, plan)?;
    let counters = plans.counters();
    if counters > MOST_COUNTERS {
        return Err(Error::TooManyCounters(counters));
    }
    let layout = Layout::new(&source, counters as u32, options.single_memory);
    let has_paths = options.collected == Collected::Paths;
    let program = Program { has_paths, ..program(&source, &layout)? };
    let mut types = Types::new(source.types.len() as u32);
    let support_types: Vec<u32> = support::signatures(&layout, &program)
        .into_iter()
        .map(|(params, results)| types.index(params, results))
        .collect();
    let mut hot = Hot::new(layout.globals_end());
    let bodies = rewrite_all(&source, &layout, &plans, options.exact_traps, (&mut types, &mut hot))?;
    let kept = options.weights.map(|_| plans.functions.iter().map(|(_, plan)| plan.kept()).collect());
    let descriptor = Descriptor {
        version: descriptor::VERSION.to_owned(),
        hash: source.hash(),
        collected: options.collected,
        all_traps: options.exact_traps,
        kept: kept.unwrap_or_default(),
    };
    let writer = Assembler { source: &source, layout: &layout, program, types, hot, support_types, bodies };
    writer.write(&descriptor)
}

/// Checks that a module has code, and exports none of the reserved names.
fn check(source: &Source<'_>) -> Result<(), Error> {
    if source.custom_section(descriptor::SECTION).is_some() {
        return Err(Error::Instrumented);
    }
    if source.bodies.is_empty() {
        return Err(Error::NoCode);
    }
    let taken = source.exported().find(|name| RESERVED.contains(name));
    taken.map_or(Ok(()), |name| Err(Error::NameTaken(name.to_owned())))
}

/// Sections that mark a module as a dynamic library, which another module loads.
const DYLINK: [&str; 2] = ["dylink.0", "dylink"];

/// Checks that the region can lie behind the program's memory.
fn check_memory(source: &Source<'_>) -> Result<(), Error> {
    let memory = &source.memories[0];
    let no = |why| Err(Error::NoRoom(why));
    if source.memories.len() > 1 {
        return no("the module has several memories already, so its host can have one more");
    }
    if memory.shared {
        return no("threads share the memory, and each must have counters of its own");
    }
    if memory.memory64 {
        return no("counters cannot lie in a memory with 64-bit addresses");
    }
    if memory.page_size_log2.is_some_and(|size| size != 16) {
        return no("counters need a memory with pages of 64 KiB");
    }
    if source.imported_memories > 0 && DYLINK.iter().any(|name| source.custom_section(name).is_some()) {
        return no("the module is loaded into the memory of another one, which may have counters there, too");
    }
    if source.imported_memories > 0 && memory.maximum == Some(memory.initial) {
        return no(
            "the memory that the host makes has its maximum from the beginning, so there is no room for counters",
        );
    }
    Ok(())
}

/// Returns the facts about the program that support functions need; checks that the region fits behind its memory.
fn program(source: &Source<'_>, layout: &Layout) -> Result<Program, Error> {
    const MOST_PAGES: u64 = 1 << 16;
    let gets_region = layout.is_shared && source.imported_memories > 0;
    let memory = source.memories.first().filter(|_| layout.is_shared);
    if memory.is_some_and(|memory| memory.initial + u64::from(layout.pages()) > MOST_PAGES) {
        return Err(Error::NoRoom("the memory is as large as it can be, so there is no room for counters"));
    }
    // The host decides how far an imported memory may grow.
    let most = memory.and_then(|memory| memory.maximum).filter(|_| !gets_region).unwrap_or(MOST_PAGES);
    Ok(Program { most_pages: most as u32, start: source.start, gets_region, has_paths: false })
}

fn rewrite_all(
    source: &Source<'_>,
    layout: &Layout,
    plans: &Plans,
    all_traps: bool,
    (types, hot): (&mut Types, &mut Hot),
) -> Result<Vec<Rewritten>, Error> {
    let mut first_counter = 0;
    let calls = Calls::new(source, all_traps)?;
    let rewritten = plans.functions.iter().map(|(cfg, plan)| {
        let first_site = 1 + plans.sites.partition_point(|site| site.func < cfg.func) as u32;
        let input = Input { source, layout, calls: &calls, cfg, plan, first_counter, first_site, all_traps };
        first_counter += plan.counters() as u32;
        rewrite(input, types, hot)
    });
    rewritten.collect()
}

/// The order of sections, by their numbers.
const ORDER: [u8; 13] = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11];

fn rank(id: u8) -> usize {
    ORDER.iter().position(|known| *known == id).unwrap_or(ORDER.len())
}

struct Assembler<'a> {
    source: &'a Source<'a>,
    layout: &'a Layout,
    program: Program,
    types: Types,
    hot: Hot,
    support_types: Vec<u32>,
    bodies: Vec<Rewritten>,
}

impl Assembler<'_> {
    fn write(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Error> {
        let mut out = self.source.bytes[..8].to_vec();
        let mut missing: Vec<u8> = ORDER.into_iter().filter(|id| self.is_changed(*id)).collect();
        missing.retain(|id| !self.source.sections.iter().any(|section| section.id == *id));
        for section in &self.source.sections {
            if section.id != 0 {
                let due: Vec<u8> =
                    missing.iter().copied().filter(|id| rank(*id) < rank(section.id)).collect();
                missing.retain(|id| !due.contains(id));
                due.into_iter().for_each(|id| self.section(id, &mut out, None));
            }
            let contents = &self.source.bytes[section.contents.clone()];
            match section.id {
                0 => self.custom(contents, &mut out)?,
                id if self.is_changed(id) => self.section(id, &mut out, Some(contents)),
                id => raw(id, contents, &mut out),
            }
        }
        missing.into_iter().for_each(|id| self.section(id, &mut out, None));
        let insertions: Vec<Insertions> = self.bodies.iter().map(|body| body.insertions.clone()).collect();
        let offsets = offsets::write(&insertions);
        for (name, data) in [(offsets::SECTION, offsets), (descriptor::SECTION, descriptor.to_bytes()?)] {
            CustomSection { name: name.into(), data: data.into() }.append_to(&mut out);
        }
        Ok(out)
    }

    fn is_changed(&self, id: u8) -> bool {
        match id {
            TYPE | FUNCTION | GLOBAL | EXPORT | CODE => true,
            MEMORY => !self.program.gets_region,
            START => self.program.gets_region,
            _ => false,
        }
    }

    /// Writes a section with its additions.
    fn section(&self, id: u8, out: &mut Vec<u8>, old: Option<&[u8]>) {
        let (count, entries) = old.map_or((0, &[][..]), split);
        let (more, added) = match id {
            TYPE => (self.types.encoded.len() as u32, self.types.encoded.concat()),
            FUNCTION => (self.support_types.len() as u32, self.function_types()),
            GLOBAL => self.globals(),
            EXPORT => self.exports(),
            MEMORY => return self.memories(count, entries, out),
            START => return self.start(out),
            _ => return self.code(out),
        };
        let mut all = Vec::new();
        leb(&mut all, count + more);
        all.extend(entries);
        all.extend(added);
        raw(id, &all, out);
    }

    fn function_types(&self) -> Vec<u8> {
        let mut added = Vec::new();
        self.support_types.iter().for_each(|ty| ty.encode(&mut added));
        added
    }

    fn start(&self, out: &mut Vec<u8>) {
        let mut all = Vec::new();
        self.layout.func(Support::Start).encode(&mut all);
        raw(START, &all, out);
    }

    fn memories(&self, count: u32, entries: &[u8], out: &mut Vec<u8>) {
        let mut all = Vec::new();
        let pages = u64::from(self.layout.pages());
        if self.layout.is_shared {
            // The module has only this memory. The table of paths may grow as well.
            let memory = &self.source.memories[0];
            let room = 2 * pages + ROOM_FOR_TABLE;
            let maximum = memory.maximum.map(|most| (most + room).min(1 << 16).max(memory.initial + pages));
            leb(&mut all, 1);
            own_memory(memory.initial + pages, maximum).encode(&mut all);
        } else {
            leb(&mut all, count + 1);
            all.extend(entries);
            own_memory(pages, None).encode(&mut all);
        }
        raw(MEMORY, &all, out);
    }

    fn globals(&self) -> (u32, Vec<u8>) {
        let layout = self.layout;
        let initial = self.source.memories.first().map_or(0, |memory| memory.initial as u32);
        // Behind an imported memory these are set when the size of that memory is known.
        let (base, whole) = (initial << 16, initial + layout.pages());
        let mut values = vec![
            (Global::Height, layout.no_entry()),
            (Global::Table, layout.first_table()),
            (Global::Rows, crate::layout::FIRST_ROWS),
            (Global::Taken, 0),
            (Global::Flags, 0),
            (Global::Pages, layout.pages()),
            (Global::Version, REGION_VERSION),
            (Global::Fingerprint, self.fingerprint()),
        ];
        if layout.is_shared {
            values.extend([(Global::Base, base), (Global::Whole, whole)]);
        }
        let mut added = Vec::new();
        for (global, value) in &values {
            let mutable = !matches!(global, Global::Version | Global::Fingerprint);
            GlobalType { val_type: ValType::I32, mutable, shared: false }.encode(&mut added);
            ConstExpr::i32_const(value.cast_signed()).encode(&mut added);
        }
        for _ in 0..self.hot.count() {
            GlobalType { val_type: ValType::I64, mutable: true, shared: false }.encode(&mut added);
            ConstExpr::i64_const(0).encode(&mut added);
        }
        (values.len() as u32 + self.hot.count(), added)
    }

    fn fingerprint(&self) -> u32 {
        let hash = self.source.hash();
        u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])
    }

    fn exports(&self) -> (u32, Vec<u8>) {
        let layout = self.layout;
        let all = [
            (COUNTERS, ExportKind::Memory, layout.memory),
            (VERSION, ExportKind::Global, layout.global(Global::Version)),
            (FINGERPRINT, ExportKind::Global, layout.global(Global::Fingerprint)),
            (FLUSH, ExportKind::Func, layout.func(Support::Flush)),
        ];
        let mut added = Vec::new();
        for (name, kind, index) in all {
            name.encode(&mut added);
            kind.encode(&mut added);
            index.encode(&mut added);
        }
        (all.len() as u32, added)
    }

    fn code(&self, out: &mut Vec<u8>) {
        let support = support::functions(self.layout, &self.program, &self.hot);
        let mut all = Vec::new();
        leb(&mut all, (self.bodies.len() + support.len()) as u32);
        for Rewritten { body, .. } in &self.bodies {
            body.as_slice().encode(&mut all);
        }
        support.iter().for_each(|function| function.encode(&mut all));
        raw(CODE, &all, out);
    }

    /// Copies a custom section, and adjusts a section of hints, which refer to byte offsets in functions.
    fn custom(&self, contents: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let mut reader = BinaryReader::new(contents, 0);
        if reader.read_string()? != BRANCH_HINTS {
            raw(0, contents, out);
            return Ok(());
        }
        let mut all = Vec::new();
        BRANCH_HINTS.encode(&mut all);
        // Unreadable hints are left out; engines ignore them too.
        if let Ok(hints) = self.hints(&mut reader) {
            all.extend(hints);
            raw(0, &all, out);
        }
        Ok(())
    }

    fn hints(&self, reader: &mut BinaryReader<'_>) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        let functions = reader.read_var_u32()?;
        leb(&mut all, functions);
        for _ in 0..functions {
            let func = reader.read_var_u32()?;
            let count = reader.read_var_u32()?;
            leb(&mut all, func);
            leb(&mut all, count);
            let index = func.checked_sub(self.source.first_defined());
            let body = index.and_then(|index| self.bodies.get(index as usize));
            let body = body.ok_or(Error::Unsupported("these branch hints"))?;
            for _ in 0..count {
                leb(&mut all, body.insertions.moved(reader.read_var_u32()?));
                let size = reader.read_var_u32()?;
                leb(&mut all, size);
                all.extend(reader.read_bytes(size as usize)?);
            }
        }
        Ok(all)
    }
}

/// Pages by which a memory with a maximum may grow further, so that the table of paths can grow.
const ROOM_FOR_TABLE: u64 = 256;

fn own_memory(minimum: u64, maximum: Option<u64>) -> MemoryType {
    MemoryType { minimum, maximum, memory64: false, shared: false, page_size_log2: None }
}

/// Returns the number of entries that a section declares, and the bytes of the entries.
fn split(contents: &[u8]) -> (u32, &[u8]) {
    let mut reader = BinaryReader::new(contents, 0);
    let count = reader.read_var_u32().expect("validated: a section has a count");
    (count, &contents[reader.original_position() as usize..])
}

fn raw(id: u8, contents: &[u8], out: &mut Vec<u8>) {
    out.push(id);
    contents.encode(out);
}
