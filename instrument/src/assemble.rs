//! Assembly of the rewritten module: the original sections with the additions to each.
//!
//! Invariant: every addition follows the original items of its section, so no original index changes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use wasm_encoder::{
    ConstExpr, CustomSection, Encode, ExportKind, GlobalType, MemoryType, Section as _, ValType,
};
use wasmparser::BinaryReader;
use wprof_profiler::{EdgeId, Profile};

use crate::Error;
use crate::calls::Calls;
use crate::cfg::{self, Cfg};
use crate::checks;
use crate::descriptor::{self, Descriptor};
use crate::event_kind::EventKind;
use crate::events::{FunctionEvents, Tree};
use crate::hot::Hot;
use crate::layout::{
    COUNTERS, CURRENT, FINGERPRINT, FLUSH, Global, Layout, MOST_COUNTERS, Needs, PAGE, RECORDS_IN_PROGRAM,
    REGION, REGION_VERSION, ROOT_SLOT, Records, SLOT, SLOT_BYTES, Support, VERSION,
};
use crate::module::{
    BRANCH_HINTS, CODE, ELEMENT, EXPORT, FUNCTION, GLOBAL, MEMORY, START, Source, TABLE, TYPE,
};
use crate::offsets::{self, Insertions, leb};
use crate::plan::{Collected, Earlier, FunctionPlan, StoredPlan};
use crate::rewrite::{Input, Rewritten, Types, rewrite};
use crate::shims::Shims;
use crate::sites::{self, Site};
use crate::support::{self, Program};

/// The options of the instrumentation: what is counted, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The counts of the module.
    pub collected: Collected,
    /// A profile of the module, by whose counts counters are placed.
    pub weights: Option<&'a Profile>,
    /// With [`Collected::Paths`]: a profile of the module whose paths are counted at less cost than others, where there are
    /// too many for a counter each. Without weights it also places counters.
    pub interesting: Option<&'a Profile>,
    /// Whether counts stay exact if a load, a store, a division or a similar instruction traps.
    pub exact_traps: bool,
    /// Whether the program's memory also holds the counters, for hosts that support one memory per module.
    pub single_memory: bool,
    /// Whether calling contexts are counted, and then how many bytes their records may take; without
    /// [`Collected::Flow`] beside what is counted in functions.
    pub contexts: Option<u32>,
    /// The kinds of events that are counted: in each calling context if contexts are counted.
    pub events: &'a [EventKind],
    /// With [`Collected::Trace`]: how many bytes the trace may take; 0 stands for 16 MiB.
    pub trace_memory: u32,
}

/// Facts about all functions that are needed before one of them is rewritten.
pub(crate) struct Plans {
    /// The graph and plan of each function with a body.
    pub functions: Vec<(Cfg, FunctionPlan)>,
    /// The events of each function with a body; empty if none are counted.
    pub events: Vec<FunctionEvents>,
    /// All sites, in order; the first has number 1.
    pub sites: Vec<Site>,
}

