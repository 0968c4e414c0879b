//! The branch hints of a module.
//!
//! Source: "WebAssembly Code Metadata", branch hints. They are advice: a malformed section is ignored from the error
//! on.

use hashbrown::HashMap;
use wasmparser::{BinaryReader, BranchHintSectionReader};

use super::ModuleInfo;

/// The custom section of branch hints.
pub const BRANCH_HINTS: &str = "metadata.code.branch_hint";

/// The likely outcomes of branches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchHints {
    /// For each function, the byte offsets in the module of its hinted branches, ascending, and whether their
    /// conditions likely hold.
    by_func: HashMap<u32, Vec<(u32, bool)>>,
}

impl BranchHints {
    /// Reads the section of a module, if it has one.
    pub(super) fn read(info: &ModuleInfo) -> BranchHints {
        let mut hints = BranchHints::default();
        if let Some(section) = info.custom_section(BRANCH_HINTS) {
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

    /// Reports whether a function has hints.
    pub fn has(&self, func: u32) -> bool {
        self.by_func.contains_key(&func)
    }

    /// Reports whether the condition of the branch at byte `offset` of the module likely holds; `None` without a hint.
    pub fn at(&self, func: u32, offset: u32) -> Option<bool> {
        let hints = self.by_func.get(&func)?;
        let found = hints.binary_search_by_key(&offset, |&(at, _)| at).ok()?;
        Some(hints[found].1)
    }
}
