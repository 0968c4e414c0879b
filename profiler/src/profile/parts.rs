//! The profile of a component: those of its core modules, joined, and taken apart again.
//!
//! Input: the profile of each core module, with its own function indices and code offsets, and the place of the module
//! among all. Output: one profile in which indices and offsets count through all modules; or, from that, the profile of one
//! module, such as an optimiser needs.
//! Invariant: a module has the indices and offsets from its first ones up to the first ones of the next module.
//! Names of functions begin with the module's: `module::function`.
//! Oracle: `tests/it/parts.rs`.

use serde::{Deserialize, Serialize};

use super::{CodeStats, FunctionProfile, Profile};
use crate::contexts::function_name;
use crate::counts::metric;
use crate::{Callee, CodeRange, ContextLog, ContextTree, PathProfile, TimeLog, TimeProfile};

/// The greatest number of parts with the same hash that are added up: each takes time in proportion to the whole profile,
/// which may come from a file of someone else.
const MOST_ALIKE: usize = 16;

/// A core module of a component, in the component's profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModulePart {
    /// Its display name, which no other one has.
    pub name: String,
    /// The hash that profiles of the module alone have.
    pub module_hash: [u8; 32],
    /// The index that the module's first function has in the profile.
    pub first_function: u32,
    /// The offset that the module's first byte has in the profile.
    pub first_offset: u32,
    /// Figures about its code.
    pub code: CodeStats,
}

/// A distance between two places of code: of function indices, and of code offsets in bytes. Sums wrap around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeShift {
    /// What is added to function indices.
    pub functions: u32,
    /// What is added to code offsets.
    pub offsets: u32,
}

impl CodeShift {
    /// Returns the shift that undoes this one.
    #[must_use]
    pub fn back(self) -> Self {
        Self { functions: self.functions.wrapping_neg(), offsets: self.offsets.wrapping_neg() }
    }

    fn range(self, code: &mut CodeRange) {
        code.start = code.start.wrapping_add(self.offsets);
        code.end = code.end.wrapping_add(self.offsets);
    }

    fn offset(self, offset: &mut u32) {
        *offset = offset.wrapping_add(self.offsets);
    }

    fn function(self, index: &mut u32) {
        *index = index.wrapping_add(self.functions);
    }

    /// Moves the places where paths ended.
    fn paths(self, paths: &mut PathProfile) {
        paths.unfinished.iter_mut().for_each(|path| self.offset(&mut path.exit.offset));
    }
}

impl ModulePart {
    /// Returns the shift from the module's own indices and offsets to those of the profile.
    pub fn shift(&self) -> CodeShift {
        CodeShift { functions: self.first_function, offsets: self.first_offset }
    }

    /// Returns the name in the profile of a function of the module, by its index there and its demangled name.
    pub fn name_of(&self, index: u32, name: Option<&str>) -> String {
        format!("{}::{}", self.name, function_name(index, name))
    }

    /// Returns a function's own name, without the module's.
    pub fn own_name<'n>(&self, name: &'n str) -> &'n str {
        let own = name.strip_prefix(self.name.as_str()).and_then(|rest| rest.strip_prefix("::"));
        own.unwrap_or(name)
    }
}

/// What profiles of several modules need to be joined.
pub struct Joining<'j> {
    /// By the number of an instance in its store, the number of the part that it belongs to, and whether its functions are the
    /// profile's own: of the instances of one module, one has these. `None` for instances of other programs.
    pub place: &'j dyn Fn(u32) -> Option<(usize, bool)>,
    /// Returns the display name of a symbol.
    pub demangle: &'j dyn Fn(&str) -> String,
}

/// A way to translate the routines of trees, and the offsets in their code.
trait Translation {
    /// Returns the routine as the new tree has it, and what is added to offsets in its code.
    fn routine(&self, callee: &Callee) -> (Callee, CodeShift);
}

/// The translation of what one instance has seen to the whole.
struct Join<'j> {
    parts: &'j [ModulePart],
    /// The part that the instance belongs to.
    own: usize,
    by: &'j Joining<'j>,
}

impl Join<'_> {
    fn named(&self, part: &ModulePart, index: u32, name: Option<&str>) -> String {
        part.name_of(index, name.map(self.by.demangle).as_deref())
    }
}

