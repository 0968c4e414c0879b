//! Supergraphs: functions with some calls inlined, whose paths therefore lead across these calls.
//!
//! Input: a module, and which calls are marked. Output: a module that does the same, in which the marked calls are
//! inlined; the profile of the original module that follows from a profile of its paths.
//! Invariant: the paths of a supergraph are those of a function, extended by the paths of the callees of marked calls:
//! back edges end them, calls that are not marked do not. All that the engine guarantees for paths of functions (both
//! tiers, traps, exceptions, ended frames) holds for them.
//! Source: Vaswani 2007, sections 3.4.3, 3.4.4 and 3.5.2. Ours: a call is not marked if its function catches its
//! exceptions, or if the supergraph had so many paths that edges had to be cut where none of its functions' are; the
//! thesis cuts edges that are on no interesting path. Oracle: a trace of the original module, in
//! `spec-tests/tests/supergraphs.rs`.

mod expand;
mod fold;
mod marks;
mod parts;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wasm_encoder::Encode;
use wasmparser::{BinaryReader, FunctionBody};
use wprof_profiler::{
    self as profiler, BlockPart, BlockProfile, CodeRange, CounterCost, FigureKind, FunctionCounts,
    FunctionProfile, MarkedCall, MarkedCalls, PathNumbering, Profile,
};

use crate::Error;
use crate::cfg::{self, Cfg};
use crate::module::{BRANCH_HINTS, CODE, Source, features};
use crate::offsets::leb;
use expand::{Expanded, Frame, Instruction, expand};
use fold::{Graph, Sums};
use marks::Candidates;
use parts::{Frames, Part};

