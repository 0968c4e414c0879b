//! Branch hints: which way `if` and `br_if` likely go.
//!
//! Source: "WebAssembly Code Metadata", branch hints: a byte, 1 if the condition likely holds and 0 if it likely does not.

use hashbrown::HashMap;
use wasmparser::{BinaryReader, BranchHintSectionReader};
use wprof_profiler::EdgeId;

use super::{MetadataSection, Profiled, Thresholds};
use crate::cfg::{Cfg, End};
use crate::module::ModuleInfo;

/// How often the condition that ends a block held, and how often it did not. `None` for blocks that end otherwise.
pub(super) fn ways(function: &Profiled<'_>, block: u32) -> Option<(u64, u64)> {
    let is_branch = matches!(function.cfg.blocks[block as usize].how, End::Branch);
    let mut counts = function.profile.out_edges(wprof_profiler::BlockId(block)).map(|(_, edge)| edge.count);
    is_branch.then(|| Some((counts.next()?, counts.next()?)))?
}

/// Adds the hints of a function whose edges were counted.
pub(super) fn add(section: &mut MetadataSection, function: &Profiled<'_>, thresholds: Thresholds) {
    if !function.profile.has_edge_counts() {
        return;
    }
    for (block, index) in function.cfg.blocks.iter().zip(0..) {
        let Some((held, failed)) = ways(function, index) else { continue };
        let reached = held.saturating_add(failed);
        let is_clear = held.max(failed) as f64 >= thresholds.likely * reached as f64;
        if is_clear && reached >= thresholds.reached.max(1) {
            let offset = block.end - function.start;
            section.add(function.profile.index, offset, vec![u8::from(held > failed)]);
        }
    }
}

/// The branch hints that a module brings along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchHints {
    /// By function: byte offsets in the module of branches, ascending, and whether their condition likely holds.
    by_func: HashMap<u32, Vec<(u32, bool)>>,
}

impl BranchHints {
    /// Reads the section of a module. Hints are advice: from where on it is malformed it is ignored.
    pub fn read(info: &ModuleInfo) -> BranchHints {
        let mut hints = BranchHints::default();
        if let Some(section) = info.custom_section("metadata.code.branch_hint") {
            hints.add_section(info, section);
        }
        hints
    }

    fn add_section(&mut self, info: &ModuleInfo, section: &[u8]) {
        let Ok(functions) = BranchHintSectionReader::new(BinaryReader::new(section, 0)) else { return };
        let defined = info.imported_funcs..info.imported_funcs + info.defined_funcs();
        for function in functions.into_iter().map_while(Result::ok) {
            if !defined.contains(&function.func) {
                continue;
            }
            let start = info.body(function.func).start as u32;
            let hints = function.hints.into_iter().map_while(Result::ok);
            let mut hints: Vec<(u32, bool)> =
                hints.filter_map(|hint| Some((start.checked_add(hint.func_offset)?, hint.taken))).collect();
            hints.sort_unstable();
            self.by_func.insert(function.func, hints);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_func.is_empty()
    }

    /// Whether the condition of the branch at byte `offset` of the module likely holds; `None` if nothing is said.
    pub fn at(&self, func: u32, offset: u32) -> Option<bool> {
        let hints = self.by_func.get(&func)?;
        let found = hints.binary_search_by_key(&offset, |&(at, _)| at).ok()?;
        Some(hints[found].1)
    }

    /// The edges that the hinted branches of a function likely take.
    pub fn likely_edges(&self, cfg: &Cfg) -> Vec<EdgeId> {
        let mut likely = Vec::new();
        if !self.by_func.contains_key(&cfg.func) {
            return likely;
        }
        let mut first = 0;
        for block in &cfg.blocks {
            let is_branch = matches!(block.how, End::Branch);
            if let Some(holds) = self.at(cfg.func, block.end).filter(|_| is_branch) {
                likely.push(EdgeId(first + u32::from(!holds)));
            }
            first += block.edges.len() as u32;
        }
        likely
    }
}