impl Translation for Join<'_> {
    fn routine(&self, callee: &Callee) -> (Callee, CodeShift) {
        let (part, is_own, instance, index, name) = match callee {
            Callee::Function { index, name } => (self.own, true, 0, *index, name),
            Callee::Elsewhere { instance, index, name } => match (self.by.place)(*instance) {
                Some((part, is_own)) => (part, is_own, *instance, *index, name),
                None => return (callee.clone(), CodeShift::default()),
            },
            _ => return (callee.clone(), CodeShift::default()),
        };
        let part = &self.parts[part];
        let (shift, mut new) = (part.shift(), index);
        shift.function(&mut new);
        let name = Some(self.named(part, index, name.as_deref()));
        match is_own {
            true => (Callee::Function { index: new, name }, shift),
            false => (Callee::Elsewhere { instance, index: new, name }, shift),
        }
    }
}

/// The translation of the whole to what a module's own profile says.
struct Extract<'e> {
    parts: &'e [ModulePart],
    /// The number of the module among the parts.
    own: usize,
}

impl Translation for Extract<'_> {
    fn routine(&self, callee: &Callee) -> (Callee, CodeShift) {
        let (instance, index, name) = match callee {
            Callee::Function { index, name } => (None, *index, name),
            Callee::Elsewhere { instance, index, name } => (Some(*instance), *index, name),
            _ => return (callee.clone(), CodeShift::default()),
        };
        let Some(number) = part_of(self.parts, index) else { return (callee.clone(), CodeShift::default()) };
        let part = &self.parts[number];
        let (shift, mut new) = (part.shift().back(), index);
        shift.function(&mut new);
        let name = name.as_deref().and_then(|name| raw_name(part, new, name));
        match instance {
            None if number == self.own => (Callee::Function { index: new, name }, shift),
            // The profile does not know which of the store's instances it was.
            None => (Callee::Elsewhere { instance: number as u32, index: new, name }, shift),
            Some(instance) => (Callee::Elsewhere { instance, index: new, name }, shift),
        }
    }
}

/// Returns a function's name in its module; none if it had none.
fn raw_name(part: &ModulePart, index: u32, name: &str) -> Option<String> {
    let own = part.own_name(name);
    (own != function_name(index, None)).then(|| own.to_owned())
}

/// Returns the number of the part that has a function.
fn part_of(parts: &[ModulePart], function: u32) -> Option<usize> {
    parts.partition_point(|part| part.first_function <= function).checked_sub(1)
}

impl Profile {
    /// Returns the part that has the function with this index; `None` in profiles of one module.
    pub fn part_of(&self, function: u32) -> Option<&ModulePart> {
        part_of(&self.parts, function).map(|number| &self.parts[number])
    }

    /// Joins the profiles of the core modules of a component, which were taken at one moment of one store. Each is given with
    /// the number of its part, and only once; those of modules that have no instance are left out.
    pub fn join(
        module_hash: [u8; 32],
        mut parts: Vec<ModulePart>,
        profiles: Vec<(usize, Profile)>,
        by: &Joining<'_>,
    ) -> Profile {
        let mut whole: Option<Profile> = None;
        for (own, profile) in profiles {
            let joined = profile.joined(&Join { parts: &parts, own, by }, module_hash);
            parts[own].code = joined.code;
            match &mut whole {
                Some(whole) => whole.add_part(joined),
                None => whole = Some(joined),
            }
        }
        let whole = whole.unwrap_or_else(|| Profile { module_hash, ..Profile::default() });
        let code = parts.iter().map(|part| part.code).fold(CodeStats::default(), CodeStats::plus);
        let mut whole = Profile { code, parts, ..whole };
        whole.normalize();
        whole
    }

    /// Returns the profile of one module of a component, with the module's own indices, offsets and names: the sum of the
    /// parts for which `is_it` holds, given their hashes, up to a number of them. `None` if it holds for none.
    pub fn of_module(&self, is_it: impl Fn(&[u8; 32]) -> bool) -> Option<Profile> {
        let mut sum: Option<Profile> = None;
        let numbers = (0..self.parts.len()).filter(|&number| is_it(&self.parts[number].module_hash));
        for number in numbers.take(MOST_ALIKE) {
            let part = self.extracted(number);
            match &mut sum {
                // All parts describe the same code.
                Some(sum) => drop(sum.add_instance(&part)),
                None => sum = Some(part),
            }
        }
        sum
    }