/// The calls that are marked.
#[derive(Clone, Copy, Debug)]
pub enum Marks<'a> {
    /// All, up to a depth.
    All(u32),
    /// Up to a depth, those that ran in a profile of the module.
    Ran(u32, &'a Profile),
    /// The calls of a profile with paths across calls.
    Same(&'a profiler::Supergraphs),
}

/// The supergraphs of a module.
#[derive(Debug)]
pub struct Supergraphs {
    depth: u32,
    /// The original module's hash.
    original: [u8; 32],
    /// The module with inlined calls, and its hash.
    module: Vec<u8>,
    hash: [u8; 32],
    first_defined: u32,
    /// The graphs of the original functions, and their code.
    cfgs: Vec<Cfg>,
    bodies: Vec<(u32, u32, u32)>,
    functions: Vec<Function>,
    names: HashMap<u32, String>,
}

/// A function with its inlined calls.
#[derive(Debug)]
struct Function {
    calls: Vec<MarkedCall>,
    frames: Vec<Frame>,
    /// Offset of the new body in the new module; the others are relative to it.
    begin: u32,
    cfg: Cfg,
    code: Vec<Instruction>,
    parts: Vec<Vec<Part>>,
}

impl Supergraphs {
    /// Inlines the marked calls of a module.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a module, or the marked calls are those of another one.
    pub fn new(bytes: &[u8], marks: Marks<'_>) -> Result<Supergraphs, Error> {
        let source = Source::new(bytes)?;
        if source.bodies.is_empty() {
            return Err(Error::NoCode);
        }
        let defined = source.first_defined()..source.funcs.len() as u32;
        let cfgs = defined.clone().map(|func| cfg::build(func, &source.body(func)));
        let cfgs = cfgs.collect::<Result<Vec<Cfg>, Error>>()?;
        let (depth, ran) = match marks {
            Marks::All(depth) => (depth, None),
            Marks::Ran(depth, ran) => (depth, Some(ran)),
            Marks::Same(graphs) => (graphs.depth, None),
        };
        if ran.is_some_and(|ran| !source.has_hash(&ran.module_hash)) {
            return Err(Error::OtherModule);
        }
        let mut candidates = Candidates::new(&source, &cfgs, ran)?;
        let (mut functions, mut bodies) = (Vec::new(), Vec::new());
        for func in defined {
            let (function, body) = match marks {
                Marks::Same(graphs) if candidates.accepts(func, graphs.calls(func)) => {
                    Function::new(&source, &cfgs, (func, graphs.calls(func).to_vec()))?
                }
                Marks::Same(_) => return Err(Error::OtherCalls),
                _ => Function::without_cuts(&source, &cfgs, (func, candidates.marked(func, depth)))?,
            };
            functions.push(function);
            bodies.push(body);
        }
        let (module, begins) = assemble(&source, &bodies);
        functions.iter_mut().zip(begins).for_each(|(function, begin)| function.begin = begin);
        let (hash, original, names) = (Source::new(&module)?.hash(), source.hash(), source.names());
        let bodies = (source.first_defined()..).zip(&source.bodies).map(|(func, range)| {
            let code = source.body(func).get_operators_reader()?.original_position() as u32;
            Ok((range.start as u32, code, range.end as u32))
        });
        let bodies = bodies.collect::<Result<_, Error>>()?;
        let first_defined = source.first_defined();
        Ok(Supergraphs { depth, original, module, hash, first_defined, cfgs, bodies, functions, names })
    }

    /// Returns the module with inlined calls.
    pub fn module(&self) -> &[u8] {
        &self.module
    }

    /// Returns the number of inlined calls.
    pub fn calls(&self) -> usize {
        self.functions.iter().map(|function| function.calls.len()).sum()
    }

    /// Returns the profile of the original module that follows from one of the paths of [`Supergraphs::module`].
    ///
    /// # Errors
    /// Returns an error if the profile is of another module, or not one of paths.
    pub fn restored(&self, profile: &Profile) -> Result<Profile, Error> {
        if profile.module_hash != self.hash {
            return Err(Error::OtherModule);
        }
        let (mut sums, mut costs) = (BTreeMap::new(), BTreeMap::new());
        let (mut graphs, mut kind) = (Vec::new(), FigureKind::Exact);
        for function in &profile.functions {
            let own = function.index.checked_sub(self.first_defined);
            let own = own.and_then(|index| self.functions.get(index as usize)).ok_or(Error::OtherModule)?;
            if own.cfg.shape().fingerprint() != function.fingerprint || function.paths().is_none() {
                return Err(Error::OtherModule);
            }
            let graph = self.graph(own);
            graph.add_to(function, &mut sums)?;
            costs.insert(function.index, function.cost);
            kind = function.kind;
            graphs.push(own.described(&graph, function, self.code_of(function.index)));
        }
        let functions =
            sums.into_iter().map(|(func, sums)| self.function(func, sums, (costs.get(&func), kind)));
        let marked = self.functions.iter().filter(|function| !function.calls.is_empty());
        let callees: BTreeSet<u32> =
            self.functions.iter().flat_map(|own| &own.calls).map(|call| call.callee).collect();
        let named = |func: u32| Some((func, self.names.get(&func)?.clone()));
        let names = callees.into_iter().filter_map(named).collect();
        let marked =
            marked.map(|own| MarkedCalls { function: own.cfg.func, calls: own.calls.clone() }).collect();
        let supergraphs = profiler::Supergraphs { depth: self.depth, marked, names, functions: graphs };
        // Counts of functions that follow from some of the paths only are none.
        let functions = functions.filter(|_| kind == FigureKind::Exact);
        let mut restored = Profile {
            module_hash: self.original,
            functions: functions.collect(),
            supergraphs: Some(supergraphs),
            ..profile.clone()
        };
        restored.normalize();
        Ok(restored)
    }

    /// Returns the profile of [`Supergraphs::module`] whose paths are those across calls in a profile of the original
    /// module: for telling them apart as interesting paths. `None` if that has other marked calls, or none.
    pub fn lowered(&self, profile: &Profile) -> Option<Profile> {
        let graphs = profile.supergraphs.as_ref()?;
        let same = self.functions.iter().all(|own| own.calls == graphs.calls(own.cfg.func));
        let mut across = profile.across_calls().filter(|_| same)?;
        for function in &mut across.functions {
            let own = self.functions.get(function.index.checked_sub(self.first_defined)? as usize)?;
            own.relocate(function);
        }
        Some(Profile { module_hash: self.hash, supergraphs: None, ..across })
    }

    fn code_of(&self, func: u32) -> CodeRange {
        let (start, _, end) = self.bodies[(func - self.first_defined) as usize];
        CodeRange { start, end }
    }

    fn graph<'a>(&'a self, own: &'a Function) -> Graph<'a> {
        let original = self.bodies[(own.cfg.func - self.first_defined) as usize];
        let code = own.code.first().map_or(0, |first| first.at);
        Graph {
            frames: Frames { frames: &own.frames, cfgs: &self.cfgs, first_defined: self.first_defined },
            cfg: &own.cfg,
            code: &own.code,
            parts: &own.parts,
            begins: [(own.begin, own.begin + code), (original.0, original.1)],
        }
    }

    /// Returns the profile of an original function.
    fn function(
        &self,
        func: u32,
        sums: Sums,
        (cost, kind): (Option<&CounterCost>, FigureKind),
    ) -> FunctionProfile {
        let cfg = &self.cfgs[(func - self.first_defined) as usize];
        let shape = cfg.shape();
        let block = |block: &cfg::Block| BlockProfile {
            code: CodeRange { start: block.start, end: block.limit },
            ops: block.ops,
        };
        FunctionProfile {
            index: func,
            name: self.names.get(&func).cloned(),
            code: self.code_of(func),
            fingerprint: shape.fingerprint(),
            kind,
            blocks: cfg.blocks.iter().map(block).collect(),
            edges: cfg.edges(),
            exits: sums.exits,
            cost: cost.copied().unwrap_or_default(),
            counts: FunctionCounts::Edges(sums.edges),
        }
    }
}

impl Function {
    /// Inlines calls; fewer if otherwise edges were cut.
    fn without_cuts(
        source: &Source<'_>,
        cfgs: &[Cfg],
        (func, mut calls): (u32, Vec<MarkedCall>),
    ) -> Result<(Function, Vec<u8>), Error> {
        let has_cuts = |cfg: &Cfg| !PathNumbering::new(&cfg.shape()).cuts().is_empty();
        loop {
            let (function, body) = Function::new(source, cfgs, (func, calls.clone()))?;
            if calls.is_empty() || !has_cuts(&function.cfg) {
                return Ok((function, body));
            }
            // The calls that are closest to the function come first.
            calls.truncate(calls.len() / 2);
        }
    }

    fn new(
        source: &Source<'_>,
        cfgs: &[Cfg],
        (func, calls): (u32, Vec<MarkedCall>),
    ) -> Result<(Function, Vec<u8>), Error> {
        let inlined = calls.iter();
        let inlined = inlined.map(|call| Frame { func: call.callee, caller: call.caller, site: call.site });
        let frames: Vec<Frame> = [Frame { func, caller: 0, site: 0 }].into_iter().chain(inlined).collect();
        let Expanded { body, code } = expand(source, &frames)?;
        let reader = FunctionBody::new(BinaryReader::new_features(&body, 0, features()));
        let cfg = cfg::build(func, &reader)?;
        let all = Frames { frames: &frames, cfgs, first_defined: source.first_defined() };
        let parts: Vec<Vec<Part>> = cfg.blocks.iter().map(|block| all.parts(block, &code)).collect();
        Ok((Function { calls, frames, begin: 0, cfg, code, parts }, body))
    }

    /// Gives a profile of the supergraph the places of the new module.
    fn relocate(&self, function: &mut FunctionProfile) {
        let end = self.cfg.blocks.iter().map(|block| block.limit).max().unwrap_or(0);
        let end = self.code.last().map_or(end, |last| last.at + 1).max(end);
        function.code = CodeRange { start: self.begin, end: self.begin + end };
        let block = |block: &cfg::Block| BlockProfile {
            code: CodeRange { start: self.begin + block.start, end: self.begin + block.limit },
            ops: block.ops,
        };
        function.blocks = self.cfg.blocks.iter().map(block).collect();
    }

    /// Returns the profile of the supergraph, with places in the original module.
    fn described(
        &self,
        graph: &Graph<'_>,
        profile: &FunctionProfile,
        code: CodeRange,
    ) -> profiler::Supergraph {
        let pieces = |parts: &Vec<Part>| -> Vec<BlockPart> {
            parts.iter().map(|part| graph.frames.piece(part, &self.code)).collect()
        };
        let pieces: Vec<Vec<BlockPart>> = self.parts.iter().map(pieces).collect();
        let block = |pieces: &Vec<BlockPart>| BlockProfile {
            code: pieces[0].code,
            ops: pieces.iter().map(|piece| piece.ops).sum(),
        };
        let mut function = FunctionProfile {
            code,
            blocks: pieces.iter().map(block).collect(),
            exits: profile.exits.iter().map(|exit| graph.original_exit(exit)).collect(),
            ..profile.clone()
        };
        let unfinished = function.counts.paths_mut().into_iter().flat_map(|paths| &mut paths.unfinished);
        unfinished.for_each(|path| path.exit = graph.original_exit(&path.exit));
        profiler::Supergraph { function, pieces }
    }
}

/// Returns the module with other bodies, and the offsets of these.
fn assemble(source: &Source<'_>, bodies: &[Vec<u8>]) -> (Vec<u8>, Vec<u32>) {
    let (mut out, mut begins) = (source.bytes[..8].to_vec(), Vec::new());
    for section in &source.sections {
        let contents = &source.bytes[section.contents.clone()];
        if section.id == CODE {
            let mut code = Vec::new();
            leb(&mut code, bodies.len() as u32);
            for body in bodies {
                leb(&mut code, body.len() as u32);
                begins.push(code.len() as u32);
                code.extend(body);
            }
            out.push(CODE);
            leb(&mut out, code.len() as u32);
            let start = out.len() as u32;
            begins.iter_mut().for_each(|begin| *begin += start);
            out.extend(code);
        } else if section.id != 0 || stays(contents) {
            out.push(section.id);
            contents.encode(&mut out);
        }
    }
    (out, begins)
}

/// Reports whether a custom section is kept: one that has no offsets of code.
fn stays(contents: &[u8]) -> bool {
    let name = BinaryReader::new(contents, 0).read_string().unwrap_or_default();
    let has_offsets = [BRANCH_HINTS, "external_debug_info", "sourceMappingURL", "linking"];
    let begins = [".debug_", "reloc.", "wprof."];
    !has_offsets.contains(&name) && !begins.iter().any(|begin| name.starts_with(begin))
}