impl Plans {
    /// Plans all functions with `plan`, which gets the index of each function with a body, and its graph; events on the
    /// chords of trees.
    pub fn new<'a>(
        source: &Source<'_>,
        (all_traps, kinds): (bool, &[EventKind]),
        plan: impl Fn(usize, &Cfg) -> Result<FunctionPlan, Error>,
        tree: impl Fn(usize) -> Tree<'a>,
    ) -> Result<Plans, Error> {
        let (mut functions, mut events, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for (index, func) in (source.first_defined()..source.funcs.len() as u32).enumerate() {
            let body = source.body(func);
            let cfg = cfg::build(func, &body)?;
            sites::add(&cfg, &body, all_traps, &mut all)?;
            let plan = plan(index, &cfg)?;
            if !kinds.is_empty() {
                events.push(FunctionEvents::new(&cfg, &body, kinds, tree(index))?);
            }
            functions.push((cfg, plan));
        }
        Ok(Plans { functions, events, sites: all })
    }

    /// Plans all functions as a description says.
    ///
    /// # Errors
    /// Returns an error if the description is of another module.
    pub fn described(source: &Source<'_>, descriptor: &Descriptor) -> Result<Plans, Error> {
        let Descriptor { collected, kept, chords, events, all_traps, .. } = descriptor;
        let plan = |index: usize, cfg: &Cfg| match kept.get(index) {
            None if kept.is_empty() => FunctionPlan::new(source, cfg, *collected, Earlier::default()),
            None => Err(Error::BadCounters("their description does not fit")),
            Some(kept) => FunctionPlan::restored(source, cfg, *collected, kept.clone()),
        };
        let tree = |index: usize| match chords.is_empty() {
            true => Tree::OfWeights(None),
            false => Tree::OfChords(chords.get(index).map_or(&[], Vec::as_slice)),
        };
        let plans = Plans::new(source, (*all_traps, events), plan, tree)?;
        let is_possible = plans.counters() <= MOST_COUNTERS;
        is_possible.then_some(plans).ok_or(Error::BadCounters("their description does not fit"))
    }

    /// Returns the layout of the module.
    ///
    /// # Errors
    /// Returns an error if the bytes differ from those that were validated.
    pub fn layout(
        &self,
        source: &Source<'_>,
        in_program_memory: Option<&Calls>,
        (descriptor, trace_memory): (&Descriptor, u32),
    ) -> Result<Layout, Error> {
        let kinds = descriptor.events.len() as u32;
        let sums = if descriptor.contexts { 0 } else { kinds };
        let are_owed = descriptor.collected == Collected::Flow || kinds > 0;
        let mut records = Records { events: kinds, largest: 0, are_owed, one_of_each: 0 };
        records.largest = records.host_slots() + SLOT_BYTES;
        for (cfg, plan) in self.functions.iter().filter(|_| descriptor.contexts) {
            let sites = sites::calls(cfg, &source.body(cfg.func))?.len() as u32;
            let bytes = plan.slots(&records) + SLOT_BYTES * sites;
            records.largest = records.largest.max(bytes);
            records.one_of_each = records.one_of_each.saturating_add(bytes);
        }
        // The functions of the host, and the one that stands for those without names.
        let host = (records.host_slots() + SLOT_BYTES) * (source.first_defined() + 1);
        records.one_of_each = records.one_of_each.saturating_add(host).min(MOST_RECORDS_IN_PROGRAM);
        let records = descriptor.contexts.then_some(records);
        let trace = (descriptor.collected == Collected::Trace).then_some(trace_memory);
        let needs = in_program_memory.map(|calls| Needs { rows: self.rows(), nest: calls.nest() });
        Ok(Layout::new(source, (self.counters() as u32, sums), needs, (records, trace)))
    }

    /// Returns the parts of all plans that do not follow from graphs.
    fn kept(&self) -> Vec<StoredPlan> {
        let blocks: BTreeSet<(u32, u32)> = self.sites.iter().map(|site| (site.func, site.block)).collect();
        let of = |(cfg, plan): &(Cfg, FunctionPlan)| plan.kept(|block| blocks.contains(&(cfg.func, block)));
        self.functions.iter().map(of).collect()
    }

    /// Returns the chords on which events are counted.
    fn chords(&self) -> Vec<Vec<EdgeId>> {
        self.events.iter().map(|events| events.chords().to_vec()).collect()
    }

    /// Returns the most rows of the table that can be taken, if contexts are not counted: one for each way to a site, and
    /// one for each path that has no counter of its own.
    fn rows(&self) -> u64 {
        let mut sites = BTreeMap::<u32, u64>::new();
        self.sites.iter().for_each(|site| *sites.entry(site.func).or_default() += 1);
        let of = |(cfg, plan): &(Cfg, FunctionPlan)| {
            let paths = plan.paths().map_or(1, |plan| plan.numbering.paths());
            let sites = sites.get(&cfg.func).copied().unwrap_or(0);
            paths.saturating_mul(sites + u64::from(plan.is_sparse()))
        };
        self.functions.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Returns the number of counters.
    pub fn counters(&self) -> u64 {
        self.functions.iter().map(|(_, plan)| plan.counters()).sum()
    }
}

/// Returns the part of a component's profile that is of a module, or the profile itself if it is of one module.
fn own<'p>(profile: &'p Profile, source: &Source<'_>) -> Cow<'p, Profile> {
    match profile.parts.is_empty() {
        true => Cow::Borrowed(profile),
        false => Cow::Owned(profile.of_module(|hash| source.has_hash(hash)).unwrap_or_default()),
    }
}

/// Rewrites a module so that it counts.
///
/// # Errors
/// Returns an error if the bytes are not a module, or the module cannot be instrumented.
pub(crate) fn module(bytes: &[u8], options: Options<'_>) -> Result<Vec<u8>, Error> {
    let source = Source::new(bytes)?;
    checks::module(&source)?;
    checks::interesting(options.collected, options.interesting.is_some())?;
    let has_more = options.contexts.is_some() || !options.events.is_empty();
    checks::trace(options.collected, has_more, options.trace_memory)?;
    let shares = options.single_memory && !source.memories.is_empty();
    if shares {
        checks::memory(&source)?;
    }
    let [weights, interesting] =
        [options.weights, options.interesting].map(|of| of.map(|earlier| own(earlier, &source)));
    let earlier = Earlier { weights: weights.as_deref(), interesting: interesting.as_deref() };
    let plan = |_, cfg: &Cfg| FunctionPlan::new(&source, cfg, options.collected, earlier);
    // A trace says where frames stop.
    let all_traps = options.exact_traps || options.collected == Collected::Trace;
    let tree = |_| Tree::OfWeights(earlier.placing());
    let plans = Plans::new(&source, (all_traps, options.events), plan, tree)?;
    let counters = plans.counters();
    if counters > MOST_COUNTERS {
        return Err(Error::TooManyCounters(counters));
    }
    let (kept, chords) = match earlier.is_any() {
        true => (plans.kept(), plans.chords()),
        false => Default::default(),
    };
    let descriptor = Descriptor {
        version: descriptor::VERSION.to_owned(),
        hash: source.hash(),
        collected: options.collected,
        all_traps,
        contexts: options.contexts.is_some() || options.collected == Collected::Flow,
        events: options.events.to_vec(),
        kept,
        chords,
    };
    let trace_memory = match options.trace_memory {
        0 => TRACE_MEMORY,
        bytes => bytes,
    };
    let calls = Calls::new(&source, all_traps)?;
    let in_program_memory = options.single_memory.then_some(&calls);
    let layout = plans.layout(&source, in_program_memory, (&descriptor, trace_memory))?;
    let (has_paths, room) = (options.collected.has_paths(), options.contexts.unwrap_or(u32::MAX));
    let program = Program { has_paths, room, ..program(&source, &layout)? };
    let mut types = Types::new(source.types.len() as u32);
    let signatures = layout.support().map(|func| support::signature(func, &layout, &program));
    let support_types: Vec<u32> = signatures.map(|(params, results)| types.index(params, results)).collect();
    let mut hot = Hot::new(layout.globals_end());
    let tracks = options.collected.tracks() || !options.events.is_empty();
    let marks = (all_traps, tracks);
    let shims = Shims::new(&source, &layout);
    let bodies = rewrite_all(
        (&source, &layout, &shims, &calls),
        (&plans, options.events),
        marks,
        (&mut types, &mut hot),
    )?;
    let (source, layout, shims) = (&source, &layout, &shims);
    let writer = Assembler { source, layout, shims, program, types, hot, support_types, bodies };
    writer.write(&descriptor)
}

/// The most bytes behind the program's memory for one record of each function.
const MOST_RECORDS_IN_PROGRAM: u32 = 64 << 20;

/// The bytes of a trace, if the options do not say how many.
const TRACE_MEMORY: u32 = 16 << 20;
/// Returns the facts about the program that support functions need; checks that the region fits behind its memory.
fn program(source: &Source<'_>, layout: &Layout) -> Result<Program, Error> {
    const MOST_PAGES: u64 = 1 << 16;
    let memory = source.memories.first().filter(|_| layout.is_shared);
    let pages = u64::from(layout.pages());
    if memory.is_some_and(|memory| memory.initial + pages > MOST_PAGES) {
        return Err(Error::NoRoom(
            "the memory is as large as it can be, so there is no room for counters".into(),
        ));
    }
    let maximum = memory.filter(|_| layout.gets_region).and_then(|memory| memory.maximum);
    if let (Some(memory), Some(maximum)) = (memory, maximum) {
        let room = maximum - memory.initial;
        if room < pages {
            return Err(Error::NoRoom(
                format!(
                    "the memory that the host makes can grow by {room} pages of 64 KiB, and counters need {pages}"
                )
                .into(),
            ));
        }
    }
    // The host decides how far an imported memory may grow.
    let most = memory.and_then(|memory| memory.maximum).filter(|_| !layout.gets_region).unwrap_or(MOST_PAGES);
    Ok(Program { most_pages: most as u32, start: source.start, has_paths: false, room: 0 })
}

fn rewrite_all(
    (source, layout, shims, calls): (&Source<'_>, &Layout, &Shims, &Calls),
    (plans, kinds): (&Plans, &[EventKind]),
    (all_traps, tracks): (bool, bool),
    (types, hot): (&mut Types, &mut Hot),
) -> Result<Vec<Rewritten>, Error> {
    let mut first_counter = 0;
    let rewritten = plans.functions.iter().enumerate().map(|(index, (cfg, plan))| {
        let events = plans.events.get(index);
        let first_site = 1 + plans.sites.partition_point(|site| site.func < cfg.func) as u32;
        let input = Input {
            source,
            layout,
            shims,
            calls,
            cfg,
            plan,
            events,
            kinds,
            first_counter,
            first_site,
            all_traps,
            tracks,
        };
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
    shims: &'a Shims,
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
                due.into_iter().try_for_each(|id| self.section(id, &mut out, None))?;
            }
            let contents = &self.source.bytes[section.contents.clone()];
            let through = matches!(section.id, TABLE | GLOBAL | ELEMENT) && !self.shims.is_empty();
            let through = through.then(|| self.shims.section(section.id, contents)).transpose()?;
            let contents = through.as_deref().unwrap_or(contents);
            match section.id {
                0 => self.custom(contents, &mut out)?,
                ELEMENT => raw(ELEMENT, contents, &mut out),
                id if self.is_changed(id) => self.section(id, &mut out, Some(contents))?,
                id => raw(id, contents, &mut out),
            }
        }
        missing.into_iter().try_for_each(|id| self.section(id, &mut out, None))?;
        let insertions: Vec<Insertions> = self.bodies.iter().map(|body| body.insertions.clone()).collect();
        let offsets = offsets::write(&insertions);
        for (name, data) in [(offsets::SECTION, offsets), (descriptor::SECTION, descriptor.to_bytes()?)] {
            CustomSection { name: name.into(), data: data.into() }.append_to(&mut out);
        }
        if self.layout.gets_region {
            // The host makes room for it, if it can.
            let data = self.layout.pages().to_le_bytes();
            CustomSection { name: REGION.into(), data: data.as_slice().into() }.append_to(&mut out);
        }
        Ok(out)
    }

    fn is_changed(&self, id: u8) -> bool {
        match id {
            TYPE | FUNCTION | GLOBAL | EXPORT | CODE => true,
            MEMORY => !self.layout.gets_region,
            ELEMENT => !self.shims.is_empty(),
            START => self.layout.gets_region,
            _ => false,
        }
    }

    /// Writes a section with its additions.
    fn section(&self, id: u8, out: &mut Vec<u8>, old: Option<&[u8]>) -> Result<(), Error> {
        let (count, entries) = old.map_or((0, &[][..]), split);
        let (more, added) = match id {
            TYPE => (self.types.encoded.len() as u32, self.types.encoded.concat()),
            FUNCTION => self.function_types(),
            GLOBAL => self.globals(),
            EXPORT => self.exports(),
            _ => return self.other_section(id, (count, entries), out),
        };
        let mut all = Vec::new();
        leb(&mut all, count + more);
        all.extend(entries);
        all.extend(added);
        raw(id, &all, out);
        Ok(())
    }

    /// Writes a section whose additions do not just follow its entries.
    fn other_section(&self, id: u8, (count, entries): (u32, &[u8]), out: &mut Vec<u8>) -> Result<(), Error> {
        match id {
            MEMORY => self.memories(count, entries, out),
            START => self.start(out),
            ELEMENT => raw(id, &self.shims.declared()?, out),
            _ => self.code(out),
        }
        Ok(())
    }

    fn function_types(&self) -> (u32, Vec<u8>) {
        let shims = self.shims.imports().iter().map(|import| self.source.funcs[*import as usize]);
        let types: Vec<u32> = self.support_types.iter().copied().chain(shims).collect();
        let mut added = Vec::new();
        types.iter().for_each(|ty| ty.encode(&mut added));
        (types.len() as u32, added)
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
            // The module has only this memory.
            let memory = &self.source.memories[0];
            let maximum = memory.maximum.map(|most| (most + pages).min(1 << 16).max(memory.initial + pages));
            leb(&mut all, 1);
            own_memory(memory.initial + pages, maximum).encode(&mut all);
        } else {
            leb(&mut all, count + 1);
            all.extend(entries);
            let shared = self.layout.is_threaded;
            // The table of paths and the records may grow.
            let records = if self.layout.records.is_some() { self.program.room.div_ceil(PAGE) } else { 0 };
            let room = ROOM_FOR_TABLE + u64::from(records);
            let maximum = shared.then(|| (pages + room).min(1 << 16));
            MemoryType { shared, ..own_memory(pages, maximum) }.encode(&mut all);
        }
        raw(MEMORY, &all, out);
    }

    fn globals(&self) -> (u32, Vec<u8>) {
        let layout = self.layout;
        let initial = self.source.memories.first().map_or(0, |memory| memory.initial as u32);
        // Behind an imported memory these are set when the size of that memory is known.
        let (base, whole) = (initial << 16, initial + layout.pages());
        let value = |global| match global {
            Global::Height => layout.no_entry(),
            Global::Table => layout.first_table(),
            Global::Rows => layout.first_rows(),
            Global::Pages => layout.pages(),
            Global::Version => REGION_VERSION,
            Global::Fingerprint => self.fingerprint(),
            Global::Base => base,
            Global::Whole => whole,
            Global::Current => ROOT_SLOT,
            Global::Room if layout.is_shared => self.program.room.min(RECORDS_IN_PROGRAM),
            Global::Room => self.program.room,
            Global::Next => layout.first_records().start,
            Global::End => layout.first_records().end,
            Global::Taken | Global::Flags | Global::Slot => 0,
        };
        let mut added = Vec::new();
        for global in layout.globals() {
            let mutable = !matches!(global, Global::Version | Global::Fingerprint);
            GlobalType { val_type: ValType::I32, mutable, shared: false }.encode(&mut added);
            ConstExpr::i32_const(value(global).cast_signed()).encode(&mut added);
        }
        for _ in 0..self.hot.count() {
            GlobalType { val_type: ValType::I64, mutable: true, shared: false }.encode(&mut added);
            ConstExpr::i64_const(0).encode(&mut added);
        }
        (layout.globals().count() as u32 + self.hot.count(), added)
    }

    fn fingerprint(&self) -> u32 {
        let hash = self.source.hash();
        u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])
    }

    fn exports(&self) -> (u32, Vec<u8>) {
        let layout = self.layout;
        let mut all = vec![
            (COUNTERS, ExportKind::Memory, layout.memory),
            (VERSION, ExportKind::Global, layout.global(Global::Version)),
            (FINGERPRINT, ExportKind::Global, layout.global(Global::Fingerprint)),
            (FLUSH, ExportKind::Func, layout.func(Support::Flush)),
        ];
        if layout.records.is_some() || layout.trace.is_some() {
            all.push((CURRENT, ExportKind::Global, layout.global(Global::Current)));
            all.push((SLOT, ExportKind::Global, layout.global(Global::Slot)));
        }
        let mut added = Vec::new();
        for &(name, kind, index) in &all {
            name.encode(&mut added);
            kind.encode(&mut added);
            index.encode(&mut added);
        }
        (all.len() as u32, added)
    }

    fn code(&self, out: &mut Vec<u8>) {
        let support = self.layout.support();
        let support = support.map(|func| support::body(func, self.layout, &self.program, &self.hot));
        let shims = self.shims.imports().iter();
        let shims = shims.map(|import| self.shims.body(*import, self.source, self.layout));
        let support: Vec<_> = support.chain(shims).collect();
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

/// Pages by which a shared memory may grow, so that the table of paths can grow.
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