    /// Adds another part of the same run.
    fn add_part(&mut self, other: Profile) {
        self.functions.extend(other.functions);
        self.call_targets.extend(other.call_targets);
        self.branches.extend(other.branches);
        self.metrics = metric::merged(&self.metrics, &other.metrics);
        // It was estimated for the functions of one module.
        self.accuracy = None;
        self.extended = match (self.extended.take(), other.extended) {
            (Some(ours), Some(theirs)) => ours.merged(&theirs),
            (ours, theirs) => ours.or(theirs),
        };
        self.skipped = match (self.skipped.take(), other.skipped) {
            (Some(ours), Some(theirs)) => Some(ours.merged_in_run(&theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        // All parts see the same tree, each with the paths of its own functions.
        if let Some((contexts, others)) = self.contexts.as_mut().zip(other.contexts) {
            for (record, other) in contexts.records.iter_mut().zip(others.records) {
                record.paths.extend(other.paths);
                record.unfinished.extend(other.unfinished);
            }
        }
        if let Some((timeline, others)) = self.timeline.as_mut().zip(other.timeline) {
            timeline.versions.extend(others.versions);
        }
        // Blocks are those of the store, objects those of the module.
        if let Some((allocations, others)) = self.allocations.as_mut().zip(other.allocations) {
            allocations.objects.extend(others.objects);
            allocations.objects.sort_by_key(|object| (object.function, object.ty));
        }
    }

    /// Returns the profile with indices, offsets and names of the whole.
    fn joined(self, join: &Join<'_>, module_hash: [u8; 32]) -> Profile {
        let part = &join.parts[join.own];
        let mut profile = self.translated(part.shift(), join);
        profile.module_hash = module_hash;
        let rename = |index: u32, name: &mut Option<String>| {
            let own = index.wrapping_sub(part.first_function);
            *name = Some(join.named(part, own, name.as_deref()));
        };
        profile.rename_own(rename);
        profile
    }

    /// Returns the profile of the part with this number alone.
    fn extracted(&self, number: usize) -> Profile {
        let (part, extract) = (&self.parts[number], Extract { parts: &self.parts, own: number });
        let mut profile = self.clone();
        let is_own = |function: u32| part_of(&self.parts, function) == Some(number);
        profile.functions.retain(|function| is_own(function.index));
        profile.call_targets.retain(|target| is_own(target.caller));
        profile.branches.retain(|branch| is_own(branch.function));
        if let Some(skipped) = &mut profile.skipped {
            skipped.functions.retain(|of| is_own(of.function));
        }
        if let Some(extended) = &mut profile.extended {
            extended.paths.retain(|path| path.pieces.iter().all(|piece| is_own(piece.0)));
        }
        if let Some(allocations) = &mut profile.allocations {
            allocations.objects.retain(|object| is_own(object.function));
        }
        if let Some(timeline) = &mut profile.timeline {
            timeline.versions.retain(|version| is_own(version.function));
        }
        profile.parts = Vec::new();
        let mut profile = profile.translated(part.shift().back(), &extract);
        (profile.module_hash, profile.code) = (part.module_hash, part.code);
        profile
            .rename_own(|index, name| *name = name.as_deref().and_then(|name| raw_name(part, index, name)));
        profile.normalize();
        profile
    }

    /// Moves all of the profile's own functions, and translates the routines of trees.
    fn translated(mut self, shift: CodeShift, by: &dyn Translation) -> Profile {
        self.functions = self.functions.into_iter().map(|function| function.moved(shift)).collect();
        for target in &mut self.call_targets {
            shift.function(&mut target.caller);
            shift.offset(&mut target.site);
            target.callee = by.routine(&target.callee).0;
        }
        for branch in &mut self.branches {
            shift.function(&mut branch.function);
            shift.offset(&mut branch.offset);
        }
        let skipped = self.skipped.iter_mut().flat_map(|skipped| &mut skipped.functions);
        skipped.for_each(|of| shift.function(&mut of.function));
        let extended = self.extended.iter_mut().flat_map(|extended| &mut extended.paths);
        extended.flat_map(|path| &mut path.pieces).for_each(|piece| shift.function(&mut piece.0));
        let objects = self.allocations.iter_mut().flat_map(|all| &mut all.objects);
        objects.for_each(|object| shift.function(&mut object.function));
        for version in self.timeline.iter_mut().flat_map(|timeline| &mut timeline.versions) {
            shift.function(&mut version.function);
            version.decisions.iter_mut().for_each(|decision| shift.offset(&mut decision.offset));
        }
        self.contexts = self.contexts.map(|tree| contexts(&tree, by));
        self.time = self.time.map(|time| timed(&time, by));
        self
    }

    /// Changes the names of the functions that have counts of their own, or versions.
    fn rename_own(&mut self, mut rename: impl FnMut(u32, &mut Option<String>)) {
        self.functions.iter_mut().for_each(|function| rename(function.index, &mut function.name));
        let versions = self.timeline.iter_mut().flat_map(|timeline| &mut timeline.versions);
        versions.for_each(|version| rename(version.function, &mut version.name));
        let skipped = self.skipped.iter_mut().flat_map(|skipped| &mut skipped.functions);
        skipped.for_each(|of| rename(of.function, &mut of.name));
    }
}

impl CodeStats {
    fn plus(self, other: Self) -> Self {
        Self {
            functions: self.functions.saturating_add(other.functions),
            compiled: self.compiled.saturating_add(other.compiled),
            counters: self.counters.saturating_add(other.counters),
        }
    }
}

impl FunctionProfile {
    /// Returns the profile of the function at another place of code.
    #[must_use]
    pub fn moved(mut self, shift: CodeShift) -> Self {
        shift.function(&mut self.index);
        shift.range(&mut self.code);
        self.blocks.iter_mut().for_each(|block| shift.range(&mut block.code));
        self.exits.iter_mut().for_each(|exit| shift.offset(&mut exit.offset));
        self.counts.paths_mut().into_iter().for_each(|paths| shift.paths(paths));
        self
    }
}

/// Translates calling contexts: a call's site is in the code of its caller, the end of a path in that of its own function.
fn contexts(tree: &ContextTree, by: &dyn Translation) -> ContextTree {
    let mut log = ContextLog {
        metrics: tree.metrics.clone(),
        has_paths: tree.has_paths,
        merges_sites: tree.merges_sites,
        kind: tree.kind,
        ..ContextLog::default()
    };
    log.add_tree(tree);
    let mut shifts = Vec::with_capacity(log.routines.len());
    for routine in &mut log.routines {
        let (callee, shift) = by.routine(&routine.callee);
        routine.callee = callee;
        routine.sites.iter_mut().for_each(|site| shift.offset(site));
        shifts.push(shift);
    }
    let of_record: Vec<CodeShift> =
        log.records.iter().map(|record| shifts[record.routine as usize]).collect();
    for record in &mut log.records {
        of_record[record.parent as usize].offset(&mut record.site);
        let own = shifts[record.routine as usize];
        record.unfinished.iter_mut().for_each(|path| own.offset(&mut path.exit.offset));
    }
    log.links.iter_mut().for_each(|link| of_record[link.from as usize].offset(&mut link.site));
    log.tree()
}

/// Translates sampled stacks.
fn timed(time: &TimeProfile, by: &dyn Translation) -> TimeProfile {
    let callees: Vec<(Callee, CodeShift)> = time.callees.iter().map(|callee| by.routine(callee)).collect();
    let mut log = TimeLog::new(time.rate);
    (log.lost, log.squares) = (time.lost, time.squares);
    let mut numbers: Vec<u32> = Vec::with_capacity(time.nodes.len());
    for node in &time.nodes {
        let (callee, shift) = &callees[node.callee as usize];
        let mut offset = node.offset;
        shift.offset(&mut offset);
        let caller = node.caller.map(|caller| numbers[caller as usize]);
        numbers.push(log.add(caller, (callee, offset, node.is_inlined), node.own));
    }
    log.tree()
}
